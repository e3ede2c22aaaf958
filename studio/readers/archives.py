"""What is checked of every zip before a zip reader sees it."""

from __future__ import annotations

import zipfile
import zlib

from hetcore.errors import DataError
from studio.limits import UPLOADS

__all__ = ["BROKEN_ZIP", "refuse_many_entries"]

# Wide on purpose: zipfile raises what its parts raise, and all of it means that the file is no good.
BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What readers raise at a zip that is damaged, encrypted, or packed in a way they do not know."""

_ENTRY = b"PK\x01\x02"


def refuse_many_entries(name: str, content: bytes, cure: str) -> None:
    """Raise DataError if the directory of a zip lists more files than the limit: a reader takes minutes over millions.

    Parameters
    ----------
    name : str
        The file's name, for the sentence.
    content : bytes
        The zip.
    cure : str
        What to do, such as "zip fewer images".
    """
    # Counted in the raw bytes: a zip reader builds its whole directory before it says how long it is.
    count = content.count(_ENTRY)
    if count > UPLOADS.archive_members:
        raise DataError(f"{name} holds {count:,} files, over {UPLOADS.archive_members:,}: {cure}.")
