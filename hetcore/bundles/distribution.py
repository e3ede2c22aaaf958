"""The wheel of the hetcore that runs, made of its own files, and the versions of what it runs with.

From a checkout it holds what `pip wheel .` would put into it; of an installed hetcore, what was installed. No tool to
build is needed: a wheel of plain Python is a zip with a list of its files (PEP 427).
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import hetcore

__all__ = ["pins", "wheel", "zipped"]

ROOT = Path(hetcore.__file__).resolve().parents[1]
WHEEL = "Wheel-Version: 1.0\nGenerator: hetcore\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
# A zip knows no earlier time.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every file in a zip, so that the same content has the same bytes."""


def wheel() -> tuple[str, bytes]:
    """Return the file name of the wheel and its content."""
    facts, files = _project()
    folder = f"hetcore-{hetcore.__version__}.dist-info"
    files = files | {f"{folder}/METADATA": facts.encode(), f"{folder}/WHEEL": WHEEL.encode()}
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    record = "\n".join([*lines, f"{folder}/RECORD,,", ""])
    # The record has no digest of itself, as the standard says.
    return f"hetcore-{hetcore.__version__}-py3-none-any.whl", zipped(files | {f"{folder}/RECORD": record.encode()})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of files by name; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def pins(also: Iterable[str] = ()) -> list[str]:
    """Return "name==version" of everything that hetcore needs and that is installed here, what that needs included.

    Parameters
    ----------
    also : iterable of str, default=()
        Further distributions, such as "torch".
    """
    open_, found = [*_requirements(), *also], {}
    while open_:
        name = _normal(open_.pop())
        if name and name not in found and (installed := _installed(name)) is not None:
            found[name] = installed.version.partition("+")[0]  # "2.13.0+cpu" is no version of an index
            open_ += installed.requires or []
    return [f"{name}=={found[name]}" for name in sorted(found)]


def _normal(requirement: str) -> str:
    """Return the name in a requirement, "" of one that only an extra asks for."""
    given = NAME.match(requirement)
    optional = re.search(r"\bextra\s*==", requirement)
    return "" if given is None or optional else re.sub(r"[-_.]+", "-", given[1]).lower()


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _requirements() -> list[str]:
    return re.findall(r"^Requires-Dist: (.+)$", _project()[0], re.MULTILINE)


def _project() -> tuple[str, dict[str, bytes]]:
    """Return the metadata of hetcore as text, and its files by name."""
    if (ROOT / "pyproject.toml").is_file():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        patterns = project["tool"]["setuptools"]["packages"]["find"]["include"]
        paths = sorted(path for each in patterns for path in (ROOT / each.rstrip("*")).rglob("*") if path.is_file())
        # Compiled files belong to this Python and hold paths of this machine.
        kept = [path for path in paths if "__pycache__" not in path.parts]
        return _metadata(project["project"]), {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept}
    installed = metadata.distribution("hetcore")
    # As it was installed: its own metadata are written anew.
    listed = [path for path in installed.files or () if ".dist-info" not in path.parts[0] and path.suffix != ".pyc"]
    return installed.read_text("METADATA") or "", {path.as_posix(): path.read_binary() for path in listed}


def _metadata(project: Mapping[str, Any]) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"License-Expression: {project['license']}"]
    lines += [f"Requires-Dist: {each}" for each in project["dependencies"]]
    for extra, needed in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {each}; extra == "{extra}"' for each in needed)]
    return "\n".join([*lines, ""])
