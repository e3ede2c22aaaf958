"""The joined tables as two kinds of learners want them, learned from all instances and from no label.

| column | for trees | for linear models, kernels and smoothing |
|---|---|---|
| real, binary, array | as it is, NaN where missing | standardised, 0 where missing |
| nominal | a code, of which the learner is told that it is a category | a column of 0 and 1 for each frequent value |
| text | TF-IDF of the 100 commonest words, and 32 components | TF-IDF of the 2,000 commonest words |
| more than 300 numbers, four in five of them 0 | the 300 commonest, and 48 components | the 2,000 commonest |

Words and wide sparse numbers are normalised by rows for linear models, and multiplied by the root of 10: with a penalty
1 / C that is C = 10 for them where the other columns have C = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from hetcore.data import Graph, HetData, Source
from hetcore.data.column_encoders import ENCODERS
from hetcore.data.columns import as_array
from hetcore.data.kinds import as_text

__all__ = ["Encoded", "TreeTable", "averaging_operator", "symmetric_operator"]

LEVELS = 250  # of a category: scikit-learn's histograms know 255
TEXT_COLUMNS, TEXT_COMPONENTS = 100, 32
WIDE, SPARSE = 300, 0.8  # numbers of a source from which it counts as wide, share of zeros
WIDE_COLUMNS, WIDE_COMPONENTS = 300, 48
WORDS = 2000
WORD_SCALE = 10.0**0.5
MOST_AVERAGED, AVERAGED_COMPONENTS, AVERAGED_LEVELS = 100, 48, 8


class TreeTable(NamedTuple):
    """Columns for trees.

    Attributes
    ----------
    numbers : (n, d) float32
        NaN where missing.
    categories : (n, c) int32
        Codes from 0; -1 where missing.
    """

    numbers: NDArray[np.float32]
    categories: NDArray[np.int32]

    @property
    def width(self) -> int:
        return self.numbers.shape[1] + self.categories.shape[1]

    def varying(self, rows: NDArray[np.int64]) -> TreeTable:
        """Return the columns that vary over some rows: boosting libraries refuse what is all missing."""
        numbers, codes = self.numbers[rows], self.categories[rows]
        high = np.where(np.isnan(numbers), -np.inf, numbers).max(axis=0, initial=-np.inf)
        low = np.where(np.isnan(numbers), np.inf, numbers).min(axis=0, initial=np.inf)
        # a column with gaps varies by them, even if its value does not
        kept = (high > low) | (np.isfinite(high) & np.isnan(numbers).any(axis=0))
        return TreeTable(self.numbers[:, kept], self.categories[:, (codes != codes[:1]).any(axis=0)])

    def beside(self, numbers: NDArray) -> TreeTable:
        """Return the table with more numbers (n, e)."""
        return self._replace(numbers=np.hstack([self.numbers, numbers.astype(np.float32)]))


class Encoded:
    """Some data, encoded when first asked for.

    Parameters
    ----------
    data : HetData
    """

    def __init__(self, data: HetData) -> None:
        self.n, self.graphs = data.n, list(data.graphs.values())
        self._sources = [(source, data.rows(name)) for name, source in data.sources.items()]

    @cached_property
    def tables(self) -> list[TreeTable]:
        """One table a source, NaN for an instance that it does not record."""
        return [_tree_table(source, rows, self.n) for source, rows in self._sources]

    @cached_property
    def joined(self) -> TreeTable:
        """All sources side by side."""
        return TreeTable(*(np.hstack(blocks) for blocks in zip(*self.tables)))

    @cached_property
    def linear(self) -> NDArray[np.float64] | scipy.sparse.csr_array:
        """(n, d), without a missing value; sparse where there are words."""
        blocks = [block for source, rows in self._sources for block in _linear_blocks(source, rows, self.n)]
        if not any(scipy.sparse.issparse(block) for block in blocks):
            # dense where nothing is sparse: solvers are faster there
            return np.hstack(blocks)
        joined = scipy.sparse.csr_array(scipy.sparse.hstack(blocks, format="csr"))
        joined.indices, joined.indptr = joined.indices.astype(np.int32), joined.indptr.astype(np.int32)  # for LIBSVM
        return joined

    @cached_property
    def averaged(self) -> NDArray[np.float64]:
        """Columns (n, d) whose neighbour means are of use, NaN where missing: at most 100, or 48 components."""
        numbers, categories = self.joined
        levels = [
            # a share of neighbours with each frequent level, for a mean of codes says nothing
            np.where(codes[:, None] < 0, np.nan, codes[:, None] == np.arange(min(codes.max() + 1, AVERAGED_LEVELS)))
            for codes in categories.T
        ]
        columns = np.hstack([numbers.astype(np.float64), *levels])
        if columns.shape[1] <= MOST_AVERAGED:
            return columns
        return _components(_standardised(columns), AVERAGED_COMPONENTS)

    @cached_property
    def links(self) -> scipy.sparse.csr_array:
        """All graphs as one (n, n): each divided by its mean link weight, and added up."""
        total = scipy.sparse.csr_array((self.n, self.n), dtype=np.float64)
        for graph in self.graphs:
            if graph.n_edges:
                # in units of its mean weight, so that no graph drowns the others by its unit
                total = total + graph.adjacency().astype(np.float64) / float(np.mean(graph.weights))
        return scipy.sparse.csr_array(total)


def averaging_operator(links: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return the operator (n, n) that takes each instance's mean over its neighbours; a row of 0 without any."""
    degree = links @ np.ones(links.shape[0])
    # no link: 0, not 0 / 0
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 / np.where(degree > 0, degree, 1.0)) @ links)


def symmetric_operator(links: scipy.sparse.csr_array, loops: float = 0.0) -> scipy.sparse.csr_array:
    """Return D^-1/2 (A + loops I) D^-1/2 (n, n)."""
    links = links + loops * scipy.sparse.eye_array(links.shape[0], format="csr")
    degree = links @ np.ones(links.shape[0])
    scale = scipy.sparse.diags_array(1.0 / np.sqrt(np.where(degree > 0, degree, 1.0)))
    return scipy.sparse.csr_array(scale @ links @ scale)


def adjacency(graph: Graph) -> scipy.sparse.csr_array:
    """Return a graph's links (n, n) in float64."""
    return graph.adjacency().astype(np.float64)


def _columns(source: Source) -> Iterator[tuple[str, str, pl.Series | NDArray]]:
    """Yield name, kind and values of each column."""
    for name, kind in source.kinds.items():
        if source.array is not None:
            yield name, kind, source.array
        else:
            column = source.column(name)
            yield name, kind, as_array(column) if source.guess[name][0] == "array" else column


def _encoded(kind: str, values: pl.Series | NDArray, m: int) -> NDArray[np.float32]:
    encoder = ENCODERS[kind].fit(values)
    out = np.full((m, encoder.width), np.nan, dtype=np.float32)
    encoder.fill(out, values)
    return out


def _numbers(source: Source) -> NDArray[np.float32]:
    """Return the real, binary and array columns (m, d)."""
    none = np.empty((source.n_rows, 0), np.float32)
    kinds = ("real", "binary", "array")
    found = [_encoded(kind, values, source.n_rows) for _, kind, values in _columns(source) if kind in kinds]
    return np.hstack([none, *found])


def _is_wide(numbers: NDArray) -> bool:
    return numbers.shape[1] > WIDE and bool(np.mean(numbers == 0) > SPARSE)


def _texts(source: Source) -> list[scipy.sparse.csr_array]:
    """Return TF-IDF (m, words) of each text column that has a word in two rows."""
    found = []
    for _, kind, values in _columns(source):
        if kind == "text":
            try:
                vectorizer = TfidfVectorizer(max_features=WORDS, min_df=2, sublinear_tf=True)
                found.append(scipy.sparse.csr_array(vectorizer.fit_transform(as_text(values).fill_null(""))))
            except ValueError:  # scikit-learn's only word for an empty vocabulary
                continue
    return found


def _commonest(words: scipy.sparse.csr_array, count: int) -> NDArray[np.int64]:
    # ties by their place, so that columns do not hang on the version of a sort
    """Return the columns with most entries that are not 0, in their order."""
    used = np.diff(words.tocsc().indptr)
    return np.sort(np.argsort(-used, kind="stable")[:count])


def _components(matrix: NDArray | scipy.sparse.csr_array, count: int) -> NDArray[np.float64]:
    # fewer components than rows and columns, as the decomposition needs
    count = min(count, *(size - 1 for size in matrix.shape))
    return TruncatedSVD(count, random_state=0).fit_transform(matrix) if count > 0 else np.zeros((matrix.shape[0], 0))


def _words(source: Source) -> list[tuple[scipy.sparse.csr_array, int, int]]:
    """Return each block of words (m, d), and how many of its columns and components trees get."""
    blocks = [(texts, TEXT_COLUMNS, TEXT_COMPONENTS) for texts in _texts(source)]
    numbers = _numbers(source)
    if _is_wide(numbers):
        sparse = scipy.sparse.csr_array(np.nan_to_num(numbers.astype(np.float64)))
        blocks.append((sparse, WIDE_COLUMNS, WIDE_COMPONENTS))
    return blocks


def _tree_table(source: Source, rows: NDArray, n: int) -> TreeTable:
    numbers = _numbers(source)
    blocks = [np.empty((source.n_rows, 0))] if _is_wide(numbers) else [numbers]
    for words, count, n_components in _words(source):
        blocks += [words[:, _commonest(words, count)].toarray(), _components(words, n_components)]
    codes = [_codes(values) for _, kind, values in _columns(source) if kind == "nominal"]
    columns = np.hstack(blocks).astype(np.float32)
    placed = np.full((n, columns.shape[1]), np.nan, np.float32), np.full((n, len(codes)), -1, np.int32)
    placed[0][rows] = columns
    if codes:
        placed[1][rows] = np.column_stack(codes)
    return TreeTable(*placed)


def _codes(series: pl.Series) -> NDArray[np.int32]:
    """Return codes (m,) by how common a value is; the rest share the last, -1 is missing."""
    texts = as_text(series)
    counts = texts.drop_nulls().alias("value").value_counts(name="n").sort("n", "value", descending=[True, False])
    values = counts["value"].to_list()
    # rare levels share the last code: scikit-learn's histograms know 255
    codes = [min(place, LEVELS) for place in range(len(values))]
    if not values:
        return np.full(len(series), -1, np.int32)
    return texts.replace_strict(values, codes, default=-1, return_dtype=pl.Int32).fill_null(-1).to_numpy()


def _linear_blocks(source: Source, rows: NDArray, n: int) -> Iterator[NDArray | scipy.sparse.csr_array]:
    numbers = _numbers(source)
    blocks = [np.empty((source.n_rows, 0))] if _is_wide(numbers) else [numbers]
    blocks += [_encoded(kind, values, source.n_rows) for _, kind, values in _columns(source) if kind == "nominal"]
    dense = np.full((n, sum(block.shape[1] for block in blocks)), np.nan)
    dense[rows] = np.hstack(blocks)
    yield _standardised(dense)
    for words, _, _ in _words(source):
        scaled = WORD_SCALE * normalize(words[:, _commonest(words, WORDS)]).tocoo()
        yield scipy.sparse.csr_array((scaled.data, (rows[scaled.row], scaled.col)), shape=(n, scaled.shape[1]))


def _standardised(columns: NDArray) -> NDArray[np.float64]:
    """Return columns of mean 0 and deviation 1 over what is known, 0 where missing or where nothing varies."""
    known = ~np.isnan(columns)
    count = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, columns, 0.0).astype(np.float64)
    centred = np.where(known, filled - filled.sum(axis=0) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    # rounding of a constant column is no variation
    varies = deviation > 1e-9 * np.maximum(np.abs(filled).max(axis=0, initial=0.0), 1e-300)
    return centred / np.where(varies, deviation, 1.0) * varies
