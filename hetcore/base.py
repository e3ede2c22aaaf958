"""The one frame of every fit: check, validate, encode, start, loop (`boost`), emit, stop.

`Estimator._fit` is the frame. What a fit is given differs: a `HetData` (`BoostedEstimator` here), rows of domains
(`hetcore.transfer.estimator`), or plain rows and entries (`hetcore.heteroscedastic`, `hetcore.factorization`). Each
has a `fit` with its arguments, and a `_problem` that checks and encodes them.

A method writes `_start(problem)`, which returns a state with a `round()`, `_view(state)`, which says what a round ended
with, and `_finish(state)`, which keeps what predicts; `_stored` declares that for a model file (`hetcore.schema`). A
round is a step on the state, so a fit can be watched, paused and stopped after any round, and a test can check one
round by hand.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from hetcore.category_labels import CategoryLabels
from hetcore.checks import as_numbers, check_aligned, check_arrays, check_labels, check_weights, warn_of_other_classes
from hetcore.data import HetData
from hetcore.data.columns import check_index
from hetcore.data.fingerprint import outline
from hetcore.data.hetdata import check_het_data
from hetcore.data.markup import bar, line, plain, table
from hetcore.data.ranges import Ranges, are_ranges, known_ranges, messages, shifted_columns
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError, MissingColumnsWarning, ModelFileError, UnfamiliarValuesWarning
from hetcore.events import Callback, RoundEnd, as_callbacks
from hetcore.parameters import Declared, Domain
from hetcore.schema import Schema, State, Value, checked, parted
from hetcore.targets import Problem

__all__ = [
    "BoostedEstimator", "ClassifierScore", "Estimator", "RegressorScore", "boost", "event_row", "history",
]  # fmt: skip

NAMES = Domain(lambda v: v is None or all(isinstance(name, str) for name in v), "names of columns, or None")
RANGES = Domain(are_ranges, "ranges of columns by source, or None")
COLUMNS: Schema = {
    "_feature_names": Value(NAMES, key="feature_names", absent=None),
    "_ranges": Value(RANGES, key="ranges", absent=None),
}
"""What every model file holds beside what its method declares."""


class _Scored:
    """Scores as scikit-learn's mixin beside it does; labels of pandas in another order than X are refused."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of classes y (n,) that are predicted from X, or R^2 of numbers, weighted by rows (n,).

        Parameters
        ----------
        X : HetData or array-like
        y : (n,) array-like, optional
            Of a HetData as `fit` reads it, by default from the data; instances without a label are left out.
        sample_weight : (n,) array-like, optional
            How much each row counts, at least 0; all alike by default.

        Raises
        ------
        DataError
            If y or the weights are of pandas and have the index of X, or the ids of data, in another order, a weight is
            negative, or there is no label.

        Warns
        -----
        UnscoredLabelsWarning
            If no class of y, of a HetData, is one of the training: truth values for 0 and 1, say.
        """
        check_weights(sample_weight)
        if isinstance(X, HetData):
            return self._score_of(X, y, sample_weight)
        if y is None:
            raise DataError("There is no y to compare predictions with: give score(X, y).")
        for name, each in (("y", y), ("sample_weight", sample_weight)):
            check_aligned(X, **{name: each})
        check_labels(y)
        y = y if isinstance(self, ClassifierMixin) else as_numbers(y)
        return super().score(X, y, sample_weight)

    def _score_of(self, data: HetData, y: Any, sample_weight: Any) -> float:
        # not at the top: whoever only predicts waits less for the import
        from sklearn.metrics import accuracy_score, r2_score

        # of data the ids are what an index could be
        check_index(sample_weight, data.id_series)
        given = data.with_target(data.y if y is None else y, getattr(self, "_task", None))
        known, predicted = given.labelled, self.predict(data)
        if not known.any():
            raise DataError("There is no label to compare predictions with: give y, or data with labels.")
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and weights.shape != known.shape:
            raise DataError(f"sample_weight has the shape {weights.shape} for {data.n} instances: give one for each.")
        weights = None if weights is None else weights[known]
        check_weights(weights)
        if isinstance(self, ClassifierMixin):
            warn_of_other_classes(given.y[known], self.classes_, "y", stacklevel=3)
        metric = accuracy_score if isinstance(self, ClassifierMixin) else r2_score
        return float(metric(given.y[known], predicted[known], sample_weight=weights))


class ClassifierScore(_Scored, ClassifierMixin):
    """Scores by accuracy."""


class RegressorScore(_Scored, RegressorMixin):
    """Scores by R^2."""


class Estimator(Declared, BaseEstimator):
    """Base of all methods: the one frame of a fit; see the module's docstring for what a method writes."""

    _grows_trees = False

    def _fit(self, callbacks: Iterable[Callback], *given: Any, **more: Any) -> Any:
        """Fit to what an adapter was given; a fit that fails, in a callback too, leaves the estimator as it was."""
        callbacks = as_callbacks(callbacks)
        with self._fitting(callbacks):
            self._check_parameters()
            if self._grows_trees:
                # not at the top: a method without kernels does not load them
                from hetcore.kernels import prepare_beside

                prepare_beside()
            if given and not isinstance(self, BoostedEstimator):
                check_arrays(given[0], type(self).__name__)
            problem = self._problem(*given, **more)
            # before the rounds: a training that is stopped ends sooner
            fitted_to = self._outline(*given[:2])
            boost(self, lambda: self._start(problem), callbacks, self._total(problem))
            self._complete(problem)
            self._keep_fit(fitted_to)
        return self

    @contextmanager
    def _fitting(self, callbacks: list[Callback]) -> Iterator[None]:
        """Leave the estimator as it was if the fit within fails, and tell the callbacks how it ended."""
        # what the estimator was before, so that an interrupted fit leaves no half of a model behind
        before = dict(vars(self))
        try:
            yield
        # all of them, the person's interrupt in a notebook too
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            # callbacks hold threads and bars, which must end with the fit even if it fails
            _end(callbacks, None, error)
            raise
        _end(callbacks, self, None)

    if not TYPE_CHECKING:  # a type checker would take any name for one that is there

        def __getattr__(self, name: str) -> Any:
            """Say why what a fit learns is not there: no fit yet, or a model file, which keeps what predicts.

            A model that was fitted here has all that it learned, and a name that it lacks is none.
            """
            text, why = f"{type(self).__name__!r} object has no attribute {name!r}", ""
            if name.endswith("_") and not name.startswith("_"):
                fitted = any(each.endswith("_") and not each.startswith("_") for each in vars(self))
                loaded = fitted and "history_" not in vars(self)  # no file has it
                why = ": a model file keeps what predicts, no more" if loaded else ""
                why = why if fitted else " before a fit: call fit first"
            raise AttributeError(f"{text}{why}.", name=name, obj=self)

    def _outline(self, data: Any, y: Any = None) -> Any:
        """Return what tells the data of a fit from most others, for `hetcore.export`; a model file does not keep it."""
        return outline(data, y, getattr(self, "_task", None))

    def _html_repr(self) -> str:
        """What scikit-learn shows in a notebook."""
        return _estimator_html(self)

    def _problem(self, *given: Any, **more: Any) -> Any:
        """Check and encode what `fit` was given."""
        raise NotImplementedError

    def _total(self, problem: Any) -> int:
        """Return how many rounds there are at most."""
        return getattr(self, "n_iterations", 1)

    def _complete(self, problem: Any) -> None:
        """Set what needs the problem and the finished model."""

    _stored: Schema = {}
    """What a model file holds, by name: what is learned without its "_", or a private name."""

    def _get_state(self) -> State:
        """Return what is learned as plain values and arrays, for a model file."""
        check_is_fitted(self)
        stored = self._stored | COLUMNS
        return parted(stored, {name: getattr(self, _attribute(name)) for name in stored})

    def _set_state(self, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Set what `_get_state` returned; ModelFileError if it is not what it must be."""
        sizes = self._sizes(meta)
        for name, each in checked(self._stored | COLUMNS, meta, arrays, sizes).items():
            setattr(self, _attribute(name), each)
        fault = self._restored(sizes)
        if not fault and self._feature_names and len(self._feature_names) != getattr(self, "n_features_in_", 0):
            fault = "The model file does not name its columns"
        if fault:
            raise ModelFileError(f"{fault}: save the model again.")
        self._fitted_with = self.get_params(deep=False)

    _fitted_with: dict[str, Any] | None = None

    def _keep_fit(self, fitted_to: Any) -> None:
        """Keep of a fit what tells its data, and its parameters."""
        self._fitted_to, self._fitted_with = fitted_to, self.get_params(deep=False)

    @property
    def _fit_params(self) -> dict[str, Any]:
        """The parameters of the fit, by which it predicts; others are of the next one."""
        now = self.get_params(deep=False)
        # threads change no bit of a model, and are as many as the machine at hand has
        return now | {name: each for name, each in (self._fitted_with or {}).items() if name != "n_jobs"}

    _ranges: dict[str, Ranges] | None = None
    """What values the columns of the fit had, by source, "" for X; None for a model of a file of before."""

    @property
    def _feature_names(self) -> list[str] | None:
        """The names of X's columns in the fit, where it was a table: rows to predict are compared with them."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    @_feature_names.setter
    def _feature_names(self, names: list[str] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        """Return the sizes, by letter, that are known before a file's arrays are read."""
        return {}

    def _restored(self, sizes: dict[str, int]) -> str:
        """Set what follows from the values of a file; return what is wrong between them, "" if nothing is."""
        return ""


def _attribute(name: str) -> str:
    return name if name.startswith("_") else f"{name}_"


class BoostedEstimator(Estimator):
    """Base of the estimators that boost over a `HetData`."""

    _grows_trees = True

    _task: ClassVar[str]

    def fit(self, data: HetData, y: Any = None, *, callbacks: Iterable[Callback] = (), eval_y: Any = None) -> Any:
        """Fit to the labelled instances; consensus learns from the unlabelled ones too (transductive).

        Parameters
        ----------
        data : HetData
        y : (n,) array-like, optional
            Replaces `data.y`; NaN or None is unlabelled.
        callbacks : iterable of callable, default=()
            Each is called after every round with a `RoundEnd` and may return True to stop.
        eval_y : (n,) array-like, optional
            Labels to score each round by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If there is nothing to learn from: no label, or a single class.

        Warns
        -----
        UnscoredLabelsWarning
            If labels of `eval_y` are of classes that no label of the training has, or nothing is left to score.
        """
        return self._fit(callbacks, data, y, eval_y)

    def _problem(self, data: HetData, y: Any, eval_y: Any) -> Problem:
        """Check what fit was given."""
        self._look_at(data)
        return Problem.of(data, y, eval_y, self._task)

    def _look_at(self, data: HetData) -> None:
        """Check that a fit has data, and keep what values they have."""
        check_het_data(data, "fit")
        self._ranges = {name: known_ranges(source) for name, source in data.sources.items()}

    @property
    def _known_parts(self) -> tuple[Collection[str], Collection[str]]:
        """Names of the sources and graphs of the fit; none where they are not known, as of a loaded model."""
        # what it left out of the fit is no unknown source, so that the data are asked and not the model
        fitted = getattr(self, "_fitted_to", None)
        return fitted.sources if fitted is not None else (), ()

    @property
    def _category_labels(self) -> CategoryLabels | None:
        """What the fit knows of columns of very many categories."""
        return None

    def _check_predictable(self, data: Any) -> None:
        """Check what is to be predicted from: a HetData, whose parts have the names that they had in the fit.

        Data may lack parts, and have others; where they lack one and have an unknown one, it was perhaps renamed, and
        would be left out without a word.
        """
        check_is_fitted(self)
        check_het_data(data, "A prediction")
        sources, graphs = self._known_parts
        _warn_of_names("source", sources, data.sources)
        _warn_of_names("graph", graphs, data.graphs)
        for name, known in (self._ranges or {}).items():
            source = data.sources.get(name)
            # the very same values: nothing to look at
            if source is not None and source.ranges != known:
                far, new = shifted_columns(known, source)
                if self._category_labels is not None:
                    new |= self._category_labels.unseen(name, source)
                for sentence in messages(f"Source {quoted(name)}", known, far, new):
                    warnings.warn(sentence, UnfamiliarValuesWarning, stacklevel=4)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_iterations_")


def _warn_of_names(noun: str, known: Collection[str], given: Collection[str]) -> None:
    lacking, others = [name for name in known if name not in given], [name for name in given if name not in known]
    if lacking and others:
        text = f"The data lack the training's {noun} {listed(lacking)} and have {listed(others)}, which the model does"
        cure = f"give each {noun} the name that it had"
        warnings.warn(f"{text} not know: {cure}.", MissingColumnsWarning, stacklevel=5)


def _end(callbacks: list[Callback], model: Any, error: BaseException | None) -> None:
    """Tell the callbacks that want to know it that the fit is over: a method `fit_ended(model, error)`."""
    for callback in callbacks:
        if hasattr(callback, "fit_ended"):
            callback.fit_ended(model, error)


def _show(callbacks: list[Callback], state: Any) -> None:
    """Show what a round left to the callbacks that want more than its event: a method `see_state(state)`."""
    for callback in callbacks:
        if hasattr(callback, "see_state"):
            callback.see_state(state)


def _stopped(callbacks: list[Callback]) -> bool:
    """Return whether a callback has been told, from another thread, to end the fit (`hetcore.player`)."""
    return any(getattr(callback, "stopped", False) is True for callback in callbacks)


def _waited(callbacks: list[Callback]) -> float:
    """Return the seconds for which callbacks have held fits up, because a person has paused them."""
    return sum(getattr(callback, "waited", 0.0) for callback in callbacks)


def _compiling() -> float:
    """Return the seconds that this process has spent compiling; a method without kernels does not load them for it."""
    parts = sys.modules.get("hetcore.kernels.parts")
    return 0.0 if parts is None else parts.seconds_compiling()


def boost(model: Any, start: Callable[[], Any], callbacks: Iterable[Callback] = (), total: int | None = None) -> None:
    """Run the rounds of a fit and keep what predicts, one BLAS thread throughout.

    Sets `model.n_iterations_` and `model.history_`. The model has `_view(state)`, the fields of `RoundEnd` after a
    round, and `_finish(state)`, which keeps what predicts.

    Parameters
    ----------
    model : estimator
    start : callable
        Returns the state, whose `round()` does one round and may return True: nothing is left to do after it. A round
        that may take long has `asked_to_stop`, which is set to a callable: whether the rest of the round is not wanted.
    callbacks : iterable of callable, default=()
        Each is called after every round with a `RoundEnd` and may return True to stop. One that has a method
        `see_state(state)` is shown the state before; one whose `stopped` turns True ends a long round in its middle;
        the seconds that one counts in `waited` are a person's and none of the fit.
    total : int, optional
        Rounds at most; `model.n_iterations` unless given.
    """
    total = model.n_iterations if total is None else total
    callbacks, events = list(callbacks), []
    started, compiled = time.perf_counter() - _waited(callbacks), _compiling()
    # overflow of a loss is a number that callbacks see, not a warning in each round; one BLAS thread, for on these
    # small matrices more of them cost more than they bring, and sums would depend on how many there are
    blas = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    with np.errstate(over="ignore", under="ignore"), blas:
        state = start()
        if hasattr(state, "asked_to_stop"):
            state.asked_to_stop = partial(_stopped, callbacks)
        for t in range(total):
            ended = state.round()
            spent = {"seconds": time.perf_counter() - started - _waited(callbacks)}
            spent["compiling"] = _compiling() - compiled
            events.append(RoundEnd(type(model).__name__, t, total, **spent, **model._view(state)))
            _show(callbacks, state)
            # a list, not a generator: each callback sees each round, even if one before it asks to stop
            if any([callback(events[-1]) for callback in callbacks]) or ended is True:
                break
        model._finish(state)
    model.n_iterations_ = len(events)
    model.history_ = history(events)


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Return what sets the threads of the libraries that this process has loaded.

    To look for them takes milliseconds, as long as a small fit: only where modules were imported since, which may have
    loaded one.
    """
    return ThreadpoolController()


def history(events: list[RoundEnd]) -> pl.DataFrame:
    """Return one row per round: iteration, seconds, then "loss:*", "metric:*", "weight:*", "graph_weight:*", ..."""
    # a quantity may first come in a later round, so all rows are looked at for their columns
    return pl.DataFrame([event_row(event) for event in events], infer_schema_length=None)


def event_row(event: RoundEnd) -> dict[str, float]:
    """Return a round's numbers by column of `history`."""
    groups = {
        "loss": event.losses,
        "metric": event.detail.get("metric", {}),
        "weight": event.source_weights,
        "graph_weight": event.graph_weights,
        "step": event.detail.get("steps", {}),
        "per_source": event.detail.get("per_source", {}),
        "autocorrelation": event.residual_autocorrelation,
        "bytes": event.detail.get("bytes", {}),
        "view": event.detail.get("views", {}),
        "choice": event.detail.get("choices", {}),
    }
    row: dict[str, float] = {"iteration": event.index, "seconds": event.seconds}
    row |= {f"{group}:{name}": float(value) for group, values in groups.items() for name, value in values.items()}
    # only methods of several tables have it
    return row | ({"disagreement": float(event.detail["disagreement"])} if "disagreement" in event.detail else {})


def _estimator_html(model: Any) -> str:
    """Return an estimator as HTML: what differs from the defaults and, once fitted, rounds, loss and weights."""
    defaults = {name: each.default for name, each in model._parameters.items()}
    given = {name: getattr(model, name, None) for name in defaults}
    changed = [
        [plain(name), plain(repr(value), 80)] for name, value in given.items() if _differs(value, defaults[name])
    ]
    parts = [f"<p><strong>{plain(type(model).__name__)}</strong>, {plain(_fitted_words(model))}</p>"]
    parts += [table(["parameter", "value"], changed)] if changed else []
    return "<div>" + "".join([*parts, *_learned(model)]) + "</div>"


def _differs(value: Any, default: Any) -> bool:
    # by type and text: the values may be arrays or estimators, whose == is no truth value
    return type(value) is not type(default) or repr(value) != repr(default)


def _fitted_words(model: Any) -> str:
    rounds = getattr(model, "n_iterations_", None)
    return "not fitted" if rounds is None else f"fitted in {rounds:,} rounds"


def _learned(model: Any) -> list[str]:
    parts = []
    history = getattr(model, "history_", None)
    if history is not None and "loss:train" in history.columns:
        losses = history["loss:train"].to_numpy()
        if len(losses) > 1 and np.isfinite(losses).all():
            words = f"training loss from {losses[0]:.3g} to {losses[-1]:.3g}"
            parts.append(f"<p>{plain(words)}</p>{line(losses.tolist(), words)}")
    for noun in ("source", "graph"):
        # a method may lack them, or have none before a fit
        weights = getattr(model, f"{noun}_weights_", None) or {}
        rows = [[plain(name, 60), bar(weight, f"{weight:.3f}")] for name, weight in weights.items()]
        parts += [table([noun, "weight"], rows)] if rows else []
    return parts
