"""Noise for what-if questions: a source whose values say less, a graph whose edges say less, labels that err.

The strength `sd` is in units of each column's own standard deviation. A real column with independent noise of that size
keeps the correlation r = 1/√(1 + sd²) with itself. Other kinds get the noise that loses as much: each cell of a binary
or nominal column is, with probability 1 − r, redrawn from the column's own values, and each word of a text column is,
with that probability, exchanged among the rows. Missing stays missing.

Of labels some change their class, or some numbers are disturbed (`LabelNoise`): a larger share takes in the labels of a
smaller one, and a larger noise is the smaller one stretched, so a slider works on the same rows wherever it stands.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import FLOAT_MAX, as_array, finite, whole
from hetcore.data.graph import Graph
from hetcore.data.kinds import as_numbers, as_text
from hetcore.data.source import Source
from hetcore.data.text import shown
from hetcore.errors import DataError, ParameterError

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["LabelNoise", "check_seed", "noisy_source", "rewired", "thinned"]

REWIRE_ROUNDS = 20


def check_seed(seed: Any) -> None:
    """Raise ParameterError unless a value is a seed."""
    if not (whole(seed) and seed >= 0):
        raise ParameterError(f"seed={shown(seed)} must be a whole number of at least 0: equal ones give equal answers.")


def _check_range(values: NDArray, sd: float, most: float) -> None:
    if (np.abs(values) > most).any():
        raise ParameterError(f"sd={shown(sd)} takes numbers beyond {most:.1e}: give a smaller one.")


def noisy_source(source: Source, sd: float, seed: int) -> Source:
    """Return the source with noise in every column; each column has its own stream of random numbers."""
    # the very object: no noise must not cost its encoding
    if sd == 0:
        return source
    if source.array is not None:
        return source.with_values(_noisy_array(source.array, sd, np.random.default_rng(seed)))
    columns = [_noisy_column(source.column(name), kind, sd, seed) for name, kind in source.kinds.items()]
    return source.with_values(pl.DataFrame(columns))


def _noisy_column(series: pl.Series, kind: str, sd: float, seed: int) -> pl.Series:
    # a stream of its own by name: a column more or fewer does not change the noise of the others
    rng = np.random.default_rng([seed, zlib.crc32(series.name.encode())])
    lost = 1.0 - 1.0 / np.hypot(1.0, sd)
    if kind == "real":
        return _noisy_numbers(as_numbers(series), sd, rng)
    if kind == "array":
        noisy = pl.Series(series.name, _noisy_array(as_array(series), sd, rng))
        # a row that had no array keeps none
        return pl.select(pl.when(series.is_not_null()).then(noisy).alias(series.name)).to_series()
    return _exchanged_words(series, lost, rng) if kind == "text" else _redrawn(series, lost, rng)


def _noisy_numbers(numbers: pl.Series, sd: float, rng: np.random.Generator) -> pl.Series:
    spread = numbers.std() or 0.0
    noisy = numbers + pl.Series(rng.standard_normal(len(numbers)) * (sd * spread))
    _check_range(noisy.drop_nulls().to_numpy(), sd, FLOAT_MAX)
    return noisy


def _noisy_array(array: NDArray, sd: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """Add noise in units of each position's standard deviation over the rows; NaN stays NaN."""
    # float32, as pixels are: float64 would double the memory of images
    values = array.astype(np.float32)
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.sum(values, axis=0, where=known, dtype=np.float64) / count
    spread = np.sqrt(np.sum((values - mean) ** 2, axis=0, where=known, dtype=np.float64) / count)
    # NaN plus noise is NaN: missing stays missing
    with np.errstate(over="ignore"):  # said in a sentence
        values += rng.standard_normal(values.shape, dtype=np.float32) * (sd * spread).astype(np.float32)
    _check_range(values[known], sd, FLOAT_MAX)
    return values


def _redrawn(series: pl.Series, lost: float, rng: np.random.Generator) -> pl.Series:
    """Redraw known cells, each with probability `lost`, from the column's known values."""
    known = series.is_not_null().arg_true().to_numpy()
    if len(known) == 0:
        return series
    source = np.arange(len(series))
    hit = known[rng.random(len(known)) < lost]
    # its own values: the column's distribution stays
    source[hit] = rng.choice(known, size=len(hit))
    return series[source]


def _exchanged_words(series: pl.Series, lost: float, rng: np.random.Generator) -> pl.Series:
    """Permute words among rows, each word taking part with probability `lost`; every row keeps its number of words."""
    texts = as_text(series)
    words = pl.DataFrame({"row": np.arange(len(texts)), "word": texts.str.split(" ")}).drop_nulls()
    words = words.explode("word", empty_as_null=True)
    hit = np.flatnonzero(rng.random(words.height) < lost)
    source = np.arange(words.height)
    source[hit] = rng.permutation(hit)
    words = words.with_columns(words["word"][source])
    mixed = words.group_by("row", maintain_order=True).agg(pl.col("word").str.join(" "))
    rows = pl.DataFrame({"row": np.arange(len(texts))})
    return rows.join(mixed, on="row", how="left", maintain_order="left")["word"].alias(series.name)


def thinned(graph: Graph, share: float, seed: int) -> Graph:
    """Return the graph without a random `share` of its edges."""
    a, b, weights = graph.edges()
    # shuffled with the seed, the first ones go: a larger share takes in a smaller one
    gone = np.random.default_rng(seed).permutation(len(a))[: round(share * len(a))]
    keep = np.ones(len(a), dtype=bool)
    keep[gone] = False
    return graph.with_edge_arrays(a[keep], b[keep], weights[keep])


def rewired(graph: Graph, share: float, seed: int) -> Graph:
    """Return the graph with a random `share` of its edges exchanging their ends: every node keeps its degree.

    Exchanges that would make a self-loop or a second copy of an edge are drawn again, with as many other edges taking
    part; the few that still do not fit after some rounds go.
    """
    rng = np.random.default_rng(seed)
    a, b, weights = graph.edges()
    b = b.copy()
    todo = rng.permutation(len(a))[: round(share * len(a))]
    # rounds, for an exchange can make a loop or a repeated edge, whose ends are exchanged once more
    for _ in range(REWIRE_ROUNDS):
        if len(todo) < 2:
            break
        b[todo] = b[rng.permutation(todo)]
        wrong = np.flatnonzero(_misfits(a, b, graph.n))
        # with random partners, as misfits among themselves may have no way out
        partners = rng.integers(0, len(a), size=len(wrong))
        todo = np.unique(np.concatenate([wrong, partners])) if len(wrong) else wrong
    # what still does not fit after all rounds is dropped: a few edges at most
    good = ~_misfits(a, b, graph.n)
    return graph.with_edge_arrays(a[good], b[good], weights[good])


def _misfits(a: NDArray, b: NDArray, n: int) -> NDArray[np.bool_]:
    """Return which edges are self-loops or repeat an earlier edge."""
    keys = np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)
    _, first = np.unique(keys, return_index=True)
    wrong = np.ones(len(a), dtype=bool)
    wrong[first] = False
    return wrong | (a == b)


class LabelNoise:
    """The what-if methods of `HetData` that spoil labels; those that are not known stay so."""

    def with_flipped_labels(self: HetData, share: float, seed: int = 0, source: str | None = None) -> HetData:
        """Give a random share of the labels another class.

        Parameters
        ----------
        share : float
            Share of the labels in [0, 1].
        seed : int, default=0
            Seed of the choice, and of the other classes, each as likely.
        source : str, optional
            Spoil only the labels of instances that this source records.

        Raises
        ------
        DataError
            If the labels are not at least two classes, or there is no such source.
        ParameterError
            If `share` is outside [0, 1], or `seed` is no seed.
        """
        _check_share(share)
        check_seed(seed)
        if len(self.classes) < 2:
            raise DataError("There are no two classes among the labels to change: disturb numbers with noise instead.")
        order, rng = self._shuffled(seed, source)
        # drawn for all, used for some: a larger share takes in the smaller one's turns
        turns = rng.integers(1, len(self.classes), size=len(order))
        hit = order[: round(share * len(order))]
        # 1 to K - 1 classes further: never the label itself
        codes = np.searchsorted(self.classes, self.y[hit].astype(str)) + turns[: len(hit)]
        y = self.y.copy()
        y[hit] = np.array(self.classes, object)[codes % len(self.classes)]
        of = "" if source is None else f", source={source!r}"
        return self._replaced(f"with_flipped_labels({share!r}, seed={seed!r}{of})", y=y)

    def with_label_noise(self: HetData, share: float, sd: float = 1.0, seed: int = 0) -> HetData:
        """Add normal noise to a random share of the labels.

        Parameters
        ----------
        share : float
            Share of the labels in [0, 1].
        sd : float, default=1.0
            Standard deviation of the noise in units of the labels' own, at least 0.
        seed : int, default=0
            Seed of the choice and of the noise.

        Raises
        ------
        DataError
            If the labels are not numbers.
        ParameterError
            If `share` is outside [0, 1], `sd` is negative, not finite or too large, or `seed` is no seed.
        """
        _check_share(share)
        check_seed(seed)
        if not (finite(sd) and sd >= 0):
            raise ParameterError(f"sd={shown(sd)} must be finite and at least 0: 1 is as much as the labels vary.")
        if self.target_kind != "regression" or not self.labelled.any():
            raise DataError("The labels are not numbers, so no noise can be added: change their classes instead.")
        order, rng = self._shuffled(seed)
        # noise for all labels, of which the first ones in the order get theirs
        with np.errstate(over="ignore"):  # said in a sentence
            noise = rng.standard_normal(len(order)) * (sd * np.std(self.y[self.labelled]))
        hit = order[: round(share * len(order))]
        y = self.y.copy()
        y[hit] += noise[: len(hit)]
        _check_range(y[hit], sd, np.finfo(np.float64).max)
        return self._replaced(f"with_label_noise({share!r}, sd={sd!r}, seed={seed!r})", y=y)

    def _shuffled(self: HetData, seed: int, source: str | None = None) -> tuple[NDArray[np.int64], np.random.Generator]:
        """Return the places of the labelled instances (of a source) in random order, and the generator."""
        rng, known = np.random.default_rng(seed), self.labelled
        if source is not None:
            recorded = np.zeros(self.n, dtype=bool)
            recorded[self.rows(source)] = True
            known = known & recorded
        return rng.permutation(np.flatnonzero(known)), rng


def _check_share(share: float) -> None:
    if not (finite(share) and 0 <= share <= 1):
        raise ParameterError(f"share={shown(share)} must be in [0, 1]: 0 changes no label, 1 changes every one.")
