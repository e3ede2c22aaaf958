"""The frame of the transfer methods: rows of a target and of source domains, labels as codes, scores as predictions.

A method writes `_start(problem)`, `_view(state)` and `_finish(state)` for `hetcore.base.Estimator`, and
`_scores(X)`, raw scores (n, K), one column per class (one column, for the second class, when there are two).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from hetcore.base import ClassifierScore, Estimator
from hetcore.checks import (
    check_aligned,
    check_one_each,
    eval_pair,
    even_array,
    typed_labels,
    validated,
    warn_of_other_classes,
    warn_of_precision,
)
from hetcore.data.columns import several, unmasked
from hetcore.errors import DataError
from hetcore.events import Callback
from hetcore.metrics import known_targets
from hetcore.parameters import Domain, Whole, param
from hetcore.schema import SHARES, ClassLabels, Value

__all__ = ["Rows", "TransferBase", "TransferEstimator", "TransferProblem", "eval_rows", "scored"]


@dataclass(frozen=True)
class Rows:
    """Rows to score a round by: features (n, d), and class codes (n,), -1 for a class never trained on, or values."""

    X: NDArray[np.float64]
    codes: NDArray


@dataclass(frozen=True)
class TransferProblem:
    """What a fit starts from.

    Attributes
    ----------
    X : (n, d) float64
        Target and source rows.
    codes : (n,) int64 or float64
        Class codes 0..K-1; the values of a regression.
    domain : (n,) int64
        0 for a row of the target, k > 0 for a row of source `names[k - 1]`.
    classes : (K,) array
    names : list of str
        Sources that have rows, in the order of their numbers.
    held_out : Rows or None
        Rows to score rounds by.
    """

    X: NDArray[np.float64]
    codes: NDArray
    domain: NDArray[np.int64]
    classes: NDArray
    names: list[str]
    held_out: Rows | None

    @cached_property
    def target(self) -> NDArray[np.int64]:
        """The target's rows."""
        return np.flatnonzero(self.domain == 0)

    @property
    def n_problems(self) -> int:
        """How many problems of one class against the others: 1 for two classes."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def signs(self, k: int) -> NDArray[np.float64]:
        """Return +1 for the class of problem k, -1 for the others, (n,)."""
        return np.where(self.codes == (1 if self.n_problems == 1 else k), 1.0, -1.0)

    def source(self, k: int) -> NDArray[np.int64]:
        """Return the rows of source k = 1, 2, ..."""
        return np.flatnonzero(self.domain == k)


class TransferBase(Estimator):
    """Base of what learns for a target domain from source domains too; `_problem` checks rows and labels."""

    _allows_missing = False
    _grows_trees = True
    _positional = ()
    _stored = {
        "n_features_in": Value(Whole(1, 10**9), key="n_features"), "n_iterations": Whole(1, 10**9),
        "source_weights": SHARES,
    }  # fmt: skip

    domain_names: list[str] | None = param(
        None,
        Domain(
            lambda v: v is None or (several(v) and all(isinstance(s, str) for s in v) and len(set(v)) == len(v)),
            "a list of different texts, one for each source number, or None",
        ),
        'Name of source 1, 2, ...; by default "1", "2", ....',
    )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_domain: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Any:
        """Fit to the labelled rows of the target and of the sources.

        Parameters
        ----------
        X : (n, d) array-like
        y : (n,) array-like
            Labels; rows with None or NaN are passed over.
        sample_domain : (n,) array-like of int, optional
            k > 0 for a row of source k, negative for a row of the target; by default all rows are the target's.
        callbacks : iterable of callable, default=()
            Each is called after every round with a `RoundEnd` and may return True to stop.
        eval_set : (X, y), optional
            Rows of the target to score each round by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If the target has no labelled row, or all rows are of one class.

        Warns
        -----
        UnscoredLabelsWarning
            If no class of `eval_set` is one of the training.
        """
        return self._fit(callbacks, X, y, sample_domain, eval_set)

    def _known(self, X: Any, y: Any, sample_domain: Any) -> tuple[NDArray, NDArray, Any]:
        """Return the rows that have a label, checked."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: give a label for each row.")
        check_aligned(X, y=y, sample_domain=sample_domain)
        X, y, domain = _labelled(X, y, sample_domain)
        X, y = validated(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self._check_cells(X)
        if self._grows_trees:
            warn_of_precision(X, self._feature_names)
        return X, y, domain

    def _numbered(self, sample_domain: Any, n: int) -> tuple[NDArray[np.int64], list[str]]:
        """Return the number of each row's domain, 0 for the target, 1, 2, ... for the sources that have rows."""
        # numbers of sources may have gaps
        domain = _domains(sample_domain, n)
        if not (domain == 0).any():
            raise DataError("No labelled row is of the target: mark its rows by a negative sample_domain.")
        names = self._names(domain)
        # the target is 0, sources follow in the order of their numbers
        return np.searchsorted(np.unique(np.append(domain, 0)), domain), names

    def _check_cells(self, X: NDArray) -> None:
        if not self._allows_missing and (gaps := np.isnan(X).any(axis=0)).any():
            raise DataError(
                f"X has missing values (NaN), first in column {int(gaps.argmax())}, and {type(self).__name__} takes "
                "none: fill them in, or use TransferClassifier, which takes them."
            )

    def _names(self, domain: NDArray) -> list[str]:
        numbers = np.unique(domain[domain > 0])
        given = self.domain_names
        if given is None:
            return [str(k) for k in numbers]
        if len(numbers) and numbers[-1] > len(given):
            raise DataError(
                f"sample_domain has source {numbers[-1]}, domain_names only {len(given)}: name each source."
            )
        return [list(given)[k - 1] for k in numbers]

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return {"d": meta["n_features"]}

    def _like_fit(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows (n, d), checked to have the columns of the fit."""
        X = validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        self._check_cells(X)
        return X

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows (n, d) to predict."""
        check_is_fitted(self)
        return self._like_fit(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_iterations_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing
        return tags


class TransferEstimator(ClassifierScore, TransferBase):
    """Base of the classifiers that learn for a target domain from source domains too."""

    _stored = TransferBase._stored | {"classes": ClassLabels()}
    _steepness = 1.0  # of the logistic function from scores to probabilities

    def _problem(self, X: Any, y: Any, sample_domain: Any, eval_set: Any) -> TransferProblem:
        X, y, domain = self._known(X, y, sample_domain)
        # text and whole numbers are classes; scikit-learn takes a tenth of a small fit to find that out
        if y.dtype.kind not in "biuU":
            check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"The labels hold one class, {classes[0]}: give rows of two classes at least.")
        self.classes_ = classes
        domain, names = self._numbered(domain, len(y))
        return TransferProblem(
            X=X, codes=codes, domain=domain, classes=classes, names=names, held_out=self._held_out(eval_set, classes)
        )

    def _held_out(self, eval_set: Any, classes: NDArray) -> Rows | None:
        if eval_set is None:
            return None
        X, y, _ = _labelled(*eval_rows(eval_set)[:2], None)
        y = np.asarray(y)
        warn_of_other_classes(y, classes, "eval_set", stacklevel=5)
        X = self._like_fit(X)
        place = {label: k for k, label in enumerate(classes.tolist())}
        # a class that training lacks: -1, which counts as wrong
        return Rows(X, np.array([place.get(label, -1) for label in y.tolist()], np.int64))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the raw scores of each row.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        (n,) float64, above 0 for the second class, or (n, K) float64, highest for the predicted class
        """
        scores = self._scores(self._checked(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the predicted label of each row.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        (n,) array, of `classes_`
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class.

        The blends and the weighted boosting choose how sure they are by left-out rows of the target. The other boosted
        methods return the logistic function of their vote, the forest the mean of three trees' shares: with few labels
        these are 0 or 1 nearly everywhere, right or wrong; rank rows by them, and expect no more.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        (n, K) float64, in [0, 1], in the order of `classes_`
        """
        return self._probabilities(self._scores(self._checked(X)))

    def _probabilities(self, scores: NDArray) -> NDArray[np.float64]:
        if scores.shape[1] == 1:
            both = np.empty((len(scores), 2))
            expit(self._steepness * scores[:, 0], out=both[:, 1])
            np.subtract(1.0, both[:, 1], out=both[:, 0])
            return both
        return softmax(self._steepness * scores, axis=1)

    def _measured(self, problem: TransferProblem, train: NDArray, held_out: NDArray | None) -> dict[str, Any]:
        """Return losses and metric of scores (n, K) for the target's training rows and for the held-out rows."""
        measured = {"train": scored(problem.codes[problem.target], self._probabilities(train))}
        if held_out is not None:
            measured["held_out"] = scored(problem.held_out.codes, self._probabilities(held_out))
        metric = {name: error for name, (_, error) in measured.items()}
        return {
            "losses": {name: loss for name, (loss, _) in measured.items()},
            "detail": {"metric_name": "error", "metric": metric},
        }


def eval_rows(eval_set: Any) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return X and y of an `eval_set`, and which labels are known (n,); DataError where none is, or they don't fit."""
    X, y = eval_pair(eval_set)
    check_one_each(np.asarray(X), np.asarray(y))
    known = known_targets(unmasked(y))
    if len(known) and not known.any():
        raise DataError(f"All {len(known):,} labels of eval_set are missing: give some, or leave it out.")
    return X, y, known


def scored(codes: NDArray, probabilities: NDArray) -> tuple[float, float]:
    """Return mean log loss in nats and share of wrong labels; a class never trained on counts as wrong."""
    n = len(codes)
    # an unknown class has likelihood 0
    likelihoods = np.where(codes >= 0, probabilities[np.arange(n), codes], 0.0)
    n_wrong = np.count_nonzero(probabilities.argmax(axis=1) != codes)
    # sums over n: the bits of a mean in a third of its time, for this is done in every round
    return float(-np.log(np.maximum(likelihoods, 1e-15)).sum() / max(n, 1)), n_wrong / max(n, 1)


def _labelled(X: Any, y: Any, sample_domain: Any) -> tuple[Any, Any, Any]:
    """Return the rows that have a label; what is no (n,) array is left to the checks that follow."""
    labels = even_array(unmasked(y), "y")
    # other labels can't be missing
    if labels.ndim != 1 or labels.dtype.kind not in "Of":
        return X, y, sample_domain
    known = known_targets(labels)
    if not known.any():
        return X, y, sample_domain
    if known.all():
        typed = typed_labels(labels)
        return X, y if typed is labels else typed, sample_domain
    # of another length rows would be left out with those that have no label
    for name, each in (("X", X), ("sample_domain", sample_domain)):
        if each is not None and (n := _num_samples(each)) != len(labels):
            raise DataError(f"{name} has {n:,} rows and y {len(labels):,} labels: give one label for each row.")
    domain = sample_domain if sample_domain is None else np.asarray(sample_domain)[known]
    kept = labels[known]
    # a list first: an array of objects without a gap may be one of texts or numbers
    kept = np.array(kept.tolist()) if labels.dtype == object else kept
    return _safe_indexing(unmasked(X), np.flatnonzero(known)), kept, domain


def _domains(sample_domain: Any, n: int) -> NDArray[np.int64]:
    """Return 0 for the target's rows, k > 0 for those of source k, (n,)."""
    if sample_domain is None:
        return np.zeros(n, np.int64)
    domain = even_array(sample_domain, "sample_domain")
    rule = f"sample_domain must hold a whole number for each of the {n} rows"
    if domain.shape != (n,):
        raise DataError(f"{rule}, it has the shape {domain.shape}.")
    other = [each for each in domain.tolist() if isinstance(each, bool) or not isinstance(each, Real)]
    # an array of objects may hold numbers alone
    domain = domain if other or domain.dtype.kind in "iuf" else domain.astype(np.float64)
    if other or (other := domain[~_are_whole(domain)].tolist()):
        raise DataError(f"{rule}, it has {other[0]!r}: 1, 2, ... for a source's, -1 for the target's.")
    if (domain == 0).any():
        raise DataError("sample_domain has 0, which is no domain: a source's number is above 0, the target's below.")
    # below 0 is the target, skada's convention; here 0
    return np.maximum(domain.astype(np.int64), 0)


def _are_whole(numbers: NDArray) -> NDArray[np.bool_]:
    # beyond 64 bits a source's would turn negative, which is the target's
    return np.isfinite(numbers) & (numbers == np.round(numbers)) & (numbers < 2.0**63)
