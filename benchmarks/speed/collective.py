"""Time collective inference: against a straightforward NumPy and networkx version, and against reading the graph once.

    python -m benchmarks.speed.collective paper    # 10,770 nodes, 212,460 edges, M = 10, t = 3, 50 sweeps
    python -m benchmarks.speed.collective large    # 1,000,000 nodes, 10,000,000 edges
    python -m benchmarks.speed.collective trees    # a tree of GBRegressor, and one of LightGBM

The straightforward version infers as the paper's Algorithm 4 reads: networkx neighbours, np.median, a tree walked node
by node in Python, every instance visited in every sweep. It is timed on a sample of the visits that its sweeps make and
scaled up to all of them, as it would run for hours; ours is timed whole. Seconds are of the processor, one thread.

A tree's time is that of a whole fit and prediction, from the table to the numbers, over the trees grown: LightGBM grows
as many on as many rows, with the same depth, shares of rows and columns, and fewest rows of a leaf.
"""

from __future__ import annotations

import argparse
import resource
import time
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import scipy.sparse

import hetcore as hc
from hetcore.collective.inference import Inference, net_of
from hetcore.kernels.collective_sweeps import STAGE, sweep
from hetcore.kernels.warm import warm_up

SIZES = {"paper": (10_770, 212_460), "large": (1_000_000, 10_000_000)}


def make(n: int, n_edges: int, n_columns: int = 20, seed: int = 0) -> tuple[hc.HetData, Any]:
    """Return data whose targets are alike along the links, and the labels of half of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_columns)).astype(np.float32)
    u = np.sort(rng.standard_normal(n))
    a = rng.integers(0, n, int(1.06 * n_edges))
    b = np.clip(a + np.rint(rng.normal(0, n / 20, a.size)).astype(np.int64), 0, n - 1)
    keep = a != b
    a, b = np.minimum(a, b)[keep], np.maximum(a, b)[keep]
    keys = np.unique(a * n + b)
    keys = np.sort(rng.permutation(keys)[:n_edges])
    ids = pl.Series("id", np.arange(n)).cast(pl.String)
    matrix = scipy.sparse.coo_array((np.ones(keys.size, np.float32), (keys // n, keys % n)), shape=(n, n))
    y = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], 0.0) + u + 0.5 * rng.standard_normal(n)
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(n_columns)]).insert_column(0, ids)
    data = hc.HetData({"table": table}, {"links": (ids, matrix)}, pl.DataFrame({"id": ids, "y": y}))
    return data, np.where(rng.random(n) < 0.5, y, np.nan)


def printed(n_rounds: int = 3, sweeps: int = 50) -> hc.MGBRegressor:
    """Return the model that is timed."""
    return hc.MGBRegressor(as_printed=True, n_iterations=10, n_rounds=n_rounds, sweeps=sweeps)


class Straightforward:
    """Algorithm 4 in Python: one visit of one instance goes through all stages."""

    def __init__(self, data: hc.HetData, model: Any) -> None:
        memory, stack = model.model_, model.model_.stack
        a, b, _ = data.graphs["links"].edges()
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(data.n))
        self.graph.add_edges_from(zip(a.tolist(), b.tolist()))
        self.messages = np.zeros((data.n, memory.messages.shape[1]))
        known = np.isin(data.ids, memory.ids.to_numpy())
        self.messages[[data.position[each] for each in memory.ids]] = memory.messages
        net = net_of([data.graphs["links"]], data.n, False)
        self.bins = memory.columns.bins(data, net, self.messages[:, :1], known).T
        self.trees = [
            {name: stack.nodes[name][s:e].tolist() for name in stack.nodes.dtype.names}
            | {"cuts": stack.cuts[s:e].tolist(), "values": stack.values[s:e, 0].tolist()}
            for s, e in zip(stack.starts[:-1], stack.starts[1:])
        ]

    def visit(self, i: int) -> None:
        """Recompute the features of i from its neighbours, and its prediction at every stage."""
        near = list(self.graph.neighbors(i))
        score, scores = 0.0, []
        for m, tree in enumerate(self.trees):
            rf1 = np.median(self.messages[near, 0]) if near else 0.0
            rf2 = np.median(self.messages[near, m]) if near and m else 0.0
            rf3 = np.median(self.messages[near, m - 1]) if near and m else 0.0
            score += self._leaf(tree, i, [rf1, rf2, rf3, len(near), score])
            scores.append(score)
        self.messages[i] = [scores[0], *np.diff(scores)]

    def _leaf(self, tree: dict[str, Any], i: int, columns: list[float]) -> float:
        node, d = 0, self.bins.shape[1]
        while tree["left"][node] >= 0:
            feature = tree["feature"][node]
            if feature < d:
                left = self.bins[i, feature] <= tree["threshold_bin"][node]
            else:
                left = columns[feature - d] <= tree["cuts"][node]
            node = tree["left"][node] if left else tree["right"][node]
        return tree["values"][node]


def compare(sample: int = 400) -> None:
    """Time a fit of the paper's size, and the visits that the straightforward version makes for the same inference."""
    data, y = make(*SIZES["paper"])
    printed().fit(data, y)  # the first loads what is compiled
    times = [_timed(lambda: printed().fit(data, y)) for _ in range(5)]
    fit, model = float(np.median(times)), printed().fit(data, y)
    labelled = int((~np.isnan(y)).sum())
    unknown = np.flatnonzero(np.isnan(y))
    slow = Straightforward(data, model)
    chosen = np.random.default_rng(0).choice(unknown, sample, replace=False)
    started = time.process_time()
    for i in chosen:
        slow.visit(int(i))
    visit = (time.process_time() - started) / sample
    # 3 rounds of a fifth of the labels after each stage m, 50 sweeps through m + 1 of the 11 stages
    visits = sum(3 * labelled / 5 * 50 * (m + 1) / 11 for m in range(11))
    print(f"{data.n:,} nodes, {data.graphs['links'].n_edges:,} edges, M = 10, t = 3, at most 50 sweeps")
    print(f"fit: {fit:.2f} s (median of 5)")
    print(f"straightforward: {1e3 * visit:.2f} ms a visit, {visits:,.0f} visits of all stages: {visit * visits:,.0f} s")
    print(f"ratio: {visit * visits / fit:,.0f}")
    _one_sweep(data, model, unknown, visit)


def _one_sweep(data: hc.HetData, model: Any, unknown: Any, visit: float) -> None:
    """Time a whole inference of the unlabelled against the straightforward visits of the same sweeps."""
    times = []
    for _ in range(5):
        started = time.process_time()
        trace = model.sweep_trace(data, [])
        times.append(time.process_time() - started)
    median, sweeps = float(np.median(times)), len(trace) - 1
    theirs = visit * unknown.size * sweeps
    print(f"predict, {sweeps} sweeps: {median:.3f} s (median of 5), straightforward {theirs:,.0f} s")
    print(f"ratio: {theirs / median:,.0f}")


def large() -> None:
    """Time sweeps over a large graph against one plain read of it, and print the memory used at most."""
    data, y = make(*SIZES["large"])
    started = time.process_time()
    model = printed(n_rounds=1, sweeps=5).fit(data, y)
    words = "fit with M = 10, t = 1, at most 5 sweeps"
    print(f"{data.n:,} nodes, {data.graphs['links'].n_edges:,} edges: {words}: {time.process_time() - started:.0f} s")
    # before the sweeps below, which hold a second net, messages and bins that no fit has
    print(f"memory at most, data and fit: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")
    _sweeps(data, model)


def _sweeps(data: hc.HetData, model: Any) -> None:
    memory, graph = model.model_, data.graphs["links"]
    net = net_of([graph], data.n, weighted=False)
    known = np.zeros(data.n, bool)
    known[[data.position[each] for each in memory.ids]] = True
    view = Inference.over(net, memory.aggregation, memory.messages.shape[1] - 1, 1, known)
    view.state.messages[known] = memory.messages
    _, bins = memory.columns.table(data, net, view.state.messages[:, :1], known, np.full(data.n, -1))
    stages = memory.stack.ready(np.ascontiguousarray(bins.T), memory.scale, None, STAGE)
    view.begin(stages, 1.0)
    read = min(_timed(lambda: (int(net.indices.sum(dtype=np.int64)), float(net.weights.sum()))) for _ in range(5))
    waiting = np.ones(data.n, bool)
    order = np.random.default_rng(0).permutation(view.unknown)
    args = net, view.aggregation, stages, view.state, order, waiting
    times = [_timed(partial(sweep, *args, skip, 1.0, 0.0)) for skip in (False, True, True)]
    print(f"one plain read of the CSR: {read:.3f} s")
    for words, seconds in zip(("every instance", "skipping, the next", "skipping, the one after"), times):
        print(f"one sweep of 11 stages, {words}: {seconds:.2f} s, {seconds / read:.0f} reads")


def trees(n: int = 20_000, n_columns: int = 50, count: int = 50, repeats: int = 3) -> None:
    """Time trees of the public estimator, six views of them, and LightGBM's, in turn; print the medians a tree."""
    import lightgbm

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_columns)).astype(np.float32)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.standard_normal(n)
    ids = pl.Series("id", np.arange(n)).cast(pl.String)
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(n_columns)]).insert_column(0, ids)
    data = hc.HetData({"table": table}, None, pl.DataFrame({"id": ids, "y": y}))
    labels = np.where(rng.random(n) < 0.5, y, np.nan)
    views, known = 6, np.flatnonzero(~np.isnan(labels))
    rule = {"learning_rate": 0.05, "max_depth": 4, "min_samples_leaf": 10, "column_sample": 0.5, "linear": False}
    model = hc.GBRegressor(n_iterations=1, trees_per_stage=1, first_trees=count, patience=count, **rule)
    used = known[: known.size * 5 // 6]  # the mean of a view of every label and five of four fifths
    options = {"objective": "l2", "learning_rate": 0.05, "max_depth": 4, "num_leaves": 16, "min_data_in_leaf": 10}
    options |= {"lambda_l2": 1.0, "bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.5}
    options |= {"num_threads": 1, "verbose": -1}

    def theirs() -> None:
        dataset = lightgbm.Dataset(X[used], y[used], params=options)
        lightgbm.train(options, dataset, views * (count + 1)).predict(X, num_threads=1)

    def ours() -> None:
        model.fit(data, labels).predict(data)

    ours()
    times = [(_timed(ours), _timed(theirs)) for _ in range(repeats)]
    a, b = (1e3 * float(np.median(each)) / (views * (count + 1)) for each in zip(*times))
    print(f"{n:,} x {n_columns}, half labelled, {views * (count + 1)} trees, fit and prediction")
    print(f"GBRegressor: {a:.2f} ms a tree; LightGBM: {b:.2f} ms; ratio {a / b:.2f}")


def _timed(run: Any) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", choices=[*SIZES, "trees"])
    warm_up()
    {"paper": compare, "large": large, "trees": trees}[parser.parse_args().size]()


if __name__ == "__main__":
    main()
