r"""Where members disagree, labels stray more: a part of the variance that is what two label forests say apart.

    sigma^2(x) = (1 - p) A exp(s(x)) + p B D(x),    D(x) = mean over k, l of (a_k(x) - b_l(x))^2 / 2

a_k and b_l are what the members of the first and of the second label forest say, s is the calibrated deviation score,
and B makes the mean of both parts the same. A tree of the deviation says how far labels stray where there were some; D
says where the label itself is a guess. Of a left-out row one member of each forest has not seen it, so its D is of one
pair; both have the same expectation, and the variance is linear in it.

p is that of greatest likelihood on left-out rows, A too, with a normal prior of p. The error in ln A is not small where
few rows stray far: its variance is (kurtosis - 1) / n, and the expected negative log likelihood of rows to come is
least at half of that above ln A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.checks import finite
from hetcore.forest import Forest
from hetcore.parameters import Domain

__all__ = ["MEMBERS", "Members", "disagreement_share", "effective_rows"]

SHARES = np.linspace(0.0, 0.6, 13)  # p that are tried
LIKELY_SHARE, SHARE_DEVIATION = 0.2, 0.1  # of the prior of p
LEAST_SCALE = 1e-12  # a perfect fit has no spread left
LARGEST_MARGIN = 0.7  # of ln sigma^2, for what few rows far out leave unknown


class Members(NamedTuple):
    """Where the trees of members stand in a forest of two label forests, one after the other.

    Attributes
    ----------
    count : int
        Members of each; trees of a round follow each other.
    first : int
        Trees of the first label forest.
    share : float
        Of the second one in the forest.
    """

    count: int = 0
    first: int = 0
    share: float = 0.0

    def predict(self, labels: Forest, binned: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum (n,) of all trees and half the mean squared difference (n,) of two members.

        The members are of different label forests; every row falls through every tree once.
        """
        trees = np.arange(len(labels))
        # trees of a round follow each other, and the first forest has whole rounds
        parts = trees % self.count + self.count * (trees >= self.first)
        sums = labels.predict_parts(binned, parts, 2 * self.count).T
        a, b = (
            self.count / share * np.ascontiguousarray(own)
            for own, share in zip((sums[1 : 1 + self.count], sums[1 + self.count :]), (1.0 - self.share, self.share))
        )
        return sums[0], 0.5 * (a.var(axis=0) + b.var(axis=0) + (a.mean(axis=0) - b.mean(axis=0)) ** 2)

    def fault(self, labels: Forest) -> bool:
        """Return whether a forest is none that has these members."""
        whole = self.count > 0 and self.first % self.count == 0 and (len(labels) - self.first) % self.count == 0
        return not (whole and self.first <= len(labels))


MEMBERS = Domain(
    lambda v: len(v) == 3 and all(map(finite, v)) and min(v[:2]) >= 0 and v[0] == int(v[0]) and v[1] == int(v[1])
    and 0 <= v[2] <= 1 and (v[0] == 0 or 0 < v[2] < 1),
    "the number of members, the trees of the first forest and the share of the second",
)  # fmt: skip


def disagreement_share(
    variance: NDArray, disagreement: NDArray, squares: NDArray, weights: NDArray
) -> tuple[float, float]:
    """Return the factors of variance and of disagreement whose sum is the variance of rows to come.

    Parameters
    ----------
    variance : (n,) float64
        What the calibrated deviation scores say of left-out rows.
    disagreement : (n,) float64
        D of a pair; zeros where there is none.
    squares : (n,) float64
        Squared residuals.
    weights : (n,) float64
        Of the rows, mean 1.
    """
    level, apart = (float(np.average(each, weights=weights)) for each in (squares, disagreement))
    # labels without a residual, or forests that say the same, have nothing to share
    ratio = level / apart if apart > 0 and level > 0 else 0.0
    tried = []
    for share in SHARES if ratio else SHARES[:1]:
        mixed = (1.0 - share) * variance + share * ratio * disagreement
        scale = max(float(np.average(squares / mixed, weights=weights)), LEAST_SCALE)
        prior = 0.5 * ((share - LIKELY_SHARE) / SHARE_DEVIATION) ** 2
        tried.append((0.5 * float(weights @ np.log(mixed * scale)) + prior, share, scale, squares / (mixed * scale)))
    _, share, scale, ratios = min(tried, key=lambda each: each[0])
    factor = scale * np.exp(_margin(ratios, weights))
    return float(factor * (1.0 - share)), float(factor * share * ratio)


def _margin(ratios: NDArray, weights: NDArray) -> float:
    """Return half the variance of the logarithm of a scale that z squared (n,) tell, bounded."""
    excess = float(np.average(ratios**2, weights=weights)) - float(np.average(ratios, weights=weights)) ** 2
    return min(0.5 * max(excess, 0.0) / effective_rows(weights), LARGEST_MARGIN)


def effective_rows(weights: NDArray) -> float:
    """Return how many rows of equal weight tell as much as rows of these weights (n,), after Kish (1965)."""
    return float(weights.sum() ** 2 / (weights @ weights))
