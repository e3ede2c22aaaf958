"""Sums over sources in a tree whose shape follows from their number alone.

    the sum of sources a..b-1  =  that of a..m-1  +  that of m..b-1,     m = (a + b) // 2

So a sum has the same bits whoever adds up which part of it: who holds all sources of a subtree adds these up where they
are, and one sum travels in place of theirs.

Sums over a source's records are made in the same way, of blocks of instances: who holds the records of some blocks adds
up each block, and the blocks' sums go into the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "PartialSums", "Span", "blocks_of", "spans_of", "tree_sum"]

BLOCK = 1 << 16  # instances whose records are added up one after the other

Span = tuple[int, int]
"""The first source of a subtree, and the one after its last."""


class PartialSums:
    """Parts of one sum, added up as they come: as many wait in memory as the tree is deep, where they come in order.

    Parameters
    ----------
    span : (int, int)
        Of all sources.
    """

    def __init__(self, span: Span) -> None:
        self._span, self._parts = span, {}
        self._family = {child: family for family in _families(span) for child in family[:2]}

    def add(self, span: Span, part: NDArray) -> None:
        """Take the sum of a subtree, which is no part of one that was taken."""
        self._parts[span] = part
        while span in self._family:
            left, right, span = self._family[span]
            if left not in self._parts or right not in self._parts:
                return
            self._parts[span] = self._parts.pop(left) + self._parts.pop(right)

    @property
    def missing(self) -> set[int]:
        """The sources of which no sum was taken."""
        return set(range(*self._span)).difference(*(range(*span) for span in self._parts))

    @property
    def total(self) -> NDArray:
        """The sum of all; once nothing is missing."""
        return self._parts[self._span]


def _families(span: Span) -> Iterator[tuple[Span, Span, Span]]:
    """Yield the two halves of each subtree, and itself."""
    first, stop = span
    if stop - first > 1:
        middle = (first + stop) // 2
        yield (first, middle), (middle, stop), span
        yield from _families((first, middle))
        yield from _families((middle, stop))


def spans_of(held: Collection[int], span: Span) -> list[Span]:
    """Return the largest subtrees of a span of which all sources are held."""
    first, stop = span
    if all(number in held for number in range(first, stop)):
        return [span]
    if stop - first == 1:
        return []
    middle = (first + stop) // 2
    return spans_of(held, (first, middle)) + spans_of(held, (middle, stop))


def tree_sum(parts: NDArray) -> NDArray:
    """Return the sum of parts (b, ...) along their first axis, b > 0, in the order of the tree."""
    sums = PartialSums((0, len(parts)))
    for number, part in enumerate(parts):
        sums.add((number, number + 1), part)
    return sums.total


def blocks_of(rows: NDArray[np.int64], n: int, size: int) -> list[slice | NDArray[np.int64]]:
    """Return, for each block of `size` of n instances, which of the records of instances `rows` (m,) are in it.

    Records of a block keep their order.
    """
    count = -(-n // size)
    if count <= 1:
        return [slice(None)]
    block = rows // size
    if (np.diff(block) >= 0).all():
        ends = np.searchsorted(block, np.arange(count + 1)).tolist()
        return [slice(*each) for each in zip(ends, ends[1:])]
    order = np.argsort(block, kind="stable")
    return np.split(order, np.searchsorted(block[order], np.arange(1, count)))
