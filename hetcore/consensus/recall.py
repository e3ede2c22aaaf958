"""What fits of one process have in common is computed once: a memory of results by what they were made from.

Somebody who moves lambda1 trains again on the same data, and most of a fit comes out as before: the views' columns, and
every round of a learner that is given the same as then. A learner's state after t rounds follows from its columns,
labels, rule and seed, and from what it was pulled to in each round; a digest of those is its key. `Recalled` stands for
a learner: it answers from the memory as long as the key is known, and is the learner itself from then on, which was
kept where an earlier fit ended, or is made and taken through the rounds that were recalled.

The memory has no room unless a process that trains again and again gives it some (`MEMORY.give_room`), as the studio's
workers do. What was used least lately is forgotten first. Results are the same bits with and without.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.data.fingerprint import hash_array

if TYPE_CHECKING:  # which know of executors
    from hetcore.consensus.table_views import DataView
    from hetcore.consensus.view_learners import Advanced, ViewLearner
    from hetcore.consensus.views import ViewColumns
    from hetcore.targets import KnownLabels

__all__ = ["MEMORY", "Memory", "Recalled", "held_beside", "held_views", "hold_views", "key_of", "key_of_tables"]

LARGEST = 0.25  # of the room: what takes more is not kept
PLAIN = {type(None), str, int, float, bool, type}
HELD_BYTES = 128 << 20  # of the last fit's views, held for a prediction of the same data

# beside the columns, not in them: it goes with them, and no copy or file has it
_HELD: WeakKeyDictionary[ViewColumns, tuple[dict[Any, ref[Any]], list[NDArray], KnownLabels, list[DataView]]]
_HELD = WeakKeyDictionary()


class Memory:
    """Results by key, in a bounded number of bytes.

    Attributes
    ----------
    room : int
        Bytes, 0 for none.
    held : int
        Bytes of what is kept.
    """

    def __init__(self, room: int = 0) -> None:
        # trainings of one process run one after the other, but previews share it from other threads
        self._lock, self._kept = threading.Lock(), OrderedDict[tuple[str, str], tuple[Any, int]]()
        self.room, self.held = room, 0

    def give_room(self, room: int) -> None:
        """Keep at most so many bytes from now on; 0 forgets all."""
        with self._lock:
            self.room = room
            self._shrink()

    @contextmanager
    def at_least(self, room: int) -> Iterator[None]:
        """Have some room while a fit makes the same things several times, also where none is given."""
        had = self.room
        if not had:
            self.give_room(room)
        try:
            yield
        finally:
            if not had:
                self.give_room(0)

    def get(self, kind: str, key: str) -> Any:
        """Return a result, None if it is not there."""
        with self._lock:
            if (kind, key) not in self._kept:
                return None
            self._kept.move_to_end((kind, key))
            return self._kept[kind, key][0]

    def take(self, kind: str, key: str) -> Any:
        """Return a result and forget it, None if it is not there."""
        with self._lock:
            value, size = self._kept.pop((kind, key), (None, 0))
            self.held -= size
            return value

    def put(self, kind: str, key: str, value: Any) -> None:
        """Keep a result, which nobody may change any more, and forget what was used least lately."""
        # sizes are counted outside of the lock: a learner has many arrays
        size = size_of(value) if self.room else 0
        with self._lock:
            # one result must not throw out all others
            if size > LARGEST * self.room or not self.room:
                return
            # the same key again replaces what there was, and its bytes
            self.held -= self._kept.pop((kind, key), (None, 0))[1]
            self._kept[kind, key] = value, size
            self.held += size
            self._shrink()

    def recalled(self, kind: str, key: str, make: Callable[[], Any]) -> Any:
        """Return a result that is there, or make and keep it."""
        if not self.room or not key:
            return make()
        found = self.get(kind, key)
        if found is None:
            # made outside of the lock: two threads may make it twice, which costs time and no correctness
            found = make()
            self.put(kind, key, found)
        return found

    def _shrink(self) -> None:
        while self.held > self.room:
            self.held -= self._kept.popitem(last=False)[1][1]


MEMORY = Memory()
"""The memory of this process."""


def size_of(value: Any) -> int:
    """Return about how many bytes a result holds: its arrays, and a little for each thing."""
    total, seen, left = 0, set(), [value]
    while left:
        each = left.pop()
        kind = type(each)
        # an object that several hold counts once
        if kind in PLAIN or id(each) in seen:
            continue
        seen.add(id(each))
        total += 100
        if kind is np.ndarray:
            # a view holds all of what it is a view of
            base = each.base
            total += each.nbytes if base is None or not isinstance(base, np.ndarray) else 0
            left.append(base)
            continue
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, (list, tuple)):
            left.extend(each)
        if hasattr(each, "__dict__"):
            left.extend(vars(each).values())
    return total


def key_of(*parts: Any) -> str:
    """Return a digest of arrays by their content, and of anything else by how it is written."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            hash_array(sha, part)
        else:
            # with an end mark, so that ("ab", "c") and ("a", "bc") differ
            sha.update(f"{part!r};".encode())
    return sha.hexdigest()


def key_of_tables(data: HetData) -> str:
    """Return a digest of the instances, tables and graphs of some data, not of the labels."""
    parts = [*data.sources.items(), *data.graphs.items()]
    return key_of(data.ids.tolist(), [(type(each).__name__, name, each.digest()) for name, each in parts])


def hold_views(columns: ViewColumns, data: HetData, labels: KnownLabels, made: list[DataView]) -> None:
    """Hold the views of the data that columns were learned from, if they are small: mostly it is predicted next."""
    # of one fit at a time: many models in memory must not hold the columns of each
    _HELD.clear()
    if _bytes_of(made) <= HELD_BYTES:
        _HELD[columns] = {name: ref(each) for name, each in _parts(data).items()}, _places(data), labels, made


@contextmanager
def held_beside() -> Iterator[None]:
    """Hold the views that are held now beside those of the fit that begins here, if all together are small."""
    held = dict(_HELD)
    yield
    if sum(_bytes_of(made) for *_, made in [*held.values(), *_HELD.values()]) <= HELD_BYTES:
        _HELD.update(held)


def _bytes_of(made: list[DataView]) -> int:
    return sum(X.nbytes for X in {id(each.X): each.X for each in made}.values())


def held_views(columns: ViewColumns, data: HetData, labels: KnownLabels) -> list[DataView] | None:
    """Return the views of some data, if they are those that columns were learned from."""
    held = _HELD.get(columns)
    if held is None:
        return None
    parts, places, seen, made = held
    # a what-if changes some parts and shares the others
    same = {name: each() for name, each in parts.items()} == _parts(data)
    same = same and all(map(np.array_equal, places, _places(data))) and np.array_equal(seen.fold, labels.fold)
    return made if same and np.array_equal(seen.codes[seen.known], labels.codes[seen.known]) else None


def _parts(data: HetData) -> dict[tuple[str, str], Any]:
    """Return what a data set is made of, by name: tables and graphs, which no what-if changes in place."""
    parts = {("table", name): each for name, each in data.sources.items()}
    return parts | {("graph", name): each for name, each in data.graphs.items()}


def _places(data: HetData) -> list[NDArray[np.int64]]:
    """Return where each table's records are."""
    return [data.rows(name) for name in data.sources]


class Recalled:
    """A view's learner, or what is known of it: see the module's docstring and `ViewLearner`.

    Parameters
    ----------
    memory : Memory
    key : str
        Of what the learner is made from.
    make : callable
        Makes it.
    """

    def __init__(self, memory: Memory, key: str, make: Callable[[], ViewLearner]) -> None:
        self._memory, self._make, self._learner = memory, make, None
        self._key = self._best = key
        self._ahead: list[tuple[int, NDArray | None]] = []  # rounds that were recalled, and not done

    def advance(self, t: int, pull: NDArray[np.float64] | None = None) -> Advanced:
        """Do round t: see `ViewLearner.advance`."""
        # what a learner was pulled to is part of what its state follows from
        key = key_of(self._key, t, "" if pull is None else pull)
        found = self._memory.get("advanced", key)
        if found is None:
            found = self._now().advance(t, pull)
            self._memory.put("advanced", key, found)
        else:
            self._ahead.append((t, pull))
        self._key = key
        if found.best == t:
            self._best = key
        return found

    def _now(self) -> ViewLearner:
        """Return the learner after the rounds so far."""
        if self._learner is None or self._ahead:
            # taken, not got: the learner will change, and nobody else may find it under its old key
            kept = self._memory.take("learner", self._key)
            if kept is not None:
                self._learner, self._ahead = kept, []
        if self._learner is None:
            self._learner = self._make()
        # rounds that were recalled are done now, for the next one stands on them
        for t, pull in self._ahead:
            self._learner.advance(t, pull)
        self._ahead = []
        return self._learner

    def members(self) -> NDArray[np.float64]:
        """Return what each member says of the unlabelled rows in the best round."""
        return self._memory.recalled("members", self._best, lambda: self._now().members())

    def pulled_members(self) -> NDArray[np.float64]:
        """Return what each member says of the pulled rows in the best round."""
        # a copy: the learner goes on in the same array
        return self._memory.recalled("pulled", self._best, lambda: self._now().pulled_members().copy())

    def keep(self) -> dict[str, NDArray]:
        """Return the arrays that predict as in the best round; leave the learner to a fit that goes on from here."""
        kept = self._memory.recalled("kept", self._best, lambda: self._now().keep())
        if self._learner is not None and not self._ahead:
            # only if it is where the fit ended
            self._memory.put("learner", self._key, self._learner)
            self._learner = None
        return kept
