"""Links of several graphs: each row's side by side, and merged into one matrix where they are not very many.

Half a billion links take 5 GB side by side, and as much again while those to one neighbour are merged. A product of
very many is made of them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetcore.consensus.one_way import OneWay
from hetcore.kernels.csr import add_products, add_squares, append_links, merge_links, weigh_links
from hetcore.kernels.threads import run_each
from hetcore.numerics import narrowed

__all__ = [
    "MOST_MERGED", "JoinedLinks", "LinkSum", "ScaledLinks", "count_links", "degrees", "linked_rows", "nothing",
    "squares_times", "times",
]  # fmt: skip

MOST_MERGED = 60_000_000
"""Links of several graphs that are merged into one matrix."""
SOME_ROWS = 2000  # after which joining links asks whether to go on; so few stay in the cache, graph after graph
LANES = 4  # columns that a kernel adds up in one pass over the links
ONE_BY_ONE = 4  # columns: so few are faster one by one
SOME = 1000  # rows that tell how many links several graphs have in common


def nothing() -> None:
    """Do nothing: work that nobody may end."""


class JoinedLinks:
    """Several graphs' links, joined once: what other weights of the graphs cost is one pass over the links at most.

    Sums of matrices, one graph after another, took seconds for ninety graphs of 20,000 instances.

    Parameters
    ----------
    links : sequence of (n, n) CSR array
    over : sequence of float or (n,) float64
        By which each graph's rows are divided; 0 leaves no weight.
    go_on : callable, optional
        Called now and then; what it raises ends the work.
    n_jobs : int, default=1
        Threads of products; the same bits.
    """

    def __init__(
        self, links: Sequence[Any], over: Sequence[float | NDArray], go_on: Callable[[], Any] = nothing, n_jobs: int = 1
    ) -> None:
        starts = sum(each.indptr.astype(np.int64) for each in links)
        total, self.n, self.n_graphs, self.n_jobs = int(starts[-1]), len(starts) - 1, len(links), n_jobs
        self.starts, self.indices, self.graphs = starts, np.empty(total, np.int32), np.empty(total, np.uint16)
        self.values = np.empty(total, np.float32)
        self._counts = [np.broadcast_to(by, self.n) != 0 for by in over]
        ends = starts[:-1].copy()
        for first in range(0, self.n, SOME_ROWS):
            go_on()
            rows = slice(first, min(self.n, first + SOME_ROWS))
            for k, (each, by) in enumerate(zip(links, over)):
                some = np.array(np.broadcast_to(by, self.n)[rows], np.float64)
                own = each.indptr[first : rows.stop + 1], each.indices, each.data, some
                append_links(*own, k, ends[rows], self.indices, self.values, self.graphs)
        self._indptr = None
        if total <= MOST_MERGED:
            self._merge(go_on)

    def _merge(self, go_on: Callable[[], Any]) -> None:
        self._place = np.empty(self.indices.size, np.int32)
        seen, self._indptr = np.full(self.n, -1, np.int32), np.zeros(self.n + 1, np.int32)
        for first in range(0, self.n, SOME_ROWS):
            go_on()
            last = min(self.n, first + SOME_ROWS)
            merge_links(first, last, self.starts, self.indices, seen, self._indptr, self._place)
        # merged in place: behind what has been read
        self.indices = self.indices[: self._indptr[-1]].copy()

    def average(self, weights: NDArray[np.float64]) -> Any:
        """Return the sum with the graphs weighed (q,), (n, n): rows sum to 1, or 0 without weight."""
        if self._indptr is None:
            total = sum(weight * counts for weight, counts in zip(weights, self._counts))
            return LinkSum(self, weights, np.divide(1.0, total, out=np.zeros(self.n), where=total > 0))
        return self._matrix(self._weighed(weights, True))

    def total(self) -> Any:
        """Return the sum (n, n), of very many links in float32."""
        if self._indptr is None:
            return LinkSum(self, np.ones(self.n_graphs), np.ones(self.n))
        return self._matrix(narrowed(self._weighed(np.ones(self.n_graphs), False)))

    def _weighed(self, shares: NDArray[np.float64], to_one: bool) -> NDArray[np.float64]:
        found = np.zeros(self.indices.size)
        weigh_links(self.starts, self._place, self.values, self.graphs, shares, self._indptr, found, to_one)
        return found

    def _matrix(self, values: NDArray[np.float64]) -> Any:
        return sparse.csr_array((values, self.indices, self._indptr), shape=(self.n, self.n))

    def union(self, n: int) -> float:
        """Return how many links the first n rows have, those that several graphs have being one: some rows tell."""
        rows = range(0, n, max(1, n // SOME))
        some = [self.indices[self.starts[i] : self.starts[i + 1]] for i in rows]
        alone = max(1, sum(each.size for each in some))
        return int(self.starts[n]) * sum(np.unique(each).size for each in some) / alone


@dataclass(frozen=True)
class LinkSum:
    """diag(rows) times the sum over graphs g of s_g A_g, (n, n), which is no matrix in memory.

    Attributes
    ----------
    joined : JoinedLinks
        A_g.
    shares : (q,) float64
        s_g.
    rows : (n,) float64
    """

    joined: JoinedLinks
    shares: NDArray[np.float64]
    rows: NDArray[np.float64]

    @property
    def dtype(self) -> np.dtype:
        """The type of the links, which products are made in."""
        return self.joined.values.dtype

    def __matmul__(self, X: NDArray) -> NDArray:
        """Return the products with X (n, k), float32 or float64, of its type."""
        found, n = np.empty(X.shape, X.dtype), len(X)
        step = -(-n // self.joined.n_jobs)
        parts = [slice(first, min(n, first + step)) for first in range(0, n, max(1, step))]
        for first in range(0, X.shape[1], LANES):
            own = slice(first, min(first + LANES, X.shape[1]))
            # so many that they fill the lanes, for those of a row are asked for in one
            given = np.zeros((n, LANES if own.stop - first > 1 else 1), self.dtype)
            given[:, : own.stop - first] = X[:, own]

            def add(rows: slice, own: slice = own, given: NDArray = given) -> None:
                """Write the products of some rows."""
                sums, joined = np.zeros((rows.stop - rows.start, given.shape[1])), self.joined
                links = joined.starts[rows.start : rows.stop + 1], joined.indices, joined.values, joined.graphs
                add_products(*links, self.shares, given, sums)
                found[rows, own] = sums[:, : own.stop - own.start] * self.rows[rows, None]

            run_each(add, parts, self.joined.n_jobs)
        return found

    def squares_times(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products of the squared entries with X (n, k)."""
        joined, sums = self.joined, np.zeros(X.shape)
        links = joined.starts, joined.indices, joined.values, joined.graphs
        add_squares(*links, self.shares, np.ascontiguousarray(X, np.float64), np.zeros(joined.n), sums)
        return sums * self.rows[:, None] ** 2

    def degrees(self) -> NDArray[np.float64]:
        """Return the sum of each row (n,)."""
        return (self @ np.ones((self.joined.n, 1)))[:, 0]

    def linked(self) -> NDArray[np.bool_]:
        """Return which rows (n,) have a link."""
        return np.diff(self.joined.starts) > 0

    def mean(self, n: int) -> float:
        """Return the mean weight of a link of the first n rows, links that several graphs have being one."""
        return float(self.degrees()[:n].sum() / max(1.0, self.joined.union(n)))


@dataclass(frozen=True)
class ScaledLinks:
    """diag(root) (A + loop I) diag(root) of links A (n, n).

    Attributes
    ----------
    links : LinkSum
    root : (n,) float64
    loop : float
    """

    links: LinkSum
    root: NDArray[np.float64]
    loop: float

    def __matmul__(self, X: NDArray) -> NDArray:
        """Return the products with X (n, k), float32 or float64, of its type."""
        root = self.root.astype(X.dtype)[:, None]
        scaled = root * X
        found = self.links @ scaled
        scaled *= X.dtype.type(self.loop)
        found += scaled
        found *= root
        return found


def times(links: Any, X: NDArray) -> NDArray:
    """Return links (n, n) @ X (n, k); few columns one by one, for one alone is summed up in a register: same bits."""
    if not (sparse.issparse(links) and 1 < X.shape[1] <= ONE_BY_ONE):
        return links @ X
    return np.stack([links @ column for column in np.ascontiguousarray(X.T)], axis=1)


def squares_times(links: Any, X: NDArray) -> NDArray:
    """Return each entry of links (n, n) times the opposite one, which is its square but of one way, times X (n, k)."""
    if isinstance(links, LinkSum):
        return links.squares_times(X)
    if isinstance(links, OneWay):
        return times(links.multiply(links.opposite).tocsr(), X)
    return times(sparse.csr_array((links.data**2, links.indices, links.indptr), shape=links.shape), X)


def count_links(links: Any) -> int:
    """Return how many entries links, a CSR array (n, n) or a LinkSum, have."""
    return links.joined.indices.size if isinstance(links, LinkSum) else links.nnz


def linked_rows(links: Any) -> NDArray[np.bool_]:
    """Return which rows (n,) of links, a CSR array (n, n) or a LinkSum, have one."""
    return links.linked() if isinstance(links, LinkSum) else np.diff(links.indptr) > 0


def degrees(links: Any) -> NDArray[np.float64]:
    """Return the sum of each row (n,) of links, a CSR array (n, n) or a LinkSum."""
    if isinstance(links, LinkSum):
        return links.degrees()
    return np.asarray(links.sum(axis=1, dtype=np.float64)).ravel()
