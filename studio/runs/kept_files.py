"""Files that people brought, kept for a reload and for reopening a run: by content, per owner, within a quota.

    files = kept_files.shared()
    name = files.keep(owner, recipe, {"films.csv": b"..."}, data.digest())
    recipe, contents = files.get(owner, name)
    files.find(owner, run.digest)        # the name of the data that a run was trained on
    files.listed(owner)                  # what there is, used last first
    files.size(owner); files.forget(owner)

They are kept byte by byte as they came, and not as tables: the recipe reads these files again, and what a changed
reader would make of a table is seen. Each content is there once for all data that use it. Where the quota is reached,
the data that were used longest ago go first. A file that is not what was kept counts as gone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from studio.limits import UPLOADS
from studio.runs.run import canonical, sha256
from studio.runs.store import home

__all__ = ["Kept", "KeptFiles", "shared"]

NAME = re.compile(r"[0-9a-f]{24}")
GONE = "These data are not kept here (any more), or they are another person's: upload the files again on the Data page."


class Kept(NamedTuple):
    """Data that are kept: their name, their recipe, the names of their files, and when they were used last (UTC)."""

    name: str
    recipe: dict[str, Any]
    files: list[str]
    used: datetime


class KeptFiles:
    """The files of all owners in a folder.

    Parameters
    ----------
    folder : Path
    quota : int
        Bytes that one owner's files may have.
    """

    def __init__(self, folder: Path, quota: int = UPLOADS.kept_bytes) -> None:
        self._folder, self.quota = folder, quota

    def keep(self, owner: str, recipe: Mapping[str, Any], files: Mapping[str, bytes], digest: str) -> str:
        """Keep data and return their name, the same for the same data.

        Parameters
        ----------
        owner : str
            Whose they are: nobody else gets them.
        recipe : mapping
            See `studio.recipes`.
        files : mapping of str to bytes
            The files of the recipe.
        digest : str
            `HetData.digest()` of what the recipe makes of them.
        """
        digests = {name: sha256(content) for name, content in files.items()}
        facts = canonical({"recipe": recipe, "files": digests, "digest": digest})
        # Half of the hash: 96 bits are not met by chance, and a shorter name fits an address.
        name = hashlib.sha256(facts.encode()).hexdigest()[:24]
        for file, content in files.items():
            # Contents first and the list of them last: what is listed is there, whenever the studio ends.
            _write(self._content(owner, digests[file]), content)
        _write(self._data(owner) / f"{name}.json", facts.encode())
        self._make_room(owner, name)
        return name

    def get(self, owner: str, name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return recipe and files of kept data.

        Raises
        ------
        LookupError
            If the owner has no data of this name, or they are damaged.
        """
        path = self._data(owner) / f"{name}.json"
        try:
            # The name may come from an address bar; only such a name can reach a path.
            facts = _read(path) if NAME.fullmatch(name) else {}
            files = {file: self._content(owner, digest).read_bytes() for file, digest in facts["files"].items()}
            # A changed file counts as gone, or a run would be reopened on other data.
            if any(sha256(content) != facts["files"][file] for file, content in files.items()):
                raise ValueError(name)
        except (OSError, ValueError, KeyError, TypeError):
            raise LookupError(GONE) from None
        # Use counts as new, so that what is worked with is the last to go.
        os.utime(path)
        return facts["recipe"], files

    def find(self, owner: str, digest: str) -> str | None:
        """Return the name of the owner's kept data of this digest, None if there are none."""
        # Without a digest nothing matches, rather than the first that has none.
        return next((path.stem for path in self._newest(owner) if digest and _digest(path) == digest), None)

    def listed(self, owner: str) -> list[Kept]:
        """Return the owner's kept data, used last first; damaged ones are left out."""
        found = []
        for path in self._newest(owner):
            try:
                facts, used = _read(path), datetime.fromtimestamp(path.stat().st_mtime, UTC)
                found.append(Kept(path.stem, dict(facts["recipe"]), list(facts["files"]), used))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return found

    def size(self, owner: str) -> int:
        """Return the bytes of the owner's files."""
        return sum(path.stat().st_size for path in self._owner(owner).glob("contents/*"))

    def count(self, owner: str) -> int:
        """Return how many data of the owner are kept."""
        return len(self._newest(owner))

    def forget(self, owner: str) -> None:
        """Delete the owner's files."""
        shutil.rmtree(self._owner(owner), ignore_errors=True)

    def _owner(self, owner: str) -> Path:
        # Hashed, for an owner's name may hold what no path takes.
        return self._folder / hashlib.sha256(f"files of {owner}".encode()).hexdigest()[:32]

    def _data(self, owner: str) -> Path:
        return self._owner(owner) / "data"

    def _content(self, owner: str, digest: str) -> Path:
        return self._owner(owner) / "contents" / digest

    def _newest(self, owner: str) -> list[Path]:
        # Nanoseconds, for files kept in one go share a second.
        return sorted(self._data(owner).glob("*.json"), key=lambda path: -path.stat().st_mtime_ns)

    def _make_room(self, owner: str, newest: str) -> None:
        """Forget the data used longest ago until the others are within the quota, but never the newest."""
        # Oldest first; the data just brought stay, even where they alone are over the quota.
        for path in reversed([each for each in self._newest(owner) if each.stem != newest]):
            if self.size(owner) <= self.quota:
                return
            path.unlink()
            self._forget_unused(owner)

    def _forget_unused(self, owner: str) -> None:
        # One content can belong to several data, so it goes only with the last of them.
        used = {digest for path in self._newest(owner) for digest in _read(path).get("files", {}).values()}
        for path in self._owner(owner).glob("contents/*"):
            if path.name not in used:
                path.unlink()


def _digest(path: Path) -> str:
    try:
        return str(_read(path).get("digest", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; one that is there is only marked as used."""
    if path.exists():
        os.utime(path)
        return
    # Readable by the owner alone: these are people's own data.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A random name, for two tabs may write the same content at once.
    draft = path.with_name(f".{secrets.token_hex(8)}")
    draft.write_bytes(content)
    # Replaced in one step, so that no reader meets half a file.
    os.replace(draft, path)


def shared() -> KeptFiles:
    """Return the files in the studio's folder."""
    return KeptFiles(home() / "files")
