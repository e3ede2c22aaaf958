"""The state of a factorization's fit: entries in blocks, tables of factors, the best epoch so far.

Entries lie in blocks of neighbouring rows of the first two modes, so that the factors of a block stay in the
processor's cache; blocks are visited in another order in each epoch. Values are centred and scaled to deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ParameterError
from hetcore.factorization.codes import CodeBook
from hetcore.kernels.factorization import Factors, Rates, predict_entries, run_epoch
from hetcore.numerics import power_of_two, root_mean_square
from hetcore.parameters import Interval
from hetcore.schema import Stored, array, value

__all__ = ["Entries", "FactorState", "Laid", "Tables", "in_turn", "without_deviation"]

REFERENCE = 100  # entries of a code whose lambda is `regularisation`
MANY = 10  # codes of a mode whose factors are pulled to their mean, in a tensor
BLOCKS = 16  # along each of the first two modes
START_SIZE = 0.01  # size of a product of two or three factors at the start
WIDTH = 64  # float32 numbers that an unrolled vector loop takes at once: rows are padded to a multiple
LINE = 16  # float32 numbers of a cache line
LEAST_LEVEL = 1e-6  # of deviations, where training errors are none
LEAST_VARIANCE = LEAST_LEVEL**2  # of the values' own
LEAST_ROOM = 0.01  # of the variance, that deviations have beside Delta at their start
DIVERGED = 1e12  # the same of a fit that went astray
MOST_VARIANCE = 1e37  # as float32
LEAST_SUM = 1e-8  # AdaGrad's sums of squared gradients at the start, as printed
DEVIATION_SPREAD = 0.1  # of deviations at the start, relative to their level
SURE = 2.0  # standard errors by which a fit that trusts all entries alike must be better
NOTHING = 1e-12  # of a factor, as printed: the product of three is no subnormal number yet


@dataclass(frozen=True)
class Entries:
    """Observed entries: rows (n, M) int32 of the table, values (n,) float64 in their unit."""

    rows: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, chosen: NDArray) -> Entries:
        """Return some of them."""
        return Entries(self.rows[chosen], self.values[chosen])


@dataclass(frozen=True)
class Tables(Stored):
    """What predicts. One row for each code, and one at the end for codes never seen.

    Attributes
    ----------
    biases, factors, deviations : (N + 1,), (N + 1, D), (N + 1, K) float32
    base_variance : float
        Delta, in squared units of `scale`.
    center, scale : float
        Mean and standard deviation of the training values, in their unit.
    """

    biases: NDArray[np.float32] = array("N", np.float32)
    factors: NDArray[np.float32] = array("N D", np.float32)
    deviations: NDArray[np.float32] = array("N K", np.float32, low=0)
    base_variance: float = value(Interval(0))
    center: float = value(Interval(-np.inf))
    scale: float = value(Interval(0, ends="()"))

    def predict(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the fitted values (n,) and their standard deviations (n,), in the values' unit."""
        fitted, variances = np.empty(len(rows)), np.empty(len(rows))
        # float32, as the kernel was compiled for
        base = np.float32(self.base_variance)
        predict_entries(rows, self.biases, self.factors, self.deviations, base, fitted, variances)
        return self.center + self.scale * fitted, self.scale * np.sqrt(variances)

    def variance_of_unseen(self, rows: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean squared distance (n,) of fitted values from what they were with codes that were seen.

        0 for entries without an unseen code, whose row is the last one; each of the others in their place is any code
        of the mode, as likely as each other.

        Parameters
        ----------
        rows : (n, M) int32
        offsets : (M + 1,) int64
            Where the rows of each mode begin.
        """
        found, new = np.zeros(len(rows)), rows == offsets[-1]
        biases, factors = self.biases.astype(np.float64), self.factors.astype(np.float64)
        for pattern in np.unique(new[new.any(axis=1)], axis=0):
            chosen = (new == pattern).all(axis=1)
            known = factors[rows[np.ix_(chosen, ~pattern)]].prod(axis=1)
            unseen = [slice(*offsets[mode : mode + 2]) for mode in np.flatnonzero(pattern)]
            # moments of the product of the unseen codes' factors, and the product that stands for it
            squares = np.prod([factors[codes].T @ factors[codes] / len(factors[codes]) for codes in unseen], axis=0)
            means = known @ np.prod([factors[codes].mean(axis=0) for codes in unseen], axis=0)
            fitted = known @ factors[-1] ** len(unseen)
            apart = ((known @ squares) * known).sum(axis=1) - 2.0 * fitted * means + fitted**2
            found[chosen] = np.maximum(apart, 0.0) + sum(np.mean((biases[each] - biases[-1]) ** 2) for each in unseen)
        return self.scale**2 * found


class Laid(NamedTuple):
    """Entries as an epoch goes through them: rows (n, M) int32, values (n,) float32, and where blocks and modes begin.

    Attributes
    ----------
    rows, values : see `Entries`
    starts : (BLOCKS**2 + 1,) int64
    offsets : (M + 1,) int64
    """

    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64]


def in_turn(laid: Laid, rng: np.random.Generator, factors: Factors, given: tuple[Any, ...]) -> NDArray[np.float64]:
    """Visit every entry once, the blocks in a drawn order; return the sums (3,) that `run_epoch` makes of `given`."""
    totals = np.zeros(3)
    run_epoch(laid.rows, laid.values, laid.starts, rng.permutation(laid.starts.size - 1), factors, *given, totals)
    return totals


@dataclass
class FactorState:
    """A fit; `round` is one epoch."""

    params: dict[str, Any]
    book: CodeBook
    train: Entries
    parts: dict[str, Entries]  # "left_out", "held_out": scored, never trained on
    rng: np.random.Generator
    center: float
    scale: float
    scaled: NDArray[np.float32]  # the training values, centred and scaled
    factors: Factors
    starts: NDArray[np.int64]
    penalties: NDArray[np.float32]  # (N + 1,): lambda of each row's factors
    counts: NDArray[np.int64]  # (N + 1,): entries of each row
    shrinkage: NDArray[np.float32]  # (N + 1,): what pulls a row's deviations to their level
    epoch: Callable[..., NDArray[np.float64]]  # `in_turn`, or `hetcore.factorization.strips.Strips`
    errors: NDArray[np.float64] | None  # (n,): of models that left the training entries out, in the values' unit
    base_variance: float = 1.0
    mean_variance: float = 1.0
    level: float = 0.0
    n_rounds: int = 0
    metric: dict[str, float] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    best: tuple[float, int, Tables | None] = (np.inf, 0, None)

    @classmethod
    def start(
        cls,
        params: dict[str, Any],
        book: CodeBook,
        train: Entries,
        parts: dict[str, Entries],
        epoch: Callable[..., NDArray[np.float64]] = in_turn,
        *,
        errors: NDArray[np.float64] | None = None,
    ) -> FactorState:
        """Lay out the entries and draw the factors; errors (n,) of models that left the entries out, if there are."""
        rng = np.random.default_rng(params["random_state"])
        order, starts = blocks(train.rows, book, rng)
        # in blocks, for the kernel goes through them in a row
        train = train.take(order)
        counts = np.bincount(train.rows.ravel(), minlength=book.n_rows + 1)
        center = float(train.values.mean())
        # of a power of two, for the squares of tiny values are 0
        unit = float(power_of_two(train.values))
        # values that are all the same have no deviation to divide by
        scale = 1.0 if params["as_printed"] else float((train.values / unit).std()) * unit or 1.0
        scaled = ((train.values - center) / scale).astype(np.float32)
        factors = _drawn(params, counts, train.rows.shape[1], rng)
        penalties, shrinkage = _penalties(params, counts), np.zeros(counts.size, np.float32)
        state = cls(
            params=params,
            book=book,
            train=train,
            parts=parts,
            rng=rng,
            center=center,
            scale=scale,
            scaled=scaled,
            factors=factors,
            starts=starts,
            penalties=penalties,
            counts=counts,
            shrinkage=shrinkage,
            epoch=epoch,
            errors=None if errors is None else errors[order],
        )
        state._start_deviations()
        return state

    def _start_deviations(self) -> None:
        if not self.has_deviation:
            return
        if self.params["as_printed"]:
            self._set_deviations(float(self.scaled.var()))
        # folds first: the first epoch is weighted by then
        elif self.params["deviation_folds"] > 1:
            given = self.params, self.book, self.train, self.rng, self.epoch
            errors = left_out_errors(*given) if self.errors is None else self.errors
            self._learn_from(errors / self.scale)

    @property
    def has_deviation(self) -> bool:
        return self.params["n_deviation_factors"] > 0

    def round(self) -> bool:
        """Visit every entry once; return whether the validation part has not gained for `patience` epochs."""
        learns = self.has_deviation and self._learns_deviation()
        laid = Laid(self.train.rows, self.scaled, self.starts, self.book.offsets)
        given = self._rates(learns), self.penalties, self._centers(), self.shrinkage
        totals = self.epoch(laid, self.rng, self.factors, given)
        if self.params["as_printed"]:
            # a column that its prior shrinks to nothing would end in subnormal numbers, which take ten times as long
            self.factors.factors[np.abs(self.factors.factors) < NOTHING] = 0.0
        self._note(totals / len(self.train))
        self.n_rounds += 1
        self._score()
        return self._waited()

    def _centers(self) -> NDArray[np.float32]:
        """Return what factors are pulled to, (3, D): in a tensor the mean of a mode with many codes, else 0."""
        table, offsets = self.factors.factors, self.book.offsets
        centers = np.zeros((3, table.shape[1]), np.float32)
        if self.train.rows.shape[1] == 3 and not self.params["as_printed"]:
            # of few codes a mean is mostly the code itself
            for mode in np.flatnonzero(np.diff(offsets) >= MANY):
                rows = np.arange(offsets[mode], offsets[mode + 1])
                # codes without an entry stay where they were drawn, and say nothing
                centers[mode] = table[rows[self.counts[rows] > 0]].mean(axis=0)
        return centers

    def _learns_deviation(self) -> bool:
        first, printed = self.params["deviation_start"], self.params["as_printed"]
        early = first <= self.n_rounds < first + self.params["deviation_epochs"]
        return printed or (early and self.params["deviation_folds"] < 2)

    def _learn_from(self, errors: NDArray[np.float64]) -> None:
        """Learn the deviations from errors (n,), in units of `scale`, of models that have not seen the entries."""
        variance = float((errors**2).mean())
        if not variance < DIVERGED:
            raise self._too_fast()
        # errors of nearly nothing: a level of 0 could not be left by steps relative to it
        self._set_deviations(max(variance, LEAST_VARIANCE))
        # factors of no column and biases of 0: the kernel then moves deviations alone
        still = self.factors._replace(
            biases=np.zeros_like(self.factors.biases), factors=np.zeros((len(self.shrinkage), 0), np.float32)
        )
        rates, totals = self._rates(True)._replace(learning_rate=np.float32(0.0)), np.zeros(3)
        laid = Laid(self.train.rows, errors.astype(np.float32), self.starts, self.book.offsets)
        given = rates, self.penalties, np.zeros((3, 0), np.float32), self.shrinkage
        for _ in range(self.params["deviation_epochs"]):
            totals = self.epoch(laid, self.rng, still, given)
        self._check_deviations()
        # the biases' sums of squared gradients begin anew, as if nothing had been visited
        self.factors.bias_sums[:] = 1.0
        self.mean_variance = len(errors) / totals[2]

    def _rates(self, learns: bool) -> Rates:
        p = self.params
        printed = p["as_printed"] and self.has_deviation
        return Rates(*map(np.float32, (
            p["learning_rate"], p["deviation_learning_rate"] * self.level if learns else 0.0,
            -1.0 if p["as_printed"] else p["bias_regularisation"], self.base_variance, self.mean_variance, self.level,
            0.0 if printed else 1.0, p["deviation_regularisation"] if printed else 0.0,
            0.0 if p["as_printed"] or self.train.rows.shape[1] == 3 else 1.0,
        )))  # fmt: skip

    def _note(self, means: NDArray[np.float64]) -> None:
        """Keep what an epoch's sums say: errors before each step, the level of the variance."""
        squared, loss, inverse = means
        self._check_deviations()
        if not all(np.isfinite(table).all() for table in (means, self.factors.biases, self.factors.factors)):
            raise self._too_fast()
        self.metric["train"] = float(np.sqrt(squared)) * self.scale
        self.losses["train"] = self._loss(squared, loss)
        if self.has_deviation and not self.params["as_printed"]:
            if self._learns_deviation():
                self.mean_variance = 1.0 / inverse
            elif self.n_rounds + 1 == self.params["deviation_start"] and self.params["deviation_folds"] < 2:
                self._set_deviations(max(squared, LEAST_VARIANCE))

    def _check_deviations(self) -> None:
        if not self.has_deviation:
            return
        starts, table = self.book.offsets[:-1], self.factors.deviations[:-1].astype(np.float64)
        with np.errstate(invalid="ignore"):  # NaN is too much as well
            most = np.maximum(np.maximum.reduceat(table, starts), table.mean(axis=0))  # the mean is an unseen code's
            fits = most.prod(axis=0).sum() < MOST_VARIANCE
        if not fits:
            raise self._too_fast("deviation_learning_rate")

    def _too_fast(self, name: str = "learning_rate") -> ParameterError:
        rate = self.params[name]
        return ParameterError(f"{name}={rate!r} is too large here: the errors overflow; try a tenth of it.")

    def _loss(self, squared: float, loss: float) -> float:
        if self.has_deviation:
            return float(0.5 * (loss + np.log(2.0 * np.pi)) + np.log(self.scale))
        return float(0.5 * squared) * self.scale**2

    def _set_deviations(self, variance: float) -> None:
        """Start the deviations at a common variance, with rates and a pull to it that do not depend on its size."""
        K, M, printed = self.params["n_deviation_factors"], self.train.rows.shape[1], self.params["as_printed"]
        self.base_variance = self.params["base_variance"] * (1.0 if printed else variance)
        self.mean_variance = 1.0 if printed else variance
        # rates are relative to the level: from nothing, where Delta is all of the variance, none would ever move
        room = max(variance - self.base_variance, LEAST_ROOM * variance)
        self.level = max((room / K) ** (1.0 / M), LEAST_LEVEL)
        spread = self.rng.uniform(1 - DEVIATION_SPREAD, 1 + DEVIATION_SPREAD, self.factors.deviations.shape)
        self.factors.deviations[:] = self.level * (spread if K > 1 else 1.0)
        curvature = 0.5 / (K * self.level) ** 2  # of the loss by one P, times the entries of a code
        self.factors.deviation_sums[:] = LEAST_SUM if printed else curvature
        pull = 1.0 if printed else self.params["deviation_regularisation"] * curvature
        self.shrinkage = (pull / np.maximum(self.counts, 1)).astype(np.float32)

    def _score(self) -> None:
        tables = self.tables() if self.parts else None
        for name, entries in self.parts.items():
            fitted, std = tables.predict(entries.rows)
            errors = entries.values - fitted
            self.metric[name] = root_mean_square(errors)
            loss = 0.5 * errors**2
            if self.has_deviation:
                loss = 0.5 * (errors / std) ** 2 + 0.5 * np.log(2.0 * np.pi) + np.log(std)
            self.losses[name] = float(loss.mean())

    def _waited(self) -> bool:
        """Keep the tables of the best epoch on the validation part."""
        error = self.metric.get("left_out")
        if error is None:
            return self.n_rounds >= self.params["n_iterations"]
        if error < self.best[0]:
            self.best = (error, self.n_rounds, self.tables())
        return self.n_rounds - self.best[1] >= self.params["patience"]

    def even(self, tables: Tables) -> Tables:
        """Return tables of a fit without deviation, with one deviation for all in its place."""
        self._set_deviations(1.0)
        return replace(
            tables, deviations=np.full_like(self.factors.deviations, self.level), base_variance=self.base_variance
        )

    def tables(self) -> Tables:
        """Return a copy of what predicts after this epoch."""
        biases, factors, deviations = (each.copy() for each in self.factors[:3])
        if self.has_deviation:
            deviations[-1] = deviations[:-1].mean(axis=0)
        return Tables(
            biases=biases,
            factors=factors,
            deviations=deviations,
            base_variance=self.base_variance,
            center=self.center,
            scale=self.scale,
        )


def without_deviation(state: FactorState) -> FactorState | None:
    """Return a fit that trusts every entry alike, if it predicts the validation part clearly better; None if not.

    Deviations are learned from errors, and where entries hardly stray these are mostly what the model had still to
    learn: to trust such entries less is to learn them last. Better is by two standard errors of the paired squares.
    """
    left_out, tables = state.parts.get("left_out"), state.best[2]
    ended = state.n_rounds == state.params["n_iterations"] or state.n_rounds - state.best[1] >= state.params["patience"]
    # a fit that somebody ended is left as it is
    if not state.has_deviation or state.params["as_printed"] or tables is None or not ended:
        return None
    params = state.params | {"n_deviation_factors": 0}
    plain = FactorState.start(params, state.book, state.train, {"left_out": left_out}, state.epoch)
    for _ in range(params["n_iterations"]):
        if plain.round():
            break
    ours, theirs = ((left_out.values - each.predict(left_out.rows)[0]) ** 2 for each in (tables, plain.best[2]))
    gain = ours - theirs
    return plain if gain.mean() > SURE * gain.std() / np.sqrt(len(gain)) else None


def left_out_errors(
    params: dict[str, Any],
    book: CodeBook,
    train: Entries,
    rng: np.random.Generator,
    epoch: Callable[..., NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the error (n,) of each entry by a fit without deviation that has not seen it.

    Parameters
    ----------
    params : dict
        Of these "deviation_folds" is the number of such fits, "deviation_start" of their epochs.
    book : CodeBook
    train : Entries
    rng : Generator
    epoch : callable
        How those fits go through their entries.
    """
    if len(train) < 2:  # nothing is left to learn from
        return np.ones(len(train))
    plain = params | {"n_deviation_factors": 0, "random_state": int(rng.integers(2**31))}
    fold, errors = rng.permutation(len(train)) % params["deviation_folds"], train.values.copy()
    for k in range(params["deviation_folds"]):
        state = FactorState.start(plain, book, train.take(fold != k), {}, epoch)
        for _ in range(params["deviation_start"]):
            state.round()
        errors[fold == k] -= state.tables().predict(train.rows[fold == k])[0]
    return errors


def blocks(rows: NDArray[np.int32], book: CodeBook, rng: np.random.Generator) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the order (n,) that brings entries of a block together, shuffled inside, and where each begins.

    Parameters
    ----------
    rows : (n, M) int32
    book : CodeBook
    rng : Generator
    """
    sizes = np.diff(book.offsets)
    first, second = ((rows[:, m].astype(np.int64) - book.offsets[m]) * BLOCKS // sizes[m] for m in (0, 1))
    block = first * BLOCKS + second
    order = rng.permutation(len(rows))
    order = order[np.argsort(block[order], kind="stable")]
    return order, np.concatenate([[0], np.cumsum(np.bincount(block, minlength=BLOCKS**2))]).astype(np.int64)


def _penalties(params: dict[str, Any], counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the penalty of each code's factors at each of its visits."""
    visits = np.maximum(counts, 1)
    # (16) has the prior once for a code: each visit brings its share
    if params["as_printed"]:
        return (params["regularisation"] / visits).astype(np.float32)
    return (params["regularisation"] * (REFERENCE / visits) ** params["regularisation_power"]).astype(np.float32)


def _drawn(params: dict[str, Any], counts: NDArray, n_modes: int, rng: np.random.Generator) -> Factors:
    """Draw the factors; rows without an entry are zero."""
    D, K, N = params["n_factors"], params["n_deviation_factors"], counts.size
    width = WIDTH if D > WIDTH // 2 else WIDTH // 2
    table = _aligned(N, -(-D // width) * width)
    table[:, :D] = rng.normal(0.0, START_SIZE ** (1.0 / n_modes), (N, D)) * (counts > 0)[:, None]
    printed = params["as_printed"]
    start = np.float32(LEAST_SUM if printed else 1.0)
    sums = [np.full((N, width if printed else 1), start) for width in (max(1, table.shape[1]), max(1, K))]
    return Factors(np.zeros(N, np.float32), table, np.zeros((N, K), np.float32), np.full(N, start), *sums)


def _aligned(n: int, width: int) -> NDArray[np.float32]:
    """Return zeros (n, width) that begin where a cache line does."""
    room = np.zeros(n * width + LINE, np.float32)
    skipped = (-room.ctypes.data % 64) // 4
    return room[skipped : skipped + n * width].reshape(n, width)
