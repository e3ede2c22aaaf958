"""Kernels that a second process compiles: it is started once, where it helps, and the first finds what it leaves."""

import importlib.util
import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import float64, int64

import hetcore
from hetcore import HGBMRegressor
from hetcore.kernels import cache, grower, prepare_beside, threads, warm

SOURCE = """
from hetcore.kernels.cache import kernel

def _double(x):
    return x + x

double = kernel(_double, shared=True)

def _caller(x):
    return double(x) + 1

caller = kernel(_caller)
"""
PREPARE = "from hetcore.kernels.warm import prepare; prepare()"
GROW = """
from hetcore.kernels import grower, members, oblivious, simplex, splitting, warm
warm._rounds(), warm._oblivious(), warm._weights()
parts = [each.part for each in (grower.search, grower.advance, members.fall, splitting.node_terms)]
for each in (*parts, oblivious.boost_oblivious, simplex.log_temperature, simplex.sum_views):
    assert sum(each.stats.cache_hits.values()) == 1 and not each.stats.cache_misses, each
"""


class Second:
    """Stands for a second process, which goes on until it is told to end."""

    def __init__(self):
        self.ended = threading.Event()

    def wait(self):
        self.ended.wait()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder of this test's own, of kernels that are not in it."""
    monkeypatch.setenv("HETCORE_CACHE", str(tmp_path / "cache"))
    cache.cache_folder.cache_clear()
    monkeypatch.setattr(grower.search.part, "_cache", cache._PartCache(grower._search))
    yield cache.cache_folder()
    monkeypatch.undo()
    cache.cache_folder.cache_clear()


@pytest.fixture
def started(monkeypatch):
    """What this process starts, which has started none so far and has two cores."""
    found = []

    def start(root):
        found.append(Second())
        return found[-1]

    monkeypatch.setattr(threads, "PREPARING", [])
    for module in (cache, warm):
        monkeypatch.setattr(module, "PREPARING", threads.PREPARING)
    monkeypatch.setattr(threads, "_second", start)
    monkeypatch.setattr(threads, "current_process", lambda: type("Main", (), {"name": "MainProcess"}))
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    monkeypatch.delenv("HETCORE_COMPILERS")
    yield found
    for each in found:
        each.ended.set()


@pytest.fixture
def fresh(tmp_path):
    """Make a module of kernels that no call has compiled yet."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE)

    def make():
        spec = importlib.util.spec_from_file_location("module_of_a_part", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


def fit():
    X = np.random.default_rng(0).normal(size=(40, 2))
    return HGBMRegressor(n_iterations=1).fit(X, X[:, 0])


def test_a_fit_starts_one_process_where_nothing_is_compiled(folder, started):
    fit()
    prepare_beside()
    assert len(started) == 1
    started[0].ended.set()
    cache.PREPARING[0].join()
    # it has ended, perhaps in vain: no other one takes its turn
    prepare_beside()
    assert len(started) == 1


def test_none_is_started_where_the_search_is_compiled(folder, started):
    file = grower.search.part._cache.file()
    file.parent.mkdir(parents=True)
    file.touch()
    prepare_beside()
    assert not started


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("joblib.cpu_count", lambda: 1),
        ("hetcore.kernels.threads.current_process", lambda: type("Pool", (), {"name": "LokyProcess-1"})),
        ("sys.executable", "/usr/sbin/uwsgi"),
        ("sys.executable", None),
        ("hetcore.kernels.warm.config.DISABLE_JIT", 1),
        ("os.access", lambda *given: False),
    ],
)
def test_none_is_started_where_it_would_not_help(folder, started, monkeypatch, what, value):
    monkeypatch.setattr(what, value)
    prepare_beside()
    assert not started


def test_none_is_started_where_the_setting_says_so(folder, started, monkeypatch):
    monkeypatch.setenv("HETCORE_COMPILERS", "1")
    prepare_beside()
    assert not started


def test_a_cache_that_cannot_be_written_starts_none(folder, started):
    folder.parent.parent.mkdir(parents=True)
    folder.parent.write_text("a file where the folder should be")
    prepare_beside()
    assert not started


def test_a_fit_works_where_none_can_be_started(folder, started, monkeypatch, caplog):
    def refuse(root):
        raise PermissionError("no more processes")

    monkeypatch.setattr(threads, "_second", refuse)
    with caplog.at_level(logging.INFO, "hetcore.kernels"):
        assert fit().n_iterations_ == 1
    assert "no more processes" in caplog.text and not cache.PREPARING


@pytest.mark.parametrize(("imported", "cached", "expected"), [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_before_numba_is_there_one_is_started_if_nothing_was_ever_compiled(
    folder, started, monkeypatch, imported, cached, expected
):
    if not imported:
        monkeypatch.delitem(sys.modules, "numba")
    if cached:
        (folder.parent / "of some version").mkdir(parents=True)
    threads.prepare_early()
    assert len(started) == expected


def test_a_consensus_that_is_asked_for_starts_it_and_other_names_do_not(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "prepare_early", lambda: asked.append("early"))
    assert hetcore.__getattr__("HGBMRegressor") is HGBMRegressor and not asked
    assert hetcore.__getattr__("GBCClassifier").__name__ == "GBCClassifier" and asked == ["early"]


def test_waiting_ends_with_the_file_the_process_or_the_time(folder, started, monkeypatch):
    part = grower.search.part._cache
    part._wait()
    prepare_beside()
    monkeypatch.setattr(cache._PartCache, "patience", 2 * cache.OFTEN)
    part._wait()
    assert cache._PartCache.patience == 0  # nor is there any left for the next part
    monkeypatch.setattr(cache._PartCache, "patience", np.inf)
    part.file().touch()
    part._wait()
    part.file().unlink()
    started[0].ended.set()
    part._wait()
    assert not cache.PREPARING[0].is_alive()


def test_a_part_is_found_by_what_calls_it_in_another_process(folder, fresh):
    first, second = fresh(), fresh()
    first.double.part.compile((float64,))
    assert second.caller(2.0) == 5.0
    assert (hits(first.double.part), hits(second.double.part)) == (0, 1)
    # beside it lies the kernel of the same name
    assert second.double(2.0) == 4.0 and hits(second.double) == 0
    assert fresh().double(2.0) == 4.0


def test_forms_of_a_part_by_several_processes_stay_side_by_side(folder, fresh):
    fresh().double.part.compile((float64,))
    fresh().double.part.compile((int64,))
    third = fresh()
    assert (third.caller(2.0), third.caller(2)) == (5.0, 5)
    assert hits(third.double.part) == 2


def test_the_second_process_has_the_modules_and_the_cache_of_the_first(folder, tmp_path, monkeypatch):
    (tmp_path / "found.py").write_text("import os\ndef prepare(): open(os.environ['HETCORE_CACHE'] + '/ran', 'x')")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder.mkdir(parents=True)
    assert threads._second(folder.parent, "found").wait() == 0
    assert (folder.parents[1] / "ran").exists()


@pytest.mark.slow
def test_what_is_prepared_is_what_trees_and_weights_ask_for(tmp_path):
    for code in (PREPARE, GROW):
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"HETCORE_CACHE": str(tmp_path)})
