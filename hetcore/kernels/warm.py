"""Compile every kernel, or load it from the cache, before the first user waits for one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import config, typeof

from hetcore.kernels import (
    adam,
    binning,
    boosted_votes,
    collective_columns,
    collective_sweeps,
    csr,
    draws,
    factorization,
    grower,
    medians,
    members,
    oblivious,
    predictor,
    simplex,
)
from hetcore.kernels import packed_sums as fixed
from hetcore.kernels.cache import cache_folder, is_missing
from hetcore.kernels.layout import (
    LEAF_DTYPE,
    N_STATE,
    NODE_DTYPE,
    PackedLayout,
    Problem,
    TreeParams,
    Work,
    make_scratch,
)
from hetcore.kernels.threads import PREPARING, start_second

__all__ = ["prepare", "prepare_beside", "warm_up"]


def _bins() -> None:
    binning.find_thresholds(np.arange(4, dtype=np.float32), 3, np.empty(254, np.float32))
    cuts = np.full((2, 256), np.inf, np.float32)
    binning.bin_values(np.zeros((3, 2), np.float32), cuts, np.ones(2, np.int32), np.empty((2, 3), np.uint8))


def _tree() -> None:
    gradients, rows, problem, work = _toy()
    values, row_leaf = np.zeros((3, 1)), np.zeros(3, np.int32)
    fixed.pack_rows(gradients, gradients, rows, problem.packed, problem.layout)
    grower.grow_tree(problem, TreeParams(), work, make_scratch(4, 1), values, row_leaf, grower.WHOLE)


def _members() -> None:
    gradients, problem, parts, work, grown = _toy_member()
    scratch, limits, given = make_scratch(4, 1), TreeParams(), gradients[None]
    buffers, begins = np.zeros((3, 3), np.uint32), np.zeros((3, 2), np.int64)
    members.grow_members(problem, parts, 0, 1, limits, work, scratch, given, given.copy(), grown, buffers, begins)
    members.add_members(np.zeros((1, 3, 1)), grown.leaves, grown.values, 1.0)


def _rounds() -> None:
    gradients, problem, parts, work, grown = _toy_member()
    room = TreeParams(), work, make_scratch(4, 1)
    given, buffers, begins = gradients[None], np.zeros((3, 3), np.uint32), np.zeros((3, 2), np.int64)
    learned = np.zeros((3, 1)), np.zeros((1, 3, 1)), np.zeros((1, 3, 1)), 1.0
    slopes = given, given.copy()
    members.grow_rounds(problem, parts, (0, 1), (0, 1, 1), *room, learned, slopes, grown, buffers, begins)


def _boosted() -> None:
    gradients, problem, parts, work, grown = _toy_member()
    room = TreeParams(), work, make_scratch(4, 1), *_boosting(gradients), grown
    members.boost_members(
        problem, parts, (0, 1), (0, 1, 1), *room, np.zeros((3, 3), np.uint32), np.zeros((3, 2), np.int64)
    )


def _folds() -> None:
    one = np.zeros(1, np.int64)
    members.farthest(np.zeros((1, 3, 1)), 3)
    draws.draw_sets(np.ones(6, np.uint64), one + 2, one + 1, np.zeros(2, np.bool_), one)


def _oblivious() -> None:
    gradients, problem, parts, _, grown = _toy_member()
    given = *_boosting(gradients), grown, np.zeros((3, 3), np.uint32), np.zeros((3, 2), np.int64)
    oblivious.boost_oblivious(problem.binned, parts, (0, 1), (0, 1, 1), TreeParams(), _levels(), *given)


def _boosting(gradients: np.ndarray) -> tuple[tuple, tuple]:
    """Return scores and labels of three rows, and room for their slopes."""
    boosted = np.zeros((1, 3, 1)), np.zeros((3, 1)), np.zeros((1, 0, 1)), np.float32(1.0), 1.0, np.inf
    return boosted, (gradients[None], gradients[None].copy(), np.zeros((1, 1)))


def _votes() -> None:
    gradients, problem, parts, work, grown = _toy_member()
    rule = boosted_votes.VoteRule(np.ones(3), np.zeros(3, np.int64), False, 1.0, 1.0, 1.0, 1.0, 0.0, -1.0)
    counters, given = np.zeros(4, np.int64), (gradients[None].copy(), gradients[None].copy())
    state = boosted_votes.VoteState(np.zeros(3), *given, np.zeros(2), counters)
    sizes, alphas, votes = np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 3))
    kept = boosted_votes.KeptVotes(np.zeros((1, 3), NODE_DTYPE), np.zeros((1, 3, 1)), sizes, alphas, votes)
    room = TreeParams(), work, make_scratch(4, 1), np.zeros((3, 3), np.uint32), np.zeros((3, 2), np.int64)
    boosted_votes.boost_votes(problem, parts, *room, grown, rule, state, kept, 1)


def _levels() -> oblivious.Levels:
    """Return room for an oblivious tree over three rows of one column."""
    order, ends, leaf = (np.empty(shape, np.uint32) for shape in ((1, 3), (1, 256), 3))
    bins = np.empty((1, 256), np.uint8), ends, np.empty(1, np.int64), np.empty(257, np.int64)
    sums = np.empty((2, 2)), np.empty((2, 2, 2)), np.empty(2), np.empty(2), np.empty(3), np.empty((3, 2)), np.empty(1)
    return oblivious.Levels(order, *bins, leaf, np.empty((3, 2), np.float32), *sums)


def _toy_member() -> tuple[np.ndarray, Problem, members.Parts, Work, members.Grown]:
    """Return gradients, and what a single member is grown from and to."""
    gradients, rows, problem, work = _toy()
    places = problem.columns[None], problem.n_bins[None], problem.offsets[None]
    one, leaves = np.zeros(1, np.int64), np.zeros((1, 3), np.int32)
    grown = members.Grown(np.zeros((1, 3), NODE_DTYPE), np.zeros((1, 3, 1)), one, leaves)
    return gradients, problem, members.Parts(rows, np.array([0, 3]), *places), work, grown


def _toy() -> tuple[np.ndarray, np.ndarray, Problem, Work]:
    """Return gradients, rows, and what a tree over three rows of one column is grown in."""
    gradients, rows = np.ones((3, 1), np.float32), np.arange(3, dtype=np.uint32)
    packed, layout = np.zeros((3, 4), np.int64), PackedLayout(np.ones(4), 1, 1, 2)
    columns, offsets = np.zeros(1, np.int32), np.array([0, 2])
    problem = Problem(np.zeros((1, 3), np.uint8), columns, columns + np.int32(1), offsets, packed, layout, 1)
    pool, totals, state = np.zeros((1, 2, 4), np.int64), np.zeros((3, 4), np.int64), np.zeros(N_STATE, np.int64)
    nodes, leaves, free = np.zeros(3, NODE_DTYPE), np.zeros(3, LEAF_DTYPE), np.zeros(1, np.int64)
    open_, found = np.zeros(3, np.int64), np.zeros((1, 2, 4))
    flat = pool.reshape(1, -1)
    work = Work(rows, rows.copy(), packed.copy(), pool, flat, free, nodes, leaves, totals, open_, state, found)
    return gradients, rows, problem, work


def _forest() -> None:
    binned, rows, nodes, values, out = _stump()
    predictor.predict_forest(binned, rows, nodes, values, np.array([0, 1]), np.ones(1), out)


def _leaves() -> None:
    binned, rows, nodes, values, out = _stump()
    leaf, one = np.zeros(3, np.int32), np.zeros(1, np.int64)
    predictor.find_leaves(binned, rows, nodes, leaf)
    predictor.add_leaf_values(out, leaf, values, 1.0)
    predictor.predict_parts(binned, rows, nodes, values, np.array([0, 1]), np.ones(1), one, np.zeros((3, 2)))


def _stump() -> tuple[np.ndarray, ...]:
    """Return bins of three rows, these rows, a tree of one leaf and its value, and room for predictions."""
    nodes = np.zeros(1, NODE_DTYPE)
    nodes["left"] = -1
    return np.zeros((1, 3), np.uint8), np.arange(3, dtype=np.uint32), nodes, np.zeros((1, 1)), np.zeros((3, 1))


def _medians() -> None:
    medians.leaf_medians(np.zeros(3, np.int32), np.zeros((3, 1)), np.ones(3), np.zeros((1, 1)))


def _links() -> None:
    pairs = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32), np.ones(2, np.float32)
    ends, indices, graphs = np.arange(2), np.zeros(2, np.int32), np.zeros(2, np.uint16)
    values = np.zeros(2, np.float32)
    csr.append_links(*pairs, np.ones(2), 0, ends, indices, values, graphs)
    starts, indptr, place = np.arange(3), np.zeros(3, np.int32), np.zeros(2, np.int32)
    csr.merge_links(0, 2, starts, indices, np.full(2, -1, np.int32), indptr, place)
    csr.weigh_links(starts, place, values, graphs, np.ones(1), indptr, np.zeros(2), True)
    csr.nearest_rows(np.zeros((1, 2)), np.zeros(1), np.zeros(2), ends[:1], 1.0, 1.0, np.zeros((1, 1), np.int64))


def _sums() -> None:
    starts, indices, values = np.arange(3), np.zeros(2, np.int32), np.zeros(2, np.float32)
    csr.neighbor_sums(starts.astype(np.int32), indices, values, np.zeros((2, 1)), np.ones(2))
    links = starts, indices, values, np.zeros(2, np.uint16), np.ones(1)
    csr.add_products(*links, np.zeros((2, 1), np.float32), np.zeros((2, 1)))
    csr.add_squares(*links, np.zeros((2, 1)), np.zeros(2), np.zeros((2, 1)))


def _weights() -> None:
    simplex.log_temperature(np.array([1.0, 2.0]))
    one, predicted = np.zeros(1, np.int64), np.zeros((1, 1, 1))
    simplex.sum_views(predicted, np.zeros(1), one, np.zeros((1, 1)), one, np.zeros((1, 1)))


def _factorization() -> None:
    order, values, totals = np.zeros(1, np.int64), np.zeros(1, np.float32), np.zeros(3)
    rates = factorization.Rates(*[np.float32(1.0)] * 9)
    for codes in (np.zeros((1, 2), np.int32), np.zeros((1, 3), np.int32)):
        column, table = np.ones(1, np.float32), np.ones((1, 16), np.float32)
        factors = factorization.Factors(column, table, table.copy(), column.copy(), table.copy(), table.copy())
        given = rates, column, table.copy(), column.copy()
        factorization.run_epoch(codes, values, np.array([0, 1]), order, factors, *given, totals)
        factorization.predict_entries(codes, *factors[:3], np.float32(1.0), np.zeros(1), np.zeros(1))


def _networks() -> None:
    for kind in (np.float32, np.float64):
        numbers = (np.ones(1, kind) for _ in range(3))
        adam.step_by_adam(np.ones(1, np.float32), *numbers, np.ones(5, kind), 1.0)
    adam.silence(*np.ones((2, 1, 1), np.float32))


def _collective() -> None:
    net = collective_columns.Net(np.array([[0, 1, 2]]), np.array([1, 0], np.int32), np.ones(2, np.float32))
    aggregation, values = collective_columns.Aggregation(False, 0.0, 0.0, 0.0), np.zeros((2, 1))
    leaf, one = np.zeros(1, NODE_DTYPE), np.zeros(1)
    leaf["left"] = -1
    bins, cut, starts = np.zeros((2, 1), np.uint8), np.zeros(1, np.float32), np.array([0, 1])
    trees = leaf, cut, np.zeros((1, 1)), starts, starts.copy()
    stages = collective_sweeps.Stages(bins, *trees, values, one, False, collective_sweeps.REMAINDER)
    rows, weights, columns = np.arange(2), np.ones(2), np.zeros((2, 5), np.float32)
    state = collective_sweeps.State(values, values.copy(), weights, values.copy())
    counted = collective_columns.counting(net, weights, rows)
    collective_columns.relate(counted, aggregation, values, weights, rows, values, 0, columns)
    collective_sweeps.add_stage_to(stages, 0, rows, columns, values)
    collective_sweeps.staged_scores(net, aggregation, stages, state, rows, np.zeros((2, 1, 1)))
    collective_sweeps.start(net, aggregation, stages, state, rows)
    collective_sweeps.sweep(net, aggregation, stages, state, rows, np.zeros(2, np.bool_), True, 1.0, 0.0)
    ends = np.zeros(1, np.int32)
    csr.cross_products(ends, ends, one, weights, np.zeros((1, 2), np.int32))


# a process that has boosted members has most of the other trees compiled
_TREES = (_bins, _boosted, _members, _tree, _rounds, _oblivious, _votes)
_OTHERS = (_collective, _factorization, _medians, _leaves, _forest, _folds, _links, _sums, _weights, _networks)
_PARTS = {
    # what a process beside it prepares comes last
    "core": (_bins, _folds, _links, _forest, _boosted, _oblivious, _weights),
    "trees": _TREES,
    "others": _OTHERS,
    "all": _OTHERS + _TREES,  # a worker beside it begins with the core: neither compiles what the other has
}


def warm_up(progress: Callable[[int, int], object] | None = None, part: str = "all") -> None:
    """Run every kernel once on toy arrays.

    Takes some 15 to 20 seconds on first use (half of that for the core), a moment when the code is in the cache.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(done, total)`` before the first step and after each.
    part : {"all", "core", "trees", "others"}, default="all"
        "core" is what a first consensus uses: bins, trees, links, weights; half of it is compiled by a second process
        where `prepare_beside` starts one. "trees" and "others" are all in two parts, for two processes.
    """
    steps = _PARTS[part]
    if part == "core":
        prepare_beside()
    for done, step in enumerate(steps):
        if progress is not None:
            progress(done, len(steps))
        step()
    if progress is not None:
        progress(len(steps), len(steps))


def prepare_beside() -> None:
    """Let a second process `prepare` while this one compiles the rest: once, where nobody has and where it helps."""
    if not config.DISABLE_JIT and not PREPARING and is_missing(grower.search.part):
        start_second(cache_folder().parent)


def prepare() -> None:
    """Compile what the first training of a consensus needs last, and half of what a tree consists of."""
    gradients, problem, parts, work, grown = _toy_member()
    slopes, tree = (gradients, gradients), (grown.nodes[0], grown.values[0], grown.leaves[0])
    params, scratch, buffers = TreeParams(), make_scratch(4, 1), np.zeros((3, 3), np.uint32)
    for called, given in (
        (grower.search, (problem, params, work, scratch)),
        (grower.advance, (grower.QUEUE, problem, params, work)),
        (members.fall, (problem.binned, grown.nodes[0], grown.leaves[0], *buffers, np.zeros((3, 2), np.int64))),
        (oblivious.grow_oblivious, (problem.binned, problem.columns, parts.rows, params, _levels(), slopes, tree)),
    ):
        # not a call: as parts of what calls them
        called.part.compile(tuple(map(typeof, given)))
    _weights()
    _oblivious()
