"""A stage's trees of all views at once: where labels are few, what a call costs is most of what a tree costs.

The trees and scores are those of `Grower.stage`, view by view, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.stages import Grower
from hetcore.forest import Forest
from hetcore.members import MemberGrower, add_members, trees_of
from hetcore.trees import Tree

__all__ = ["grow_views"]

MOST = 300_000  # rows x views x outputs; of more, scores of all views side by side cost more memory than calls time


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
    if together:
        return _together(grower, table, target, np.stack(scores), rows=rows, n_trees=n_trees)
    forests = [grower.stage(table, target, before, part, n_trees) for before, part in zip(scores, rows)]
    return forests, [forest.predict(table[0]) for forest in forests]


def _together(
    grower: Grower, table: Any, target: NDArray, scores: NDArray, rows: Sequence[NDArray], n_trees: int
) -> tuple[list[Forest], list[NDArray[np.float64]]]:
    binned, n_bins, columns = table
    # drawn view by view, as they are where each view grows by itself
    drawn = [[grower.drawn(columns, part) for _ in range(n_trees)] for part in rows]
    forests, added = [Forest(target.shape[1]) for _ in rows], np.zeros_like(scores)
    # the unit of sums in fixed point depends on how many bits the number of rows has: views of one number together
    bits = np.array([each[0][1].size.bit_length() for each in drawn] if n_trees else [])
    for same in (np.flatnonzero(bits == each) for each in np.unique(bits)):
        shape = target.shape[1], target.shape[1] if grower.scale.is_classifier else 0
        members = MemberGrower(binned, n_bins, shape, grower.limits)
        before, after = scores[same], added[same]
        for t in range(n_trees):
            chosen = [drawn[k][t] for k in same]
            members.use([part for _, part in chosen], [some for some, _ in chosen])
            gradients, curved = grower.derivatives(target, before)
            grown = members.grow(gradients, gradients[:, :, :0] if curved is None else curved)
            add_members(before, grown.leaves, grown.values, grower.learning_rate)
            add_members(after, grown.leaves, grown.values, grower.learning_rate)
            for k, tree in zip(same, trees_of(grown)):
                # copies: a part of an array would keep the whole
                forests[k].append(Tree(tree.nodes.copy(), tree.values.copy()), grower.learning_rate)
        added[same] = after
    return forests, list(added)
