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

__all__ = ["LIBRARY_PEERS", "LibraryLearner"]

ROUNDS = 50  # as many as the paper's methods have


class LibraryLearner(BaseEstimator):
    """A method of adapt or skada over several domains; predicts rows of the target.

    Parameters
    ----------
    name : str
        "adapt: TrAdaBoost", "adapt: FA", "adapt: BalancedWeighting", "skada: CORAL", "skada: subspace", "skada: OT".
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

    own, seed = learner._domain < 0, learner.random_state
    source = {"Xt": X[own], "yt": y[own], "random_state": seed, "verbose": 0}
    makers: dict[str, Callable[[], Any]] = {
        "adapt: TrAdaBoost": lambda: (
            instance_based.TrAdaBoost(learner.machine(), n_estimators=ROUNDS, **source)
            if learner.classes_.size
            else instance_based.TrAdaBoostR2(learner.machine(), n_estimators=ROUNDS, **source)
        ),
        "adapt: FA": lambda: feature_based.FA(learner.machine(), **source),
        "adapt: BalancedWeighting": lambda: instance_based.BalancedWeighting(learner.machine(), gamma=0.5, **source),
    }
    model = makers[learner.name]()
    model.fit(X[~own], y[~own])
    found = model.predict(new, domain="tgt") if learner.name == "adapt: FA" else model.predict(new)
    return np.asarray(found).reshape(len(new))


def _by_skada(learner: LibraryLearner, X: NDArray, y: NDArray, new: NDArray) -> NDArray:
    import skada

    makers = {
        "skada: CORAL": lambda: skada.CORALAdapter(reg=0.1),
        "skada: subspace": lambda: skada.SubspaceAlignmentAdapter(n_components=min(50, X.shape[1], len(new))),
        "skada: OT": lambda: skada.LinearOTMappingAdapter(reg=0.1),
    }
    rows, domain = np.vstack([X, new]), np.concatenate([learner._domain, np.full(len(new), -1)])
    known = np.arange(len(rows)) < len(X)
    labels = np.concatenate([y, np.zeros(len(new), y.dtype)])
    moved = np.asarray(makers[learner.name]().fit_transform(rows, labels, sample_domain=np.sign(domain)))
    return learner.machine().fit(moved[known], y).predict(moved[~known])


def _maker(name: str) -> Callable[[str, int], Any]:
    return lambda task, seed: LibraryLearner(name, seed)


NAMES = {
    "adapt": ("adapt: TrAdaBoost", "adapt: FA", "adapt: BalancedWeighting"),
    "skada": ("skada: CORAL", "skada: subspace", "skada: OT"),
}
LIBRARY_PEERS = {name: _maker(name) for library, names in NAMES.items() if find_spec(library) for name in names}
"""A new peer by name, of the libraries that are installed, for a task and a seed."""
