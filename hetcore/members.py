"""Trees of an ensemble whose members learn from different rows of one table: a round of them is one call.

    grower = MemberGrower(binned, n_bins, rows, params)
    grown = grower.grow(gradients, hessians)        # (M, n, K) and (M, n, P) float32
    add_members(scores, grown.leaves, grown.values, 0.1)

The trees are those of `trees.grow`, member by member; what is the same in every round is done once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError
from hetcore.growing import WRONG, Pool, most_leaves, n_words, readable
from hetcore.kernels.draws import draw_sets
from hetcore.kernels.layout import (
    LEAF_DTYPE,
    N_STATE,
    NODE_DTYPE,
    PackedLayout,
    Problem,
    Scratch,
    TreeParams,
    Work,
    make_scratch,
)
from hetcore.kernels.members import Grown, Parts, add_members, boost_members, grow_members, grow_rounds
from hetcore.kernels.oblivious import Levels, boost_oblivious
from hetcore.kernels.threads import run_each

__all__ = [
    "DrawnTree", "Grown", "MemberGrower", "ObliviousGrower", "TreeDraws", "add_members", "drawn", "drawn_together",
    "joined", "levels_for", "widest",
]  # fmt: skip

FEW_OF_ALL = 16  # a draw of fewer of so many numbers is sorted
MOST_TOGETHER = 10_000  # numbers in a pool up to which NumPy draws by Floyd's algorithm


class MemberGrower:
    """Grows one tree for each member, round after round.

    Parameters
    ----------
    binned : (d, n) uint8
        From `BinMapper.transform`.
    n_bins : (d,) int32
        Bins of each column.
    shape : (int, int)
        Gradients K and hessians P of a row; P is 0 (1 each), 1 or K.
    params : TreeParams
    n_jobs : int, default=1
        Threads; each grows the trees of some members, and has room of its own to work in.
    """

    def __init__(
        self, binned: NDArray, n_bins: NDArray, shape: tuple[int, int], params: TreeParams, n_jobs: int = 1
    ) -> None:
        self.binned, self.n_bins, self.shape, self.params, self.n_jobs = readable(binned), n_bins, shape, params, n_jobs
        self.parts: Parts | None = None
        self._room_rows = 0
        self._scratches: list[Any] = []

    def use(self, rows: Sequence[NDArray[np.int32]], columns: Sequence[NDArray[np.int32]]) -> None:
        """Set the rows and the columns of each member, as many columns for each."""
        # without draws columns are those of the round before
        if self.parts is None or not all(map(is_, columns, self._columns)):
            self._columns, self._bins = columns, self._bins_of(np.array(columns, np.int32))
        self._use(np.concatenate(rows), [part.size for part in rows], self._bins, len(rows))

    def use_joined(self, rows: NDArray, sizes: NDArray, columns: NDArray[np.int32], n_members: int) -> None:
        """Set rows, one tree's after another's, their number (E,), and columns (E, c), of as many trees a member."""
        self._use(rows, sizes, self._bins_of(columns), n_members)

    def _use(self, rows: NDArray, sizes: Sequence[int] | NDArray, bins: tuple[NDArray, ...], n_members: int) -> None:
        self.parts = Parts(rows.astype(np.uint32), np.cumsum([0, *sizes]), *bins)
        largest = int(max(sizes))
        # room is made for the largest member seen so far and kept: row samples vary a little from round to round
        if largest > self._room_rows:
            threads, self._room_rows = max(1, min(self.n_jobs, n_members)), largest
            self._scratches = [self._scratch(largest) for _ in range(threads)]

    def _bins_of(self, chosen: NDArray[np.int32]) -> tuple[NDArray, NDArray, NDArray]:
        """Return columns (M, c), their bins, and where these begin in a histogram, member by member."""
        n_bins = self.n_bins[chosen].astype(np.int32)
        offsets = np.zeros((len(chosen), chosen.shape[1] + 1), np.int64)
        np.cumsum(n_bins + 1, axis=1, out=offsets[:, 1:])
        return chosen, n_bins, offsets

    def _scratch(self, m: int) -> tuple[Problem, Work, Scratch, NDArray, NDArray]:
        """Return what one thread works in, for at most m rows."""
        n_outputs, n_hessians = self.shape
        n, width = self.binned.shape[1], n_words(n_outputs, n_hessians)
        n_columns = self.parts.columns.shape[1]
        # of the widest columns: which ones a member draws changes from round to round, the room does not
        bins = widest(self.n_bins, n_columns)
        kept_rows, n_slots = Pool.of(self.params, m, bins, n_columns, width)
        layout = PackedLayout(np.empty(width), n_outputs, n_hessians, m.bit_length())
        columns, n_bins, offsets = (part[0] for part in self.parts[2:])
        packed = np.zeros((n, width), np.int64)
        problem = Problem(
            binned=self.binned,
            columns=columns,
            n_bins=n_bins,
            offsets=offsets,
            packed=packed,
            layout=layout,
            kept_rows=kept_rows,
        )
        pool, capacity = np.empty((n_slots, bins, width), np.int64), 2 * most_leaves(self.params, m) - 1
        work = Work(
            rows=np.empty(m, np.uint32),
            buffer=np.empty(m, np.uint32),
            ordered=np.empty((m, width), np.int64),
            pool=pool,
            flat_pool=pool.reshape(n_slots, -1),
            free=np.empty(n_slots, np.int64),
            nodes=np.empty(capacity, NODE_DTYPE),
            leaves=np.empty(capacity, LEAF_DTYPE),
            totals=np.empty((capacity, width), np.int64),
            open=np.empty(capacity, np.int64),
            state=np.empty(N_STATE, np.int64),
            found=np.empty((1, 2, 4)),
        )
        buffers, begins = np.empty((3, n), np.uint32), np.empty((capacity, 2), np.int64)
        return problem, work, make_scratch(width, n_outputs), buffers, begins

    @property
    def room(self) -> tuple[Problem, Work, Scratch, NDArray, NDArray]:
        """What a single thread works in, for kernels that grow members themselves."""
        return self._scratches[0]

    def _capacity(self) -> int:
        """Return how many nodes a tree can have."""
        return self.room[1].nodes.size

    def empty(self, n_members: int, n_trees: int = 1) -> Grown:
        """Return arrays for some trees of each member."""
        capacity, count = self._capacity(), n_members * n_trees
        return Grown(
            np.empty((count, capacity), NODE_DTYPE),
            np.zeros((count, capacity, self.shape[0])),
            np.empty(count, np.int64),
            np.empty((n_members, self.binned.shape[1]), np.int32),
        )

    def grow(self, gradients: NDArray[np.float32], hessians: NDArray[np.float32]) -> Grown:
        """Grow a tree for each member.

        Parameters
        ----------
        gradients, hessians : (M, n, K) and (M, n, P) float32

        Returns
        -------
        Grown

        Raises
        ------
        DataError
            If a gradient or hessian is not finite, or a hessian is negative.
        """
        grown = self.empty(gradients.shape[0])

        def some(members: tuple[int, int], room: Any) -> int:
            problem, work, scratch, buffers, begins = room
            given = self.params, work, scratch, gradients, hessians, grown, buffers, begins
            return grow_members(problem, self.parts, *members, *given)

        self._each(some, gradients.shape[0])
        return grown

    def grow_rounds(self, learned: Any, slopes: Any, rounds: tuple[int, int, int], grown: Grown) -> None:
        """Grow some of the trees of each member, each on what those before it leave.

        Parameters
        ----------
        learned, slopes, rounds, grown : see `hetcore.kernels.members.grow_rounds`
            Or of `boost_members`, whose slopes have a third part. `grown` is that of `empty`.

        Raises
        ------
        DataError
            If a gradient or hessian is not finite, or a hessian is negative.
        """
        first, stop, each = rounds

        def some(members: tuple[int, int], room: Any, t: int | None = None) -> int:
            given = learned, slopes, grown
            return self._grow_some(members, rounds if t is None else (t, t + 1, each), room, given)

        self._each(some, len(grown.leaves), range(first, stop))

    def _grow_some(self, members: tuple[int, int], rounds: tuple[int, int, int], room: Any, given: Any) -> int:
        (problem, work, scratch, buffers, begins), (learned, slopes, grown) = room, given
        grow = grow_rounds if len(slopes) == 2 else boost_members
        kept = self.params, work, scratch, learned, slopes, grown, buffers, begins
        return grow(problem, self.parts, members, rounds, *kept)

    def _each(self, some: Callable[..., int], n_members: int, rounds: Sequence[int] = (0,)) -> None:
        """Let `some` grow the trees of all members, in a room each thread, those of a member one after the other."""
        # a tree is grown by one thread, so that bits do not depend on how many there are
        free = list(self._scratches)
        if len(free) == 1:
            found = [some((0, n_members), free[0])]
        else:
            # tree by tree to whoever is free: members alone, few as they are, would leave a thread without work
            turns = [(t, k) for t in rounds for k in range(n_members)]
            grown = {turn: Event() for turn in turns}

            def taken(turn: tuple[int, int]) -> int:
                t, k = turn
                if t > rounds[0]:
                    grown[t - 1, k].wait()
                room = free.pop()
                try:
                    return some((k, k + 1), room, *((t,) if len(rounds) > 1 else ()))
                finally:
                    free.append(room)
                    grown[turn].set()

            found = run_each(taken, turns, min(len(free), n_members))
        if wrong := max(found):
            raise DataError(WRONG[wrong])


class ObliviousGrower(MemberGrower):
    """Grows oblivious trees, by `grow_rounds` alone and on slopes of three parts; see `hetcore.kernels.oblivious`.

    Of the limits `min_samples_leaf` is the fewest rows on average, `min_child_weight` does not count, and `l2` is above
    0, for leaves may be without rows.
    """

    def _scratch(self, m: int) -> tuple[Levels, NDArray, NDArray]:
        levels = levels_for(m, self.parts.columns.shape[1], self.shape, self.params)
        begins = np.empty((2 * levels.held.size - 1, 2), np.int64)
        return levels, np.empty((3, self.binned.shape[1]), np.uint32), begins

    def _capacity(self) -> int:
        return 2 * self.room[0].held.size - 1

    def _grow_some(self, members: tuple[int, int], rounds: tuple[int, int, int], room: Any, given: Any) -> int:
        (levels, buffers, begins), (learned, slopes, grown) = room, given
        kept = self.params, levels, learned, slopes, grown, buffers, begins
        return boost_oblivious(self.binned, self.parts, members, rounds, *kept)


def levels_for(m: int, n_columns: int, shape: tuple[int, int], params: TreeParams) -> Levels:
    """Return what an oblivious tree over at most m rows is grown in; `shape` as of `MemberGrower`."""
    leaves, (n_outputs, _) = most_leaves(params, m), shape
    width = 2 if n_outputs == 1 else -8 * (-n_outputs // 4)
    return Levels(
        order=np.empty((n_columns, m), np.uint32),
        bins=np.empty((n_columns, 256), np.uint8),
        ends=np.empty((n_columns, 256), np.uint32),
        n_bins=np.empty(n_columns, np.int64),
        begins=np.empty(257, np.int64),
        leaf=np.empty(m, np.uint32),
        slopes=np.zeros((m, width), np.float32),
        totals=np.empty((leaves, width)),
        sums=np.empty((leaves, 2, width)),
        held=np.empty(leaves),
        uncut=np.empty(leaves),
        moved=np.empty(m),
        cells=np.empty((m, 2)),
        rough=np.empty(n_columns),
    )


def widest(n_bins: NDArray[np.int32], n_columns: int) -> int:
    """Return how many bins so many of the columns have at most, the missing ones among them."""
    return int(np.sort(n_bins + 1)[-n_columns:].sum())


def drawn(numbers: NDArray[np.int32], count: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return `count` of some rows or columns (m,) without repeats, all of them if there are fewer, in ascending order.

    In ascending order because a tree reads memory in the order of its rows.
    """
    # by place: the same draw in less time, and a fit draws thousands of times
    places = rng.choice(numbers.size, min(count, numbers.size), replace=False)
    if places.size * FEW_OF_ALL < numbers.size:
        found = numbers[places].astype(np.int32, copy=False)
    else:
        # marked and read off, which takes a third of the time of sorting where there are many
        marked = np.zeros(numbers.size, bool)
        marked[places] = True
        found = numbers[np.flatnonzero(marked)].astype(np.int32, copy=False)
        if (found[1:] > found[:-1]).all():
            return found
    found.sort()
    return found


def drawn_together(
    pools: Sequence[NDArray[np.int32]], counts: Sequence[int], rng: np.random.Generator
) -> list[NDArray[np.int32]]:
    """Return what `drawn` returns of each of some pools, one after the other, in one call; the same numbers."""
    flat = _drawn_flat(pools, counts, rng)
    ends = np.cumsum([min(count, pool.size) for pool, count in zip(pools, counts)]).tolist()
    # slices: `np.split` takes several times as long as all the draws
    return [flat[begin:end] for begin, end in zip([0, *ends], ends)]


def _drawn_flat(
    pools: Sequence[NDArray[np.int32]], counts: Sequence[int], rng: np.random.Generator, times: int = 1
) -> NDArray[np.int32]:
    """Return what is drawn of some pools so many times, one after the other, as one array."""
    sizes = [pool.size for pool in pools]
    counts = [min(count, size) for count, size in zip(counts, sizes)]
    bits = rng.bit_generator
    # another generator, or pools of which NumPy draws in another way
    if max(sizes) > MOST_TOGETHER or not isinstance(bits, np.random.PCG64):
        return np.concatenate([drawn(pool, count, rng) for _ in range(times) for pool, count in zip(pools, counts)])
    # the stream goes on where it was, and the generator from where the kernel ends
    given = bits.state
    words = given["state"]["state"], given["state"]["inc"]
    halves = [half for word in words for half in (word >> 64, word & (1 << 64) - 1)]
    state = np.array([*halves, given["has_uint32"], given["uinteger"]], np.uint64)
    found = np.empty((times, sum(counts)), np.int64)
    draw_sets(state, np.array(sizes * times), np.array(counts * times), np.zeros(max(sizes), bool), found.reshape(-1))
    high, low, _, _, has_half, half = state.tolist()
    now = {"state": high << 64 | low, "inc": words[1]}
    bits.state = given | {"state": now, "has_uint32": has_half, "uinteger": half}
    # where each pool begins in all of them
    found += np.repeat(np.cumsum([0, *sizes[:-1]]), counts)
    return np.concatenate(pools)[found.ravel()]


class DrawnTree(NamedTuple):
    """What a tree of each member is grown on: its own rows, rows that all have, and its own columns, all rising."""

    rows: list[NDArray[np.int32]]
    shared: list[NDArray[np.int32]]
    columns: list[NDArray[np.int32]]


class TreeDraws(NamedTuple):
    """Draws rows and columns, tree after tree: of each member's rows, of those that all share, of the columns.

    Attributes
    ----------
    training : list of (l_k,) int32
        Rows that each member learns from.
    sizes : list of int
        How many of them a tree gets.
    among : (u,) int32
        Rows that all members may learn from.
    share : float
        How many of them a tree gets, over those of the first member's.
    columns : (e,) int32
    n_columns : int
        How many of them a tree gets.
    """

    training: list[NDArray[np.int32]]
    sizes: list[int]
    among: NDArray[np.int32]
    share: float
    columns: NDArray[np.int32]
    n_columns: int

    def n_shared(self, shares: bool) -> int:
        """Return how many of the shared rows a tree gets, if it gets some."""
        return max(1, round(self.share * min(self.sizes[0], self.among.size))) if shares and self.among.size else 0

    def trees(self, rng: np.random.Generator, n_trees: int, shares: bool) -> list[DrawnTree]:
        """Draw for some trees of all members; `shares` says whether shared rows are among them."""
        flat, ends, at = self._flat(rng, n_trees, shares)
        members = len(self.training)
        trees = [[tree[begin:end] for begin, end in zip([0, *ends], ends)] for tree in flat]
        return [DrawnTree(tree[:members], tree[members:at], tree[at:]) for tree in trees]

    def joined(
        self, rng: np.random.Generator, n_trees: int, shares: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        """Draw what `trees` does; return rows, one tree's after another's, their number, and columns, by member."""
        flat, ends, at = self._flat(rng, n_trees, shares)
        members, begins = len(self.training), [0, *ends]
        shared = flat[:, begins[members] : begins[at]]
        sizes = [end - begin + shared.shape[1] for begin, end in zip(begins[:members], ends)]
        rows, first = np.empty(n_trees * sum(sizes), flat.dtype), 0
        for begin, end, size in zip(begins, ends, sizes):
            own = rows[first : first + n_trees * size].reshape(n_trees, size)
            own[:, : end - begin], own[:, end - begin :] = flat[:, begin:end], shared
            first += own.size
        columns = flat[:, begins[at] :].reshape(n_trees, members, -1).transpose(1, 0, 2)
        return rows, np.repeat(sizes, n_trees), columns.reshape(members * n_trees, -1)

    def _flat(self, rng: np.random.Generator, n_trees: int, shares: bool) -> tuple[NDArray[np.int32], list[int], int]:
        """Return draws (T, .), a row a tree, where each part of it ends, and how many parts come before the columns."""
        pools, counts = [*self.training], [*self.sizes]
        if count := self.n_shared(shares):
            pools.append(self.among)
            counts.append(count)
        at, members = len(pools), len(self.training)
        pools, counts = pools + [self.columns] * members, counts + [self.n_columns] * members
        flat = _drawn_flat(pools, counts, rng, n_trees).reshape(n_trees, -1)
        return flat, np.cumsum([min(count, pool.size) for pool, count in zip(pools, counts)]).tolist(), at


def joined(grown: Grown, some: slice = slice(None)) -> tuple[NDArray, NDArray[np.float64], NDArray[np.int64]]:
    """Return nodes (N,), values (N, K) and sizes of some of the trees, one after the other, as `Forest.add` takes."""
    nodes, values, sizes = grown.nodes[some], grown.values[some], grown.sizes[some]
    # without what else is in the arrays that they were grown in
    used = np.arange(nodes.shape[1]) < sizes[:, None]
    return nodes[used], values[used], sizes.copy()
