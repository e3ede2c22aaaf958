"""Boosted feature vectors: what each stage of gradient boosting adds to the raw score of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from catboost import CatBoostClassifier
from numpy.typing import NDArray

from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError
from hetcore.multimodal.cross_fitted import CrossFitted
from hetcore.multimodal.oblivious_trees import ObliviousTrees
from hetcore.schema import Stored, part

__all__ = ["BoostedFeatures", "RawFeatures"]

LEARNING_RATE, L2 = 0.1, 3.0


@dataclass
class BoostedFeatures(Stored):
    """The boosted feature vector of a table: M stages times K classes.

    Attributes
    ----------
    encoder : SourceEncoder
    trees : ObliviousTrees
        Fitted with the multi-class loss, so that two classes have two raw scores too.
    """

    kind = "boosted"
    encoder: SourceEncoder = part(SourceEncoder, "d")
    trees: ObliviousTrees = part(ObliviousTrees, "d")

    @classmethod
    def fit(
        cls, source: Source, rows: NDArray, y: NDArray, n_stages: int, max_depth: int, seed: int
    ) -> BoostedFeatures:
        """Boost on some records.

        Parameters
        ----------
        source : Source
        rows : (m,) int
            Its records to learn from.
        y : (m,) int
            Their class codes, all of 0..K-1.
        n_stages, max_depth : int
        seed : int

        Raises
        ------
        DataError
            If these records are all the same.
        """
        encoder = SourceEncoder().fit(source)
        # one thread: several would sum in another order, and train beside other trainings
        model = CatBoostClassifier(
            iterations=n_stages, depth=max_depth, learning_rate=LEARNING_RATE, l2_leaf_reg=L2,
            loss_function="MultiClass", random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False,
        )  # fmt: skip
        X = encoder.transform(source)[rows]
        # CatBoost ends with an error of its own where nothing varies
        if not (np.nan_to_num(X) != np.nan_to_num(X[0])).any():
            raise DataError("No column of the table differs between the labelled rows: name another table.")
        model.fit(X, y)
        return cls(encoder, ObliviousTrees.of(model))

    def cross_fitted(self, source: Source, rows: NDArray, y: NDArray, n_dealings: int, seed: int) -> CrossFitted:
        """Return the vectors of the records that the trees were grown on, by leaves that have not learned from them."""
        X = self.encoder.transform(source)[rows]
        return CrossFitted.of(self.trees, X, y, (LEARNING_RATE, L2), (n_dealings, seed))

    def stages(self, source: Source, name: str = "") -> NDArray[np.float64]:
        """Return the raw scores after each stage, (M, m, K)."""
        return self.trees.stages(self.encoder.transform(source, name))

    def transform(self, source: Source, name: str = "") -> NDArray[np.float32]:
        """Return the boosted feature vectors (m, M * K): column M K + k is what stage M adds to class k."""
        staged = self.stages(source, name)
        # stages are sums so far; a vector has what each adds
        added = np.diff(staged, axis=0, prepend=np.zeros_like(staged[:1]))
        return added.transpose(1, 0, 2).reshape(staged.shape[1], -1).astype(np.float32)


@dataclass
class RawFeatures(Stored):
    """The baseline: a table's encoded columns as they are, 0 where missing once they are standardised."""

    kind = "raw"
    encoder: SourceEncoder = part(SourceEncoder, "d")

    @classmethod
    def fit(cls, source: Source) -> RawFeatures:
        """Learn the columns."""
        return cls(SourceEncoder().fit(source))

    def transform(self, source: Source, name: str = "") -> NDArray[np.float32]:
        """Return the encoded columns, (m, d)."""
        return self.encoder.transform(source, name)
