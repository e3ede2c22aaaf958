"""Boosted feature vectors: what each stage of gradient boosting adds to the raw score of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from catboost import CatBoostClassifier, CatBoostError
from numpy.typing import NDArray

from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError, ModelFileError

__all__ = ["BoostedFeatures", "RawFeatures"]

LEARNING_RATE = 0.1


class BoostedFeatures:
    """The boosted feature vector of a table: M stages times K classes.

    Parameters
    ----------
    encoder : SourceEncoder
    model : CatBoostClassifier
        Fitted, with the multi-class loss, so that two classes have two raw scores too.
    """

    kind = "boosted"

    def __init__(self, encoder: SourceEncoder, model: CatBoostClassifier) -> None:
        self.encoder, self.model = encoder, model
        self._blob = np.frombuffer(model._serialize_model(), np.uint8).copy()

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
        model = CatBoostClassifier(
            iterations=n_stages, depth=max_depth, learning_rate=LEARNING_RATE, loss_function="MultiClass",
            random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False,
        )  # fmt: skip
        X = encoder.transform(source)[rows]
        if not (np.nan_to_num(X) != np.nan_to_num(X[0])).any():
            raise DataError("No column of the table differs between the labelled rows: name another table.")
        model.fit(X, y)
        return cls(encoder, model)

    def stages(self, source: Source) -> NDArray[np.float64]:
        """Return the raw scores after each stage, (M, m, K)."""
        X = np.ascontiguousarray(self.encoder.transform(source))
        each = self.model.staged_predict(X, prediction_type="RawFormulaVal", thread_count=1)
        return np.stack([np.asarray(scores) for scores in each])

    def transform(self, source: Source) -> NDArray[np.float32]:
        """Return the boosted feature vectors (m, M * K): column M K + k is what stage M adds to class k."""
        staged = self.stages(source)
        added = np.diff(staged, axis=0, prepend=np.zeros_like(staged[:1]))
        return added.transpose(1, 0, 2).reshape(staged.shape[1], -1).astype(np.float32)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return a JSON-able dict and arrays; the trees are CatBoost's own binary format."""
        meta, arrays = self.encoder.to_state()
        own = {f"encoder:{key}": array for key, array in arrays.items()}
        return {"kind": self.kind, "encoder": meta}, own | {"trees": self._blob}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> BoostedFeatures:
        """Rebuild; raises ModelFileError at anything that is not such a model."""
        encoder, model, blob = _encoder_from(meta, arrays), CatBoostClassifier(), arrays["trees"]
        if blob.dtype != np.uint8 or blob.ndim != 1:
            raise ModelFileError("The trees of the model file are no bytes: save the model again.")
        try:
            model.load_model(blob=blob.tobytes())
        except CatBoostError as error:
            raise ModelFileError(f"CatBoost can't read the trees of the model file ({error}): save it again.") from None
        if len(model.feature_names_) != len(encoder.feature_names):
            raise ModelFileError("The trees of the model file do not fit their columns: save the model again.")
        made = cls(encoder, model)
        made._blob = blob  # CatBoost writes the same trees in other bytes once it has read them
        return made


class RawFeatures:
    """The baseline: a table's encoded columns as they are, 0 where missing once they are standardised."""

    kind = "raw"

    def __init__(self, encoder: SourceEncoder) -> None:
        self.encoder = encoder

    @classmethod
    def fit(cls, source: Source) -> RawFeatures:
        """Learn the columns."""
        return cls(SourceEncoder().fit(source))

    def transform(self, source: Source) -> NDArray[np.float32]:
        """Return the encoded columns, (m, d)."""
        return self.encoder.transform(source)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return a JSON-able dict and arrays."""
        meta, arrays = self.encoder.to_state()
        return {"kind": self.kind, "encoder": meta}, {f"encoder:{k}": v for k, v in arrays.items()}

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: dict[str, NDArray]) -> RawFeatures:
        """Rebuild; raises ModelFileError at anything that is not such a state."""
        return cls(_encoder_from(meta, arrays))


def _encoder_from(meta: dict[str, Any], arrays: dict[str, NDArray]) -> SourceEncoder:
    own = {key.removeprefix("encoder:"): array for key, array in arrays.items() if key.startswith("encoder:")}
    return SourceEncoder.from_state(meta["encoder"], own)
