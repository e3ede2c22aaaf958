"""Faults under the run store: SQLite's writes fail on command, bytes of its file change, and what is left is judged."""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hetcore.errors import DataError
from studio.runs.run import Run
from studio.runs.store import RunStore

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_BEFORE_METHODS = 16 + 3 * _POINTER  # of struct sqlite3_vfs: three ints, then pNext, zName, pAppData
_SET, _GET = 13, 14  # xSetSystemCall and xGetSystemCall among its methods
_WRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_CUT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)
_CALLS = {b"pwrite": _WRITE, b"pwrite64": _WRITE, b"write": _WRITE, b"ftruncate": _CUT}


def library() -> ctypes.CDLL | None:
    """Return the SQLite that Python's sqlite3 uses; None where it is not a library of its own."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    path = next((line.split()[-1] for line in lines if "libsqlite3" in line), None)
    return ctypes.CDLL(path) if path else None


class FailingWrites:
    """The n-th write of SQLite fails, once or from then on, by the hook that SQLite's own tests use.

    Parameters
    ----------
    nth : int
        Which write fails, from 1.
    for_ever : bool
        Whether all later ones fail too.
    code : int
        What the system says, such as errno.EIO or errno.ENOSPC.
    """

    def __init__(self, nth: int, for_ever: bool, code: int = errno.EIO) -> None:
        self.nth, self.for_ever, self.code = nth, for_ever, code
        self.count = 0

    @property
    def fired(self) -> bool:
        """Whether a write has failed."""
        return self.count >= self.nth

    def _fails(self) -> bool:
        self.count += 1
        if self.count == self.nth or (self.for_ever and self.count > self.nth):
            ctypes.set_errno(self.code)
            return True
        return False

    @contextmanager
    def on(self) -> Iterator[FailingWrites]:
        """Let writes fail inside the with block."""
        sqlite = library()
        find = sqlite.sqlite3_vfs_find
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        vfs = find(None)
        methods = (ctypes.c_void_p * 16).from_address(vfs + _BEFORE_METHODS)
        setter = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(methods[_SET])
        getter = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(methods[_GET])
        kept = []
        for name, kind in _CALLS.items():
            address = getter(vfs, name)
            if address:
                kept.append(kind(self._wrapped(kind(address))))
                setter(vfs, name, ctypes.cast(kept[-1], ctypes.c_void_p))
        try:
            yield self
        finally:
            for name in _CALLS:
                setter(vfs, name, None)

    def _wrapped(self, call: object) -> object:
        return lambda *arguments: -1 if self._fails() else call(*arguments)


def a_run(owner: str = "anna", **changes: object) -> Run:
    """Return a run."""
    return Run(**({"owner": owner, "page": "Consensus", "method": "GBCClassifier", "dataset": "mfeat"} | changes))


def content_of(run_id: str) -> bytes:
    """Return the model that belongs to a run."""
    return run_id.encode() * 600


def filled(folder: Path, count: int) -> dict[str, Run]:
    """Make a store with runs, and return them."""
    store = RunStore(folder=folder)
    runs = [a_run(settings={"k": k}, results={"text": "x" * 500}) for k in range(count)]
    for run in runs:
        store.add(run, model=content_of(run.id))
    store.close()
    return {run.id: run for run in runs}


def after_a_failing_write(base: Path, folder: Path, runs: dict[str, Run], faults: FailingWrites) -> list[str]:
    """Open a copy of a store, add, rename and delete while writes fail, then mend the disk; return what is wrong."""
    shutil.copytree(base, folder)
    first, second = list(runs)[:2]
    with faults.on():
        store = RunStore(folder=folder)
        opened, added = store._database is not None, [_added(store)]
        renamed, gone = _renamed(store, first), store.delete("anna", second)
        added.append(_added(store))
        store.list("anna")  # what is said must outlive the next look
        noticed = bool(store.warning) or not store._memory.count()
    added.append(_added(store))
    wrong = [] if noticed or not faults.fired or _all_there(store, added) else ["a fault that nobody was told of"]
    wrong += [
        f"{run_id} is not in the list" for run_id in added if run_id not in {run.id for run in store.list("anna")}
    ]
    store.close()
    return wrong + _kept(folder, runs, added if opened else [], {first: renamed, second: gone})


def _added(store: RunStore) -> str:
    run = a_run()
    return store.add(run, model=content_of(run.id))


def _renamed(store: RunStore, run_id: str) -> bool:
    try:
        return store.rename("anna", run_id, "renamed").name == "renamed"
    except (DataError, LookupError):
        return False


def _all_there(store: RunStore, added: list[str]) -> bool:
    return all(store.model("anna", run_id) == content_of(run_id) for run_id in added)


def _kept(folder: Path, runs: dict[str, Run], added: list[str], done: dict[str, bool]) -> list[str]:
    """Return what is wrong in the store as a new process finds it."""
    connection = sqlite3.connect(folder / "runs.db")
    check = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    store = RunStore(folder=folder)
    listed = {run.id: run for run in store.list("anna")}
    first, second = done
    wrong = [f"the file is corrupt: {check}"] if check != "ok" else []
    wrong += [f"the next start says {store.warning}"] if store.warning else []
    wrong += [f"{run_id} is lost" for run_id in [*added, *runs] if run_id not in listed and run_id != second]
    wrong += ["a deleted run is back"] if done[second] and second in listed else []
    wrong += ["a new name is lost"] if done[first] and listed[first].name != "renamed" else []
    models = [run_id for run_id in listed if store.model("anna", run_id) != content_of(run_id)]
    store.close()
    return wrong + [f"the model of {run_id} changed" for run_id in models]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with one bit, one byte, 64 bytes or a page changed, with its end cut off, or of no byte at all."""
    changed, at = bytearray(content), int(rng.integers(len(content)))
    kind = rng.integers(0, 6)
    if kind == 0:
        changed[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        changed[at] ^= 0xFF
    elif kind == 2:
        changed[at : at + 64] = rng.bytes(len(changed[at : at + 64]))
    elif kind == 3:
        page = at // 4096 * 4096
        changed[page : page + 4096] = bytes(len(changed[page : page + 4096]))
    else:
        del changed[at if kind == 4 else 0 :]
    return bytes(changed)


def after_damage(folder: Path, content: bytes, runs: dict[str, Run]) -> tuple[str, list[str]]:
    """Open a damaged store; return "noticed" or "harmless", and what is wrong."""
    folder.mkdir()
    (folder / "runs.kept").write_text("as the store leaves it beside the database")
    (folder / "runs.db").write_bytes(content)
    store = RunStore(folder=folder)
    listed, wrong = store.list("anna"), []
    noticed = bool(store.warning)
    for run in listed:
        wrong += [] if dataclasses.replace(run, blobs={}) == runs.get(run.id) else [f"{run.id} came back changed"]
        try:
            wrong += [] if store.model("anna", run.id) == content_of(run.id) else [f"the model of {run.id} changed"]
        except (DataError, LookupError):
            noticed = True
    wrong += [] if noticed or len(listed) == len(runs) else ["runs are missing and nobody was told"]
    added = store.add(a_run())
    wrong += [] if added in {run.id for run in store.list("anna")} else ["nothing can be added"]
    wrong += [f"no sentence: {store.warning}"] if len(store.warning) > 300 else []
    store.close()
    return "noticed" if noticed or store.warning else "harmless", wrong
