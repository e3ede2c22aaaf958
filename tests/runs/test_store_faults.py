"""The run store under failing writes, damaged files and files of other versions: nothing is lost without a word."""

from __future__ import annotations

import errno
import sqlite3

import numpy as np
import pytest

from tests.runs import store_faults
from tests.runs.store_faults import FailingWrites

own_sqlite = pytest.mark.skipif(store_faults.library() is None, reason="Python's SQLite is no library of its own")
DAMAGES = 120


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base") / "home"
    return folder, store_faults.filled(folder, 3)


@pytest.mark.slow
@own_sqlite
@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
def test_every_write_that_fails_leaves_a_whole_store(base, tmp_path, for_ever):
    folder, runs = base
    nth, fired = 0, True
    while fired:
        nth += 1
        faults = FailingWrites(nth, for_ever, errno.ENOSPC if nth % 2 else errno.EIO)
        assert store_faults.after_a_failing_write(folder, tmp_path / str(nth), runs, faults) == [], nth
        fired = faults.fired
    assert nth > 20


@own_sqlite
def test_the_hook_makes_writes_fail_and_lets_go(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    with FailingWrites(1, True).on() as faults, pytest.raises(sqlite3.OperationalError, match="I/O"):
        connection.execute("CREATE TABLE t (x)")
    assert faults.fired
    connection.execute("CREATE TABLE t (x)")
    connection.close()


@pytest.mark.slow
def test_every_damage_to_the_file_is_noticed_or_harmless(base, tmp_path):
    folder, runs = base
    content = (folder / "runs.db").read_bytes()
    found = []
    for k in range(DAMAGES):
        damaged = store_faults.damaged(content, np.random.default_rng(k))
        outcome, wrong = store_faults.after_damage(tmp_path / str(k), damaged, runs)
        assert wrong == [], k
        found.append(outcome)
    assert 0.3 * DAMAGES < found.count("noticed") < DAMAGES
