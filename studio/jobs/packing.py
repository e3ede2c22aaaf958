"""Data go to the workers by reference: named by a digest, pickled once, known again while a page holds them."""

from __future__ import annotations

import hashlib
import pickle  # between our own processes only
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["DataRef", "Packed", "Packer"]

TRIES = 20


@dataclass(frozen=True)
class DataRef:
    """Stands in a task for data that a worker already holds under this digest."""

    digest: str


@dataclass
class Packed:
    """Data and their digest; pickled already where the digest had to be made."""

    digest: str
    content: Any
    _payload: bytes | None = None

    def payload(self) -> bytes:
        """Return the pickled data, which are not kept once they have been taken."""
        # Let go, for a payload is as large as the data; a second worker that needs it pickles once more.
        payload, self._payload = self._payload, None
        return payload or _pickled(self.content)


class Packer:
    """Names data by digests. Data are taken as unchangeable: an object keeps the digest it first had."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}

    def pack(self, content: Any) -> Packed:
        """Return data with their digest."""
        if digest := self._digest(content):
            return Packed(digest, content)
        payload = _pickled(content)
        # By content: the same file uploaded twice is one data set to the workers.
        digest = hashlib.blake2b(payload, digest_size=16).hexdigest()
        self._remember(content, digest)
        return Packed(digest, content, payload)

    def known(self, contents: Iterable[Any]) -> set[str] | None:
        """Return the digests of data without reading them; None if some are new. Arrays and dicts are never known."""
        # They travel beside data that a worker may hold, which is what it is chosen for.
        found = {self._digest(content) for content in contents if type(content).__weakrefoffset__}
        return None if None in found else found

    def _digest(self, value: Any) -> str | None:
        reference, digest = self._known.get(id(value), (None, None))
        # An id is reused once its object is gone, so the weak reference must still point to this very object.
        return digest if reference is not None and reference() is value else None

    def _remember(self, value: Any, digest: str) -> None:
        key = id(value)
        try:
            # The entry goes when the data go, or the table would grow with every upload.
            self._known[key] = (weakref.ref(value, lambda _: self._known.pop(key, None)), digest)
        except TypeError:  # a dict or an array: hashed each time
            self._known.pop(key, None)


def _pickled(value: Any) -> bytes:
    """Return the pickle; again if meanwhile a page asked the data for something that they then keep."""
    for _ in range(TRIES):
        try:
            return pickle.dumps(value, protocol=5)
        except RuntimeError as error:
            # The message is all that tells this one RuntimeError, which passes, from others, which would come again.
            if "changed size during iteration" not in str(error):
                raise
    # The last try is made outside, so that its error is raised as it is.
    return pickle.dumps(value, protocol=5)
