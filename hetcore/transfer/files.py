"""Transfer models as plain values and arrays, and back, every value checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hetcore.errors import ModelFileError, ParameterError

__all__ = ["common_from_state", "common_state", "name_state", "names_from_state"]

KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}


def common_state(model: Any) -> dict[str, Any]:
    """Return what every transfer model keeps: classes, width, rounds, source weights.

    Raises
    ------
    ParameterError
        If the classes are neither numbers nor texts.
    """
    check_is_fitted(model)
    kind = model.classes_.dtype.kind
    classes = model.classes_.tolist()
    if kind not in KINDS or not all(isinstance(each, KINDS[kind]) for each in classes):
        raise ParameterError("Classes that are neither numbers nor texts can't be saved: give labels of one kind.")
    return name_state(model) | {"classes": classes, "dtype": model.classes_.dtype.str if kind != "O" else "O"}


def name_state(model: Any) -> dict[str, Any]:
    """Return what every transfer model keeps but classes: width, rounds, source weights."""
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    return {
        "n_features": model.n_features_in_, "feature_names": None if names is None else list(names),
        "n_iterations": model.n_iterations_, "source_weights": model.source_weights_,
    }  # fmt: skip


def common_from_state(model: Any, meta: Mapping[str, Any]) -> None:
    """Set what `common_state` returned.

    Raises
    ------
    ModelFileError
        If it does not fit together.
    """
    dtype, classes = np.dtype(meta["dtype"]), meta["classes"]
    kind = KINDS.get(dtype.kind)
    if kind is None or len(classes) < 2 or not all(isinstance(each, kind) for each in classes):
        raise ModelFileError("The classes of the model file are not two or more labels of one kind: save it again.")
    if sorted(set(classes)) != classes:
        raise ModelFileError("The classes of the model file are not in order: save the model again.")
    model.classes_ = np.array(classes, dtype=dtype)
    names_from_state(model, meta)


def names_from_state(model: Any, meta: Mapping[str, Any]) -> None:
    """Set what `name_state` returned.

    Raises
    ------
    ModelFileError
        If it does not fit together.
    """
    model.n_features_in_ = _whole(meta["n_features"], "the number of columns")
    model.n_iterations_ = _whole(meta["n_iterations"], "the number of rounds")
    if meta["feature_names"] is not None:
        names = meta["feature_names"]
        if len(names) != model.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ModelFileError("The model file does not name its columns: save the model again.")
        model.feature_names_in_ = np.array(names, dtype=object)
    weights = meta["source_weights"]
    if not all(isinstance(w, float) and 0.0 <= w <= 1.0 + 1e-9 for w in weights.values()):
        raise ModelFileError("The source weights of the model file are not shares: save the model again.")
    model.source_weights_ = dict(weights)


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**9:
        raise ModelFileError(f"The model file has {value!r} for {what}: save the model again.")
    return value
