r"""Losses of a label score f and a deviation score d against a label y: value, gradients, second derivatives, weights.

| loss | deviation score d | L(f, d, y) | weight of a row in f's gradient |
|---|---|---|---|
| `GaussianDeviation` | s = ln sigma^2 | (s + (y - f)^2 exp(-s)) / 2 | exp(-s) = 1 / sigma^2 |
| `BlindLabels` | eps = logistic(d): share drawn blindly | -ln((1 - eps) p_y + eps / C) | P(label seen, not drawn) |
| `SigmoidWeight` | d of (10) | loss(f, y) / (alpha s(d) + delta) | 1 / (alpha s(d) + delta) |

with s the logistic function, p = softmax(f) (logistic for two classes) and C classes. The first is (6) with Omega = ln;
the last is the paper's (10), whose second derivative by d is clipped at 0; with ln divisor added, as (6) has it, the
Fisher information stands for it (`log_hessian`), printed or not. `SigmoidWeight` falls in d wherever the loss is
positive: nothing but the penalty of the leaves holds d back.

A Gaussian has the Fisher information exp(-s) for f and 1/2 for s; the cross term's expectation is zero, as the paper
drops it.

Reference: G.-H. Lee, S.-W. Yang, T.-H. Lin and S.-D. Lin on heteroscedastic learning; equation numbers are theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

__all__ = ["LARGEST", "BlindLabels", "GaussianDeviation", "SigmoidWeight", "StudentRows", "class_probabilities"]

LARGEST = 40.0  # of |s|: beyond it exp(s) says no more
LEAST_PROBABILITY = 1e-12
SCALE_STEPS = 30  # of expectation maximisation

Pair = tuple[NDArray, NDArray]


def class_probabilities(f: NDArray) -> NDArray:
    """Return the probabilities (..., n, C) of raw scores: (..., n, 1) log-odds of the second class, or (..., n, C)."""
    if f.shape[-1] == 1:
        p = expit(f)
        return np.concatenate([1.0 - p, p], axis=-1)
    # less the largest, for exp of a large score is infinite
    exps = np.exp(f - f.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


class StudentRows:
    """Student's t of residuals with one scale: how much a row counts, (nu + 1) / (nu + z^2), and its loss.

    Lange, Little, Taylor (1989), "Robust statistical modeling using the t distribution".

    Parameters
    ----------
    tail : float
        nu, the degrees of freedom, above 0.
    """

    def __init__(self, tail: float) -> None:
        self.tail = tail

    def scale(self, squares: NDArray, weights: NDArray) -> float:
        """Return the likeliest squared scale of residuals, from their squares (n,) and the rows' weights (n,).

        Of those that are not 0: labels of which most are the same would have none. 0 if all are.
        """
        some = squares > 0
        if not (weights[some] > 0).any():
            return 0.0
        squares, weights = squares[some], weights[some]
        scale = float(np.median(squares))
        for _ in range(SCALE_STEPS):
            scale = float(np.average(squares * self._counts(squares / scale), weights=weights))
        return scale

    def trust(self, squares: NDArray, weights: NDArray) -> NDArray[np.float64]:
        """Return how much each row (n,) counts; 1 on average."""
        scale = self.scale(squares, weights)
        counts = self._counts(squares / scale) if scale > 0 else np.ones_like(squares)
        return counts / np.average(counts, weights=weights)

    def loss(self, squares: NDArray, scale: float) -> NDArray[np.float64]:
        """Return the loss of each row (n,) in the squares' unit: half of them where they are small."""
        least = max(scale, np.finfo(float).tiny)
        return 0.5 * least * (self.tail + 1.0) * np.log1p(squares / (self.tail * least))

    def _counts(self, squares: NDArray) -> NDArray[np.float64]:
        return (self.tail + 1.0) / (self.tail + squares)


class GaussianDeviation:
    """Negative log likelihood of a normal label, without its constant ln(2 pi) / 2; all arrays (n,)."""

    def value(self, f: NDArray, s: NDArray, y: NDArray) -> NDArray:
        """Return the loss of each row."""
        return 0.5 * (s + (y - f) ** 2 * self.weight(s))

    def gradients(self, f: NDArray, s: NDArray, y: NDArray) -> Pair:
        """Return the derivatives by f and by s."""
        weight = self.weight(s)
        return (f - y) * weight, 0.5 * (1.0 - (y - f) ** 2 * weight)

    def information(self, f: NDArray, s: NDArray) -> Pair:
        # the expectation, not the second derivative, which a large residual makes negative
        """Return the Fisher information of f and of s, (1): never negative, whatever the residual."""
        return self.weight(s), np.full(np.shape(s), 0.5)

    def weight(self, s: NDArray) -> NDArray:
        """Return 1 / sigma^2."""
        return np.exp(-np.clip(s, -LARGEST, LARGEST))


class BlindLabels:
    """A share eps(x) of the labels is drawn blindly, each class alike; p is what the label score says of the rest."""

    def __init__(self, n_classes: int) -> None:
        self.blind = 1.0 / n_classes

    def value(self, p_seen: NDArray, d: NDArray) -> NDArray:
        """Return the loss of each row from the probability (n,) of the label that it has."""
        return -np.log(np.maximum(self._mixture(p_seen, expit(d)), LEAST_PROBABILITY))

    def trust(self, p_seen: NDArray, d: NDArray) -> NDArray:
        """Return the probability (n,) in [0, 1] that the label was not drawn blindly."""
        share = expit(d)
        seen = (1.0 - share) * p_seen
        return seen / np.maximum(seen + share * self.blind, LEAST_PROBABILITY)

    def gradient(self, p_seen: NDArray, d: NDArray) -> NDArray:
        """Return the derivative of the loss by d."""
        share = expit(d)
        mixture = np.maximum(self._mixture(p_seen, share), LEAST_PROBABILITY)
        return (p_seen - self.blind) / mixture * share * (1.0 - share)

    def _mixture(self, p_seen: NDArray, share: NDArray) -> NDArray:
        return (1.0 - share) * p_seen + share * self.blind


class SigmoidWeight:
    """The paper's (10): a row's loss is divided by alpha s(d) + delta.

    Parameters
    ----------
    alpha, delta : float
        Above 0: the divisor lies between delta and delta + alpha.
    """

    def __init__(self, alpha: float, delta: float) -> None:
        self.alpha, self.delta = alpha, delta

    def value(self, loss: NDArray, d: NDArray) -> NDArray:
        """Return the weighted loss of each row."""
        return loss * self.weight(d)

    def weight(self, d: NDArray) -> NDArray:
        """Return 1 / (alpha s(d) + delta)."""
        return 1.0 / self.divisor(d)

    def divisor(self, d: NDArray) -> NDArray:
        """Return alpha s(d) + delta, the relative variance."""
        return self.alpha * expit(d) + self.delta

    def gradient(self, loss: NDArray, d: NDArray) -> NDArray:
        """Return the derivative by d; never positive."""
        return -loss * self.alpha * expit(d) * expit(-d) / self.divisor(d) ** 2

    def hessian(self, loss: NDArray, d: NDArray) -> NDArray:
        """Return the second derivative by d where it is positive, else 0."""
        rise = self.alpha * expit(d) * expit(-d)
        curve = 2.0 * rise**2 / self.divisor(d) - rise * (expit(-d) - expit(d))
        # clipped, as printed: (10) is not convex in d
        return np.maximum(loss * curve / self.divisor(d) ** 2, 0.0)

    def log_gradient(self, loss: NDArray, d: NDArray) -> NDArray:
        """Return the derivative by d of loss / divisor + ln divisor: (6) with Omega = ln."""
        return self.gradient(loss, d) + self.alpha * expit(d) * expit(-d) / self.divisor(d)

    def log_hessian(self, loss: NDArray, d: NDArray) -> NDArray:
        """Return the Fisher information of d where the loss is a squared error: (divisor' / divisor)^2."""
        # the expectation where the squared error is what the divisor says
        return np.broadcast_to((self.alpha * expit(d) * expit(-d) / self.divisor(d)) ** 2, np.shape(d))
