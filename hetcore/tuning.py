r"""Cross-validation of lambda0, lambda1, the number of rounds N, and any other parameter.

    cv = cross_validate(hc.GBCClassifier(), data, {"lambda0": [0, 0.3], "lambda1": [0, 0.1, 1]}, n_iterations=100)
    cv.table                         # every setting at every N: mean metric and its standard error
    model = cv.best_estimator(data)  # the best setting, fitted to all labels

One fit gives every N: a model after t of N rounds is the model of t rounds, and each round is scored on the fold that
was left out; where a fit keeps the best of its rounds, by that one, and the last N by what the model itself predicts.
Of two learners with validation rows, which weigh the parts and are learned from at the end, and of MGB as printed,
whose sweeps may not settle, a fit of fewer rounds errs otherwise than those rounds: of these take the last N.
Folds are dealt over the labelled instances only, and the rest take part in every fit as they will in the last one. A
fold is hidden, not removed: its instances are unlabelled ones like those to be predicted. Labels of one group, such as
a patient's, may be kept in one fold, and be dealt several times.

References: Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, section 7.10, also for the
one-standard-error rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from hetcore.data import HetData
from hetcore.data.columns import as_column, check_flags, check_index, several, whole
from hetcore.data.hetdata import check_het_data
from hetcore.data.identity import is_missing
from hetcore.data.splits import dealt_in_order, stratified_groups
from hetcore.data.text import counted, listed, shown
from hetcore.errors import DataError, ParameterError, UnscoredLabelsWarning
from hetcore.metrics import error_rate, rmse
from hetcore.numerics import standard_error

__all__ = ["CrossValidation", "cross_validate", "stratified_folds"]

Grid = Mapping[str, Sequence[Any]]
Progress = Callable[[int, int], "bool | None"]

DEFAULT_GRID: Grid = {"lambda0": (0.0, 0.1, 0.3, 1.0), "lambda1": (0.0, 0.1, 0.3, 1.0)}


@dataclass(frozen=True)
class CrossValidation:
    """What cross-validation found.

    Attributes
    ----------
    estimator : estimator
        Not fitted; the settings change its parameters.
    settings : list of dict
        The parameters tried.
    scores : (n_settings, n_repeats x n_folds, N) float64
        The metric on the fold left out after each round: error rate in [0, 1] or RMSE in the labels' unit, low is good.
    metric_name : str
        "error" or "RMSE".
    one_standard_error : bool
        Whether the choice is the smallest model within one standard error of the best, or the best.
    n_repeats : int
        Deals of the labels; the folds of each follow one another in `scores`.
    """

    estimator: Any
    # hundreds of lines, which the table tells better
    settings: list[dict[str, Any]] = field(repr=False)
    scores: NDArray[np.float64] = field(repr=False)
    metric_name: str
    one_standard_error: bool = False
    n_repeats: int = field(default=1, repr=False)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """Mean over the folds, (n_settings, N)."""
        return self.scores.mean(axis=1)

    @cached_property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard deviation over the folds of a deal, over the root of their number, (n_settings, N).

        The mean of those of several deals: dealt again, the same labels say no more of others.
        """
        n_settings, n_fits, n_rounds = self.scores.shape
        deals = self.scores.reshape(n_settings, self.n_repeats, n_fits // self.n_repeats, n_rounds)
        with np.errstate(invalid="ignore"):  # a fit that diverged has infinite scores
            error = standard_error(deals, axis=2).mean(axis=1)
        # one fold, or a diverged one: nothing is known of the error, so nothing is within it
        return np.nan_to_num(error, nan=np.inf, posinf=np.inf)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each setting and N: the parameters, "n_iterations", "mean", "standard_error"."""
        n_rounds = self.mean.shape[1]
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        columns = {name: _column([setting.get(name) for setting in self.settings], n_rounds) for name in names}
        columns["n_iterations"] = pl.Series(np.tile(np.arange(1, n_rounds + 1), len(self.settings)))
        columns |= {"mean": pl.Series(self.mean.ravel()), "standard_error": pl.Series(self.standard_error.ravel())}
        return pl.DataFrame(columns)

    @cached_property
    def _chosen(self) -> tuple[int, int]:
        """Return setting and round: of least mean, or of fewest rounds by the rule and then of least mean."""
        # of equal means the first setting and the fewest rounds
        least = np.unravel_index(self.mean.argmin(), self.mean.shape)
        if not self.one_standard_error:
            return int(least[0]), int(least[1])
        within = self.mean <= self.mean[least] + self.standard_error[least]
        round_ = int(np.flatnonzero(within.any(axis=0))[0])
        return int(np.where(within[:, round_], self.mean[:, round_], np.inf).argmin()), round_

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the choice, without "n_iterations"."""
        return dict(self.settings[self._chosen[0]])

    @property
    def best_n_iterations(self) -> int:
        """The number of rounds of the choice."""
        return self._chosen[1] + 1

    @property
    def best_score(self) -> float:
        """The mean metric of the choice."""
        return float(self.mean[self._chosen])

    def best_estimator(self, data: HetData | None = None, callbacks: Iterable[Any] = ()) -> Any:
        """Return a new estimator with the chosen parameters and number of rounds.

        Parameters
        ----------
        data : HetData, optional
            Fits the estimator to all its labels; by default it is not fitted.
        callbacks : iterable of callable, default=()
            Passed to the fit.
        """
        from sklearn.base import clone

        model = clone(self.estimator).set_params(**self.best_params, n_iterations=self.best_n_iterations)
        return model if data is None else model.fit(data, callbacks=callbacks)


def cross_validate(
    estimator: Any,
    data: HetData,
    grid: Grid | Sequence[Grid] | None = None,
    *,
    n_folds: int = 5,
    n_iterations: int | None = None,
    one_standard_error: bool = False,
    random_state: int | None = 0,
    progress: Progress | None = None,
    n_jobs: int = 1,
    groups: ArrayLike | None = None,
    n_repeats: int = 1,
) -> CrossValidation:
    """Try parameters, and every number of rounds up to N, on labels left out.

    Parameters
    ----------
    estimator : estimator
        Of this library, fitted round by round; it is not changed.
    data : HetData
        With labels for some instances, which are dealt into folds.
    grid : mapping of str to sequence, or sequence of mappings, optional
        Values by parameter, all combined; of several grids, one after the other. By default lambda0 and lambda1 over 0,
        0.1, 0.3 and 1 (lambda1 where there is a graph).
    n_folds : int, default=5
        Folds, at least 2 and at most the number of labels.
    n_iterations : int, optional
        Rounds N; by default the estimator's.
    one_standard_error : bool, default=False
        Whether to choose the fewest rounds within one standard error of the best, or the best.
    random_state : int or None, default=0
        Seed of the folds; fits keep the estimator's own.
    progress : callable, optional
        Called with (fits done, fits in all). If it returns True, no more settings are begun, and those not fitted in
        every fold are left out; at least one is finished.
    n_jobs : int, default=1
        Processes of joblib, -1 for one a core. Inside `joblib.parallel_config("dask")` a Dask cluster's workers fit.
    groups : (n,) array-like, optional
        The group of each instance, such as a patient's of several records: all labels of a group are in one fold. Folds
        that a fit deals itself, for its own choices, are of instances all the same.
    n_repeats : int, default=1
        Deals of the labels, each `n_folds` fits a setting; the first is that of `stratified_folds`.

    Returns
    -------
    CrossValidation
        The same for any `n_jobs`.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its domain; every setting is checked before the first fit.
    DataError
        If there are too few labels, groups, or classes with labels, for the folds, the groups are not one an instance,
        or the data are no HetData.
    """
    _check_given(estimator, data)
    settings = list(_settings(estimator, data, grid))
    if not settings:
        raise ParameterError(f"grid={shown(grid)} is empty: give {{name: [value, ...]}}, or leave it out.")
    models = [_model(estimator, setting, n_iterations) for setting in settings]
    if not whole(n_jobs) or n_jobs == 0:
        raise ParameterError(f"n_jobs={shown(n_jobs)} must be a whole number, not 0: -1 is one process a core.")
    check_flags(one_standard_error=one_standard_error)
    if not (progress is None or callable(progress)) or isinstance(progress, type):
        raise ParameterError(f"progress={shown(progress)} is no function: give one of (fits done, fits in all).")
    task = models[0]._task
    # labels are given their kind once, rather than in every fit
    data = data if data.target_kind == task else data.with_target(data.y, task)
    _check_labels(data, task)
    left_out = _left_out(data, n_folds, random_state, groups, n_repeats)
    done = _Count(len(settings) * len(left_out), progress)
    curves = _serial(models, data, left_out, done) if n_jobs == 1 else _parallel(models, data, left_out, done, n_jobs)
    # in the order of the grid, whichever process was first; stopped early, those that are whole
    kept = sorted(curves)
    tried, scores = [settings[i] for i in kept], np.stack([curves[i] for i in kept])
    metric_name = "RMSE" if task == "regression" else "error"
    return CrossValidation(estimator, tried, scores, metric_name, one_standard_error, n_repeats=n_repeats)


def _left_out(
    data: HetData, n_folds: int, random_state: int | None, groups: ArrayLike | None, n_repeats: int
) -> list[NDArray[np.bool_]]:
    """Return the instances (n,) that each fit of a setting leaves out, deal by deal."""
    if not (whole(n_repeats) and n_repeats >= 1):
        raise ParameterError(f"n_repeats={shown(n_repeats)} must be a whole number of at least 1: give the deals.")
    deals = islice(_deals(data, n_folds, random_state, groups), n_repeats)
    return [fold == k for fold in deals for k in range(n_folds)]


def stratified_folds(
    data: HetData, n_folds: int, random_state: int | None = 0, groups: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Deal the labelled instances into folds that have nearly the same classes, or spread of numbers.

    Parameters
    ----------
    data : HetData
    n_folds : int
        At least 2, at most the number of labelled instances.
    random_state : int or None, default=0
        Numbers that are all different are dealt in their order, whatever the seed.
    groups : (n,) array-like, optional
        The group of each instance: all labels of a group are in one fold, and folds have as many groups as one another,
        if not labels.

    Returns
    -------
    (n,) int64
        Fold of each instance, -1 for unlabelled ones.

    Raises
    ------
    ParameterError
        If there are less than two folds, or `random_state` is no seed.
    DataError
        If there are fewer labels, or groups, than folds, a fold would be all that has labels of a class or two, the
        groups are not one an instance, or the data are no HetData.
    """
    return next(_deals(data, n_folds, random_state, groups))


def _deals(
    data: HetData, n_folds: int, random_state: int | None, groups: ArrayLike | None
) -> Iterator[NDArray[np.int64]]:
    """Yield the folds of one deal after the other; see `stratified_folds`, which is the first."""
    from hetcore.checks import check_folds, check_random_state

    check_het_data(data, "stratified_folds")
    check_folds(n_folds)
    check_random_state(random_state)
    labelled = np.flatnonzero(data.labelled)
    if len(labelled) < n_folds:
        raise DataError(f"There are {len(labelled):,} labels for {n_folds} folds: give more labels or fewer folds.")
    y = data.y[labelled]
    # as text, for classes may be of several types, which have no order
    y = y.astype(str) if data.target_kind == "classification" else y.astype(float)
    own = None if groups is None else _groups(groups, data, labelled, n_folds)
    rng = np.random.default_rng(random_state)
    for deal in count():
        if own is not None:
            dealt = stratified_groups(y, own, n_folds, rng)
        else:
            # from the second on in turns that are drawn, for numbers in their order would be dealt the same again
            dealt = dealt_in_order(y, rng.random(len(y)).argsort(kind="stable"), n_folds, rng if deal else None)
        if data.target_kind == "classification":
            _check_classes(y, dealt, n_folds)
        fold = np.full(data.n, -1)
        fold[labelled] = dealt
        yield fold


def _groups(given: ArrayLike, data: HetData, labelled: NDArray[np.int64], n_folds: int) -> NDArray[np.str_]:
    """Return the groups of the labelled instances (m,), as text; refuse those that are not one an instance."""
    from hetcore.checks import even_array

    check_index(given, data.id_series, what="groups", name="groups")
    groups = as_column(given)
    if not several(groups) or even_array(groups, "groups").shape != (data.n,):
        raise DataError(f"groups={shown(given)} is no list of {data.n:,} values: give one for each instance.")
    groups = list(groups)
    if lacking := [data.ids[place] for place in labelled if is_missing(groups[place])]:
        raise DataError(f"groups has no value for labelled instances, {listed(lacking, 3)}: give one for each.")
    found = np.array([str(groups[place]) for place in labelled])
    if (known := len(set(found.tolist()))) < n_folds:
        raise DataError(f"The labels are in {counted(known, 'group')}, for {n_folds} folds: give fewer folds.")
    return found


def _check_classes(y: NDArray, fold: NDArray, n_folds: int) -> None:
    """Refuse folds without which one class is left, or none of whose own classes."""
    for k in range(n_folds):
        others = np.unique(y[fold != k])
        # a fold none of whose classes is left to learn from has an error of 1 for every setting
        if len(others) < 2 or not np.isin(y[fold == k], others).any():
            few = f"Without fold {k + 1} of {n_folds}, {listed(others)} would be all classes to learn from"
            raise DataError(f"{few}, or none that the fold has: label two or more of each class.")


def _check_given(estimator: Any, data: Any) -> None:
    from hetcore.base import BoostedEstimator, Estimator

    if isinstance(estimator, type):
        raise ParameterError(f"The estimator is a class: give {estimator.__name__}().")
    if not isinstance(estimator, BoostedEstimator):
        name = type(estimator).__name__
        if isinstance(estimator, Estimator):
            raise ParameterError(f"{name} takes arrays, not a HetData: scikit-learn's GridSearchCV tunes it.")
        raise ParameterError(f"{name} is not fitted round by round: give an estimator of hetcore.")
    check_het_data(data, "cross_validate")


def _check_labels(data: HetData, task: str) -> None:
    """Refuse labels that a fit to all of them would, in its words, before a fold is to blame."""
    from hetcore.targets import class_counts

    if task == "classification" and data.labelled.any():
        class_counts(data.y[data.labelled])


def _settings(estimator: Any, data: HetData, grid: Grid | Sequence[Grid] | None) -> Iterator[dict[str, Any]]:
    known = estimator.get_params(deep=False)
    if grid is None:
        # without a graph lambda1 has nothing to act on, and each of its values would be the same fit
        used = ("lambda0", "lambda1") if data.graphs else ("lambda0",)
        grid = {name: DEFAULT_GRID[name] for name in used if name in known}
    for each in grid if several(grid) else [grid]:
        if not isinstance(each, Mapping):
            raise ParameterError(f"The grid holds {shown(each)}, no mapping: give {{name: [value, ...]}} or several.")
        for name, values in each.items():
            _check_values(name, values, known)
        yield from (dict(zip(each, combined)) for combined in product(*each.values()))


def _check_values(name: str, values: Any, known: Mapping[str, Any]) -> None:
    if name == "n_iterations":
        # it is tried anyway: each fit gives the metric after every round
        raise ParameterError("The grid names n_iterations, and every number of rounds is tried: give n_iterations=N.")
    if name not in known:
        raise ParameterError(f"The grid names {name!r}, which is none of {listed(known)}: name one of them.")
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
        raise ParameterError(f"The grid gives {name} the values {values!r}: give a list of one or more.")


def _model(estimator: Any, setting: Mapping[str, Any], n_iterations: int | None) -> Any:
    """Return an estimator of one setting, its parameters checked."""
    from sklearn.base import clone

    model = clone(estimator).set_params(**setting)
    if n_iterations is not None:
        model.set_params(n_iterations=n_iterations)
    model._check_parameters()
    return model


class _Count:
    """Fits done, told to whoever wants to know; `stopped` once that says so."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self.stopped, self._progress = total, 0, False, progress

    def add(self, fits: int = 1) -> None:
        self.done += fits
        if self._progress is not None and self._progress(self.done, self.total):
            self.stopped = True


def _curve(model: Any, data: HetData, left_out: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the metric on instances (n,) that are left out after each round of a fit to the others, (N,)."""
    nothing = np.nan if data.y.dtype.kind == "f" else None
    seen, hidden = data.y.copy(), data.y.copy()
    seen[left_out], hidden[~left_out] = nothing, nothing
    found: list[float] = []
    curve: list[float] = []
    first = 0

    def note(event: Any) -> None:
        nonlocal first
        found.append(event.detail["metric"]["held_out"])
        curve.append(found[_kept_place(event.detail, len(found))])
        # MGB's first stage comes before its N
        first = event.total - model.n_iterations

    with warnings.catch_warnings():
        # a class of so few labels that a fold holds all is scored only where it was seen
        warnings.simplefilter("ignore", UnscoredLabelsWarning)
        model.fit(data, seen, eval_y=hidden, callbacks=[note])
    if hasattr(model, "n_stages_") or hasattr(model, "kept_round_"):
        # these end in another model than that of any round: swept anew, or of all labels, with its parts weighed
        curve[-1] = _error(model, data, left_out)
    curve = curve[first:] or curve
    # a fit that ended by itself is, with more rounds, the same
    curve += curve[-1:] * (model.n_iterations - len(curve))
    # a round that diverged is worse than any other
    return np.nan_to_num(np.array(curve), nan=np.inf)


def _kept_place(detail: Mapping[str, Any], n_rounds: int) -> int:
    """Return the round, from 0, by which a model of the rounds so far predicts: it may drop what came after."""
    return detail.get("best_stage", detail.get("kept_round", n_rounds) - 1)


def _error(model: Any, data: HetData, rows: NDArray[np.bool_]) -> float:
    """Return the metric of predictions of rows whose labels the model has not seen."""
    y, predicted = data.y[rows], model.predict(data)[rows]
    if data.target_kind == "regression":
        return rmse(y, predicted)
    known = np.isin(y.astype(str), model.classes_.astype(str))
    return error_rate(y[known], predicted[known])


def _serial(models: list[Any], data: HetData, left_out: list[NDArray], count: _Count) -> dict[int, NDArray]:
    curves: dict[int, NDArray] = {}
    for i, model in enumerate(models):
        own = []
        for rows in left_out:
            own.append(_curve(model, data, rows))
            count.add()
            # at least one setting is finished, or there would be nothing to return
            if count.stopped and curves:
                return curves
        curves[i] = np.stack(own)
        if count.stopped:
            break
    return curves


def _all_curves(i: int, model: Any, data: HetData, left_out: list[NDArray]) -> tuple[int, NDArray]:
    return i, np.stack([_curve(model, data, rows) for rows in left_out])


def _parallel(
    models: list[Any], data: HetData, left_out: list[NDArray], count: _Count, n_jobs: int
) -> dict[int, NDArray]:
    """Fit each setting in one process, all its folds, so that what depends on the data alone is made once."""
    from joblib import Parallel, delayed

    # a generator: settings that come after a stop are never handed out
    tasks = (delayed(_all_curves)(i, model, data, left_out) for i, model in enumerate(models) if not count.stopped)
    curves: dict[int, NDArray] = {}
    for i, own in Parallel(n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")(tasks):
        curves[i] = own
        count.add(len(own))
    return curves


def _column(values: list[Any], times: int) -> pl.Series:
    """Return one value a setting, repeated for each round: numbers as numbers, and text for values of several types."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    types = {type(value) for value in values} - {type(None)}
    # numbers as numbers, so that the table can be plotted
    if types <= {int, float}:
        series = pl.Series(values, dtype=pl.Float64 if float in types else pl.Int64)
    else:
        several = len(types) > 1
        series = pl.Series([str(value) if several and value is not None else value for value in values])
    return series.gather(np.repeat(np.arange(len(values)), times))
