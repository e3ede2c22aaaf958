"""What the members of heteroscedastic boosting follow: gradients of the label scores and of the deviation scores.

Arrays: f (..., n, K) label scores and d (..., n) deviation scores, of one member or of several; `out_of_fold` (n, K)
what the members that did not see a row say of it (with a single member: what it says itself); y (n,) standardised
numbers or (n, C) class shares. Second derivatives that are 1 everywhere are None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hetcore.heteroscedastic.likelihoods import (
    LARGEST,
    BlindLabels,
    GaussianDeviation,
    SigmoidWeight,
    class_probabilities,
)

__all__ = ["Base", "Labels", "Link", "Numbers", "Pair", "make_link"]

LEAST_HESSIAN = 1e-6
LEAST_CURVE = 1e-3  # of a class score's loss, where forests are mixed
FIRST_SHARE = 0.1  # of labels drawn blindly, before anything is known
LARGEST_STEP = 2.0  # of a deviation score whose loss is not convex

Pair = tuple[NDArray[np.float64], NDArray[np.float64] | None]


class Numbers:
    """Least squares for labels that are numbers."""

    def __init__(self, y: NDArray[np.float64]) -> None:
        self.y = y

    def start(self, sample_weight: NDArray) -> NDArray:
        """Return the constant (1,) that minimises the loss."""
        return np.array([np.average(self.y, weights=sample_weight)])

    def loss(self, f: NDArray) -> NDArray:
        """Return the loss of each row."""
        return 0.5 * (self.y - f[:, 0]) ** 2

    def derivatives(self, f: NDArray) -> Pair:
        """Return the gradients (..., n, K) and None, for hessians of 1."""
        return f - self.y[:, None], None

    def working(self, f: NDArray) -> tuple[NDArray, NDArray]:
        """Return scores (n, K) whose weighted squared distance is the loss near f (n, K), and the weights."""
        return self.y[:, None], np.ones_like(f)


class Labels:
    """Cross-entropy for labels that are class codes 0..C-1."""

    def __init__(self, codes: NDArray[np.int64], n_classes: int, least_hessian: float = LEAST_HESSIAN) -> None:
        self.codes, self.n_classes, self.least_hessian = codes, n_classes, least_hessian
        self.one_hot = np.eye(n_classes)[codes]

    def start(self, sample_weight: NDArray) -> NDArray:
        """Return the scores (K,) of the classes' shares."""
        logs = np.log(self.one_hot.T @ sample_weight / sample_weight.sum())
        return logs[1:] - logs[:1] if self.n_classes == 2 else logs - logs.mean()

    def seen(self, f: NDArray) -> NDArray:
        """Return the probability (n,) of the label that each row has."""
        if f.shape[-1] > 1:
            return class_probabilities(f)[np.arange(self.codes.size), self.codes]
        # of two classes one is asked for: no array of both to pick from
        p = expit(f[:, 0])
        return np.where(self.codes == 1, p, 1.0 - p)

    def loss(self, f: NDArray) -> NDArray:
        """Return the loss of each row."""
        return -np.log(np.maximum(self.seen(f), 1e-300))

    def derivatives(self, f: NDArray) -> Pair:
        """Return the gradients (..., n, K) and the diagonal of the hessians (..., n, K)."""
        single = f.shape[-1] == 1
        p = expit(f) if single else class_probabilities(f)
        return p - self.one_hot[:, int(single) :], np.maximum(p * (1.0 - p), self.least_hessian)

    def working(self, f: NDArray) -> tuple[NDArray, NDArray]:
        """Return scores (n, K) whose weighted squared distance is the loss near f (n, K), and the weights."""
        gradients, hessians = self.derivatives(f)
        curves = np.maximum(hessians, LEAST_CURVE)
        return f - gradients / curves, curves


Base = Numbers | Labels


class Link:
    """How a deviation score d enters the loss; this one, "constant", does not let it."""

    learns = False
    start = 0.0
    unit = 1.0  # what gradients, second derivatives and penalties of deviation scores are counted in
    row_penalty = 0.0  # lambda-bar where it counts for each row of a leaf, not for each leaf

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def weights(self, base: Base, out_of_fold: NDArray, d: NDArray, power: float) -> NDArray:
        """Return how much each row (..., n) counts in the gradient of the label scores."""
        return np.ones(d.shape)

    def deviation(self, base: Base, out_of_fold: NDArray, d: NDArray) -> Pair:
        """Return the gradient and hessian (..., n) of the deviation scores, in `unit`."""
        return np.zeros(d.shape), None

    def leaf(self, values: NDArray) -> NDArray:
        """Return Newton steps of the deviation's leaves, made safe."""
        return values

    def log_variance(self, d: NDArray) -> NDArray:
        """Return ln of the variance (n,) of a number, up to a factor that `scale` says."""
        return np.zeros(np.shape(d))

    def scale(self, squares: NDArray, d: NDArray, weights: NDArray) -> float:
        """Return the factor of the variance: the mean of squared residuals over exp(log_variance)."""
        return float(np.average(squares * np.exp(-self.log_variance(d)), weights=weights))

    def share(self, d: NDArray) -> NDArray:
        """Return the share (n,) of labels that are drawn blindly."""
        return np.zeros(np.shape(d))

    def deviation_of(self, d: NDArray) -> NDArray:
        """Return the deviation (n,) of classes that a score says."""
        return self.share(d)


class Gaussian(Link):
    """Normal labels with variance exp(d): (6) with Omega = ln; `power` tempers the rows' weights exp(-power d)."""

    learns = True
    unit = 0.5  # the Fisher information of ln sigma^2
    likelihood = GaussianDeviation()

    def weights(self, base: Numbers, out_of_fold: NDArray, d: NDArray, power: float) -> NDArray:
        """Return sigma^(-2 power)."""
        return self.likelihood.weight(power * d)

    def deviation(self, base: Numbers, out_of_fold: NDArray, d: NDArray) -> Pair:
        """Return the gradient by d over the Fisher information, and None."""
        return self.likelihood.gradients(out_of_fold[:, 0], d, base.y)[1] / self.unit, None

    def leaf(self, values: NDArray) -> NDArray:
        """Return ln of the mean squared z where it is above 1, as a line search would; the Newton step elsewhere."""
        return np.where(values > 0, np.log1p(np.maximum(values, 0.0)), values)

    def log_variance(self, d: NDArray) -> NDArray:
        """Return d."""
        return np.clip(d, -LARGEST, LARGEST)

    def scale(self, squares: NDArray, d: NDArray, weights: NDArray) -> float:
        """Return 1: the likelihood has set the scale already."""
        return 1.0


class Blind(Link):
    """A share logistic(d) of the labels is drawn blindly; a row counts as far as its label seems to be seen."""

    learns = True
    start = float(np.log(FIRST_SHARE / (1.0 - FIRST_SHARE)))

    def weights(self, base: Labels, out_of_fold: NDArray, d: NDArray, power: float) -> NDArray:
        """Return the trust in each label, by what was said of the row without having seen it."""
        return BlindLabels(base.n_classes).trust(base.seen(out_of_fold), d) ** power

    def deviation(self, base: Labels, out_of_fold: NDArray, d: NDArray) -> Pair:
        """Return the gradient by d and its square, whose expectation is the Fisher information of d."""
        gradients = BlindLabels(base.n_classes).gradient(base.seen(out_of_fold), d)
        return gradients, gradients**2 + LEAST_HESSIAN

    def leaf(self, values: NDArray) -> NDArray:
        """Return the steps, bounded."""
        return np.clip(values, -LARGEST_STEP, LARGEST_STEP)

    def share(self, d: NDArray) -> NDArray:
        """Return logistic(d)."""
        return expit(d)


class Printed(Link):
    """The paper's (10): the loss divided by alpha s(d) + delta, second derivatives clipped at 0.

    `omega` is its Omega. "leaves" is (21): a penalty for each leaf, and nothing else; "rows" counts that penalty for
    each row, as (19) sums it; "log" adds ln(alpha s(d) + delta) to the loss of each row, which makes (10) to be (6).

    With "leaves", from a d that is the same everywhere no split ever gains, to the letter: gradients have one sign and
    are proportional to the loss, and so are second derivatives where they are not clipped; then G^2 / (H + lambda) of
    two parts adds up to less than that of both together. d stays constant.
    """

    learns = True

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params["weighting"])
        self.loss, self.printed = SigmoidWeight(params["alpha"], params["delta"]), params["as_printed"]
        self.omega = params["omega"] or ("leaves" if self.printed else "rows")
        self.row_penalty = params["deviation_l2"] if self.omega == "rows" else 0.0

    def weights(self, base: Base, out_of_fold: NDArray, d: NDArray, power: float) -> NDArray:
        """Return 1 / (alpha s(d) + delta)."""
        return self.loss.weight(d) ** power

    def deviation(self, base: Base, out_of_fold: NDArray, d: NDArray) -> Pair:
        """Return the gradient, and the clipped second derivative plus the penalty of a row."""
        whole = isinstance(base, Numbers) and (self.printed or self.omega == "log")  # (y - f)^2, not its half
        loss = base.loss(out_of_fold) * (2.0 if whole else 1.0)
        if self.omega == "log":
            return self.loss.log_gradient(loss, d), self.loss.log_hessian(loss, d)
        return self.loss.gradient(loss, d), self.loss.hessian(loss, d) + self.row_penalty

    def log_variance(self, d: NDArray) -> NDArray:
        """Return ln(alpha s(d) + delta)."""
        return np.log(self.loss.divisor(d))

    def deviation_of(self, d: NDArray) -> NDArray:
        """Return alpha s(d) + delta."""
        return self.loss.divisor(d)


def make_link(params: dict[str, Any]) -> Link:
    """Return the link that an estimator's parameters ask for."""
    power = params["weighting"]
    if params["deviation"] == "constant":
        return Link(power)
    if params["link"] == "sigmoid":
        return Printed(params)
    return Gaussian(power) if params["link"] == "gaussian" else Blind(power)
