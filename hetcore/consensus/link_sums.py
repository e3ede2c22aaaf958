"""Links of very many ends: several graphs' side by side, where their sum as one matrix would take most of the memory.

Half a billion links merged into one matrix take 5 GB, and twice that while they are added up. A product with their sum
is the sum of the products, which takes nothing beside the graphs and reads as many links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_MERGED", "LinkSum", "ScaledLinks", "degrees", "linked_rows", "too_many"]

MOST_MERGED = 50_000_000
"""Links of several graphs that are merged into one matrix."""
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

    def __matmul__(self, X: NDArray) -> NDArray:
        """Return the products with X (n, k), float32 or float64, of its type."""
        total = np.zeros_like(X)
        for each, factor in zip(self.links, self.factors):
            found = each.astype(X.dtype, copy=False) @ X
            found *= np.asarray(factor, X.dtype).reshape(-1, 1)
            total += found
        return total

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


def too_many(links: Iterable[Any]) -> bool:
    """Return whether graphs have more links than are merged into one matrix."""
    return sum(each.nnz for each in links) > MOST_MERGED


def linked_rows(links: Any) -> NDArray[np.bool_]:
    """Return which rows (n,) of links, a CSR array (n, n) or a LinkSum, have one."""
    return links.linked() if isinstance(links, LinkSum) else np.diff(links.indptr) > 0


def degrees(links: Any) -> NDArray[np.float64]:
    """Return the sum of each row (n,) of links, a CSR array (n, n) or a LinkSum."""
    if isinstance(links, LinkSum):
        return links.degrees()
    return np.asarray(links.sum(axis=1, dtype=np.float64)).ravel()
