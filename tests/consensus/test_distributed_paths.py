"""Sources by path on a cluster: the workers that hold them read them, and the bits are those of a fit at home."""

from __future__ import annotations

import os
import pickle
import signal

import polars as pl
import pytest

import hetcore as hc
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.errors import ClusterError, DataError
from tests.consensus.test_consensus import model, planted

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip
from hetcore.distributed import worker_actor  # noqa: E402
from tests.consensus.test_distributed import (  # noqa: E402, F401 - fixtures
    TwoWorkers,
    client,
    cluster,
    fit_on,
    same,
    shared_client,
    threads,
)


@pytest.fixture
def data(tmp_path):
    """Planted data whose tables are in files, two each."""
    held, _ = planted("regression")
    for name, source in held.sources.items():
        (tmp_path / name).mkdir()
        table = source.frame.insert_column(0, source.id_series)
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
def test_workers_read_what_they_hold_also_after_a_loss(data, client, unread):  # noqa: F811
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
def test_the_default_has_the_bits_too(data, client):  # noqa: F811
    here = model("regression", schedule="parallel", n_iterations=3).fit(data)
    assert same(here, distributed.fit(model("regression", n_iterations=3), data, client))
