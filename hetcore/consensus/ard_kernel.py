r"""Kernel ridge with a length scale of each column: automatic relevance determination, by the fit's own gradients.

A Gaussian kernel of all columns alike finds no two rows near each other where many columns say nothing. Here the kernel
is exp(-|s * (x - l)|) at labelled rows l, with scales s of a member of its own, learned from the labels that it sees:
ridge regression with some scales, then s_j**2 in proportion to the root of its mean squared derivative along column j,
and again. Ridge steps on its features follow as in `hetcore.consensus.smooth_learner`.

References
----------
Radhakrishnan, Beaglehole, Pandit, Belkin (2024), "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383: recursive feature machines, here with the diagonal of the
average gradient outer product. Neal (1996), "Bayesian Learning for Neural Networks": automatic relevance determination.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.kernel_ridge import distances, whitened
from hetcore.consensus.recall import MEMORY, key_of
from hetcore.consensus.smooth_learner import BEYOND, FAINT, FIRST_PENALTY, SmoothLearner, flat, ridge
from hetcore.consensus.view_learners import ViewContent
from hetcore.kernels.threads import run_each
from hetcore.numerics import cache_blocks
from hetcore.schema import Array, checked

__all__ = ["ArdKernelLearner", "ArdPrediction", "relevance"]

MOST_LANDMARKS, MOST_LEARNED = 300, 200  # labelled rows of the kernel, and of those that scales are learned from
STEPS = 3  # of the scales
WIDTH = 4.0  # of the kernel, in mean distances of landmarks
PENALTIES = (1e-3, 1e-2, 0.1, 1.0, 10.0)  # of ridge regression as the scales are learned; the best left out is taken
NEAR = 1e-6  # distance over the width below which two rows are the same, and no slope leads from one to the other


class _Members(NamedTuple):
    """What members look through.

    Attributes
    ----------
    landmarks : (m, d) float64
    scales : list of (d,) float64
    bases : list of (m, e) float64
        From the kernel at the landmarks to features; 0 of landmarks that a member must not see.
    fitted : list of (l + u, e) float64
        Features of the labelled and of the pulled rows.
    rest : list of (m_u, m) float64
        Kernel of the unlabelled rows.
    """

    landmarks: NDArray[np.float64]
    scales: list[NDArray[np.float64]]
    bases: list[NDArray[np.float64]]
    fitted: list[NDArray[np.float64]]
    rest: list[NDArray[np.float64]]


def relevance(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scales of columns (d,), by which rows are multiplied, as rows X (m, d) and their numbers y (m,) say."""
    squares, missed = np.full(X.shape[1], 1.0 / max(1, X.shape[1])), y - y.mean()
    for step in range(STEPS):
        distance, width = _apart(X, squares)
        kernel = np.exp(-distance / width)
        if step == 0:
            penalty, dual = _left_out_best(kernel, missed)
        else:
            # other scales, another kernel, hardly another penalty: a factor takes a tenth of the eigenvectors' time
            dual = ridge(kernel, penalty, missed[:, None])[:, 0]
        slope = np.divide(kernel, distance, out=np.zeros_like(kernel), where=distance > NEAR * width)
        # the fit's slope along each column at each row, squared
        slopes = squares * (X * (slope @ dual)[:, None] - slope @ (dual[:, None] * X))
        steep = (slopes**2).sum(axis=0)
        # targets that all are the same, or columns that all are
        if not 0 < steep.max(initial=0.0) < np.inf:
            break
        squares = np.sqrt(steep / steep.max())
        squares /= squares.sum()
    return np.sqrt(squares) / _apart(X, squares)[1]


def _apart(X: NDArray, squares: NDArray) -> tuple[NDArray[np.float64], float]:
    """Return the distances (m, m) of rows X (m, d) by squared scales (d,), and the kernel's width."""
    rows = X * np.sqrt(squares)
    found = distances(rows, rows)
    # rows that are the same leave a kernel of ones
    return found, WIDTH * float(found.sum()) / max(1, len(X) * (len(X) - 1)) or 1.0


def _left_out_best(kernel: NDArray[np.float64], missed: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the penalty of ridge regression with the least leave-one-out error, and the coefficients (m,) by it."""
    values, vectors = np.linalg.eigh(kernel)
    squared, turned, found = vectors**2, vectors.T @ missed, []
    for penalty in PENALTIES:
        shrunk = 1.0 / (values + penalty)
        dual = vectors @ (turned * shrunk)
        found.append((float(((dual / (squared @ shrunk)) ** 2).sum()), penalty, dual))
    return min(found, key=lambda each: each[0])[1:]


class ArdKernelLearner(SmoothLearner):
    """Ridge steps for numbers, on a kernel whose columns each member scales by what its labels say of them."""

    def _prepare(self, content: ViewContent) -> None:
        self.first_penalty, self.exact, self.apart = FIRST_PENALTY["kernel"], True, []
        made_from = content.columns_key, content.seed, self.codes, self.fold, self.pulled
        key = key_of(*made_from) if content.columns_key else ""
        made = MEMORY.recalled("members", key, partial(self._members_features, content.X, content.seed))
        self.landmarks, self.scales, self.bases, fitted, self.rest = made
        self.seen = self.fold[self.own][:, None, None] != np.arange(self.rule.n_folds)[:, None]
        found = run_each(lambda f: self._turned(fitted[f], f), range(self.rule.n_folds), self.rule.n_jobs)
        values, self.vectors, self.turned, self.grams = map(list, zip(*found))
        self.values = np.stack(values)
        # its own of each member, since labels of other folds have shaped the others' columns
        self.largest = np.maximum(1e-9, np.where(np.isfinite(self.values), self.values, 0.0).max(axis=1, initial=0.0))
        self.weights = np.zeros((self.values.shape[1], self.rule.n_folds, self.outputs.k))
        self.scores = np.tile(self.outputs.prior, (len(fitted[0]), self.rule.n_folds, 1))
        low, high = self.codes[self.own].min(initial=0.0), self.codes[self.own].max(initial=0.0)
        more = BEYOND["kernel"] * (high - low)
        self.range = (low - more, high + more)

    def _members_features(self, X: NDArray, seed: int) -> _Members:
        rng, folds = np.random.default_rng(seed), self.rule.n_folds
        chosen = np.arange(self.own.size)
        if chosen.size > MOST_LANDMARKS:
            chosen = np.sort(rng.choice(chosen, MOST_LANDMARKS, replace=False))
        landmarks, fitted = X[self.own[chosen]].astype(np.float64), X[np.concatenate([self.own, self.pulled])]
        codes, fold = self.codes[self.own[chosen]], self.fold[self.own[chosen]]
        most = chosen.size - np.bincount(fold, minlength=folds).min()

        def member(f: int) -> tuple[NDArray, ...]:
            sees = fold != f
            some = np.flatnonzero(sees)
            some = some[np.linspace(0, some.size - 1, min(some.size, MOST_LEARNED)).astype(int)]
            scales = relevance(landmarks[some], codes[some, 0]) if some.size else np.zeros(X.shape[1])
            scaled = landmarks * scales
            basis = np.zeros((len(landmarks), most))
            basis[sees, : sees.sum()] = whitened(_kernel(scaled[sees], scaled[sees]))
            return scales, basis, _kernel(fitted * scales, scaled) @ basis, _kernel(X[self.others] * scales, scaled)

        found = run_each(member, range(folds), self.rule.n_jobs)
        return _Members(landmarks, *map(list, zip(*found)))

    def _turned(self, fitted: NDArray[np.float64], f: int) -> tuple[NDArray, ...]:
        """Return eigenvalues and -vectors of a member's Gram matrix, its features and labelled rows' matrix in them.

        Directions of hardly any size have infinite values: no step is taken along them.
        """
        own, pulled = fitted[: self.own.size][self.seen[:, f, 0]], fitted[self.own.size :]
        of_own = own.T @ own
        values, vectors = np.linalg.eigh(of_own + self._pulled_weight() * (pulled.T @ pulled) if self.pulls else of_own)
        values = np.where(values > FAINT * max(values.max(initial=0.0), 1e-300), values, np.inf)
        return values, vectors, fitted @ vectors, vectors.T @ of_own @ vectors

    def _slopes(self, residuals: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([each.T @ residuals[:, f] for f, each in enumerate(self.turned)], axis=1)

    def _products(self) -> NDArray[np.float64]:
        return np.stack([each @ self.weights[:, f] for f, each in enumerate(self.turned)], axis=1)

    def _solved(self, slopes: NDArray, penalty: NDArray) -> NDArray[np.float64]:
        return slopes / (self.values.T + penalty)[:, :, None]

    def _first_steps(self, slopes: NDArray, penalty: NDArray) -> NDArray[np.float64]:
        found = []
        for f, gram in enumerate(self.grams):
            share = penalty[f] / max(float(self.values[f][np.isfinite(self.values[f])].sum()), 1e-300)
            found.append(ridge(gram, share * np.trace(gram), slopes[:, f]))
        return np.stack(found, axis=1)

    def _of_rest(self, weights: NDArray) -> NDArray[np.float64]:
        dual = self._duals(weights)
        products = [kernel @ dual[:, f] for f, kernel in enumerate(self.rest)]
        return flat(np.stack(products, axis=1))

    def _duals(self, weights: NDArray) -> NDArray[np.float64]:
        """Return the coefficients (m, F, k) of the members' kernels that equal weights (e, F k)."""
        weights = weights.reshape(self.weights.shape)
        parts = zip(self.bases, self.vectors)
        return np.stack([basis @ (vectors @ weights[:, f]) for f, (basis, vectors) in enumerate(parts)], axis=1)

    def keep(self) -> dict[str, NDArray]:
        """Return the members' scales and their coefficients of the best round, and the landmarks."""
        constant = np.zeros((self.rule.n_folds, self.outputs.k))
        arrays = {"constant": constant, "range": np.array(self.range)}
        dual = flat(self._duals(self._kept_weights))
        return arrays | {"landmarks": self.landmarks, "scales": np.stack(self.scales), "dual": dual}


class ArdPrediction:
    """What was learned, without the training rows.

    Parameters
    ----------
    arrays : mapping
        Landmarks (m, d), scales (F, d), and dual (m, F k): the kernel's coefficients of each member.
    sizes : dict of str to int, optional
        Known sizes by letter.

    Raises
    ------
    ModelFileError
        If the arrays do not fit together or hold a number that is not finite.
    """

    _stored = {"landmarks": Array("m d"), "scales": Array("F d", low=0), "dual": Array("m K")}

    def __init__(self, arrays: Mapping[str, NDArray], sizes: dict[str, int] | None = None) -> None:
        self.landmarks, self.scales, self.dual = checked(self._stored, {}, arrays, sizes).values()

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the fit at new rows X (n, d), (n, F k)."""
        parts = np.split(self.dual, len(self.scales), axis=1)
        members = [(own, self.landmarks * own, dual) for own, dual in zip(self.scales, parts)]
        found = np.empty((len(X), self.dual.shape[1]))
        for some in cache_blocks(len(X), len(self.landmarks)):
            found[some] = np.hstack([_kernel(X[some] * own, landmarks) @ dual for own, landmarks, dual in members])
        return found


def _kernel(rows: NDArray[np.float64], landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    found = distances(rows, landmarks)
    return np.exp(np.negative(found, out=found), out=found)
