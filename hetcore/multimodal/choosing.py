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
from hetcore.multimodal.stopping import loss_among_present
from hetcore.targets import Problem

__all__ = ["candidates", "compared", "is_few"]

MOST_ROWS, LEFT_OUT, ROUNDS = 2_000, 0.25, 20
RATE = 0.25  # near those that training has: with larger steps a network learns wrong labels before trees do
FEW_LABELS, FEW_DRAWS = 1_000, 4
LEAST_ROWS = 40  # fewer cannot tell learners apart
SMALLEST_IMAGE = 16  # pixels of a side, below which two poolings leave convolutions nothing to do
HOW = {
    "learning_rate": RATE, "subsample": 0.8, "validation_fraction": LEFT_OUT, "n_iter_no_change": ROUNDS, "order": 1,
}  # fmt: skip


def is_few(problem: Problem) -> bool:
    """Return whether labels are so few that they are used in more than one way: below 1,000."""
    return int(problem.labelled.sum()) < FEW_LABELS


def candidates(source: Source, few: bool = False) -> list[str]:
    """Return the learners that a source can have: trees first for a table, a linear one first for the rest.

    Of `few` labels a network is one of random features, which needs no passes.
    """
    network = "random_features" if few else "network"
    if source.array is None:
        text = "text" in source.kinds.values()
        # the likeliest first: it wins a tie
        return ["linear", network, "tree"] if text else ["tree", "linear", network]
    image = source.array.ndim in (3, 4) and min(source.array.shape[1:3]) >= SMALLEST_IMAGE
    return ["linear", network, "tree"] + ["cnn"] * (image and deep.has_torch())


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
    # the quarter of few rows is itself a matter of chance; convolutions take too long to ask again
    draws = FEW_DRAWS if is_few(problem) and "cnn" not in kinds else 1
    for kind in kinds:
        # the same draws for each candidate, so that they differ by the learner alone
        curves = [_curve(part, {name: make(kind)}, params, k) for k in range(draws)]
        losses[kind] = float(np.mean(curves, axis=0).min())
    return losses


def _curve(part: Problem, modality: Mapping[str, Any], params: Mapping[str, Any], draw: int) -> list[float]:
    """Return the log loss of left-out rows after each round, in nats."""
    state = TwoLearners(part, {**params, **HOW}, dict(modality), np.random.default_rng(draw), part.scale.prior)
    rows, curve = state.stopping.rows, []
    # of classes of a label each nothing can be left out
    for _ in range(ROUNDS if rows.size else 0):
        state.round()
        curve.append(loss_among_present(state.scores[rows], state.y[rows]))
    return curve or [float("inf")]
