"""What predicts from scores: a class or a number for each instance, and the probabilities of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hetcore.data import HetData
from hetcore.errors import ParameterError
from hetcore.parameters import Declared

__all__ = ["Scored"]


class Scored(Declared, BaseEstimator):
    """Base of the baselines: one writes `_scores_of(data)`, probabilities (n, K) or numbers (n,), and sets `classes_`.

    Attributes
    ----------
    classes_ : (K,) array of str
        Sorted; empty after a regression.
    """

    classes_: NDArray

    def predict(self, data: HetData) -> NDArray:
        """Return the prediction for each instance, (n,): labels (object) or numbers (float64).

        Raises
        ------
        DataError
            If the data hold an instance that had to be there in `fit`, and was not.
        """
        scores = self._scores_of(data)
        return self.classes_[scores.argmax(axis=1)] if len(self.classes_) else scores

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability of each class in the order of `classes_`, (n, K).

        Raises
        ------
        ParameterError
            After fitting numbers, which have no classes.
        """
        scores = self._scores_of(data)
        if not len(self.classes_):
            raise ParameterError(f"{type(self).__name__} was fitted to numbers, which have no classes: use predict.")
        return scores

    def _scores_of(self, data: HetData) -> NDArray[np.float64]:
        raise NotImplementedError
