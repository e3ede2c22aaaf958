"""Tables whose records lie on several workers: the model file is that of a fit in one process."""

from __future__ import annotations

import os
import signal
from itertools import product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import hetcore as hc

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import binning, distributed, growing, model_files  # noqa: E402 - after the skip
from hetcore.base import boost  # noqa: E402
from hetcore.consensus.printed import algorithm1  # noqa: E402
from hetcore.data.reading.parquet_files import ParquetTable  # noqa: E402
from hetcore.distributed import sharded_executor  # noqa: E402
from hetcore.distributed.histogram_trees import (  # noqa: E402
    Columns,
    PartRows,
    added_up,
    grow_from_histograms,
    layout_for,
)
from hetcore.distributed.row_shards import ranges_of  # noqa: E402
from hetcore.errors import DataError  # noqa: E402
from hetcore.kernels.packed_sums import absolute_sums  # noqa: E402
from hetcore.trees import BinMapper, TreeParams, grow  # noqa: E402
from tests.clusters import PATIENCE  # noqa: E402
from tests.consensus.test_consensus import TASKS, planted  # noqa: E402
from tests.consensus.test_distributed import same  # noqa: E402
from tests.consensus.test_distributed_counts import PRINTED, Workers, made  # noqa: E402

DEFAULT = {"join_tables": False, "base_learner": "tree", "n_iterations": 3, "max_depth": 3}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(algorithm1, "BLOCK", 16)


def fit_sharded(workers, there, data, shard_rows):
    """Fit with actors that stand in for a cluster's, records dealt out by ranges."""
    executor = sharded_executor.ShardedExecutor(SimpleNamespace(scheduler=SimpleNamespace(address="")), shard_rows)
    executor._workers = workers
    problem = there._problem(data, None, None)
    boost(there, lambda: there._start(problem, executor))
    return there


def by_path(held, folder, order):
    """Return data whose tables are in files, two each, rows in another order, some without an id."""
    for name, source in held.sources.items():
        (folder / name).mkdir()
        table = source.frame.clone().insert_column(0, source.id_series)[order(source.n_rows)]
        table = pl.concat([table[:20], table[:3].with_columns(pl.lit(None, pl.String).alias("id")), table[20:]])
        for number, part in enumerate((table[:30], table[30:])):
            part.write_parquet(folder / name / f"{number}.parquet")
    known = pl.DataFrame({"id": held.id_series, "y": held.y}).filter(pl.Series(held.labelled))
    edges = {name: graph.to_frame() for name, graph in held.graphs.items()}
    return hc.HetData.scan({name: folder / name for name in held.sources}, edges, known)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("names, shard_rows", [("a", 16), ("ab", 50), ("abcd", 30), ("ab", 1000)])
def test_the_file_is_that_of_one_process(task, names, shard_rows):
    data, _ = planted(task)
    here, there = made(task, **PRINTED), made(task, **PRINTED)
    fit_sharded(Workers(names), there, data, shard_rows)
    assert same(here.fit(data), there)


def test_thresholds_are_of_the_rows_that_one_process_draws(monkeypatch):
    monkeypatch.setattr(binning, "_SAMPLE", 30)
    data, _ = planted("regression", n=90)  # of other tests' data the thresholds are known
    here, there = made(**PRINTED), made(**PRINTED)
    fit_sharded(Workers("ab"), there, data, 40)
    assert same(here.fit(data), there)


def test_the_consensus_travels_once_a_round():
    data, _ = planted("regression", n_graphs=0)
    there = made(**PRINTED | {"max_depth": 1})
    fit_sharded(Workers("ab"), there, data, 32)
    first, second, *_ = there.history_["bytes:sent"].to_list()
    # more is asked of the first: E of before the fit, the sum for which each of 4 ranges' tables has a weight
    assert first - second == 8 * data.n + 8 * 4 * len(data.sources)


TEMPERED = {"relative_lambda": True, "left_out_weights": True, "weights": "learned", "pull": "all"}


@pytest.mark.parametrize("changes", [TEMPERED, {"lambda0": 0.0, "lambda1": 0.0, "max_depth": -1}])
def test_other_settings_too(changes):
    data, _ = planted("classification", n_classes=3, n=60)
    params = PRINTED | {"n_iterations": 2} | changes
    here, there = made("classification", **params), made("classification", **params)
    fit_sharded(Workers("ab"), there, data, 20)
    assert same(here.fit(data), there)


def test_a_table_with_records_in_one_range_alone_and_no_label():
    held, _ = planted("regression", n_graphs=0)
    few = hc.Source(["new 1", "new 2"], np.array([[0.0, 1.0], [1.0, np.nan]]))
    data = hc.HetData(held.sources | {"few": few}, {}, (held.ids, held.y))
    here, there = made(**PRINTED), made(**PRINTED)
    fit_sharded(Workers("ab"), there, data, 32)
    assert same(here.fit(data), there)


@pytest.mark.parametrize("order", [np.arange, np.random.default_rng(0).permutation], ids=["in order", "mixed"])
def test_tables_by_path_are_read_by_their_shards_alone(tmp_path, order, monkeypatch):
    data = by_path(planted("regression")[0], tmp_path, order)
    here, there = made(**PRINTED).fit(data), made(**PRINTED)
    heights, read = [], ParquetTable.read

    def noted(table, columns, start=0, stop=None):
        found = read(table, columns, start, stop)
        heights.append(found.height / table.height)
        return found

    monkeypatch.setattr(ParquetTable, "read", noted)
    fit_sharded(Workers("abc"), there, data, 33)
    assert same(here, there)
    # in order: nobody reads more than a part of a table
    assert order is not np.arange or max(heights) < 0.6


# the 54th question is in the second round, before which E was told
LOSSES = [*product(["take", "sampled", "add_up", "alone_sums"], [1, 9]), ("do", 1), ("do", 54)]


@pytest.mark.parametrize("what, nth", LOSSES)
def test_a_loss_at_any_step_is_survived(what, nth):
    data, _ = planted("regression", n=40)
    params = PRINTED | {"n_iterations": 3}
    here, there = made(**params), made(**params)
    workers = Workers("abc")
    workers.loses = lambda asked: asked == what and workers.asked.count(what) == nth
    fit_sharded(workers, there, data, 16)
    assert same(here.fit(data), there)


@pytest.mark.parametrize("shape", [(1, 0), (1, 1), (3, 3)])
@pytest.mark.parametrize("seed", range(12))
def test_a_tree_from_histograms_of_parts_is_that_of_all_rows(seed, shape, monkeypatch):
    # of some there is no room for all histograms that wait
    monkeypatch.setattr(growing, "_POOL_BYTES", [256 << 20, 1, 40_000][seed % 3])
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(5, 700)), 4)), seed % 3).astype(np.float32)
    X[rng.random(X.shape) < 0.2 * (seed % 2)] = np.nan
    mapper = BinMapper(64).fit(X)
    binned, params = mapper.transform(X), TreeParams([1, 3, -1][seed % 3], -1, 1 + seed % 4, 1e-3, 0.5 * (seed % 2))
    gradients = (np.nan_to_num(X[:, :1]) + rng.normal(size=(len(X), shape[0]))).astype(np.float32)
    hessians, some = rng.random((len(X), shape[1])).astype(np.float32), rng.random(len(X)) < 0.8
    rows, cuts = np.flatnonzero(some).astype(np.int32), sorted(rng.integers(0, len(X), 2))
    chosen = np.array([[0, 1, 2, 3], [0, 2, 3]][seed % 2], np.int32)
    given = gradients, hessians if shape[1] else None, rows, chosen
    whole = grow(binned, *given, params=params, n_bins=mapper.n_bins)
    columns, sums = Columns.of(mapper.n_bins, chosen), np.zeros(growing.n_words(*shape))
    layout = layout_for(sums, absolute_sums(gradients, hessians, rows, sums), shape, rows.size.bit_length())
    pool = growing.Pool.of(params, rows.size, int(columns.offsets[-1]), chosen.size, sums.size)
    parts = [PartRows(np.ascontiguousarray(each), layout, columns) for each in np.split(binned, cuts, axis=1)]
    own = [(*pair, np.flatnonzero(few).astype(np.uint32)) for *pair, few in zip(
        *(np.split(each, cuts) for each in (gradients, hessians, some))
    )]  # fmt: skip
    tree = drive(grow_from_histograms(columns, layout, params, pool), sums.size, parts, own)
    assert tree.nodes.tobytes() == whole.nodes.tobytes() and tree.values.tobytes() == whole.values.tobytes()
    # one of the parts has most of the rows, and another may have none
    assert len(tree.nodes) > 1


def drive(growing_tree, width, parts, own):
    """Grow a tree from the histograms of parts, each of which has gradients, hessians and rows of its own."""
    splits = next(growing_tree)
    with pytest.raises(StopIteration) as ended:
        while True:
            found = [part.split(splits) if splits else part.start(*each) for part, each in zip(parts, own)]
            splits = growing_tree.send(added_up(found, width))
    return ended.value.value


def test_slopes_that_are_not_finite_or_bend_down_are_refused():
    with pytest.raises(DataError, match="not all finite"):
        layout_for(np.array([np.inf]), 0.0, (1, 0), 3)
    with pytest.raises(DataError, match="must not be negative"):
        layout_for(np.ones(2), -1.0, (1, 1), 3)


def test_ranges_are_of_whole_blocks():
    assert ranges_of(100, 16, 33) == [(0, 32), (32, 64), (64, 100)]
    assert ranges_of(100, 16, 50) == [(0, 48), (48, 100)]
    assert ranges_of(100, 16, 1) == [(a, min(a + 16, 100)) for a in range(0, 100, 16)]
    assert ranges_of(10, 16, 5) == [(0, 10)]


def test_what_fits_a_worker_is_not_cut():
    data, _ = planted("regression")

    def cluster_of(limit, n_workers=2):
        workers = [(name, {"memory_limit": limit}) for name in range(n_workers)]

        def scheduler_info(n_workers=5):  # as of Dask 2026.1, where -1 are all
            return {"workers": dict(workers if n_workers < 0 else workers[:n_workers])}

        return SimpleNamespace(scheduler_info=scheduler_info)

    largest = max(source.n_rows * (source.n_columns + 100) for source in data.sources.values())
    assert sharded_executor.rows_that_fit(cluster_of(2 * largest), data, 1) is None
    assert sharded_executor.rows_that_fit(cluster_of(0), data, 1) is None
    assert 1 <= sharded_executor.rows_that_fit(cluster_of(2 * largest - 2), data, 1) <= 50
    assert sharded_executor.rows_that_fit(cluster_of(2 * largest - 2, 20), data, 1) == -(-data.n // 20)


@pytest.mark.slow
@pytest.mark.parametrize("params", [PRINTED, DEFAULT], ids=["printed", "default"])
def test_one_two_and_four_shards_on_a_cluster_that_loses_a_worker(params, tmp_path, client):
    data = by_path(planted("classification")[0], tmp_path, np.arange)

    def kill(event):
        if event.index == 1:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    files = [model_files.dumps(made("classification", **params).fit(data))]
    for shard_rows, callbacks in ((1000, []), (60, [kill]), (30, [])):
        client.wait_for_workers(2, PATIENCE)
        there = made("classification", **params)
        distributed.fit(there, data, client, callbacks, shard_rows=shard_rows)
        files.append(model_files.dumps(there))
    assert len(set(files)) == 1
