"""CatBoost's trees as plain arrays: read from a fitted model once, then ours to predict with, to save and to check.

A tree of depth D asks the same D questions "x_f > border" of every row; their answers are the bits of the leaf's
number. CatBoost's own files are not kept: its reader trusts them, and a changed one can end the process.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from catboost import CatBoostClassifier
from numpy.typing import NDArray

from hetcore.schema import Stored, array

__all__ = ["ObliviousTrees"]

MAX_DEPTH = 16


@dataclass
class ObliviousTrees(Stored):
    """M trees over d columns with K values in each leaf.

    Attributes
    ----------
    features : (M, D) int32
        The column of each question; 0 where a tree asks fewer, with the border infinity.
    borders : (M, D) float32
        A missing value is not above any.
    values : (M, 2^D, K) float64
        What each leaf adds to the K scores.
    """

    features: NDArray[np.int32] = array("m D", np.int32, low=0)
    borders: NDArray[np.float32] = array("m D", np.float32, allows="inf")
    values: NDArray[np.float64] = array("m L K")

    @classmethod
    def of(cls, model: CatBoostClassifier) -> ObliviousTrees:
        """Read the trees of a fitted model of the multi-class loss over columns of numbers."""
        # CatBoost writes to a path only
        with tempfile.TemporaryDirectory(prefix="hetcore-") as folder:
            path = Path(folder) / "trees.json"
            model.save_model(str(path), format="json")
            given = json.loads(path.read_text(encoding="utf-8"))
        trees, (scale, bias) = given["oblivious_trees"], given["scale_and_bias"]
        # trees of one leaf have no split
        depth, k = max(1, *(len(tree["splits"] or ()) for tree in trees)), len(bias)
        made = cls(
            np.zeros((len(trees), depth), np.int32),
            # a border of infinity: the question is answered no by all, and the leaf's number unchanged
            np.full((len(trees), depth), np.inf, np.float32),
            np.zeros((len(trees), 2**depth, k)),
        )
        for m, tree in enumerate(trees):
            made._take(m, tree, scale)
        # the bias once, in the first tree's leaves
        made.values[0] += bias
        return made

    def _take(self, m: int, tree: dict[str, Any], scale: float) -> None:
        for place, split in enumerate(tree["splits"] or ()):
            self.features[m, place], self.borders[m, place] = split["float_feature_index"], split["border"]
        leaves = np.reshape(tree["leaf_values"], (-1, self.values.shape[2]))
        self.values[m, : len(leaves)] = scale * leaves

    def leaves(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the leaf of rows X (n, d) in each tree, (M, n)."""
        X = X.astype(np.float32, copy=False)
        # answers as bits of the leaf's number
        bits = 1 << np.arange(self.features.shape[1])
        return np.stack([(X[:, columns] > borders) @ bits for columns, borders in zip(self.features, self.borders)])

    def stages(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the raw scores of rows X (n, d) after each tree, (M, n, K)."""
        return np.cumsum([values[leaf] for leaf, values in zip(self.leaves(X), self.values)], axis=0)

    def _fault(self, sizes: dict[str, int]) -> str:
        whole = 1 <= sizes["D"] <= MAX_DEPTH and sizes["m"] >= 1 and sizes["K"] >= 2 and sizes["L"] == 2 ** sizes["D"]
        fits = whole and self.features.max(initial=0) < sizes["d"]
        return "" if fits else "The trees of the model file are none over its columns"
