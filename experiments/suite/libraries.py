"""Transfer methods of adapt and skada as peers, where these are installed (requirements-bench.txt).

Each gets what the other peers get: labelled rows of sources and target, columns standardised over all rows, missing
ones at their mean. Methods of adapt that take target labels do; skada's and adapt's alignments move the source rows,
and a linear machine learns from them and the target's labelled rows together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from hetcore.baselines.pooled import filled

__all__ = ["ADAPT", "LIBRARY_PEERS", "SKADA", "LibraryLearner"]

ROUNDS = 50  # as many as the paper's methods have
ADAPT: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "adapt: TrAdaBoost": ("TrAdaBoost", {"n_estimators": ROUNDS}, {}),
    "adapt: FA": ("FA", {}, {"domain": "tgt"}),
    "adapt: BalancedWeighting": ("BalancedWeighting", {"gamma": 0.5}, {}),
}
"""By name: adapt's class, its parameters, and those of its prediction."""
SKADA: dict[str, tuple[str, dict[str, Any]]] = {
    "skada: CORAL": ("CORALAdapter", {"reg": 0.1}),
    "skada: subspace": ("SubspaceAlignmentAdapter", {"n_components": 50}),
    "skada: OT": ("LinearOTMappingAdapter", {"reg": 0.1}),
}
"""By name: skada's adapter and its parameters."""


class LibraryLearner(BaseEstimator):
    """A method of adapt or skada over several domains; predicts rows of the target.

    Parameters
    ----------
    name : str
        A key of `ADAPT` or `SKADA`.
    random_state : int
    """

    def __init__(self, name: str, random_state: int = 0) -> None:
        self.name, self.random_state = name, random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_domain: ArrayLike) -> LibraryLearner:
        """Keep the rows (n, d), labels (n,), and domains (n,): k > 0 of source k, negative of the target."""
        self._X, self._y, self._domain = np.asarray(X, np.float64), np.asarray(y), np.asarray(sample_domain)
        self.classes_ = np.unique(self._y.astype(str)) if self._y.dtype.kind in "OUS" else np.array([])
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return class names or numbers (m,) of rows of the target."""
        rows = filled(np.vstack([self._X, np.asarray(X, np.float64)]))
        n = len(self._X)
        y = np.searchsorted(self.classes_, self._y.astype(str)) if self.classes_.size else self._y.astype(np.float64)
        learn = _by_adapt if self.name.startswith("adapt") else _by_skada
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of TensorFlow and of optimal transport, about what is not chosen here
            found = learn(self, rows[:n], y, rows[n:])
        return self.classes_[np.asarray(found).astype(int)].astype(object) if self.classes_.size else found

    def machine(self) -> Any:
        """Return the linear machine below every method."""
        return LogisticRegression(max_iter=300) if self.classes_.size else Ridge()


def _by_adapt(learner: LibraryLearner, X: NDArray, y: NDArray, new: NDArray) -> NDArray:
    from adapt import feature_based, instance_based

    own = learner._domain < 0
    kind, options, asked = ADAPT[learner.name]
    if kind == "TrAdaBoost" and not learner.classes_.size:
        kind = "TrAdaBoostR2"
    make = getattr(feature_based if kind == "FA" else instance_based, kind)
    target = {"Xt": X[own], "yt": y[own], "random_state": learner.random_state, "verbose": 0}
    model = make(learner.machine(), **options, **target).fit(X[~own], y[~own])
    return np.asarray(model.predict(new, **asked)).reshape(len(new))


def _by_skada(learner: LibraryLearner, X: NDArray, y: NDArray, new: NDArray) -> NDArray:
    import skada

    adapter, options = SKADA[learner.name]
    # A subspace has no more directions than columns, nor than new rows.
    options = {k: min(v, X.shape[1], len(new)) if k == "n_components" else v for k, v in options.items()}
    rows, domain = np.vstack([X, new]), np.concatenate([learner._domain, np.full(len(new), -1)])
    known = np.arange(len(rows)) < len(X)
    labels = np.concatenate([y, np.zeros(len(new), y.dtype)])
    adapt = getattr(skada, adapter)(**options)
    moved = np.asarray(adapt.fit_transform(rows, labels, sample_domain=np.sign(domain)))
    return learner.machine().fit(moved[known], y).predict(moved[~known])


def _maker(name: str) -> Callable[[str, int], Any]:
    return lambda task, seed: LibraryLearner(name, seed)


LIBRARY_PEERS = {name: _maker(name) for name in (*ADAPT, *SKADA) if find_spec(name.split(":")[0])}
"""A new peer by name, of the libraries that are installed, for a task and a seed."""
