r"""The multiclass exponential loss of the two weak learners, its direction and its second-order targets.

With y^k the k-th unit vector and v_k = y_i - y^k, the risk of raw scores f is

    R(f) = sum_i sum_{k != y_i} exp(-<f(x_i), v_k> / 2),     <f, v_k> = f_y - f_k.

Only the differences f_y - f_k enter, so the risk and everything below is unchanged when a constant is added to all
scores of a row. The printed sum has a term k = y_i too, which is the constant 1 and is left out. Its population minimum
is at f_k = log P(k | x) + const, so softmax(f) is the probability.

| symbol | here |
|---|---|
| w (1) | `direction`: w_i = 1/2 sum_k v_k exp(-<f, v_k> / 2), the negative gradient |
| w~ (5) | `tilted`: w~_i = sum_k v_k exp(-<f, v_k> / 4) |
| w^ | `curvature`: w^_i = sum_k |v_k|^2 exp(-<f, v_k> / 2), below (5) in the paper |
| (7), (8) | `printed_target` |
| H_i | 1/4 sum_k v_k v_k' exp(-<f, v_k> / 2): `Exact` |

Second order. The paper expands R(f + eps g + delta h) to the second order in the steps (appendix B) and writes the
second derivatives as 1/4 sum_i (<g, g> + 2 <g, w~> + w^) and 1/2 sum_i (<g, w> + <h, w>). The true ones are
1/4 sum_k <g, v_k>^2 exp(-<f, v_k> / 2) and its like: sum_k <g, a_k>^2 is not <g, g> + 2 <g, w~> + w^, and <g, a><h, a>
is not <g + h, a>, so neither is an identity. What the paper fits follows from its own form, and is what is done here:

    (7) g -> eps w - eps^2/4 w~ - eps delta/2 w,     (8) h -> delta w - delta^2/4 w~ - eps delta/2 w.

`Exact` keeps the quadratic form as it is instead.

Reference: A. Trevino Gavito, D. Klabjan, J. Utke, "Gradient-boosted based structured and unstructured learning", 2023
(arXiv 2302.14299), section 3.2 and appendices A and B.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.numerics import log_sum_exp

__all__ = ["Exact", "curvature", "direction", "exponents", "log_risk", "printed_target", "tilted"]

HIGHEST = 300.0  # an exponent above it scales all weights down together: exp(600) is still a number, squared


def exponents(scores: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return -(f_y - f_k) / 2, (n, K), -inf at k = y.

    Parameters
    ----------
    scores : (n, K) float64
    y : (n,) int
        Class codes in [0, K).
    """
    rows = np.arange(len(y))
    below = 0.5 * (scores - scores[rows, y][:, None])
    # the term k = y is the constant 1, and moves nothing
    below[rows, y] = -np.inf
    return below


def log_risk(scores: NDArray, y: NDArray) -> float:
    """Return the logarithm of the mean risk; finite for any finite scores."""
    return float(log_sum_exp(exponents(scores, y)) - np.log(len(y)))


def _weights(scores: NDArray, y: NDArray, power: float) -> NDArray[np.float64]:
    """Return exp(power * exponent) (n, K), 0 at k = y; all scaled down together where one would overflow."""
    below = exponents(scores, y)
    # all weights of a round are scaled alike: a direction does not depend on it
    shift = max(float(below.max(initial=0.0)) - HIGHEST, 0.0)
    return np.exp(power * (below - shift))


def _spread(weights: NDArray, y: NDArray, factor: float = 0.5) -> NDArray[np.float64]:
    """Return factor * sum_k v_k weight_k, (n, K), for weights that are 0 at k = y."""
    spread = -factor * weights
    spread[np.arange(len(y)), y] = factor * weights.sum(axis=1)
    return spread


def direction(scores: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return w of (1), (n, K): the negative gradient of the summed risk, rows summing to zero."""
    return _spread(_weights(scores, y, 1.0), y)


def tilted(scores: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return w~ of (5), (n, K), rows summing to zero."""
    return _spread(_weights(scores, y, 0.5), y, 1.0)


def curvature(scores: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return w^ below (5), (n,): it does not move the minimum, so no target holds it; |v_k|^2 is 2 at k != y."""
    return 2.0 * _weights(scores, y, 1.0).sum(axis=1)


def printed_target(w: NDArray, w_tilde: NDArray, steps: NDArray, j: int) -> NDArray[np.float64]:
    """Return the target (7), (8) of learner j at the steps e so far, (n, K).

    It is e_j w - e_j^2/4 w~ - e_j (sum of the others)/2 w.

    Parameters
    ----------
    w, w_tilde : (n, K) float64
        (1) and (5).
    steps : (p,) float64
        One per learner, eps and delta in the paper; with more than two, the mixed terms of all pairs add up.
    j : int
        Whose target.
    """
    own, others = steps[j], steps.sum() - steps[j]
    return own * w - own**2 / 4 * w_tilde - own * others / 2 * w


class Exact:
    """The second-order form with the Hessian as it is, -<u, w> + 1/2 u' H u in each row.

    In differences d_k = u_y - u_k it is -1/2 sum_k e_k d_k + 1/8 sum_k e_k d_k^2 with e_k = exp(-<f, v_k> / 2): least
    squares to d_k = 2 with weights e_k.

    Parameters
    ----------
    scores : (n, K) float64
    y : (n,) int
        Class codes.
    """

    def __init__(self, scores: NDArray, y: NDArray) -> None:
        self.y, self.weights = y, _weights(scores, y, 1.0)

    def take(self, rows: NDArray) -> Exact:
        """Return the form over some rows, (m,) int or (n,) bool."""
        other = object.__new__(Exact)
        other.y, other.weights = self.y[rows], self.weights[rows]
        return other

    def gradient(self, u: NDArray) -> NDArray[np.float64]:
        """Return H u - w, (n, K), at the move u (n, K)."""
        moved = u[np.arange(len(self.y)), self.y][:, None] - u
        return _spread(self.weights * (0.5 * moved - 1.0), self.y)

    def diagonal(self) -> NDArray[np.float64]:
        """Return the diagonal of H, (n, K)."""
        diagonal = 0.25 * self.weights
        diagonal[np.arange(len(self.y)), self.y] = 0.25 * self.weights.sum(axis=1)
        return diagonal

    def hessian(self) -> NDArray[np.float64]:
        """Return H, (n, K, K)."""
        n, K = self.weights.shape
        rows, full = np.arange(n), np.zeros((n, K, K))
        full[:, np.arange(K), np.arange(K)] = self.diagonal()
        full[rows, self.y] -= 0.25 * self.weights
        full[rows, :, self.y] -= 0.25 * self.weights
        return full

    def _trace(self) -> NDArray[np.float64]:
        return 0.5 * self.weights.sum(axis=1)

    def target(self, u: NDArray) -> NDArray[np.float64]:
        """Return (w - H u) / trace(H), (n, K): what a learner without a Hessian should add to the move u.

        Least squares to it with the weights trace(H) lies above the quadratic form, for no H exceeds its trace: a step
        that is too short rather than too long, and the right one for two classes. Zero where H is.
        """
        trace = self._trace()[:, None]
        return np.divide(-self.gradient(u), trace, out=np.zeros_like(u), where=trace > 0)

    def row_weights(self) -> NDArray[np.float64]:
        """Return trace(H), (n,), scaled to mean one: the weight of a row in least squares to `target`."""
        trace = self._trace()
        mean = trace.mean()
        # rows that are all right weigh nothing: alike then
        return trace / mean if mean > 0 else np.ones_like(trace)
