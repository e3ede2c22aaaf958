"""The sum of the views: what sources know that no single one of them, and no average of them, says.

An average is timid where views know different things: three tables that each point to a class make it surer than any of
them. So one more view is a sum of the others,

    f_s(x) = prior + sum_i b_i (f_i(x) - prior) ,   b >= 0 ,

b being what gives the lowest out-of-fold loss, held to the weights of (4.10) as if these had been seen on `STRENGTH`
more labelled rows. Its own out-of-fold scores take b without the fold that is scored; (4.10) weighs it like any view.
Where the views that cover x hold less than 1 of sum b, the sum over them is stretched to 1 (or to sum b).

The consensus of numbers is then corrected. Weights of (4.10) are above 0 and know each view by its own loss. Views
overlap, so that where one says more than the consensus the labels may say less. With E the consensus,

    E'(x) = E(x) + sum_i d_i (f_i(x) - prior) ,   sum over the views that cover x ,

d being what gives the lowest out-of-fold loss, held to 0 as if the consensus had been seen to be right on
`STRENGTH_OF_CORRECTION` more labelled rows; scores out of fold take d without the fold that is scored. Classes are not
corrected: there nothing was gained (docs/trials.md).

References
----------
D. Wolpert, "Stacked generalization", Neural Networks 1992; L. Breiman, "Stacked regressions", Machine Learning 1996.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.outputs import Outputs
from hetcore.consensus.recall import MEMORY, key_of
from hetcore.kernels.simplex import sum_views
from hetcore.kernels.threads import run_each

__all__ = ["MOST_SCORES", "ViewCorrection", "ViewSum", "factors", "nearest_scales", "summed"]

STRENGTH, STRENGTH_OF_CORRECTION = 10.0, 300.0
EVERY = 3  # rounds after which b is fitted anew
MOST_SCORES = 100_000  # scores of a view that b is fitted to: more rows add nothing
SHARED = 1_000_000  # scores of all views, below which they are not added up on threads
SURE = 1.0  # standard errors that a view must beat the prior by
NEWTON_STEPS, HALVINGS, CLOSE = 20, 12, 1e-7


class ViewSum:
    """The sum of the views of a fit.

    Attributes
    ----------
    scales : (v,) float64
        b.
    by_fold : (F, v) float64
        b without the labels of each fold.
    weight : float
        w of the sum, by (4.10).
    scores, trained : (n, k) float64
        f_s; labelled rows out of fold, or as trained.
    covers : (n,) bool
    """

    def __init__(self, outputs: Outputs, n_folds: int, n_views: int) -> None:
        self.outputs, self.weight, self.age = outputs, 0.0, 0
        self.scales = np.full(n_views, 1.0 / n_views)
        self.by_fold = np.tile(self.scales, (n_folds, 1))

    def fit(self, predicted: NDArray, covers: NDArray, codes: NDArray, fold: NDArray, weights: NDArray) -> None:
        """Fit b to the out-of-fold scores of the labelled rows, in every third call.

        Parameters
        ----------
        predicted : (v, l, k) float64
        covers : (v, l) bool
        codes : (l, k) float64
        fold : (l,) int64
        weights : (v,) float64
            What b is held to.
        """
        self.age += 1
        if (self.age - 1) % EVERY:
            return
        step = max(1, -(-codes.size // MOST_SCORES))
        change = np.where(covers[:, ::step, None], predicted[:, ::step] - self.outputs.prior, 0.0)
        codes, fold = codes[::step], fold[::step]
        useful = self._explain(change, codes)
        change, weights = change[useful], weights[useful]
        first = weights if self.age == 1 else self.scales[useful]
        # another lambda1 leaves them as they are
        made_from = change, codes, fold, weights, first
        key = key_of(self.outputs.is_classifier, self.outputs.prior, *made_from) if MEMORY.room else ""
        found = MEMORY.recalled("scales", key, lambda: self._nearest(*made_from))
        # the others have no scale
        self.scales, self.by_fold = np.zeros(len(useful)), np.zeros_like(self.by_fold)
        self.scales[useful], self.by_fold[:, useful] = found[0], found[1:]

    def _nearest(
        self, change: NDArray, codes: NDArray, fold: NDArray, weights: NDArray, first: NDArray
    ) -> NDArray[np.float64]:
        """Return b, and below it b without each fold, (1 + F, v)."""
        found = [nearest_scales(self.outputs, change, codes, weights, first)]
        for k in range(len(self.by_fold)):
            rows = fold != k
            found.append(nearest_scales(self.outputs, change[:, rows], codes[rows], weights, found[0]))
        return np.stack(found)

    def _explain(self, change: NDArray, codes: NDArray) -> NDArray[np.bool_]:
        """Return which views (v,) clearly explain something; only those are summed."""
        alone = self.outputs.loss(np.broadcast_to(self.outputs.prior, codes.shape), codes)
        gains = alone - self.outputs.loss(change + self.outputs.prior, codes)
        return gains.mean(axis=1) > SURE * gains.std(axis=1) / np.sqrt(max(1, len(codes)))

    def combine(self, predicted: NDArray, trained: NDArray, covers: NDArray, fold: NDArray, n_jobs: int = 1) -> None:
        """Set the scores from what views say of all rows; on threads, the same bits.

        Parameters
        ----------
        predicted, trained : (v, n, k) float64
            Labelled rows by the members that did not see them, or as trained.
        covers : (v, n) bool
        fold : (n,) int64
            -1 for unlabelled rows.
        n_jobs : int, default=1
        """
        self.covers, prior = covers[self.scales > 0].any(axis=0), self.outputs.prior
        self.scores = np.empty(trained.shape[1:])

        def write(k: int) -> None:
            if k < 0:
                self.trained = summed(self.scales, trained, covers, prior)
            else:
                rows = np.flatnonzero(fold == k)
                _write_sum(self.by_fold[k], predicted, covers, prior, rows=rows, out=self.scores)

        # of few rows handing over costs more than it brings
        run_each(write, range(-1, len(self.by_fold)), n_jobs if trained.size >= SHARED else 1)
        others = fold < 0
        self.scores[others] = self.trained[others]

    def effective(self, weights: NDArray, losses: NDArray) -> NDArray[np.float64]:
        """Return w (v,) with the sum's weight dealt to views: by b times the share of the prior's loss explained."""
        parts = self.scales * np.maximum(1.0 - losses, 0.0)
        total = parts.sum()
        return weights + self.weight * (parts / total if total > 0 else np.full(len(parts), 1.0 / len(parts)))


class ViewCorrection:
    """The correction of a fit's consensus.

    Parameters
    ----------
    n_views, n_folds : int

    Attributes
    ----------
    scales : (v,) float64
        d.
    by_fold : (F, v) float64
        d without the labels of each fold.
    """

    def __init__(self, n_views: int, n_folds: int) -> None:
        self.scales, self.by_fold = np.zeros(n_views), np.zeros((n_folds, n_views))

    def fit(
        self, change: NDArray[np.float64], residuals: NDArray[np.float64], fold: NDArray[np.int64], useful: NDArray
    ) -> None:
        """Fit d to the labelled rows.

        Parameters
        ----------
        change : (v, l) float64
            f_i - prior out of fold; 0 where a view does not cover a row.
        residuals : (l,) float64
            Labels less the consensus, out of fold.
        fold : (l,) int64
        useful : (v,) bool
            Which views take part.
        """
        self.scales[:], self.by_fold[:] = 0.0, 0.0
        change = change[useful]
        gram, slope = change @ change.T + STRENGTH_OF_CORRECTION * np.eye(len(change)), change @ residuals
        grams, slopes = [gram], [slope]
        for k in range(len(self.by_fold)):
            # all rows less the fold's: each is multiplied twice, and not once a fold
            out, missed = change[:, fold == k], residuals[fold == k]
            grams.append(gram - out @ out.T)
            slopes.append(slope - out @ missed)
        found = np.linalg.solve(np.stack(grams), np.stack(slopes)[:, :, None])[:, :, 0]
        self.scales[useful], self.by_fold[:, useful] = found[0], found[1:]

    def added(
        self, predicted: Sequence[NDArray], covers: NDArray[np.bool_], prior: NDArray, fold: NDArray | None = None
    ) -> NDArray[np.float64]:
        """Return what is added to the consensus (n, 1).

        Parameters
        ----------
        predicted : sequence of (n, 1) float64
            What each view says.
        covers : (v, n) bool
        prior : (1,) float64
        fold : (n,) int64, optional
            -1 for unlabelled rows; the rows of a fold get d without it. Without, d for all.
        """
        # the last row is of fold -1
        each = np.vstack([self.by_fold, self.scales])
        total = np.zeros_like(predicted[0])
        for i in np.flatnonzero(self.scales):
            scale = self.scales[i] if fold is None else each[fold, i][:, None]
            total += covers[i][:, None] * scale * (predicted[i] - prior)
        return total


def shares_of(scales: NDArray, covers: NDArray) -> NDArray[np.float64]:
    """Return by what the sum over the views that cover a row (v, n) is divided, (n,): at most 1, 0 over none."""
    whole = min(1.0, float(scales.sum()))
    return np.minimum(1.0, (scales @ covers) / whole) if whole > 0 else np.zeros(covers.shape[1])


def summed(scales: NDArray, predicted: NDArray, covers: NDArray, prior: NDArray) -> NDArray[np.float64]:
    """Return f_s (n, k) of what views say (v, n, k)."""
    found = np.empty(predicted.shape[1:])
    _write_sum(scales, predicted, covers, prior, rows=np.arange(len(found)), out=found)
    return found


def _write_sum(
    scales: NDArray, predicted: NDArray, covers: NDArray, prior: NDArray, *, rows: NDArray[np.int64], out: NDArray
) -> None:
    """Write f_s of some rows (m,) to out (n, k)."""
    # most views have no scale: their rows are not picked out
    used = np.flatnonzero(scales)
    parts = factors(np.zeros(used.size), 1.0, scales[used], covers[np.ix_(used, rows)])
    sum_views(np.ascontiguousarray(predicted, np.float64), prior, used, parts, rows, out)


def factors(weights: NDArray, of_sum: float, scales: NDArray, covers: NDArray) -> NDArray[np.float64]:
    """Return by what f_i - prior is multiplied in E - prior, (v, n), E having weights (v,) and that of the sum.

    Parameters
    ----------
    weights : (v,) float64
    of_sum : float
    scales : (v,) float64
        b.
    covers : (v, n) bool
    """
    share = shares_of(scales, covers)
    over = np.divide(of_sum, share, out=np.zeros_like(share), where=share > 0)
    mass = weights @ covers + of_sum * (share > 0)
    parts = (weights[:, None] + scales[:, None] * over) * covers
    return np.divide(parts, mass, out=np.zeros_like(parts), where=mass > 0)


def nearest_scales(
    outputs: Outputs, change: NDArray, codes: NDArray, centre: NDArray, first: NDArray
) -> NDArray[np.float64]:
    """Return b >= 0 (v,) with the lowest mean loss of prior + sum b_i change_i, plus STRENGTH |b - centre|^2 / 2 n.

    Projected Newton: scales that the slope holds at 0 stay, the others take a Newton step with backtracking.

    Parameters
    ----------
    outputs : Outputs
    change : (v, n, k) float64
    codes : (n, k) float64
    centre, first : (v,) float64
        What b is held to, and where the steps begin.
    """
    if not change.size:
        return centre.copy()
    pull, b, flat = STRENGTH / len(codes), first.copy(), change.reshape(len(change), -1)

    def value(b: NDArray) -> tuple[float, NDArray]:
        fitted, losses = outputs.fitted_with_loss(outputs.prior + (b @ flat).reshape(codes.shape), codes)
        return float(losses.mean()) + 0.5 * pull * float(((b - centre) ** 2).sum()), fitted

    now, fitted = value(b)
    for _ in range(NEWTON_STEPS):
        step = np.zeros_like(b)
        slope = flat @ (fitted - codes).ravel() / len(codes) + pull * (b - centre)
        free = (b > 0) | (slope < 0)
        # few views are free, and only their curvature is asked for
        curved = _curvature(outputs, change[free], fitted)
        step[free] = np.linalg.solve(curved + pull * np.eye(len(curved)), slope[free])
        for halving in range(HALVINGS):
            moved = np.maximum(b - step * 0.5**halving, 0.0)
            new, fitted = value(moved)
            if new <= now:
                break
        else:
            return b
        done = now - new < CLOSE * max(abs(now), 1e-12)
        b, now = moved, new
        if done:
            break
    return b


def _curvature(outputs: Outputs, change: NDArray, fitted: NDArray) -> NDArray[np.float64]:
    """Return the curvature (v, v) of the mean loss by b, where (n, k) are fitted."""
    n, flat = len(fitted), change.reshape(len(change), fitted.size)
    if outputs.k == 1:
        return (flat * outputs.curvature(fitted).ravel()) @ flat.T / n
    weighted = change * fitted
    # a product with ones: faster than a sum over so short an axis
    mean = weighted @ np.ones(weighted.shape[2])
    return (weighted.reshape(flat.shape) @ flat.T - mean @ mean.T) / n
