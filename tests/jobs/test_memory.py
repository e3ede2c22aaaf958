"""What a training needs in memory is told before it begins, and one that can't fit is refused with both numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from benchmarks.speed.memory import CASES
from benchmarks.speed.memory_data import Size
from hetcore.consensus.repeated import MOST_INSTANCES
from hetcore.data import HetData
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.registry import METHODS
from studio.jobs import manager as jobs
from studio.jobs import memory
from studio.limits import GIB, JobLimits
from tests.house.test_house import ROOT
from tests.jobs.running import PATIENCE

ROOMY = JobLimits(workers=1, memory=64 * GIB)
SMALL = Size(400, 5, 3, 4)


def task(estimator="GBCClassifier", size=SMALL, **more):
    case = CASES[estimator]
    return jobs.TrainingTask(estimator, case.params, case.make(size), form=case.form, **more)


def test_up_to_as_many_rows_as_have_several_fits_a_consensus_needs_as_much_for_them():
    # the studio's own process does not load the library's kernels, so that it has a number of its own
    assert memory.SMALL == MOST_INSTANCES


@pytest.mark.parametrize("estimator", CASES)
def test_more_of_anything_needs_more(estimator):
    least = memory.needed(task(estimator))
    assert 0 < least < GIB
    assert memory.needed(task(estimator, SMALL._replace(n=4_000))) > least
    if estimator not in ("HMF", "HTF"):
        assert memory.needed(task(estimator, SMALL._replace(d=50))) > least


def test_classes_and_links_count():
    classes, links = SMALL._replace(n_classes=20), SMALL._replace(links=40)
    for more in (classes, links):
        assert memory.needed(task(size=more)) > memory.needed(task())


def test_a_table_by_path_is_estimated_by_its_rows_and_types_and_not_read(tmp_path, monkeypatch):
    ids = [f"i{k}" for k in range(5_000)]
    data = HetData({"a": pl.DataFrame({"id": ids, "x": np.arange(5e3), "y": np.ones(5_000)})})
    data.sources["a"].frame.with_columns(id=data.id_series).write_parquet(tmp_path / "a.parquet")
    by_path = HetData.scan({"a": tmp_path / "a.parquet"})
    monkeypatch.setattr(ParquetTable, "read", lambda *_: pytest.fail("the table was read"))
    params = CASES["GBCClassifier"].params
    tasks = [jobs.TrainingTask("GBCClassifier", params, each) for each in (data, by_path)]
    assert memory.needed(tasks[1]) == pytest.approx(memory.needed(tasks[0]), rel=0.01)


def test_thousands_of_classes_are_refused_with_numbers_before_they_take_the_memory():
    n = 4_000
    ids, codes = [f"i{k}" for k in range(n)], [f"c{k % 2_000}" for k in range(n)]
    table, target = pl.DataFrame({"id": ids, "x": range(n)}), pl.DataFrame({"id": ids, "y": codes})
    given = jobs.TrainingTask("GBCClassifier", {"n_iterations": 5}, HetData({"t": table}, target=target))
    limits = JobLimits(workers=1, memory=3 * GIB)
    words = memory.why_not(given, limits)
    assert "choose a label of fewer than its 2,000 classes, or sample the instances." in words
    assert memory.why_not(task(), limits) == ""


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "sample", "fraction": 0.3, "seed": 0},
        {"op": "drop_source", "name": "s0"},
        {"op": "drop_graph", "name": "g"},
    ],
)
def test_what_the_sentence_advises_helps(operation):
    size = Size(20_000, 5, 3, 4)
    assert memory.needed(task(size=size, operations=[operation])) < memory.needed(task(size=size))


def test_plain_arrays_are_estimated_too():
    given = {"X": np.zeros((1_000, 50)), "y": np.zeros(1_000)}
    assert memory.needed(jobs.TrainingTask("HGBMRegressor", {}, given)) > given["X"].nbytes


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_numbers_of_its_own(name):
    assert memory.need_of(name).cell > 0 and memory.need_of("Other") == memory.OTHERS


def test_what_can_not_fit_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda limits: int(0.01 * GIB))
    words = memory.why_not(task(size=Size(20_000, 20, 3, 4)), ROOMY)
    assert words.startswith("The training needs about 1.") and "GB, 0.0 GB are free for a training" in words
    assert words.endswith("drop sources, or sample the instances.")
    assert memory.why_not(jobs.FunctionTask("studio.views.common.layouts:layout"), ROOMY) == ""


def test_all_rows_by_path_are_refused_before_minutes_are_lost():
    # 20 million instances, eight tables of five columns, four fifths of the records: they fitted 21 GiB, not 9.4
    tables = [(16_000_000, 5)] * 8
    words = memory.why_not_by_path(tables, 1, True, ROOMY._replace(memory=int(9.4 * GIB)))
    assert words.startswith("The training needs about 17.5 GB, 7.4 GB are free for a training: leave tables out, train")
    assert memory.why_not_by_path(tables, 1, True, ROOMY._replace(memory=21 * GIB)) == ""
    for more in ((tables * 2, 1, True), ([(16_000_000, 50)] * 8, 1, True), (tables, 7, True), (tables, 1, False)):
        assert memory.needed_by_path(*more) > memory.needed_by_path(tables, 1, True)


def test_what_fits_is_not_refused():
    assert memory.why_not(task(), ROOMY) == ""


def test_free_is_what_the_process_and_the_machine_leave(monkeypatch):
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: type("", (), {"available": 5 * GIB}))
    assert memory.free(ROOMY) == 5 * GIB
    assert memory.free(ROOMY._replace(memory=4 * GIB)) == 4 * GIB - memory.PROCESS
    assert memory.free(ROOMY._replace(memory=GIB)) == 0


def test_the_manager_refuses_and_the_page_says_why(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda limits: 1)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    page.switch_page("pages/2_Consensus.py").run()
    next(button for button in page.button if button.key == "train").click().run()
    assert not page.exception
    assert [error.value for error in page.error if "GB are free for a training" in error.value]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["GBCRegressor", "HGBMRegressor"])
def test_the_estimate_covers_what_the_process_takes(estimator):
    manager = jobs.Manager(ROOMY, compiled=False)
    try:
        finish(manager, task(estimator, SMALL._replace(n_classes=0)))
        pid = manager.workers[0].pid
        before, asked = kibibytes(pid, "VmRSS"), task(estimator, Size(15_000, 20, 0, 4))
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        finish(manager, asked)
        taken = 1024 * (kibibytes(pid, "VmHWM") - before)
    finally:
        manager.close()
    assert taken <= memory.needed(asked) <= 4 * taken


def finish(manager, asked):
    assert manager.wait(manager.submit(asked), timeout=PATIENCE).state == "finished"


def kibibytes(pid, name):
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines[name].split()[0])
