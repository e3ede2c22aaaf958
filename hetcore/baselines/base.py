"""The frame of the baselines: join the sources, learn from the labelled rows, score any data; and self-training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hetcore.baselines.features import Joined, JoinedFeatures
from hetcore.baselines.scored import Scored
from hetcore.data import HetData
from hetcore.data.hetdata import check_het_data
from hetcore.data.splits import stratified
from hetcore.errors import DataError
from hetcore.parameters import Interval, Whole, param

__all__ = ["Baseline", "SelfTraining"]

N_COMMITTEE = 3


class Baseline(Scored):
    """The frame: join, learn from the labelled rows, score any data."""

    _positional = ()

    def fit(self, data: HetData, y: Any = None) -> Baseline:
        """Learn from the labelled instances.

        Parameters
        ----------
        data : HetData
        y : (n,) array, optional
            Overrides `data.y`; NaN or None is unlabelled.

        Raises
        ------
        DataError
            If no instance is labelled, or the data are no HetData.
        ParameterError
            If a parameter is outside its domain.
        """
        self._check_parameters()
        check_het_data(data, "fit")
        data = data if y is None else data.with_target(y, task=data.target_kind)
        if not data.labelled.any():
            raise DataError(f"None of the {data.n} instances is labelled: give a target, or y.")
        self.classes_ = np.array(data.classes, dtype=object)
        self._set_labels(data)
        self._features = JoinedFeatures(self.adjacency, self.fill).fit(data)
        self._learner = self._new_learner(len(self.classes_))
        self._learner.prepare(self._join(data))
        self._learn(np.flatnonzero(data.labelled), np.flatnonzero(~data.labelled))
        return self

    def _set_labels(self, data: HetData) -> None:
        """Keep the training ids and labels: numbers, or codes of `classes_`; rows without a label are not read."""
        self._ids = data.id_series
        if len(self.classes_):
            # unlabelled rows take some code, which nobody reads: labels are taken by row
            self._labels = np.searchsorted(self.classes_.astype(str), np.where(data.labelled, data.y, "").astype(str))
        else:
            self._labels = data.y
        self._known, self._graph_names = data.labelled, data.graph_names

    def _join(self, data: HetData) -> Joined:
        return self._features.transform(data)

    def _learn(self, labelled: NDArray[np.int64], unlabelled: NDArray[np.int64]) -> None:
        self._learner.fit(labelled, self._labels[labelled])

    def _scores_of(self, data: HetData) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        check_het_data(data, "A prediction")
        return self._learner.scores(self._join(data))


class SelfTraining:
    """Self-training: round by round, the rows predicted with most confidence get their prediction as label.

    Confidence is the highest probability (classification), or how well three learners agree that were each fitted
    without a third of the labelled rows (regression).
    """

    n_rounds: int = param(3, Whole(0), "Rounds of self-training.")
    share: float = param(0.25, Interval(0, 1, "(]"), "Share of the unlabelled rows that each round adds.")

    def _learn(self, labelled: NDArray[np.int64], unlabelled: NDArray[np.int64]) -> None:
        rng = np.random.default_rng(self.random_state)
        rows, labels, pool = labelled, self._labels[labelled], unlabelled
        batch = int(np.ceil(self.share * len(unlabelled)))
        for _ in range(self.n_rounds if batch else 0):
            guess, confidence = self._guess(rows, labels, pool, rng)
            # stable: rows that are guessed as surely come in the order of the data
            order = np.argsort(-confidence, kind="stable")
            chosen, left = order[:batch], order[batch:]
            rows, labels = np.concatenate([rows, pool[chosen]]), np.concatenate([labels, guess[chosen]])
            pool = pool[left]
            # nobody left to be guessed
            if not len(pool):
                break
        self._learner.fit(rows, labels)

    def _guess(
        self, rows: NDArray, labels: NDArray, pool: NDArray, rng: np.random.Generator
    ) -> tuple[NDArray, NDArray]:
        if len(self.classes_):
            self._learner.fit(rows, labels)
            scores = self._learner.scores()[pool]
            return scores.argmax(axis=1), scores.max(axis=1)
        folds, predicted = stratified(labels, N_COMMITTEE, rng), []
        for fold in np.unique(folds):
            # a fold that holds every row: the committee is one member then
            kept = folds != fold if (folds != fold).any() else folds == fold
            self._learner.fit(rows[kept], labels[kept])
            predicted.append(self._learner.scores()[pool])
        # numbers have no confidence; a committee that agrees stands for it
        return np.mean(predicted, axis=0), -np.std(predicted, axis=0)
