"""Edge lists: nearest neighbours of feature rows, and instances that share a person.

Both return polars frames with the columns `source`, `target` (ids, text) in which each linked pair stands once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

__all__ = ["nearest_edges", "shared_edges", "standardized"]


def standardized(features: np.ndarray) -> np.ndarray:
    """Return columns with mean 0 and standard deviation 1; a constant column becomes 0.

    Parameters
    ----------
    features : (n, d) array
        Any numbers, finite.

    Returns
    -------
    (n, d) float64 array
    """
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


def nearest_edges(ids: np.ndarray, features: np.ndarray, k: int = 10) -> pl.DataFrame:
    """Link each instance to its `k` nearest others (Euclidean); a pair is linked if either is among the other's k.

    Parameters
    ----------
    ids : (n,) array of str
        One per row, unique.
    features : (n, d) array
        Comparable columns, finite (see `standardized`).
    k : int, default=10
        Neighbours of each instance, below n.

    Returns
    -------
    polars.DataFrame
        `source`, `target`; between n*k/2 and n*k edges.
    """
    from scipy.spatial import cKDTree

    near = cKDTree(features).query(features, k=k + 1)[1]
    own = near == np.arange(len(near))[:, None]
    own[~own.any(axis=1), -1] = True  # more than k others at the very same place
    near = near[~own]
    pairs = np.column_stack([np.repeat(np.arange(len(ids)), k), near.ravel()])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return pl.DataFrame({"source": ids[pairs[:, 0]].tolist(), "target": ids[pairs[:, 1]].tolist()})


def shared_edges(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Link the instances that share a value in any of some columns (two films with one actor in common).

    Parameters
    ----------
    table : polars.DataFrame
        `id` and the columns; null links nobody.
    columns : sequence of str
        Columns of one meaning, such as the four main actors: a value links over all of them.

    Returns
    -------
    polars.DataFrame
        `source`, `target`, `weight` (how many values the two share).
    """
    entries = pl.concat([table.select("id", value=pl.col(column)) for column in columns]).drop_nulls().unique()
    place = table.select("id").with_row_index("place")
    entries = entries.join(place, on="id", maintain_order="left")
    pairs = entries.join(entries, on="value", suffix="_other").filter(pl.col("place") < pl.col("place_other"))
    counted = pairs.group_by("id", "place", "id_other", "place_other").agg(weight=pl.len().cast(pl.Float64))
    return counted.sort("place", "place_other").select(source="id", target="id_other", weight="weight")
