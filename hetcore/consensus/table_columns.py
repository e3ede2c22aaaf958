"""The columns of all tables as trees and as smooth learners take them; learned from the training data, used on any.

Trees take a table's encoded columns as they are, NaN where a value or a record is missing; of more than 300 columns the
300 that vary most, and 32 principal components of all. Smooth learners take columns of mean 0 and deviation 1 (words:
rows of length 1), 0 where missing, 200 components of them where there are more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData, Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import ModelFileError

__all__ = ["Projection", "TableColumns", "Tables"]

MOST_TREE_COLUMNS = 300
TREE_COMPONENTS = 32
MOST_SMOOTH_COLUMNS = 200
MOST_NEIGHBOR_COLUMNS = 60  # of which neighbours' means are taken; of more, those of 32 components
WORDY = 0.8  # share of zeros from which a wide table of no negative number is taken for words


@dataclass(frozen=True)
class Projection:
    """Columns of mean 0 and deviation 1, or rows of length 1, and components of them.

    Attributes
    ----------
    center, factor : (d,) float64
        x becomes (x - center) * factor, 0 where missing.
    unit_rows : bool
        Whether rows are then divided by their length.
    components : (d, r) float64 or None
        What they are multiplied with.
    """

    center: NDArray[np.float64]
    factor: NDArray[np.float64]
    unit_rows: bool = False
    components: NDArray[np.float64] | None = None

    @classmethod
    def fit(cls, X: NDArray, unit_rows: bool = False, most: int | None = None, rank: int = 0) -> Projection:
        """Learn from X (n, d); `rank` components where d is above `most`."""
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        center, factor = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if not unit_rows:
            center = np.where(known, X, 0.0).sum(axis=0, dtype=np.float64) / count
            deviation = np.sqrt((np.where(known, X - center, 0.0) ** 2).sum(axis=0, dtype=np.float64) / len(X))
            varies = deviation > 1e-9 * np.maximum(np.abs(center), 1e-30)
            factor = np.divide(1.0, deviation, out=np.zeros_like(center), where=varies)
        plain = cls(center, factor, unit_rows)
        if most is None or X.shape[1] <= most:
            return plain
        return cls(center, factor, unit_rows, principal(plain(X), rank))

    def __call__(self, X: NDArray) -> NDArray[np.float64]:
        """Return the columns (n, d or r) of X (n, d)."""
        rows = (X - self.center) * self.factor
        rows[np.isnan(rows)] = 0.0
        if self.unit_rows:
            rows /= np.maximum(np.sqrt((rows**2).sum(axis=1, keepdims=True)), 1e-12)
        return rows if self.components is None else rows @ self.components

    def to_state(self, key: str, arrays: dict[str, NDArray]) -> dict[str, Any]:
        """Write the arrays under `key`; return the rest, JSON-able."""
        arrays |= {f"{key}:center": self.center, f"{key}:factor": self.factor}
        if self.components is not None:
            arrays[f"{key}:components"] = np.ascontiguousarray(self.components)
        return {"unit_rows": self.unit_rows, "projected": self.components is not None}

    @classmethod
    def from_state(cls, key: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> Projection:
        """Rebuild a projection; ModelFileError if its arrays do not fit together."""
        center, factor = arrays[f"{key}:center"], arrays[f"{key}:factor"]
        components = arrays[f"{key}:components"] if meta["projected"] else None
        good = center.ndim == 1 and center.shape == factor.shape
        good = good and (components is None or (components.ndim == 2 and len(components) == center.size))
        if not good or not all(np.isfinite(a).all() for a in (center, factor, components) if a is not None):
            raise ModelFileError("The columns of a view in the model file do not fit together: save the model again.")
        return cls(center, factor, bool(meta["unit_rows"]), components)


def principal(rows: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """Return the leading right singular vectors (d, rank) of rows (n, d), by a randomised range finder.

    References
    ----------
    Halko, Martinsson, Tropp (2011), "Finding structure with randomness", algorithm 4.4 with one power step.
    """
    rank = min(rank, *rows.shape)
    draw = np.random.default_rng(0).normal(size=(rows.shape[0], min(rank + 10, *rows.shape)))
    basis = rows.T @ draw
    basis = rows.T @ (rows @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    vectors = np.linalg.svd(rows @ basis, full_matrices=False)[2]
    return basis @ vectors[:rank].T


class Tables(NamedTuple):
    """The columns of some data.

    Attributes
    ----------
    has : dict of str to (n,) bool
        By table, which instances have a record.
    trees, smooth : dict of str to (n, d) array
        By table, its columns for trees (float32, NaN where missing) and for smooth learners (float64, 0 where missing).
    joined : (n, d) float32
        All tables' columns for trees, side by side.
    joined_smooth : (n, r) float64
        The same for smooth learners.
    flat : (n, c) float32
        What neighbours' means are taken of; NaN where missing.
    """

    has: dict[str, NDArray[np.bool_]]
    trees: dict[str, NDArray[np.float32]]
    smooth: dict[str, NDArray[np.float64]]
    joined: NDArray[np.float32]
    joined_smooth: NDArray[np.float64]
    flat: NDArray[np.float32]

    @property
    def in_any(self) -> NDArray[np.bool_]:
        """Which instances have a record in some table, (n,)."""
        return np.any(list(self.has.values()), axis=0)


@dataclass
class _Table:
    """What one table's columns need: encoder, scaling, components for smooth learners and trees, columns for trees."""

    encoder: SourceEncoder
    plain: Projection
    smooth: NDArray[np.float64] | None
    kept: NDArray[np.int64] | None
    components: NDArray[np.float64] | None

    @classmethod
    def fit(cls, source: Source) -> _Table:
        encoder = SourceEncoder().fit(source)
        X = encoder.transform(source)
        wide = X.shape[1] > MOST_TREE_COLUMNS
        words = wide and ("text" in source.kinds.values() or _looks_like_words(X))
        plain = Projection.fit(X, words)
        if not wide:
            return cls(encoder, plain, None, None, None)
        rows = plain(X)
        kept = np.sort(np.argsort(-rows.var(axis=0), kind="stable")[:MOST_TREE_COLUMNS])
        return cls(encoder, plain, principal(rows, MOST_SMOOTH_COLUMNS), kept, principal(rows, TREE_COMPONENTS))

    def columns(self, source: Source) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]:
        """Return the columns for trees, the scaled columns, and those for smooth learners."""
        X = self.encoder.transform(source)
        plain = self.plain(X)
        if self.kept is None:
            return X, plain, plain
        trees = np.hstack([X[:, self.kept], (plain @ self.components).astype(np.float32)])
        return trees, plain, plain @ self.smooth


class TableColumns:
    """Learn a data set's columns, and give those of any data with these tables."""

    def fit(self, data: HetData) -> TableColumns:
        """Learn encoders, scales and components."""
        self._tables = {name: _Table.fit(source) for name, source in data.sources.items()}
        self._joined = self._flat = None
        plain, trees = self._blocks(data)[1:3]
        self.has_words = any(table.plain.unit_rows for table in self._tables.values())
        joined = np.hstack(list(plain.values()))
        if joined.shape[1] > MOST_SMOOTH_COLUMNS:
            self._joined = principal(joined, MOST_SMOOTH_COLUMNS)
        joined = np.hstack(list(trees.values()))
        if joined.shape[1] > MOST_NEIGHBOR_COLUMNS:
            self._flat = Projection.fit(joined, most=MOST_NEIGHBOR_COLUMNS, rank=TREE_COMPONENTS)
        return self

    @property
    def names(self) -> list[str]:
        """The tables."""
        return list(self._tables)

    def widths(self) -> dict[str, int]:
        """Return how many columns trees see of each table."""
        return {
            name: len(t.encoder.feature_names) if t.kept is None else t.kept.size + t.components.shape[1]
            for name, t in self._tables.items()
        }

    def smooth_widths(self) -> dict[str, int]:
        """Return how many columns smooth learners see of each table."""
        return {
            name: len(t.encoder.feature_names) if t.smooth is None else t.smooth.shape[1]
            for name, t in self._tables.items()
        }

    @property
    def smooth_width(self) -> int:
        """How many columns of all tables smooth learners see."""
        if self._joined is not None:
            return self._joined.shape[1]
        return sum(len(table.encoder.feature_names) for table in self._tables.values())

    @property
    def flat_width(self) -> int:
        """Of how many columns neighbours' means are taken."""
        return sum(self.widths().values()) if self._flat is None else self._flat.components.shape[1]

    def transform(self, data: HetData) -> Tables:
        """Return the columns of any data; tables that it lacks are missing."""
        has, plain, trees, smooth = self._blocks(data)
        joined, joined_smooth = np.hstack(list(trees.values())), np.hstack(list(plain.values()))
        if self._joined is not None:
            joined_smooth = joined_smooth @ self._joined
        flat = joined
        if self._flat is not None:
            flat = self._flat(joined).astype(np.float32)
            flat[~np.any(list(has.values()), axis=0)] = np.nan
        return Tables(has, trees, smooth, joined, joined_smooth, flat)

    def _blocks(self, data: HetData) -> tuple[dict[str, NDArray], ...]:
        """Return coverage, scaled columns, columns for trees and for smooth learners, by table, over all instances."""
        has, plain, trees, smooth = {}, {}, {}, {}
        widths = self.widths()
        for name, table in self._tables.items():
            rows = data.rows(name) if name in data.sources else np.empty(0, np.int64)
            has[name] = np.zeros(data.n, bool)
            has[name][rows] = True
            d = len(table.encoder.feature_names)
            plain[name] = np.zeros((data.n, d))
            trees[name] = np.full((data.n, widths[name]), np.nan, np.float32)
            smooth[name] = plain[name] if table.smooth is None else np.zeros((data.n, table.smooth.shape[1]))
            if rows.size:
                trees[name][rows], plain[name][rows], smooth[name][rows] = table.columns(data.sources[name])
        return has, plain, trees, smooth

    def to_state(self, arrays: dict[str, NDArray]) -> dict[str, Any]:
        """Write all arrays; return the rest, JSON-able."""
        tables = []
        for i, (name, table) in enumerate(self._tables.items()):
            encoder, held = table.encoder.to_state()
            arrays |= {f"table {i}:encoder:{key}": array for key, array in held.items()}
            meta = {"name": name, "encoder": encoder, "plain": table.plain.to_state(f"table {i}:plain", arrays)}
            if table.kept is not None:
                arrays |= {f"table {i}:smooth": np.ascontiguousarray(table.smooth), f"table {i}:kept": table.kept}
                arrays[f"table {i}:components"] = np.ascontiguousarray(table.components)
            tables.append(meta | {"wide": table.kept is not None})
        if self._joined is not None:
            arrays["joined"] = np.ascontiguousarray(self._joined)
        flat = None if self._flat is None else self._flat.to_state("flat", arrays)
        return {"tables": tables, "joined": self._joined is not None, "flat": flat, "has_words": self.has_words}

    @classmethod
    def from_state(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> TableColumns:
        """Rebuild the columns; ModelFileError if anything does not fit together."""
        made = cls()
        made._tables = {each["name"]: _table_from(i, each, arrays) for i, each in enumerate(meta["tables"])}
        if len(made._tables) < len(meta["tables"]) or not made._tables:
            raise ModelFileError("The tables of the model file are not distinct: save the model again.")
        made.has_words = bool(meta["has_words"])
        made._joined = arrays["joined"] if meta["joined"] else None
        made._flat = None if meta["flat"] is None else Projection.from_state("flat", meta["flat"], arrays)
        width = sum(len(table.encoder.feature_names) for table in made._tables.values())
        bad = made._joined is not None and (made._joined.ndim != 2 or len(made._joined) != width)
        if bad or (made._flat is not None and made._flat.center.size != sum(made.widths().values())):
            raise ModelFileError("The joined columns of the model file are not those of its tables: save it again.")
        return made


def _looks_like_words(X: NDArray) -> bool:
    """Return whether a wide table counts words: no negative number, nearly all zeros."""
    some = X[:1000]
    some = some[~np.isnan(some)]
    return bool(some.size) and bool((some >= 0).all()) and float((some == 0).mean()) > WORDY


def _table_from(i: int, meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> _Table:
    prefix = f"table {i}:encoder:"
    held = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
    encoder = SourceEncoder.from_state(meta["encoder"], held)
    plain, d = Projection.from_state(f"table {i}:plain", meta["plain"], arrays), len(encoder.feature_names)
    good = isinstance(meta["name"], str) and plain.center.size == d and plain.components is None
    smooth = kept = components = None
    if meta["wide"]:
        smooth, kept, components = (arrays[f"table {i}:{key}"] for key in ("smooth", "kept", "components"))
        good = good and smooth.ndim == components.ndim == 2 and len(smooth) == len(components) == d
        good = good and kept.ndim == 1 and kept.dtype == np.int64 and ((kept >= 0) & (kept < d)).all()
        good = good and bool(np.isfinite(smooth).all() and np.isfinite(components).all())
    if not good:
        raise ModelFileError("A table's columns in the model file do not fit its encoder: save the model again.")
    return _Table(encoder, plain, smooth, kept, components)
