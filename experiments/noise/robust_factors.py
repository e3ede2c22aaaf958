"""Robust factorizations, rivals of Table 2: RCF by a Huber estimator, RBMF by variational inference.

RCF (Mehta, Hofmann, Nejdl 2007): least squares in turn for users and items, each rating weighted by Huber's estimator
of the last residuals, min(1, k / |r - f|); with biases and the L2 penalty that the paper's section 5.1 adds.

RBMF (Lakshminarayanan, Bouchard, Archambeau 2011), robust model and robust likelihood:

    r_ij ~ N(U_i . V_j, 1 / (tau alpha_i beta_j)),  U_i ~ N(0, 1 / (alpha_i Lambda_U)),  alpha_i ~ Gamma(a/2, a/2)

and the same for V_j, beta_j: noise of rank one, Student's t for the factors. Mean field q(U) q(alpha) q(V) q(beta);
Lambda (diagonal) and tau by their maximum. Ratings are less their mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.noise.recommenders import Ratings, Recommender, ridge, second_moments

__all__ = ["RBMF", "RCF", "expected_squares"]

START = 0.1  # deviation of the first factors


class RCF(Recommender):
    """Biased factorization by least squares in turn, weighted by Huber's estimator; lambda is for each rating."""

    settings = {"penalty": [0.14, 0.1, 0.2], "huber": [2.0, 1.0], "n_factors": [10]}
    n_iterations, patience = 30, 3

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[Any]:
        sides = [ratings, Ratings(ratings.items, ratings.users, ratings.values, ratings.shape[::-1])]
        rng, D = np.random.default_rng(0), setting["n_factors"]
        factors = [START * rng.standard_normal((size, D)) for size in ratings.shape]
        biases = [np.zeros(size) for size in ratings.shape]
        for _ in range(n):
            residual = ratings.values - self._predicted((*factors, *biases), ratings.users, ratings.items)
            weights = np.minimum(1.0, setting["huber"] / np.maximum(np.abs(residual), 1e-12))
            for side, own in enumerate(sides):
                matrix, other = own.matrix(weights), 1 - side
                values = own.values - self.mean_ - biases[other][own.items]
                columns = np.column_stack([factors[other], np.ones(own.shape[1])])
                penalties = setting["penalty"] * np.maximum(matrix.sum(axis=1), 1.0)
                solved = ridge(matrix, own.matrix(weights * values), columns, penalties)
                factors[side], biases[side] = solved[:, :-1], solved[:, -1]
            yield (*factors, *biases)

    def _predicted(self, learned: Any, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        U, V, b, c = learned
        return self.mean_ + b[users] + c[items] + np.einsum("nd,nd->n", U[users], V[items])


class RBMF(Recommender):
    """Robust Bayesian factorization: a precision for each user and each item, learned by mean field."""

    settings = {"n_factors": [10, 5], "freedom": [10.0, 2.0]}
    n_iterations, patience = 60, 5

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[Any]:
        values = ratings.values - self.mean_
        own = ratings._replace(values=values)
        pairs = [own, Ratings(own.items, own.users, values, own.shape[::-1])]
        rng, D = np.random.default_rng(0), setting["n_factors"]
        sides = [_Side(START * rng.standard_normal((size, D))) for size in ratings.shape]
        tau = 1.0 / values.var()
        for _ in range(n):
            for side, entries in enumerate(pairs):
                sides[side].learn(entries, sides[1 - side], tau, setting["freedom"])
            weights = sides[0].precision[own.users] * sides[1].precision[own.items]
            tau = values.size / (weights * expected_squares(own, *sides)).sum()
            yield sides[0].mean, sides[1].mean, sides[0].precision, sides[1].precision

    def _predicted(self, learned: Any, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        return self.mean_ + np.einsum("nd,nd->n", learned[0][users], learned[1][items])


class _Side:
    """q of the users, or of the items: means (n, D), covariances (n, D, D), mean precisions (n,), Lambda (D,)."""

    def __init__(self, mean: NDArray) -> None:
        n, D = mean.shape
        self.mean, self.covariance = mean, np.tile(START**2 * np.eye(D), (n, 1, 1))
        self.precision, self.scale = np.ones(n), np.ones(D)

    @property
    def moments(self) -> NDArray[np.float64]:
        """E[v v'] (n, D, D)."""
        return self.covariance + self.mean[:, :, None] * self.mean[:, None, :]

    def learn(self, entries: Ratings, other: _Side, tau: float, freedom: float) -> None:
        """Update q of the factors, then of the precisions, then Lambda, the other side held."""
        D = self.mean.shape[1]
        trusted = entries.matrix(tau * other.precision[entries.items])
        inverse = second_moments(trusted, other.moments) + np.diag(self.scale)
        share = np.linalg.inv(inverse)
        right = entries.matrix(tau * other.precision[entries.items] * entries.values) @ other.mean
        self.mean = np.einsum("nde,ne->nd", share, right)
        self.covariance = share / self.precision[:, None, None]
        squares = tau * other.precision[entries.items] * expected_squares(entries, self, other)
        own = (self.scale * np.einsum("ndd->nd", self.moments)).sum(axis=1)
        counts = np.bincount(entries.users, minlength=len(self.mean))
        rate = freedom + own + np.bincount(entries.users, squares, len(self.mean))
        self.precision = (freedom + D + counts) / rate
        self.scale = len(self.mean) / (self.precision[:, None] * np.einsum("ndd->nd", self.moments)).sum(axis=0)


def expected_squares(entries: Ratings, rows: _Side, columns: _Side) -> NDArray[np.float64]:
    """Return E[(r - u . v)^2] of each rating under q: tr(E[uu'] E[vv']) has all but the means' part."""
    u, v = rows.mean[entries.users], columns.mean[entries.items]
    fitted = np.einsum("nd,nd->n", u, v)
    second = np.einsum("nde,nde->n", rows.moments[entries.users], columns.moments[entries.items])
    return entries.values**2 - 2.0 * entries.values * fitted + second
