"""Sources by path on a cluster: the workers that hold them read them, and the bits are those of a fit at home."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.consensus import table_views
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.errors import ClusterError, DataError
from tests.consensus.test_consensus import model, planted

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip
from hetcore.distributed import worker_actor  # noqa: E402
from tests.consensus.test_distributed import TwoWorkers, fit_on, same, threads  # noqa: E402, F401 - a fixture


@pytest.fixture
def data(tmp_path):
    """Planted data whose tables are in files, two each."""
    held, _ = planted("regression")
    for name, source in held.sources.items():
        (tmp_path / name).mkdir()
        table = source.frame.clone().insert_column(0, source.id_series)
        # of all but the first, records in another order than the instances
        table = table if name == held.source_names[0] else table.reverse()
        for number, part in enumerate((table[:30], table[30:])):
            part.write_parquet(tmp_path / name / f"{number}.parquet")
    known = pl.DataFrame({"id": held.id_series, "y": held.y}).filter(pl.Series(held.labelled))
    edges = {name: graph.to_frame() for name, graph in held.graphs.items()}
    return hc.HetData.scan({name: tmp_path / name for name in held.sources}, edges, known)


@pytest.fixture
def unread(monkeypatch):
    """From now on no table can be read in this process; workers of their own can."""
    yield lambda: monkeypatch.setattr(ParquetTable, "read", None)


class PathsAlone(TwoWorkers):
    """Workers that get what is sent to them as bytes, as over a wire."""

    def call(self, worker, method, *args):
        sent = pickle.dumps(args)
        # rows and labels, and never a value of a table
        assert method != "take" or len(sent) < 40_000
        return super().call(worker, method, *pickle.loads(sent))


def test_a_source_by_path_is_read_again_by_who_takes_it_over(data):
    asked = []
    here, there = (model("regression", True, lambda0=0.1, schedule="parallel") for _ in range(2))
    fit_on(PathsAlone(lambda what: asked.append(what) or len(asked) % 7 == 0), there, data)
    assert asked.count("take") > 2 and same(here.fit(data), there)


def test_a_worker_of_another_version_is_refused_at_the_start(data, threads, monkeypatch):  # noqa: F811
    monkeypatch.setattr(worker_actor.WorkerActor, "versions", lambda self: worker_actor.versions() | {"polars": "0.1"})
    with pytest.raises(ClusterError, match=r"has polars 0\.1 and this process \S+: install the same version there\.$"):
        distributed.fit(model("regression", True), data, threads[1])


def test_a_path_that_a_worker_can_not_read_is_named(data, threads, tmp_path):  # noqa: F811
    next(tmp_path.rglob("1.parquet")).unlink()
    with pytest.raises(DataError, match=r"1\.parquet' can't be read"):
        distributed.fit(model("regression", True), data, threads[1])


@pytest.mark.slow
def test_workers_read_what_they_hold_also_after_a_loss(data, client, unread):
    def kill(event):
        if event.index == 1:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    params = {"n_iterations": 4, "lambda1": 0.0}
    here = model("regression", True, schedule="parallel", **params).fit(data)
    unread()
    there = distributed.fit(model("regression", True, **params), data, client, [kill])
    assert same(here, there)
    # rows, labels and the ends of edges travel, and they do so again after a loss
    edges = 2 * 16 * sum(graph.n_edges for graph in data.graphs.values())
    loaded = there.history_["bytes:loaded"]
    assert 0 < loaded[2] < loaded[0] < 20 * data.n * len(data.sources) + edges


@pytest.mark.slow
def test_the_default_has_the_bits_too(data, client):
    here = model("regression", schedule="parallel", n_iterations=3).fit(data)
    assert same(here, distributed.fit(model("regression", n_iterations=3), data, client))


# ---- the default without joined tables -------------------------------------------------------------------------------


APART = {"join_tables": False, "n_iterations": 3, "lambda0": 0.3}


class Reading(TwoWorkers):
    """Workers that know which files each of them, and the process of the fit, has read."""

    def __init__(self, monkeypatch):
        super().__init__(lambda asked: False)
        self.at, self.tables = "fit", {}
        read = ParquetTable.read

        def noted(table, columns, start=0, stop=None):
            self.tables.setdefault(self.at, set()).update(table.paths)
            return read(table, columns, start, stop)

        monkeypatch.setattr(ParquetTable, "read", noted)

    def answer(self, call):
        self.at = call.worker.address
        try:
            return super().answer(call)
        finally:
            self.at = "fit"


def test_no_process_reads_more_than_its_sources(data, monkeypatch):
    workers = Reading(monkeypatch)
    workers.names = "abc"
    there = model("regression", schedule="parallel", random_state=0, **APART | {"base_learner": "tree"})
    fit_on(workers, there, data)
    # a tree view and an encoder of each of three tables, on three workers: nobody reads them all, and the fit none
    assert set(workers.tables) == set("abc")
    every = {path for source in data.sources.values() for path in source.table.paths}
    assert all(read < every for read in workers.tables.values())
    assert {view.split(" (")[0] for view in there.view_weights_} >= {f"table {name}" for name in data.sources}
    assert not any("joined" in view or "smoothed" in view for view in there.view_weights_)


@pytest.mark.parametrize("learner", ["both", "tree"])
def test_without_joined_tables_a_fit_by_path_has_the_bits_of_one_in_memory(data, learner):
    tables = {name: source.frame.clone().insert_column(0, source.id_series) for name, source in data.sources.items()}
    graphs = {name: graph.to_frame() for name, graph in data.graphs.items()}
    known = pl.DataFrame({"id": data.id_series, "y": data.y}).filter(pl.Series(data.labelled))
    held = hc.HetData(tables, graphs, known)
    settings = APART | {"base_learner": learner, "random_state": 0, "schedule": "parallel"}
    here, there = (model("regression", **settings).fit(each) for each in (held, data))
    assert same(here, there)
    assert (here.predict(held) == there.predict(data)).all()
    assert (here.contributions(held) == there.contributions(data)).all()


def test_a_model_without_joined_tables_is_saved_and_explains(data, tmp_path):
    made = model("regression", **APART).fit(data)
    hc.save(made, tmp_path / "model.het")
    again = hc.load(tmp_path / "model.het")
    assert (again.predict(data) == made.predict(data)).all() and again.get_params()["join_tables"] is False
    total = made.contributions(data, graphs=True).sum(axis=1) + data.y[data.labelled].astype(float).mean()
    np.testing.assert_allclose(total, made.predict(data), rtol=1e-9)
    # a table that is not there any more is missing, as ever
    fewer = hc.HetData(dict(list(data.sources.items())[:2]), data.graphs, (data.ids, data.y))
    assert np.isfinite(again.predict(fewer)).all()


def test_joined_tables_that_memory_can_not_hold_are_refused_by_path(data, monkeypatch):
    monkeypatch.setattr(table_views, "memory_bytes", lambda: 20.0 * 100 * 15 - 1)
    with pytest.raises(
        DataError, match=r"take 0\.0 GiB in one process, .*: set join_tables=False, or as_printed=True\.$"
    ):
        model("regression").fit(data)
    model("regression", **APART | {"base_learner": "tree"}).fit(data)
    monkeypatch.setattr(table_views, "memory_bytes", lambda: 20.0 * 100 * 15)
    model("regression", n_iterations=1, base_learner="tree").fit(data)


@pytest.mark.slow
def test_views_of_one_table_are_grown_where_it_is_and_no_table_is_read_here(data, client, unread):
    def kill(event):
        if event.index == 1:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    here = model("regression", schedule="parallel", **APART).fit(data)
    unread()
    assert same(here, distributed.fit(model("regression", **APART), data, client, [kill]))
