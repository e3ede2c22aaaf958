"""An epoch by blocks of users and items that have nothing in common: so they can be visited at the same time.

Users lie in S strips and items in S strips; block (p, q) has the entries of users p and of items q. The S blocks
(p, p + d mod S) of one diagonal d share no row of any table, so any number of workers may visit them, in any order,
and the tables are the same, bit for bit. An epoch goes through the S diagonals in a drawn order.

Reference: R. Gemulla, P. J. Haas, E. Nijkamp, Y. Sismanis, "Large-scale matrix factorization with distributed
stochastic gradient descent", KDD 2011, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.factorization.sgd import BLOCKS, Laid
from hetcore.growing import readable
from hetcore.kernels.factorization import Factors, run_epoch

__all__ = ["STRIPS", "Block", "Part", "Strips", "visit"]

STRIPS = 8  # S, of BLOCKS // S of the blocks that entries lie in: no more than so many workers have work at a time
_WIDE = BLOCKS // STRIPS


class Block(NamedTuple):
    """The entries of one strip of users and one of items.

    Attributes
    ----------
    rows : (n, 2) int32
        Users from 0, items after them.
    values : (n,) float32
    starts : (_WIDE**2 + 1,) int64
        Where the entries of each of its own blocks begin.
    """

    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    starts: NDArray[np.int64]


class Part(NamedTuple):
    """What tables say of one strip of users or of items: rows of `Factors`, of the penalties, of the shrinkage."""

    factors: Factors
    penalties: NDArray[np.float32]
    shrinkage: NDArray[np.float32]


def visit(block: Block, users: Part, items: Part, given: tuple[Any, ...]) -> tuple[Part, Part, NDArray[np.float64]]:
    """Visit the entries of a block; return its users' and items' parts afterwards, and the sums of `run_epoch`.

    Parameters
    ----------
    block : Block
    users, items : Part
        Not changed.
    given : (order (_WIDE**2,) int64, Rates, centers (3, D) float32)
    """
    (order, rates, centers), n_users = given, len(users.penalties)
    # write-protected where they come from another process
    (rows, values, starts), order, centers = map(readable, block), readable(order), readable(centers)
    factors = Factors(*map(np.concatenate, zip(users.factors, items.factors)))
    penalties, shrinkage = (np.concatenate([users[at], items[at]]) for at in (1, 2))
    totals = np.zeros(3)
    tables = factors, rates, penalties, centers, shrinkage
    run_epoch(rows, values, starts, order, *tables, totals)
    parts = [Factors(*(table[own] for table in factors)) for own in (slice(n_users), slice(n_users, None))]
    return users._replace(factors=parts[0]), items._replace(factors=parts[1]), totals


class Strips:
    """Epochs by strips, in place of `hetcore.factorization.sgd.in_turn`.

    Parameters
    ----------
    visit_all : callable
        Takes the blocks by (p, q), the parts of users and of items, and what `visit` is given by diagonal and p;
        returns the parts and the sums, by diagonal and p. `one_by_one` by default.
    """

    def __init__(self, visit_all: Callable[..., Any] | None = None) -> None:
        self._visit_all = visit_all or one_by_one
        self._laid: tuple[Any, ...] = ()
        self._blocks: dict[tuple[int, int], Block] = {}

    def __call__(self, laid: Laid, rng: np.random.Generator, factors: Factors, given: tuple[Any, ...]) -> NDArray:
        """Visit every entry once; return the sums (3,) over the entries, block by block in one order."""
        rates, penalties, centers, shrinkage = given
        bounds = [_bounds(laid.offsets, mode) for mode in (0, 1)]
        # the arrays themselves: while they are held no others can have their place in memory
        if not (self._laid and self._laid[0] is laid.rows and self._laid[1] is laid.values):
            self._laid, self._blocks = (laid.rows, laid.values), _blocks(laid, bounds)
        users, items = ([_part(factors, penalties, shrinkage, *rows) for rows in zip(at, at[1:])] for at in bounds)
        diagonals = rng.permutation(STRIPS).tolist()
        orders = rng.permuted(np.tile(np.arange(_WIDE**2), (STRIPS, STRIPS, 1)), axis=2)
        plan = [[(order, rates, centers) for order in each] for each in orders]
        users, items, totals = self._visit_all(self._blocks, users, items, list(zip(diagonals, plan)))
        for starts, parts in zip(bounds, (users, items)):
            for start, part in zip(starts, parts):
                for table, mine in zip(factors, part.factors):
                    table[start : start + len(mine)] = mine
        # one after the other: the sum must not depend on who came first
        return np.sum(totals, axis=0)


def one_by_one(
    blocks: dict[tuple[int, int], Block], users: list[Part], items: list[Part], plan: list[tuple[int, list[Any]]]
) -> tuple[list[Part], list[Part], list[NDArray]]:
    """Visit the blocks of each diagonal one after the other in this process."""
    users, items, totals = list(users), list(items), []
    for diagonal, given in plan:
        for p in range(STRIPS):
            q = (p + diagonal) % STRIPS
            users[p], items[q], sums = visit(blocks[p, q], users[p], items[q], given[p])
            totals.append(sums)
    return users, items, totals


def _bounds(offsets: NDArray, mode: int) -> list[int]:
    """Return where the rows of each strip of a mode begin and the last one ends, (STRIPS + 1,)."""
    size = int(offsets[mode + 1] - offsets[mode])
    # the first row whose block, row * BLOCKS // size, is of the strip
    return [int(offsets[mode]) - (-p * _WIDE * size // BLOCKS) for p in range(STRIPS + 1)]


def _part(factors: Factors, penalties: NDArray, shrinkage: NDArray, start: int, stop: int) -> Part:
    own = slice(start, stop)
    return Part(Factors(*(table[own] for table in factors)), penalties[own], shrinkage[own])


def _blocks(laid: Laid, bounds: list[list[int]]) -> dict[tuple[int, int], Block]:
    """Return the entries by strip of users and of items."""
    found, near = {}, np.arange(_WIDE)
    for p in range(STRIPS):
        for q in range(STRIPS):
            own = ((p * _WIDE + near)[:, None] * BLOCKS + q * _WIDE + near).ravel()
            spans = [slice(laid.starts[k], laid.starts[k + 1]) for k in own]
            rows = np.concatenate([laid.rows[span] for span in spans])
            first = np.array([bounds[0][p], bounds[1][q] - (bounds[0][p + 1] - bounds[0][p])], np.int32)
            sizes = [span.stop - span.start for span in spans]
            starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            found[p, q] = Block(rows - first, np.concatenate([laid.values[span] for span in spans]), starts)
    return found
