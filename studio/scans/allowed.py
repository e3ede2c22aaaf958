"""Which folders of the server a person may name: those of HETCORE_FOLDERS, and no file outside of them.

HETCORE_FOLDERS lists folders as PATH does (":" between them, ";" on Windows). A folder with `{person}` in its path is
each person's own: the name under which somebody has logged in takes its place, and without a login, or with a name that
is no plain name of a folder, nobody has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from hetcore.data.text import quoted
from hetcore.errors import DataError

__all__ = ["PERSON", "below", "folders", "listing", "required"]

PERSON = "{person}"
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
"""A name that is one part of a path: no separator, and it begins with no dot."""
LISTED = 200
"""Folders at most that are offered."""


def folders(person: str = "") -> list[Path]:
    """Return the folders that a person may read, links resolved; those that are not there are left out.

    Parameters
    ----------
    person : str, default=""
        The name under which they have logged in, empty for nobody.
    """
    named = filter(None, os.environ.get("HETCORE_FOLDERS", "").split(os.pathsep))
    own = PLAIN.fullmatch(person) is not None
    given = [text.replace(PERSON, person) for text in named if own or PERSON not in text]
    return [Path(text).resolve() for text in given if Path(text).is_dir()]


def required(within: Sequence[str]) -> list[Path]:
    """Return the folders that a task may read; without any, the library would read anywhere.

    Raises
    ------
    DataError
        If there is none: the operator, or the name of a person's folder, has changed since the data were opened.
    """
    if not within:
        raise DataError("No folder of this server may be read any more: ask whoever runs it, or use other data.")
    return [Path(folder) for folder in within]


def below(text: str, among: Sequence[Path]) -> Path:
    """Return the folder that a person names, links resolved: a whole path, or one that begins in an allowed folder.

    Raises
    ------
    DataError
        If it is outside of the allowed folders, or no folder; whether something is there outside is not told.
    """
    # A NUL ends a path for the system, and not for us.
    given = [] if "\0" in text else [Path(text), *(folder / text for folder in among)]
    inside = [path.resolve() for path in given if path.is_absolute()]
    inside = [path for path in inside if any(path.is_relative_to(folder) for folder in among)]
    if not inside:
        raise DataError(
            f"The folder {quoted(text, 100)} is outside of the folders that may be read: choose one of them."
        )
    found = next((path for path in inside if path.is_dir()), None)
    if found is None:
        raise DataError(f"There is no folder {quoted(text, 100)} among those that may be read: correct the path.")
    return found


def listing(among: Sequence[Path]) -> list[str]:
    """Return the allowed folders and those directly below them, as paths, without hidden ones."""
    inner = [sorted(each for each in folder.iterdir() if each.is_dir()) for folder in among]
    shown = [each for group in inner for each in group if not each.name.startswith((".", "_"))]
    return [str(folder) for folder in [*among, *shown]][:LISTED]
