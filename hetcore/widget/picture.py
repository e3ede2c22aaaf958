"""The picture of an ended training: instances that are alike in their values lie side by side, coloured by predictions.

Where they lie is by two principal components of the encoded columns of all tables; it asks for no label and no model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.figures.basic import COLOURS, MOST_POINTS

__all__ = ["picture"]

MOST_ROWS = 20_000
"""Instances beyond which there is no picture: a prediction of all of them would keep the end of a training waiting."""
UNKNOWN, OTHERS = "not known", "others"
TINY = 1e-12


def picture(model: Any, data: Any, truth: ArrayLike | None = None) -> dict[str, Any]:
    """Return what a page draws of at most 500 instances: plain values, few digits.

    Parameters
    ----------
    model : estimator
        Fitted.
    data : HetData or (m, d) array of numbers
    truth : (n,) array-like, optional
        Labels; NaN or None is not known.

    Returns
    -------
    dict
        "places": (m, 2) in [-1, 1]; "colours": by name, of each the values and either "names", whose places the values
        are, or "low" and "high". Empty of text, and of more than 20,000 instances.
    """
    # Text in an array has no encoder here.
    if not isinstance(data, HetData) and np.asarray(data).dtype.kind not in "iuf":
        return {}
    n = data.n if isinstance(data, HetData) else len(data)
    if n > MOST_ROWS:
        return {}
    # Always the same sample: the picture of a second training is compared with that of the first.
    rows = np.sort(np.random.default_rng(0).permutation(n)[:MOST_POINTS])
    columns = _columns(data, rows) if isinstance(data, HetData) else _scaled(np.asarray(data, np.float64)[rows])
    predicted = np.asarray(model.predict(data))[rows]
    colours = {"prediction": _coloured(predicted)}
    if truth is not None:
        colours["error"] = _errors(predicted, np.asarray(truth)[rows])
    return {"places": np.round(_places(columns), 3).tolist(), "colours": colours}


def _columns(data: HetData, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the encoded columns of all tables of some instances, (m, d); the mean where an instance has no record."""
    blocks = [np.zeros((len(rows), 0))]
    for name, source in data.sources.items():
        where = data.rows(name)
        kept = np.flatnonzero(np.isin(where, rows))
        records = source.take(kept)
        if records.n_rows:
            encoded = _scaled(SourceEncoder().fit(records).transform(records).astype(np.float64))
            blocks.append(np.zeros((len(rows), encoded.shape[1])))
            blocks[-1][np.searchsorted(rows, where[kept])] = encoded
    return np.hstack(blocks)


def _scaled(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0, missing values there, and a table whose squares sum to one a row."""
    # A missing value lies at the mean, where it pulls to no side.
    there = np.isfinite(columns)
    counts = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, columns, 0.0)
    centered = np.where(there, filled - filled.sum(axis=0) / counts, 0.0)
    deviations = np.sqrt((centered**2).sum(axis=0) / counts)
    varying = deviations > TINY
    # By the number of columns, so that a table of many does not decide the picture alone.
    return centered[:, varying] / deviations[varying] / np.sqrt(max(varying.sum(), 1))


def _places(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return two principal components in [-1, 1], (m, 2), each with its largest value above 0."""
    centered = columns - columns.mean(axis=0)
    # The small matrix of rows, not of columns: there are at most 500 rows and may be thousands of columns.
    values, vectors = np.linalg.eigh(centered @ centered.T)
    found = np.zeros((len(columns), 2))
    few = min(2, len(columns))
    found[:, :few] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :few]
    largest = np.abs(found).argmax(axis=0)
    # A component has no sign of its own; without a rule the picture would flip from run to run.
    found *= np.where(found[largest, [0, 1]] < 0, -1.0, 1.0)
    # The 99th percentile, so that one far row does not press the others together.
    return np.clip(found / np.maximum(np.quantile(np.abs(found), 0.99, axis=0), TINY), -1.0, 1.0)


def _coloured(values: NDArray) -> dict[str, Any]:
    """Return numbers with the ends of their scale, or the places of classes among their names."""
    if values.dtype.kind == "f":
        known = values[np.isfinite(values)]
        # Likewise for colours.
        low, high = np.quantile(known, [0.02, 0.98]).tolist() if len(known) else (0.0, 1.0)
        return {"values": [float(f"{x:.4g}") if np.isfinite(x) else None for x in values], "low": low, "high": high}
    texts = np.array([str(value) for value in values], object)
    names, counts = np.unique(texts.astype(str), return_counts=True)
    # The rarest classes share a colour: there are no more that can be told apart.
    if len(names) > len(COLOURS):
        names = np.array([*sorted(names[np.argsort(-counts, kind="stable")][: len(COLOURS) - 1]), OTHERS])
    places = {name: place for place, name in enumerate(names.tolist())}
    return {"names": list(places), "values": [places.get(text, len(places) - 1) for text in texts]}


def _errors(predicted: NDArray, truth: NDArray) -> dict[str, Any]:
    if predicted.dtype.kind == "f":
        return _coloured(predicted - truth.astype(np.float64))
    # None and NaN are both "not known".
    known = np.array([value is not None and value == value for value in truth])
    right = np.array([str(one) == str(other) for one, other in zip(predicted, truth)])
    return {"names": ["right", "wrong", UNKNOWN], "values": np.where(known, np.where(right, 0, 1), 2).tolist()}
