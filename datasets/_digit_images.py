"""scikit-learn's 1,797 digit images, read from its package without importing it, for the sake of the first page."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

__all__ = ["Digits", "digit_images"]


class Digits(NamedTuple):
    """`ids` (n,) text, `images` (n, 8, 8) numbers 0 to 16, `labels` (n,) text "0" to "9"."""

    ids: np.ndarray
    images: np.ndarray
    labels: np.ndarray


def digit_images() -> Digits:
    """Return what `sklearn.datasets.load_digits` returns, with ids."""
    folder = find_spec("sklearn").submodule_search_locations[0]
    table = pl.read_csv(Path(folder) / "datasets" / "data" / "digits.csv.gz", has_header=False).to_numpy()
    ids = np.array([f"digit-{row:04d}" for row in range(1, len(table) + 1)])
    return Digits(ids, table[:, :-1].astype(float).reshape(-1, 8, 8), table[:, -1].astype(int).astype(str))
