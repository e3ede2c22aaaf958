"""Which weak learner a modality gets: each possible one is boosted alone for a few rounds, and left-out rows decide.

At most `MOST_ROWS` labelled rows that the source has take part, a quarter of them left out; a candidate is worth the
lowest log loss of the left-out rows over `ROUNDS` rounds. The first of the candidates wins a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hetcore.data import Source
from hetcore.multimodal import deep
from hetcore.multimodal.rounds import TwoLearners
from hetcore.targets import Problem

__all__ = ["candidates", "compared"]

MOST_ROWS, LEFT_OUT, ROUNDS = 2_000, 0.25, 20
RATE = 0.25  # near those that training has: with larger steps a network learns wrong labels before trees do
LEAST_ROWS = 40  # fewer cannot tell learners apart
SMALLEST_IMAGE = 16  # pixels of a side, below which two poolings leave convolutions nothing to do
HOW = {
    "learning_rate": RATE, "subsample": 0.8, "validation_fraction": LEFT_OUT, "n_iter_no_change": ROUNDS, "order": 1,
}  # fmt: skip


def candidates(source: Source) -> list[str]:
    """Return the learners that a source can have: trees first for a table, a linear one first for the rest."""
    if source.array is None:
        text = "text" in source.kinds.values()
        # the likeliest first: it wins a tie
        return ["linear", "network", "tree"] if text else ["tree", "linear", "network"]
    image = source.array.ndim in (3, 4) and min(source.array.shape[1:3]) >= SMALLEST_IMAGE
    return ["linear", "network", "tree"] + ["cnn"] * (image and deep.has_torch())


def compared(
    problem: Problem, name: str, kinds: Sequence[str], make: Callable[[str], Any], params: Mapping[str, Any]
) -> dict[str, float]:
    """Return the left-out log loss of each kind of learner on one source, in nats; the first alone with few labels.

    Parameters
    ----------
    problem : Problem
    name : str
        Of the source.
    kinds : sequence of str
    make : callable
        Returns a new modality of a kind.
    params : mapping
        The estimator's parameters.
    """
    rng = np.random.default_rng(params["random_state"])
    has = np.intersect1d(problem.data.rows(name), np.flatnonzero(problem.labelled))
    if len(has) < LEAST_ROWS or len(kinds) == 1:
        # too few to tell: the first candidate, and no loss to show
        return {kinds[0]: float("nan")}
    labelled = np.zeros(len(problem.labelled), bool)
    # a part of many rows tells learners apart as well
    labelled[rng.permutation(has)[:MOST_ROWS]] = True
    part, losses = replace(problem, labelled=labelled), {}
    for kind in kinds:
        # the same draws for each candidate, so that they differ by the learner alone
        state = TwoLearners(part, {**params, **HOW}, {name: make(kind)}, np.random.default_rng(0), problem.scale.prior)
        for _ in range(ROUNDS):
            state.round()
        losses[kind] = state.stopping.best
    return losses
