"""The labels that a peer may see, and the frame of the peers that predict the instances that they were fitted with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hetcore.baselines.encoded import Encoded
from hetcore.baselines.scored import Scored
from hetcore.data import HetData
from hetcore.data.hetdata import check_het_data
from hetcore.data.identity import positions
from hetcore.errors import DataError

__all__ = ["Labels", "TransductivePeer"]


@dataclass(frozen=True)
class Labels:
    """Known labels of some of n instances.

    Attributes
    ----------
    n : int
    n_classes : int
        0 for numbers.
    rows : (m,) int64
        The labelled instances.
    target : (m,) int64 or float64
        Class codes 0..K-1, or numbers.
    """

    n: int
    n_classes: int
    rows: NDArray[np.int64]
    target: NDArray

    @classmethod
    def of(cls, data: HetData) -> Labels:
        """Return the labels of some data; what is unlabelled is not read."""
        rows = np.flatnonzero(data.labelled)
        if not rows.size:
            raise DataError(f"None of the {data.n} instances is labelled: give a target, or y.")
        classes = np.array(data.classes, dtype=str)
        known = data.y[rows]
        # as text: labels of a file and classes are compared as such
        target = np.searchsorted(classes, known.astype(str)) if classes.size else known.astype(np.float64)
        return cls(data.n, classes.size, rows, target)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """Numbers (n, 1), or a column of 0 and 1 for each class (n, K); NaN where unknown."""
        matrix = np.full((self.n, max(self.n_classes, 1)), np.nan)
        values = self.target[:, None] == np.arange(self.n_classes) if self.n_classes else self.target[:, None]
        matrix[self.rows] = values
        return matrix

    def kept(self, which: NDArray[np.bool_]) -> Labels:
        """Return some of the labels (m,); the rest are hidden."""
        return Labels(self.n, self.n_classes, self.rows[which], self.target[which])

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """Mean label (1,), or the share of each class (K,)."""
        return np.nanmean(self.matrix, axis=0)

    @property
    def constant(self) -> bool:
        """Whether all labels are the same, so that there is nothing to learn."""
        return bool((self.target == self.target[0]).all())

    def always(self) -> NDArray[np.float64]:
        """Return the scores that say the prior of everyone, (n, K) or (n,)."""
        scores = np.tile(self.prior, (self.n, 1))
        # numbers have one column, and are a vector
        return scores if self.n_classes else scores[:, 0]


class TransductivePeer(Scored):
    """Frame of a peer that sees all instances and some labels, and predicts those instances.

    A peer writes `_scores(encoded, labels)`: probabilities (n, K), or numbers (n,).
    """

    needs_graph = False

    def fit(self, data: HetData, y: Any = None) -> TransductivePeer:
        """Learn from the labelled instances.

        Parameters
        ----------
        data : HetData
        y : (n,) array, optional
            Overrides `data.y`; NaN or None is unlabelled.

        Raises
        ------
        DataError
            If no instance is labelled, the peer needs a graph and there is none, or the data are no HetData.
        ParameterError
            If a parameter is outside its domain.
        """
        self._check_parameters()
        check_het_data(data, "fit")
        data = data if y is None else data.with_target(y, task=data.target_kind)
        labels = Labels.of(data)
        if self.needs_graph and not data.graphs:
            raise DataError(f"{type(self).__name__} spreads along links and the data have no graph: add one.")
        self.classes_, self._ids = np.array(data.classes, dtype=object), data.id_series
        self.scores_ = labels.always() if labels.constant else self._scores(Encoded(data), labels)
        return self

    def _scores_of(self, data: HetData) -> NDArray[np.float64]:
        check_is_fitted(self, "scores_")
        check_het_data(data, "A prediction")
        place = positions(data.id_series, self._ids)
        if (place < 0).any():
            first = data.ids[np.argmax(place < 0)]
            # its scores are of the fit's instances: there is no way to a new one
            raise DataError(f"{type(self).__name__} did not see instance '{first}' in fit: fit it with all instances.")
        return self.scores_[place]
