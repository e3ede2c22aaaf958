"""Sums over sources in a tree whose shape follows from their number alone.

    the sum of sources a..b-1  =  that of a..m-1  +  that of m..b-1,     m = (a + b) // 2

So a sum has the same bits whoever adds up which part of it: who holds all sources of a subtree adds these up where they
are, and one sum travels in place of theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from numpy.typing import NDArray

__all__ = ["PartialSums", "Span", "spans_of"]

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
