"""Data on their way to the workers: named by a digest, pickled once, known again while the page holds them."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle  # between our own processes only
import weakref
from collections.abc import Mapping
from typing import Any

from studio.jobs.protocol import DataRef, FunctionTask, TrainingTask

__all__ = ["Packed", "Packer", "without_data"]

TRIES = 20


@dataclasses.dataclass
class Packed:
    """A task whose data are references, and the data by digest."""

    task: TrainingTask | FunctionTask
    contents: dict[str, Any]
    payloads: dict[str, bytes]

    def payload(self, digest: str) -> bytes:
        """Return the pickled data of a digest, which are not kept once they have been taken."""
        return self.payloads.pop(digest, None) or _pickled(self.contents[digest])


class Packer:
    """Replaces data in tasks by references. Data are taken as unchangeable: an object keeps the digest it first had."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], str]] = {}

    def pack(self, task: TrainingTask | FunctionTask) -> Packed:
        """Return the task with its data taken out."""
        packed = Packed(task, {}, {})
        if isinstance(task, TrainingTask):
            packed.task = dataclasses.replace(task, data=self._reference(task.data, packed))
        else:
            heavy = {name: self._reference(value, packed) for name, value in task.kwargs.items() if _heavy(value)}
            packed.task = dataclasses.replace(task, kwargs={**task.kwargs, **heavy})
        return packed

    def known(self, task: TrainingTask | FunctionTask) -> set[str] | None:
        """Return the digests of the task's data without reading them; None if some are new."""
        found = [self._digest(value) for value in _data(task)]
        return None if None in found else set(found)

    def _digest(self, value: Any) -> str | None:
        reference, digest = self._known.get(id(value), (None, None))
        return digest if reference is not None and reference() is value else None

    def _reference(self, value: Any, packed: Packed) -> DataRef:
        digest = self._digest(value)
        if digest is None:
            payload = _pickled(value)
            digest = hashlib.blake2b(payload, digest_size=16).hexdigest()
            packed.payloads[digest] = payload
            self._remember(value, digest)
        packed.contents[digest] = value
        return DataRef(digest)

    def _remember(self, value: Any, digest: str) -> None:
        key = id(value)
        try:
            self._known[key] = (weakref.ref(value, lambda _: self._known.pop(key, None)), digest)
        except TypeError:  # a dict or an array: hashed each time
            self._known.pop(key, None)


def without_data(task: TrainingTask | FunctionTask) -> TrainingTask | FunctionTask:
    """Return the task without its data, to remember it by."""
    if isinstance(task, TrainingTask):
        return dataclasses.replace(task, data=None, y=None, eval_y=None)
    return dataclasses.replace(task, kwargs={name: value for name, value in task.kwargs.items() if not _heavy(value)})


def _data(task: TrainingTask | FunctionTask) -> list[Any]:
    return [task.data] if isinstance(task, TrainingTask) else [value for value in task.kwargs.values() if _heavy(value)]


def _heavy(value: Any) -> bool:
    return hasattr(value, "source_names") or isinstance(value, Mapping)


def _pickled(value: Any) -> bytes:
    """Return the pickle; again if meanwhile a page asked the data for something that they then keep."""
    for _ in range(TRIES):
        try:
            return pickle.dumps(value, protocol=5)
        except RuntimeError as error:
            if "changed size during iteration" not in str(error):
                raise
    return pickle.dumps(value, protocol=5)
