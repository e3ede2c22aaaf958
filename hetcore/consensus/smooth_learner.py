"""The smooth learner of a view: linear, or kernel ridge on landmarks.

A ridge step on the residuals in each round, whose penalty falls from round to round; after t rounds the fit is about
that of ridge regression with the penalty of round t, so that the best round chooses it. Of numbers the first round's
penalty is some way above the best of a few that ridge regression is tried with. All members step in the eigenvectors of
one Gram matrix, that of all rows: a member's own lacks a fold, so the steps are a little off and the next ones mend it,
for one eigendecomposition instead of one a member. Where a labelled row lies `FAR_OUT` in a column a line's members of
numbers have their own, up to `MOST_EXACT`: it may be most of the matrix of all, and nothing of that of a member which
has not seen it. Where columns are made of labels members have their own too: the products of a category and its
neighbours' labels, summed over all rows, tell the labels that the member must not see.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from hetcore.consensus.kernel_ridge import LandmarkFeatures, square_lengths
from hetcore.consensus.recall import MEMORY, key_of
from hetcore.consensus.table_views import TableView, Unseen
from hetcore.consensus.view_learners import ViewContent, ViewLearner
from hetcore.kernels.threads import run_each
from hetcore.numerics import product

__all__ = ["BEYOND", "FAINT", "FIRST_PENALTY", "SmoothLearner", "flat", "ridge"]

FIRST_PENALTY = {"kernel": 0.1, "linear": 1.0}  # of a ridge step, over the largest eigenvalue
LAST_PENALTY, LAST_OF_OWN = 1e-5, 1e-8  # the second where members of numbers have their own Gram matrices
PENALTY_FALL = 0.6  # from round to round
LOOKS = (0, 4, 8, 12, 16, 20)  # falls of the penalty after which its ridge regression is tried before the first round
MORE_LOOKS = (24, 28, 32)  # further ones of a line whose members have their own Gram matrices
FAINTEST_PENALTY = 1e-12  # over the trace, below which rounding would leave no positive matrix
SHORT = 4  # falls that the first round is short of the best of them
FAINT = 1e-9  # eigenvalue over the largest, below which no step is taken
FEWEST_CURVATURE = 0.05  # of the log loss, as a ridge step takes it
BEYOND = {"kernel": 0.2, "linear": 1.0}  # of the labels' range, how far beyond it numbers are predicted
MOST_TIMES = 1e3  # that farther, where ridge regression misses left-out rows by so many times less than the prior
FAR_OUT = 6.0  # deviations from a column's mean
MOST_EXACT = 300, 20_000  # directions, and labelled rows, up to which a line's members have their own Gram matrices
SOME = 300  # rows whose mean length stands for that of all
ROWS = 8_192  # that one thread works on
CONSTANT = 0.3  # the constant column of a smooth learner, where rows have length 1 on average


class SmoothLearner(ViewLearner):
    """Ridge steps on columns, or on the features of a Gaussian kernel at landmarks."""

    def _prepare(self, content: ViewContent) -> None:
        self.landmarks, self.first_penalty = None, FIRST_PENALTY[content.learner]
        rows = content.X.load() if isinstance(content.X, TableView) else content.X
        if content.learner == "kernel":
            # labelled rows first among the landmarks, for the fit is best near them
            made = partial(LandmarkFeatures, rows, np.random.default_rng(0), self.own)
            key = content.columns_key and key_of(content.columns_key, self.own)
            self.landmarks = MEMORY.recalled("landmarks", key, made)
        # of the columns and of which rows are labelled or pulled: another lambda0, but for 0, leaves them as they are
        shared = content.columns_key and self.pulled.size
        key = key_of(content.columns_key, self.own, self.pulled, self.pulls) if shared else ""
        made = MEMORY.recalled("features", key, partial(self._features, rows))
        self.unit, fitted, self.rest, grams = made
        self.values, self.vectors = self._spectrum(fitted, grams)
        # over the features, which nothing else needs unless they are recalled
        self.turned = self._times(fitted, self.vectors, over=not MEMORY.room)
        self.apart = [] if content.unseen is None else self._members_apart(rows, content.unseen)
        self.grams = [own.T @ own for own, _ in self.apart] or self._members_grams(rows)
        self.exact = bool(self.grams) and not self.apart
        pulled = self.turned[self.own.size :]
        # what they add to each member's
        self.of_pulled = self._pulled_weight() * self._gram(pulled) if self.exact and pulled.size else 0.0
        self.weights = np.zeros((self.values.size, self.rule.n_folds, self.outputs.k))
        # which labelled rows a member has seen
        self.seen = self.fold[self.own][:, None, None] != np.arange(self.rule.n_folds)[:, None]
        # of the labelled rows in eigenvectors; of a few rows it costs nothing when it is asked for
        self._own_gram = self.vectors.T @ grams[0] @ self.vectors if len(grams) > 1 else None
        # rows first, as a product with the eigenvectors gives them: (m, F, k)
        self.scores = np.tile(self.outputs.prior, (len(fitted), self.rule.n_folds, 1))
        falls, times = self._looked()
        self.first_penalty *= PENALTY_FALL**falls
        # numbers are not predicted far beyond the labels: a linear fit of few rows runs far, unless it tells others
        known = self.codes[self.own]
        low, high = known.min(initial=0.0), known.max(initial=0.0)  # their mean is 0
        more = BEYOND[content.learner] * (high - low) * (times if self.landmarks is None else 1.0)
        self.range = (low - more, high + more) if self.own.size and not self.outputs.is_classifier else None

    def _members_grams(self, rows: NDArray) -> list[NDArray[np.float64]]:
        """Return the Gram matrix (e, e) of each member's labelled rows in eigenvectors; none where one serves all."""
        directions, labels = MOST_EXACT
        few = self.values.size <= directions and 0 < self.own.size <= labels
        if self.outputs.is_classifier or self.landmarks is not None or not few:
            return []
        if np.abs(rows[self.own]).max(initial=0.0) < FAR_OUT:
            return []
        own, fold = self.turned[: self.own.size], self.fold[self.own]
        whole = self._gram(own)
        return [whole - self._gram(own[fold == k]) for k in range(self.rule.n_folds)]

    def _members_apart(self, rows: NDArray, unseen: Unseen) -> list[tuple[NDArray, NDArray]]:
        """Return by member the rows that it learns from, in eigenvectors (b_m, e), and their codes (b_m, k)."""
        ends = np.cumsum([part.size for part in self.training]).tolist()
        learned, codes = self._unseen(rows, unseen), self.codes[self.own[np.concatenate(self.training)]]
        return [(learned[first:end], codes[first:end]) for first, end in zip([0, *ends[:-1]], ends)]

    def _unseen(self, rows: NDArray, unseen: Unseen) -> NDArray[np.float64]:
        """Return the rows that members learn from in eigenvectors, member after member, (b, e)."""
        among, places = np.concatenate(self.training), unseen.places
        learned = self.own[among]
        if self.landmarks is None:
            # what labels make of a row, beside what it is for all: few columns see labels
            change = (unseen.values - rows[learned[:, None], places]) * self.unit
            return self.turned[among] + change @ self.vectors[places]
        given = rows[learned]
        given[:, places] = unseen.values
        return _with_constant(self.landmarks.of(given), self.unit) @ self.vectors

    def _solved(self, slopes: NDArray, penalty: float) -> NDArray[np.float64]:
        """Return the members' ridge steps (e, F, k) along their slopes (e, F k)."""
        slopes = slopes.reshape(self.weights.shape)
        if not self.grams:
            return slopes / (self.values + penalty)[:, None, None]
        # a factor in each round costs less than eigenvectors once
        parts = zip(self.grams, slopes.transpose(1, 0, 2))
        return np.stack([ridge(gram + self.of_pulled, penalty, own) for gram, own in parts], axis=1)

    def _features(self, rows: NDArray) -> tuple[float, NDArray[np.float64], NDArray, tuple[NDArray[np.float64], ...]]:
        """Return the unit of rows, features of those fitted, columns of the others, Gram matrices.

        These are of the labelled and of the pulled rows, d x d; of fewer rows than columns that of all of them, m x m.

        The others' columns are those of `rows`, or of the kernel: they are predicted by coefficients of these.
        """
        among = np.concatenate([self.own, self.pulled]) if self.pulls else self.own
        width = rows.shape[1] if self.landmarks is None else self.landmarks.turn.shape[1]
        fitted = np.empty((among.size, width + 1))
        given = fitted[:, :-1]
        if self.landmarks is None:
            self._by_rows(among.size, lambda part: given.__setitem__(part, rows[among[part]]))
            some, rest = rows, rows[self.others]
        else:
            self.landmarks.of(rows, among, self.rule.n_jobs, given)
            # some rows are enough to know how long they are on average: to ask for all would cost the most
            step = max(1, len(rows) // SOME)
            some = given if 2 * among.size > len(rows) else self.landmarks.of(rows[::step])
            rest = self.landmarks.kernel_of(rows, self.others, self.rule.n_jobs)
        # rows of length 1 on average, so that one row of penalties serves all tables
        unit = 1.0 / max(np.sqrt(square_lengths(some).mean()), 1e-12)
        self._by_rows(len(fitted), lambda part: _finish(fitted[part], unit))
        own, pulled = fitted[: self.own.size], fitted[self.own.size :]
        few = 0 < len(fitted) < fitted.shape[1]
        # the others apart from those fitted, so that a round does not pick its rows anew
        return unit, fitted, rest, (fitted @ fitted.T,) if few else (self._gram(own), self._gram(pulled))

    def _by_rows(self, n: int, task: Callable[[slice], Any]) -> list[Any]:
        """Return what a task returns of n rows, some at a time: the same ones however many threads there are."""
        return run_each(task, [slice(first, first + ROWS) for first in range(0, max(n, 1), ROWS)], self.rule.n_jobs)

    def _times(
        self, rows: NDArray[np.float64], weights: NDArray[np.float64], over: bool = False
    ) -> NDArray[np.float64]:
        """Return rows @ weights (m, K), in the place of the rows if they may be lost and it has as many columns."""
        over = over and rows.shape[1] == weights.shape[1]
        found = rows if over else np.empty((len(rows), weights.shape[1]))
        self._by_rows(len(rows), lambda some: found.__setitem__(some, rows[some] @ weights))
        return found

    def _gram(self, rows: NDArray[np.float64], others: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return rows.T @ others (e, K), of the rows themselves unless given."""
        others = rows if others is None else others
        parts = self._by_rows(len(rows), lambda some: rows[some].T @ others[some])
        return sum(parts[1:], parts[0])

    def _spectrum(
        self, fitted: NDArray, grams: tuple[NDArray[np.float64], ...]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return eigenvalues and -vectors (d, e) of the Gram matrix that a member has on average."""
        # a member lacks one fold of the labelled rows, and has all pulled ones
        seen, pulled = 1.0 - 1.0 / self.rule.n_folds, self._pulled_weight()
        if len(grams) > 1:
            values, vectors = np.linalg.eigh(seen * grams[0] + pulled * grams[1])
        else:
            # of fewer rows than columns the rows' own matrix has the same eigenvalues, and is smaller
            roots = np.sqrt(np.where(np.arange(len(fitted)) < self.own.size, seen, pulled))
            values, vectors = np.linalg.eigh(roots[:, None] * grams[0] * roots)
        self.largest = max(1e-9, float(values.max()))
        # directions of hardly any size carry noise, which a falling penalty would blow up
        used = values > FAINT * self.largest
        values, vectors = values[used], np.ascontiguousarray(vectors[:, used])
        return values, vectors if len(grams) > 1 else fitted.T @ (roots[:, None] * vectors) / np.sqrt(values)

    def _looked(self) -> tuple[int, float]:
        """Return how often the penalty falls before the first round, and how many times less ridge regression misses.

        It falls to some way short of ridge regression's best: with a penalty far too large rounds would teach nothing,
        nor how far the view gets. What the best misses left-out rows by is over what the prior does; 1 at least.
        """
        own, left_out = self.turned[: self.own.size], ~self.seen
        # a step towards classes is no straight line, whose best penalty would be theirs
        if self.outputs.is_classifier or not self._taught or not own.size:
            return 0, 1.0
        missed = self.codes[self.own, None] - self.outputs.prior
        if self.apart:
            slopes = self._slopes_of([codes - self.outputs.prior for _, codes in self.apart])
        else:
            slopes = self._gram(own, flat(missed * self.seen))
        looks = LOOKS + MORE_LOOKS if self.exact else LOOKS
        penalties = [self.largest * self.first_penalty * PENALTY_FALL**falls for falls in looks]
        # as the first round steps; one Gram matrix for all may be large, and a factor of it for each look too long
        solved = self._first_steps if self.exact else self._solved
        # of all looks at once, for the rows are many and what they are multiplied with is not
        steps = np.concatenate([flat(solved(slopes, penalty)) for penalty in penalties], axis=1)

        def errors_of(some: slice) -> NDArray[np.float64]:
            change = (own[some] @ steps).reshape(-1, len(looks), *self.weights.shape[1:])
            return (((missed[some, None] - change) * left_out[some, None]) ** 2).sum(axis=(0, 2, 3))

        errors = self._by_rows(len(own), errors_of)
        errors = sum(errors[1:], errors[0])
        times = np.sqrt(((missed * left_out) ** 2).sum() / max(float(errors.min()), 1e-300))
        return max(0, looks[int(np.argmin(errors))] - SHORT), float(np.clip(times, 1.0, MOST_TIMES))

    def _step(self, pull: NDArray[np.float64] | None) -> None:
        last = LAST_OF_OWN if self.exact else LAST_PENALTY
        penalty = self.largest * max(self.first_penalty * PENALTY_FALL**self.round, last)
        # labelled rows first, as in `fitted_rows`
        fitted, count = self.outputs.fitted(self.scores), self.own.size
        residuals = np.zeros_like(fitted)
        if not self.apart:
            known, seen = fitted[:count], self.seen
            # a member's own fold has no residual
            residuals[:count] = (self.codes[self.own, None] - known) * seen
            curved = (self.outputs.curvature(known) * seen).mean(axis=(0, 2))
            curved /= np.maximum(seen.mean(axis=(0, 2)), 1e-12)
        if pull is not None and self.pulled.size:
            residuals[count:] = self._pulled_weight() * (pull.transpose(1, 0, 2) - fitted[count:])
        slopes = self._slopes(residuals)
        if self.apart:
            parts = zip(self.apart, self.weights.transpose(1, 0, 2))
            members = [(codes, self.outputs.fitted(self._in_range(rows @ own))) for (rows, codes), own in parts]
            slopes += self._slopes_of([codes - known for codes, known in members])
            curved = np.array([self.outputs.curvature(known).mean() for _, known in members])
        # one curvature for a member: an eigendecomposition of its own in each round would cost the most by far
        size = np.maximum(FEWEST_CURVATURE, curved)
        if self.round == 0 and self.pulls and self.pulled.size:
            steps = self._first_steps(slopes, penalty)
        else:
            steps = self._solved(slopes, penalty)
        self.weights = self.weights + steps / size[:, None]
        self.scores = self._members_of(self._products())

    def _slopes(self, residuals: NDArray) -> NDArray[np.float64]:
        """Return the slopes (e, F k) of residuals (m, F, k) of the fitted rows."""
        return self._gram(self.turned, flat(residuals))

    def _products(self) -> NDArray[np.float64]:
        """Return the fitted rows' products with the members' weights (m, F k)."""
        return self._times(self.turned, flat(self.weights))

    def _first_steps(self, slopes: NDArray, penalty: float) -> NDArray[np.float64]:
        """Return steps (e, F, k) on the labelled rows alone: before there is an E no row is to stay at the prior.

        Else rows that no label is like, such as those of a column that only they have, would stay there for good.
        """
        # as large beside the labelled rows alone as it is beside all
        share = penalty / max(float(self.values.sum()), 1e-300)
        if self.grams:
            parts = zip(self.grams, slopes.reshape(self.weights.shape).transpose(1, 0, 2))
            return np.stack([ridge(gram, share * np.trace(gram), own) for gram, own in parts], axis=1)
        own = self.turned[: self.own.size]
        gram = (1.0 - 1.0 / self.rule.n_folds) * (own.T @ own if self._own_gram is None else self._own_gram)
        return ridge(gram, share * np.trace(gram), slopes).reshape(self.weights.shape)

    def _members_of(self, flat: NDArray) -> NDArray[np.float64]:
        """Return what members say of rows (m, F, k) whose products with their weights are given (m, F k)."""
        return self._in_range(flat.reshape(len(flat), *self.weights.shape[1:]))

    def _in_range(self, predicted: NDArray) -> NDArray[np.float64]:
        """Return predictions less the prior, (..., k), with it, numbers within their range; in place."""
        predicted += self.outputs.prior
        return predicted if self.range is None else np.clip(predicted, *self.range, out=predicted)

    def _slopes_of(self, missed: list[NDArray]) -> NDArray[np.float64]:
        """Return the slopes (e, F k) of what members miss (b_m, k), each on the rows that it alone learns from."""
        return np.hstack([rows.T @ own for (rows, _), own in zip(self.apart, missed)])

    def members(self) -> NDArray[np.float64]:
        """Return what each member says of the unlabelled rows (F, m_u, k) in the best round."""
        # turned back, the weights are few; turning the rows would be a hundred times the work
        return self._members_of(self._of_rest(flat(self._kept_weights))).transpose(1, 0, 2)

    def pulled_members(self) -> NDArray[np.float64]:
        """Return what each member says of the pulled rows (F, u, k) in the best round."""
        return self._kept[self.own.size :].transpose(1, 0, 2)

    def _of_labelled(self) -> NDArray[np.float64]:
        return self.scores[: self.own.size].transpose(1, 0, 2)

    def _mean_of_others(self) -> NDArray[np.float64]:
        if self.range is None:
            # the mean of products is the product of the mean; with clipped members it is not
            return self._of_rest(self.weights.mean(axis=1)) + self.outputs.prior
        return self._members_of(self._of_rest(flat(self.weights))).mean(axis=1)

    def _of_rest(self, weights: NDArray) -> NDArray[np.float64]:
        """Return the products of the other rows with weights (e, K) of the eigenvectors, (m_u, K)."""
        coefficients, constant = self._coefficients(weights)
        found = product(self.rest, coefficients)
        found += constant
        return found

    def _coefficients(self, weights: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coefficients of columns, or of the kernel, and the constant that equal weights (e, K)."""
        turned = self.vectors @ weights
        # the last is that of the constant column
        found, constant = turned[:-1] * self.unit, CONSTANT * turned[-1]
        return found if self.landmarks is None else self.landmarks.dual(found), constant

    def _remember(self) -> None:
        self._kept, self._kept_weights = self.scores, self.weights

    def keep(self) -> dict[str, NDArray]:
        """Return the members' coefficients of the best round, and what maps rows to features."""
        found, constant = self._coefficients(flat(self._kept_weights))
        constant, found = constant.reshape(self.rule.n_folds, -1), np.ascontiguousarray(found)
        arrays = {"constant": constant, "range": np.array(self.range or (-np.inf, np.inf))}
        if self.landmarks is None:
            return arrays | {"coefficients": found}
        held = {name: getattr(self.landmarks, name) for name in ("center", "scale", "landmarks")}
        return arrays | held | {"dual": found}


def _with_constant(rows: NDArray, unit: float) -> NDArray[np.float64]:
    found = np.empty((len(rows), rows.shape[1] + 1))
    found[:, :-1] = rows
    return _finish(found, unit)


def _finish(found: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """Return rows (m, d + 1) times the unit, with the constant column at their end; in place."""
    found[:, :-1] *= unit
    # penalised a little, as the prior is there
    found[:, -1] = CONSTANT
    return found


def ridge(gram: NDArray[np.float64], penalty: float, slopes: NDArray) -> NDArray[np.float64]:
    """Return (gram + penalty)^-1 slopes (e, K) of a Gram matrix (e, e)."""
    if not gram.size:
        return np.zeros(slopes.shape)
    matrix = gram.copy()
    # rows that a member alone learns from may be far longer than those that the penalty was measured by
    matrix.reshape(-1)[:: len(matrix) + 1] += max(penalty, FAINTEST_PENALTY * np.trace(gram))
    # LAPACK itself: what SciPy checks of small matrices takes several times as long
    factor, fault = dpotrf(matrix, lower=True, overwrite_a=True, clean=False)
    if fault:
        raise np.linalg.LinAlgError("the penalised Gram matrix is not positive definite")
    return dpotrs(factor, slopes, lower=True)[0]


def flat(array: NDArray) -> NDArray:
    """Return an array (m, F, k) as a matrix (m, F k)."""
    return array.reshape(len(array), array.shape[1] * array.shape[2])
