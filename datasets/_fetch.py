"""Files at public addresses: downloaded on first use, checked by SHA-256, kept in a cache folder.

The cache mirrors GitHub: `OWNER/REPO/PATH`. The folder is the environment variable HETCORE_DATA where that is set
(files already there are used in place), else `hetcore/data` in the user's cache folder. A file is used only when its
checksum is right, so a cut-off download or an edited copy can never reach a model.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import platformdirs
import pooch

from hetcore.errors import DataError

__all__ = ["RemoteFile", "are_here", "cache_folder", "fetch"]

SECONDS_TO_ANSWER = 30


class RemoteFile(NamedTuple):
    """One file of a public GitHub repository, fixed by commit and checksum.

    Attributes
    ----------
    repository : str
        "OWNER/REPO".
    commit : str
        40 hexadecimal digits.
    path : str
        Path inside the repository.
    sha256 : str
        64 hexadecimal digits.
    """

    repository: str
    commit: str
    path: str
    sha256: str

    @property
    def name(self) -> str:
        """Return where the file lies below the cache folder."""
        return f"{self.repository}/{self.path}"

    @property
    def address(self) -> str:
        """Return the public address."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"


def cache_folder() -> Path:
    """Return the folder of downloaded files: HETCORE_DATA, else `hetcore/data` in the user's cache folder."""
    chosen = os.environ.get("HETCORE_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("hetcore", appauthor=False) / "data"


def are_here(files: Iterable[RemoteFile]) -> bool:
    """Return whether all files were downloaded before."""
    return all((cache_folder() / file.name).is_file() for file in files)


def fetch(file: RemoteFile) -> Path:
    """Return the path of a checked copy of a file, downloading it (with a progress bar) when it is not in the cache.

    Raises
    ------
    DataError
        If the cached copy or the downloaded one has another checksum, or the file can't be downloaded.
    """
    cached = cache_folder() / file.name
    if cached.is_file():
        return _checked(cached, file)
    return _downloaded(file)


def _checked(cached: Path, file: RemoteFile) -> Path:
    found = pooch.file_hash(str(cached), alg="sha256")
    if found != file.sha256:
        raise DataError(
            f"{cached} has SHA-256 {found}, but {file.sha256} is expected: it was changed or cut off; "
            "delete it and load the data set again."
        )
    return cached


def _downloaded(file: RemoteFile) -> Path:
    pooch.get_logger().setLevel("WARNING")
    shelf = pooch.create(
        path=cache_folder(), base_url="", registry={file.name: f"sha256:{file.sha256}"}, urls={file.name: file.address}
    )
    downloader = pooch.HTTPDownloader(progressbar=True, timeout=SECONDS_TO_ANSWER)
    try:
        with _no_empty_folders(cache_folder() / file.name):
            return Path(shelf.fetch(file.name, downloader=downloader))
    except (OSError, ValueError) as error:  # the errors of requests are OSErrors
        reason = "its SHA-256 is another" if type(error) is ValueError else type(error).__name__
        # Of an error with several lines the studio shows the first, whole.
        raise DataError(
            f"{file.address} could not be downloaded ({reason}): connect to the network and load again.\n"
            f"Or put the file at {cache_folder() / file.name}, or set HETCORE_DATA to a folder that holds {file.name}; "
            "the data set digits_views needs no network."
        ) from None


@contextlib.contextmanager
def _no_empty_folders(path: Path) -> Iterator[None]:
    """Remove the folders above a file that are made within and are empty at the end."""
    # pooch makes them before it asks for the file; empty ones look as if a data set were there.
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the first that has something in it: those above it have it too
            for folder in made:
                folder.rmdir()
