"""A stage's trees of all views at once: where labels are few, what a call costs is most of what a tree costs.

The trees and scores are those of `Grower.stage`, view by view, bit for bit, but for oblivious trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.stages import Grower
from hetcore.forest import Forest
from hetcore.kernels.threads import run_each
from hetcore.members import Grown, MemberGrower, ObliviousGrower, joined

__all__ = ["grow_views"]

MOST = 300_000  # rows x views x outputs; of more, scores of all views side by side cost more memory than calls time
SHARED = 100_000  # labels x columns; below it one thread grows the trees of all views


def grow_views(
    grower: Grower, table: Any, target: NDArray, scores: Sequence[NDArray], rows: Sequence[NDArray], n_trees: int
) -> tuple[list[Forest], list[NDArray[np.float64]]]:
    """Grow the trees of a stage for several views.

    Parameters
    ----------
    grower : Grower
    table, target : see `Grower.stage`
    scores : sequence of (m, K) float64
        Scores before the stage, by view.
    rows : sequence of (r,) int32
        Rows to grow on, by view.
    n_trees : int

    Returns
    -------
    forests : list of Forest
        By view.
    added : list of (m, K) float64
        What they add to the scores of all rows.
    """
    together = target.size * len(rows) <= MOST and not grower.median and all(part.size for part in rows)
    if together or grower.oblivious:
        return _together(grower, table, target, np.stack(scores), rows=rows, n_trees=n_trees)
    # of no rows there are no trees, and nothing is drawn
    growers = [grower.ahead(table[2], part, n_trees if part.size else 0) for part in rows]

    def grown(k: int) -> tuple[Forest, NDArray[np.float64]]:
        forest = growers[k].stage(table, target, scores[k], rows[k], n_trees)
        return forest, forest.predict(table[0])

    # views are of no concern to one another: each draws, grows and predicts on a thread
    forests, added = zip(*run_each(grown, range(len(rows)), grower.n_jobs))
    return list(forests), list(added)


def _together(
    grower: Grower, table: Any, target: NDArray, scores: NDArray, rows: Sequence[NDArray], n_trees: int
) -> tuple[list[Forest], list[NDArray[np.float64]]]:
    binned, n_bins, columns = table
    # drawn view by view, as they are where each view grows by itself
    drawn = [grower.drawn(columns, part, n_trees) for part in rows]
    forests, added = [Forest(target.shape[1]) for _ in rows], np.zeros_like(scores)
    # the unit of sums in fixed point depends on how many bits the number of rows has: views of one number together
    bits = np.array([int(sizes[0]).bit_length() for _, _, sizes in drawn] if n_trees else [])
    # a tree of few values takes less than handing it over
    jobs = grower.n_jobs if target.size * len(columns) >= SHARED else 1
    for same in (np.flatnonzero(bits == each) for each in np.unique(bits)):
        shape = target.shape[1], target.shape[1] if grower.scale.is_classifier else 0
        kind = ObliviousGrower if grower.oblivious else MemberGrower
        members = kind(binned, n_bins, shape, grower.limits, jobs)
        chosen, used, sizes = (np.concatenate(each) for each in zip(*(drawn[k] for k in same)))
        members.use_joined(used, sizes, chosen, len(same))
        grow = _oblivious if grower.oblivious else _grown
        trees, added[same] = grow(members, grower, (target, scores[same]), n_trees)
        for k, member in enumerate(same):
            forests[member].add(*joined(trees, slice(k * n_trees, (k + 1) * n_trees)), grower.learning_rate)
    return forests, list(added)


def _grown(
    members: MemberGrower, grower: Grower, given: tuple[NDArray, NDArray], n_trees: int
) -> tuple[Grown, NDArray[np.float64]]:
    """Return the trees of each member, and what they add to its scores (M, m, K), given targets (m, K) and scores."""
    (target, scores), n_hessians = given, members.shape[1]
    learned = target, scores, np.zeros_like(scores), float(grower.learning_rate)
    grown = members.empty(len(scores), n_trees)
    if not n_hessians:
        # slopes of the squared error are a subtraction, which the kernel does itself
        slopes = np.empty(scores.shape, np.float32), np.empty((*scores.shape[:2], 0), np.float32)
        members.grow_rounds(learned, slopes, (0, n_trees, n_trees), grown)
        return grown, learned[2]
    for t in range(n_trees):
        members.grow_rounds(learned, grower.derivatives(target, scores), (t, t + 1, n_trees), grown)
    return grown, learned[2]


def _oblivious(
    members: ObliviousGrower, grower: Grower, given: tuple[NDArray, NDArray], n_trees: int
) -> tuple[Grown, NDArray[np.float64]]:
    """Do what `_grown` does with oblivious trees, of numbers."""
    (target, scores), grown = given, members.empty(len(given[1]), n_trees)
    m, n, k = scores.shape
    slopes = np.empty(scores.shape, np.float32), np.empty((m, n, 0), np.float32), np.empty((m, k))
    # nobody is pulled, and no step has a limit
    learned = scores.copy(), target, np.empty((m, 0, k)), np.float32(1.0), float(grower.learning_rate), np.inf
    members.grow_rounds(learned, slopes, (0, n_trees, n_trees), grown)
    return grown, learned[0] - scores
