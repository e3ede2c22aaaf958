"""When the rounds of the two learners end, and what each modality then counts: both by rows that nothing was fitted to.

A share of the labelled rows, each class in its share, is kept out of every round. Their loss is among the classes that
they have: of one too rare to have a row there it would fall for ever, as that class is given up. Boosting ends once the
loss has not fallen for some rounds, and the learners after the best round go. Last, the parts P_j of the modalities at
that round are weighed: f = prior + sum_j a_j P_j with a_j >= 0 and the least mean log loss of those rows, and a ridge
towards 1 (no change). That calibrates the probabilities, and it is the guard too: a modality that misleads may count
nothing, so that all together are on these rows never worse than the best part alone, but for the ridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from hetcore.round_scores import shares
from hetcore.targets import Problem

__all__ = ["LeftOut", "Stopping", "drawn_by_class", "falls", "log_loss", "loss_among_present", "part_weights"]

LEAST_ROWS = 8  # fewer say nothing of a round
RIDGE = 1.0  # of the part weights: one row's worth of loss for a weight that is 1 off
WAY = np.polynomial.legendre.leggauss(16)  # places in [-1, 1] where a way's slope is asked for, and their weights


def drawn_by_class(y: NDArray, rows: NDArray, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a share of some rows, sorted, each class in its share, but one of two rows, and none without a row left.

    Parameters
    ----------
    y : (n,) int
        Class codes.
    rows : (m,) int
    share : float
        In [0, 1).
    rng : Generator
    """
    taken = []
    for k in np.unique(y[rows]):
        own = rng.permutation(rows[y[rows] == k])
        # one row of a class stays to be learned from
        taken.append(own[: min(max(round(share * len(own)), 1), len(own) - 1)])
    return np.sort(np.concatenate(taken))


def log_loss(scores: NDArray, y: NDArray) -> float:
    """Return the mean of -ln softmax(f)_y over rows, f (n, K) and y (n,) codes."""
    return float(-log_softmax(scores, axis=1)[np.arange(len(y)), y].mean())


def loss_among_present(scores: NDArray, y: NDArray) -> float:
    """Return `log_loss` among the classes that rows (n,) have: of another they can't tell that it got too unlikely."""
    present, codes = np.unique(y, return_inverse=True)
    return log_loss(np.take(scores, present, axis=1), codes)


def part_weights(prior: NDArray, parts: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return the weights a (p,) >= 0 of least `loss_among_present` of prior + sum_j a_j P_j, with a ridge towards 1.

    Parameters
    ----------
    prior : (K,) float64
    parts : (p, n, K) float64
    y : (n,) int
        Class codes.
    """
    present, y = np.unique(y, return_inverse=True)
    prior, parts, rows = prior[present], np.take(parts, present, axis=2), np.arange(len(y))

    def value(a: NDArray) -> tuple[float, NDArray]:
        scores = prior + np.tensordot(a, parts, 1)
        wrong = softmax(scores, axis=1)
        wrong[rows, y] -= 1.0
        slope = (parts * wrong).sum(axis=(1, 2)) / len(y)
        # one row's worth: with many rows the pull to 1 fades
        pull = RIDGE / len(y)
        return log_loss(scores, y) + 0.5 * pull * ((a - 1) ** 2).sum(), slope + pull * (a - 1)

    # weights below 0 would turn a modality round
    found = minimize(value, np.ones(len(parts)), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(parts))
    return found.x


def falls(prior: NDArray, parts: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return by how much each part lowers the log loss (p,): its slope, integrated on the way from prior to the sum.

    Parameters
    ----------
    prior : (K,) float64
    parts : (p, n, K) float64
        As they count, a_j P_j.
    y : (n,) int
        Class codes.
    """
    rows, found, total = np.arange(len(y)), np.zeros(len(parts)), parts.sum(axis=0)
    for place, weight in zip(*WAY):
        missed = -softmax(prior + 0.5 * (1.0 + place) * total, axis=1)
        missed[rows, y] += 1.0
        found += 0.5 * weight * (parts * missed).sum(axis=(1, 2))
    return found / len(y)


class LeftOut(NamedTuple):
    """Rows that are kept out: scores (v, K), the modalities' parts of them (p, v, K), and class codes (v,)."""

    scores: NDArray[np.float64]
    parts: NDArray[np.float64]
    y: NDArray[np.int64]


class Stopping:
    """The rows that are kept out, and the best round so far.

    Parameters
    ----------
    rows : (v,) int64
        Rows of the data; none where there are too few labels, or `validation_fraction` is 0.
    patience : int
        Rounds without a lower loss that end the training.
    """

    def __init__(self, rows: NDArray[np.int64], patience: int) -> None:
        self.rows, self.patience = rows, patience
        self.round, self.kept_round, self.best = 0, 0, np.inf
        self.kept: dict[str, int] = {}
        self.parts: NDArray[np.float64] | None = None
        self.y = np.zeros(0, np.int64)

    @classmethod
    def of(cls, problem: Problem, params: Mapping[str, Any], rng: np.random.Generator) -> Stopping:
        """Draw the rows."""
        y, labelled = problem.target.argmax(axis=1), np.flatnonzero(problem.labelled)
        rows = np.zeros(0, np.int64)
        if params["validation_fraction"] > 0:
            # a generator of its own: with and without validation rows, learners draw the same
            own = np.random.default_rng(rng.integers(1 << 30))
            drawn = drawn_by_class(y, labelled, params["validation_fraction"], own)
            # so few would end the training by chance
            rows = drawn if len(drawn) >= LEAST_ROWS else rows
        return cls(rows, params["n_iter_no_change"])

    def ended(self, left_out: LeftOut, modalities: Mapping[str, Any]) -> bool:
        """Look at what a round says of rows that are kept out; return whether nothing was won for too long."""
        self.round += 1
        if not self.rows.size:
            return False
        loss = loss_among_present(left_out.scores, left_out.y)
        if loss < self.best:
            self.best, self.kept_round = loss, self.round
            self.kept = {name: len(modality) for name, modality in modalities.items()}
            # parts at the best round: those after it go
            self.parts, self.y = left_out.parts, left_out.y
        return self.over

    @property
    def over(self) -> bool:
        """Whether the loss has not fallen for too long."""
        return bool(self.rows.size) and self.round - self.kept_round >= self.patience

    def finish(self, prior: NDArray, modalities: Mapping[str, Any]) -> dict[str, float]:
        """Drop what came after the best round and weigh the modalities; return their weights a_j."""
        if self.parts is None:
            return dict.fromkeys(modalities, 1.0)
        weights = part_weights(prior, self.parts, self.y)
        for (name, modality), weight in zip(modalities.items(), weights):
            # learners after the best round are cut off, and the weight goes into the steps
            modality.cut(self.kept[name], float(weight))
        return dict(zip(modalities, weights.tolist()))

    def source_weights(self, prior: NDArray, weights: Mapping[str, float]) -> dict[str, float] | None:
        """Return each modality's share in the fall of the log loss of the rows kept out; None without such rows."""
        if self.parts is None:
            return None
        counted = self.parts * np.array(list(weights.values()))[:, None, None]
        # a modality that made the loss rise has no negative share
        return shares(np.maximum(falls(prior, counted, self.y), 0.0), list(weights))
