"""Links of several graphs: merged into one matrix, or, very many, a sum of products.

Half a billion links merged into one matrix take 5 GB, and twice that while they are added up. A product with their sum
is the sum of the products, which takes nothing beside the graphs, reads as many links, and takes as long: 20,000
instances with ninety graphs of 100,000 links 24 s in place of 21, 40,000 with 200,000 as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetcore.kernels.csr import add_products, append_links, merge_links, weigh_links
from hetcore.numerics import narrowed

__all__ = [
    "MOST_MERGED", "LinkSum", "MergedLinks", "ScaledLinks", "count_links", "degrees", "linked_rows", "nothing",
    "times", "too_many",
]  # fmt: skip

MOST_MERGED = 60_000_000
"""Links of several graphs that are merged into one matrix."""
MERGED_ROWS = 2000  # after which a merge of links asks whether to go on
IN_REGISTERS = 8  # columns: so few, but not one alone, are faster in a kernel that adds up as it goes
ONE_BY_ONE = 4  # columns: so few are faster one by one
SOME = 1000  # rows that tell how many links several graphs have in common


@dataclass(frozen=True)
class LinkSum:
    """The sum over graphs g of F_g A_g, (n, n).

    Attributes
    ----------
    links : sequence of (n, n) CSR array
        A_g.
    factors : sequence of float or (n,) float64
        F_g: of all rows, or of each.
    """

    links: Sequence[Any]
    factors: Sequence[float | NDArray[np.float64]]

    @property
    def dtype(self) -> np.dtype:
        """The type of the links, which products are made in."""
        return self.links[0].dtype

    def __matmul__(self, X: NDArray) -> NDArray:
        """Return the products with X (n, k), float32 or float64, of its type."""
        # of another type each graph would be copied for each product
        total, narrow = np.zeros(X.shape), np.ascontiguousarray(X, self.dtype)
        for each, factor in zip(self.links, self.factors):
            factors = np.ascontiguousarray(np.broadcast_to(np.asarray(factor, np.float64), len(total)))
            if 1 < X.shape[1] <= IN_REGISTERS:
                add_products(each.indptr, each.indices, each.data, factors, narrow, total)
            else:
                total += factors[:, None] * (each @ narrow)
        return total.astype(X.dtype, copy=False)

    def degrees(self) -> NDArray[np.float64]:
        """Return the sum of each row (n,)."""
        return sum(factor * degrees(each) for each, factor in zip(self.links, self.factors))

    def linked(self) -> NDArray[np.bool_]:
        """Return which rows (n,) have a link."""
        return np.any([linked_rows(each) for each in self.links], axis=0)

    def mean(self) -> float:
        """Return the mean weight of a link, links that several graphs have being one: how many, some rows tell."""
        n = self.links[0].shape[0]
        some = [each[:: max(1, n // SOME)] for each in self.links]
        # of weights of 1, for weights could cancel
        union = sum(abs(each).sign() for each in some)
        alone = max(1, sum(each.nnz for each in some))
        return float(self.degrees().sum() / max(1.0, sum(each.nnz for each in self.links) * union.nnz / alone))


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


def nothing() -> None:
    """Do nothing: work that nobody may end."""


class MergedLinks:
    """Several graphs' links, merged once: what other weights of the graphs cost is one pass over the links.

    Sums of matrices, one graph after another, took seconds for ninety graphs of 20,000 instances.

    Parameters
    ----------
    links : sequence of (n, n) CSR array
    over : sequence of (n,) float64
        By which each graph's rows are divided; 0 leaves no weight.
    go_on : callable, optional
        Called before each graph, and now and then; what it raises ends the work.
    """

    def __init__(self, links: Sequence[Any], over: Sequence[NDArray], go_on: Callable[[], Any] = nothing) -> None:
        starts = sum(each.indptr.astype(np.int64) for each in links)
        ends, total, self.n, self._n_graphs = starts[:-1].copy(), int(starts[-1]), len(starts) - 1, len(links)
        indices, self._graphs = np.empty(total, np.int32), np.empty(total, np.uint16)
        self._values = np.empty(total, np.float32)
        for k, (each, by) in enumerate(zip(links, over)):
            go_on()
            append_links(each.indptr, each.indices, each.data, by, k, ends, indices, self._values, self._graphs)
        self._starts, self._place = starts, np.empty(total, np.int32)
        seen, indptr = np.full(self.n, -1, np.int32), np.zeros(self.n + 1, np.int32)
        for first in range(0, self.n, MERGED_ROWS):
            go_on()
            merge_links(first, min(self.n, first + MERGED_ROWS), starts, indices, seen, indptr, self._place)
        # merged in place: behind what has been read
        self._indptr, self._indices = indptr, indices[: indptr[-1]].copy()

    def _weighed(self, shares: NDArray[np.float64], to_one: bool) -> NDArray[np.float64]:
        found = np.zeros(self._indices.size)
        weigh_links(self._starts, self._place, self._values, self._graphs, shares, self._indptr, found, to_one)
        return found

    def _matrix(self, values: NDArray[np.float64]) -> Any:
        return sparse.csr_array((values, self._indices, self._indptr), shape=(self.n, self.n))

    def average(self, weights: NDArray[np.float64]) -> Any:
        """Return the sum with the graphs weighed (q,), a CSR array (n, n): rows sum to 1, or 0 without weight."""
        return self._matrix(self._weighed(weights, True))

    def total(self) -> Any:
        """Return the sum, a CSR array (n, n), of very many links in float32."""
        return self._matrix(narrowed(self._weighed(np.ones(self._n_graphs), False)))


def too_many(links: Iterable[Any]) -> bool:
    """Return whether graphs have more links than are merged into one matrix."""
    return sum(each.nnz for each in links) > MOST_MERGED


def times(links: Any, X: NDArray) -> NDArray:
    """Return links (n, n) @ X (n, k); few columns one by one, for one alone is summed up in a register: same bits."""
    if not (sparse.issparse(links) and 1 < X.shape[1] <= ONE_BY_ONE):
        return links @ X
    return np.stack([links @ column for column in np.ascontiguousarray(X.T)], axis=1)


def count_links(links: Any) -> int:
    """Return how many entries links, a CSR array (n, n) or a LinkSum, have."""
    return sum(each.nnz for each in links.links) if isinstance(links, LinkSum) else links.nnz


def linked_rows(links: Any) -> NDArray[np.bool_]:
    """Return which rows (n,) of links, a CSR array (n, n) or a LinkSum, have one."""
    return links.linked() if isinstance(links, LinkSum) else np.diff(links.indptr) > 0


def degrees(links: Any) -> NDArray[np.float64]:
    """Return the sum of each row (n,) of links, a CSR array (n, n) or a LinkSum."""
    if isinstance(links, LinkSum):
        return links.degrees()
    return np.asarray(links.sum(axis=1, dtype=np.float64)).ravel()
