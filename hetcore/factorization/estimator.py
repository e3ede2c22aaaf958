"""The frame of the factorizations: check, encode, divide, run the epochs, keep, predict, save and load."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hetcore.base import Estimator, RegressorScore
from hetcore.checks import check_aligned, check_names, eval_pair, finite, remember_names, whole
from hetcore.data.columns import check_flags, unmasked
from hetcore.data.text import quoted, shown
from hetcore.errors import DataError, ModelFileError, ParameterError, UnfamiliarValuesWarning
from hetcore.events import Callback
from hetcore.factorization.choice import FIXED, PATH, cross_validated
from hetcore.factorization.codes import CodeBook, as_codes, book_from
from hetcore.factorization.sgd import Entries, FactorState, Tables, in_turn, without_deviation
from hetcore.parameters import Domain, Interval, Whole
from hetcore.schema import Array, Part, Value

__all__ = ["Factorization", "entries_of"]

PRINTED_UNKNOWN = 3.0  # the paper's prediction for an unseen user or item
PRINTED_DECAY = 1.0
FEWEST, MOST = 20, 50_000  # entries of which parameters are chosen by cross-validation
LARGEST = 1e100
NEW_CODES = 1_000  # entries whose codes are told apart
PRINTED_LARGEST = 1e15  # whose squares a float32 still holds: as printed, values stay as they are
CODES = Domain(lambda v: isinstance(v, list) and all(isinstance(each, list) for each in v), "lists of codes")
RANGE = Domain(lambda v: len(v) == 2 and all(map(finite, v)) and v[0] <= v[1], "in order, or it is no range of values")
NO_DEVIATION = {
    "n_deviation_factors": 0, "deviation_learning_rate": 0.0, "deviation_regularisation": 0.0, "deviation_start": 1,
    "deviation_epochs": 0, "deviation_folds": 0, "base_variance": 1.0,
}  # fmt: skip


class Factorization(RegressorScore, Estimator):
    """What `MatrixFactorization`, `HMF`, `TensorFactorization` and `HTF` share; see `hetcore.factorization.hmf`.

    Attributes
    ----------
    n_factors_ : int
    learning_rate_, regularisation_ : float
        As given or chosen.
    n_iterations_, best_iteration_ : int
        Epochs done; the one whose factors are kept.
    mean_deviations_ : (sum of n_m,) float64
        Mean sigma of the training entries of each code, mode by mode, in the unit of y: see `deviation_by`.
    history_ : polars DataFrame
        One row per epoch: "iteration", "seconds", "loss:SET", "metric:SET", "choice:PARAMETER".
    n_features_in_ : int
        Modes: 2 or 3.
    """

    _stored = {
        "_book": Value(CODES, book_from, lambda book: [each.tolist() for each in book.codes], key="codes"),
        "tables": Part(Tables, "N D K", at="", key="numbers"),
        "range": Value(RANGE, tuple, list), "n_iterations": Whole(1), "best_iteration": Whole(0),
        "mean_deviations": Array("n", low=0),
        # files of before have numbers among their parameters in their place
        "n_factors": Value(Whole(0), absent=None), "learning_rate": Value(Interval(0), absent=None),
        "regularisation": Value(Interval(0), absent=None),
    }  # fmt: skip
    _n_modes = 2
    _prior_entries = 50.0  # see `deviation_regularisation`

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Any:
        """Fit to the entries that were observed.

        Parameters
        ----------
        X : (n, 2) or (n, 3) array-like of int or str
            Codes, a column per mode: user and item, or three.
        y : (n,) array-like of float
            Values, such as ratings.
        callbacks : iterable of callable, default=()
            Each is called after every epoch with a `RoundEnd` and may return True to stop.
        eval_set : (X, y), optional
            Entries to score each epoch by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If X has another shape, a code is missing, or a value is no finite number.

        Notes
        -----
        A `RoundEnd` has losses "train", "left_out" (the validation part, when there is one) and "held_out" (the
        eval_set): mean negative log-likelihood per entry where a deviation is learned, half the mean squared error
        where not. Its detail: "metric_name" = "RMSE"; "metric" = {"train", "left_out", "held_out"}; "sigma" =
        {"mean"}, the root of the harmonic mean of the variance over the training entries, in the unit of y; "choices",
        where parameters were chosen by cross-validation, is their values by name.
        Training errors are those that each entry had before its step. Where parameters were chosen by cross-validation
        (see `n_factors`) nothing is left out of the rounds, which go to the best epoch. Where the fit that trusts all
        entries alike is kept (see the module of `HMF`), rounds, `history_` and `best_iteration_` are still of the one
        with deviations.
        """
        return self._fit(callbacks, X, y, eval_set)

    def _problem(self, X: ArrayLike, y: ArrayLike, eval_set: tuple | None) -> tuple[Entries, dict[str, Entries]]:
        """Return the entries to train on and those to score rounds by, and keep the codes."""
        entries, self._book = entries_of(X, y, self._n_modes, None)
        self.n_features_in_ = self._n_modes
        remember_names(self, X)
        if self.as_printed and np.abs(entries.values).max(initial=0.0) > PRINTED_LARGEST:
            raise DataError(f"y has values beyond {PRINTED_LARGEST:g}, too large as they are: change their unit.")
        train, validation = self._divided(entries)
        parts = {"left_out": validation} if len(validation) else {}
        if eval_set is not None:
            parts["held_out"] = entries_of(*eval_pair(eval_set), self._n_modes, self._book)[0]
        return train, parts

    def _start(self, problem: tuple[Entries, dict[str, Entries]], epoch: Any = in_turn) -> FactorState:
        params, errors = self._params(), None
        if self._chose(*problem):
            found = cross_validated(params, self._free, self._book, problem[0])
            params, errors = found.params, found.errors
        self.n_factors_, self.learning_rate_, self.regularisation_ = (params[name] for name in PATH)
        return FactorState.start(params, self._book, *problem, epoch, errors=errors)

    @property
    def _free(self) -> set[str]:
        """Names of the parameters that the fit has to choose."""
        return {name for name in FIXED if getattr(self, name) == "auto"}

    def _chooses(self, n: int) -> bool:
        """Whether parameters are chosen by cross-validation, with n entries."""
        chooses = bool(self._free) and self._n_modes == 2 and not self.as_printed
        return chooses and self.validation_fraction > 0 and FEWEST <= n <= MOST

    def _chose(self, train: Entries, scored: Collection[str]) -> bool:
        """Whether parameters are chosen by cross-validation, of the entries trained on and the parts scored by."""
        # without a validation part: of more entries one is left out, and fewer are trained on
        return "left_out" not in scored and self._chooses(len(train))

    def _params(self) -> dict[str, Any]:
        params = NO_DEVIATION | self.get_params(deep=False)
        defaults = {name: self._parameters[name].default for name in FIXED}
        params |= {name: FIXED[name] if defaults[name] == "auto" else defaults[name] for name in self._free}
        if params["deviation_regularisation"] is None:
            params["deviation_regularisation"] = PRINTED_DECAY if self.as_printed else self._prior_entries
        return params

    def _divided(self, entries: Entries) -> tuple[Entries, Entries]:
        """Return the entries to train on and the validation part."""
        n_validation = 0 if self._chooses(len(entries)) else int(self.validation_fraction * len(entries))
        # a single entry tells neither when to end nor how far entries stray
        n_validation *= n_validation > 1 or self.as_printed
        order = np.random.default_rng(self.random_state).permutation(len(entries))
        # sorted: which entries are left out is drawn, their order stays
        return entries.take(np.sort(order[n_validation:])), entries.take(np.sort(order[:n_validation]))

    def _view(self, state: FactorState) -> dict[str, Any]:
        sigma = {"mean": float(np.sqrt(state.mean_variance)) * state.scale if state.has_deviation else None}
        detail = {"metric_name": "RMSE", "metric": dict(state.metric), "sigma": sigma}
        if self._chose(state.train, state.losses):
            detail["choices"] = {name: state.params[name] for name in FIXED if name in self._free}
        return {"losses": dict(state.losses), "detail": detail}

    def _finish(self, state: FactorState) -> None:
        error, self.best_iteration_, tables = state.best
        if (plain := without_deviation(state)) is not None:
            error, _, tables = plain.best
            tables = state.even(tables)
        # no validation part: the last epoch is the one
        if tables is None:
            error, self.best_iteration_, tables = self._error_without_validation(state), state.n_rounds, state.tables()
        self.tables_ = _calibrated(tables, state, error)
        self.range_ = (float(state.train.values.min()), float(state.train.values.max()))
        self._keep_means(state.train)

    def _error_without_validation(self, state: FactorState) -> float:
        """Return how far entries stray where none is left out: of few as the values, for the model knows them."""
        values = state.train.values
        few = self.validation_fraction > 0 and not self.as_printed
        return float(values.std(ddof=1)) if few and len(values) > 1 else state.metric["train"]

    def _keep_means(self, train: Entries) -> None:
        """Keep the mean deviation of each code's training entries; a code without has the mean of all."""
        std = self._held(self.tables_.predict(train.rows)[1])
        n = self._book.n_rows
        counts = np.stack([np.bincount(rows, minlength=n) for rows in train.rows.T]).sum(axis=0)
        sums = np.stack([np.bincount(rows, std, n) for rows in train.rows.T]).sum(axis=0)
        # a code whose entries all went to the validation part
        self.mean_deviations_ = np.where(counts > 0, sums / np.maximum(counts, 1), std.mean())

    def _held(self, std: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return deviations, at most the range of the training values: a product of rare codes' parts has no end."""
        span = self.range_[1] - self.range_[0]
        return std if self.as_printed or span == 0.0 else np.minimum(std, span)

    def predict(self, X: ArrayLike, return_std: bool = False) -> NDArray | tuple[NDArray, NDArray]:
        """Predict entries. An unseen code has no bias, no factor and the common deviation; as printed a matrix has 3.

        Parameters
        ----------
        X : (n, 2) or (n, 3) array-like of int or str
        return_std : bool, default=False

        Returns
        -------
        y : (n,) float64
        std : (n,) float64
            Only with `return_std`: the standard deviation of the entry's noise and, unless as printed, of what is not
            known of an unseen code (how far biases and factors of the seen ones differ), in the unit of y; unless as
            printed, at most the range of the training values. With `validation_fraction=0` no entry is left out to tell
            the noise, and that of the training ones comes out too small; nor is one where the part would have fewer
            than two: without deviations it is that of the values.

        Warns
        -----
        UnfamiliarValuesWarning
            If nine in ten entries have a code that no entry of the fit has, and five or more different ones.
        """
        check_is_fitted(self)
        check_flags(return_std=return_std)
        check_names(self, X)
        codes = as_codes(X, self._n_modes)
        rows = self._book.rows(codes)
        _warn_of_new_codes(codes, rows == self._book.n_rows)
        fitted, std = self.tables_.predict(rows)
        std = self._held(std)
        if return_std and not self.as_printed and (rows == self._book.n_rows).any():
            std = np.sqrt(std**2 + self.tables_.variance_of_unseen(rows, self._book.offsets))
        if self.clip and not self.as_printed:
            # as printed to the letter
            fitted = np.clip(fitted, *self.range_)
        if self.as_printed and self._n_modes == 2:
            # 5.1 says it of ratings; of readings, which are standardised, 5.2 says nothing
            fitted = np.where((rows == self._book.n_rows).any(axis=1), PRINTED_UNKNOWN, fitted)
        return (fitted, std) if return_std else fitted

    def deviation_by(self, mode: int) -> dict[Any, float]:
        """Return the mean deviation sigma of the training entries of each code of a mode (0 users, 1 items, ...).

        Parameters
        ----------
        mode : int

        Returns
        -------
        dict
            Code -> mean sigma, in the unit of y, codes in order.

        Raises
        ------
        ParameterError
            If there is no such mode.
        """
        means = self._by_mode(self.mean_deviations_, mode)
        return dict(zip(self._book.codes[mode].tolist(), means.tolist()))

    def _by_mode(self, table: NDArray, mode: int) -> NDArray:
        check_is_fitted(self)
        if not (whole(mode) and 0 <= mode < self._n_modes):
            raise ParameterError(f"mode={shown(mode)} must be a whole number in [0, {self._n_modes - 1}].")
        return table[self._book.offsets[mode] : self._book.offsets[mode + 1]]

    @property
    def codes_(self) -> list[NDArray]:
        """Distinct codes of each mode, in the order of the rows of `factors_`."""
        check_is_fitted(self)
        return self._book.codes

    @property
    def factors_(self) -> list[NDArray]:
        """Factors (n_m, n_factors) of each mode, in units of the values' deviation."""
        return [self._by_mode(self.tables_.factors, mode)[:, : self.n_factors_] for mode in range(self._n_modes)]

    @property
    def biases_(self) -> list[NDArray]:
        """Biases (n_m,) of each mode, in units of the values' deviation."""
        return [self._by_mode(self.tables_.biases, mode) for mode in range(self._n_modes)]

    @property
    def deviation_factors_(self) -> list[NDArray]:
        """P, Q, ... (n_m, n_deviation_factors) of each mode, never negative."""
        return [self._by_mode(self.tables_.deviations, mode) for mode in range(self._n_modes)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tables_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        if len(meta["codes"]) != self._n_modes:
            raise ModelFileError(f"The codes of the model file are of no {self._n_modes} modes: save the model again.")
        n = sum(map(len, meta["codes"]))
        return {"n": n, "N": n + 1, "K": self._params()["n_deviation_factors"]}

    def _restored(self, sizes: dict[str, int]) -> str:
        self.n_features_in_ = self._n_modes
        for name in FIXED:
            if getattr(self, f"{name}_") is None:
                setattr(self, f"{name}_", self._params()[name])
        fits = sizes["D"] >= self.n_factors_ and self.best_iteration_ <= self.n_iterations_
        return "" if fits else "The factors or epochs of the model file are fewer than its parameters say"


def _warn_of_new_codes(codes: NDArray, new: NDArray[np.bool_]) -> None:
    """Say in which columns of codes (n, M) hardly one is known: written otherwise, a user is nobody without a word."""
    some = slice(NEW_CODES)
    for mode in np.flatnonzero(new.mean(axis=0) >= 0.9):
        # one new user, or a few, beside many items are no mistake
        if (distinct := np.unique(codes[some, mode][new[some, mode]])).size >= 5:
            what = f"X: hardly a code of column {mode + 1} was there in training, such as {quoted(distinct[0].item())}"
            warnings.warn(f"{what}: write them as they were there.", UnfamiliarValuesWarning, stacklevel=3)


def entries_of(X: ArrayLike, y: ArrayLike, n_modes: int, book: CodeBook | None) -> tuple[Entries, CodeBook]:
    """Return entries by the rows of a book, by that of their own codes unless one is given.

    Parameters
    ----------
    X : (n, n_modes) array-like
    y : (n,) array-like
    n_modes : int
    book : CodeBook, optional

    Raises
    ------
    DataError
        If X has another shape, a code is missing, or a value is no finite number.
    """
    if y is None:
        raise DataError("A factorization requires y to be passed, but the target y is None: give a value per entry.")
    check_aligned(X, **{"y" if book is None else "y_eval_set": y})
    X = as_codes(X, n_modes)
    book = CodeBook.of(X) if book is None else book
    try:
        y = np.asarray(unmasked(y), np.float64)
    except (TypeError, ValueError):
        # words rather than NumPy's
        raise DataError("y has values that are no numbers: give a number for each entry.") from None
    # a column is taken as a row
    if y.size != len(X) or y.shape[:1] != (len(X),):
        raise DataError(f"y has the shape {y.shape} for the {len(X)} entries of X: give one value for each.")
    y = y.ravel()
    if not np.isfinite(y).all():
        raise DataError("y has values that are missing or infinite: leave those entries out.")
    if np.abs(y).max(initial=0.0) > LARGEST:
        raise DataError(f"y has values beyond {LARGEST:g}, whose squared errors overflow: give them in another unit.")
    return Entries(book.rows(X), y), book


def _calibrated(tables: Tables, state: FactorState, error: float) -> Tables:
    """Scale deviations to the errors on entries left out; without deviations there is one for all."""
    validation = state.parts.get("left_out")
    if state.errors is not None:
        errors, rows = state.errors, state.train.rows
    elif not state.has_deviation:
        # without deviations the validation error is the spread of all
        return replace(tables, base_variance=(error / tables.scale) ** 2)
    elif validation is None or state.params["as_printed"]:
        return tables
    else:
        errors, rows = validation.values - tables.predict(validation.rows)[0], validation.rows
    factor = float(((errors / tables.predict(rows)[1]) ** 2).mean())
    # the factors of a product share the correction, each by its root
    share = np.float32(factor ** (1.0 / rows.shape[1]))
    return replace(tables, base_variance=tables.base_variance * factor, deviations=tables.deviations * share)
