"""Draws without repeats, many in one call: the numbers that NumPy's `Generator.choice` draws, from the same stream.

NumPy's default generator is PCG64: a state of 128 bits, of which each step gives 64, and halves of these serve draws
below 2**32. `choice(n, m, replace=False)` of at most 10,000 is Floyd's algorithm and then a shuffle. What is drawn is
in order here, so the shuffle does not matter; its numbers are drawn all the same, so that the stream goes on alike.

References
----------
M. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random number generation",
2014; D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019; J. Bentley and R. Floyd, "A sample of
brilliance", CACM 1987.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel

HIGH, LOW, STEP_HIGH, STEP_LOW, HAS_HALF, HALF = range(6)  # of a generator's state (6,) uint64
_MULTIPLIER = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF_BITS, _ONES = np.uint64(32), np.uint64(0xFFFFFFFF)
_TOP_BITS, _WORD = np.uint64(58), np.uint64(64)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


def _next_word(state):
    """Return the next 64 bits."""
    high, low, (by_high, by_low) = state[HIGH], state[LOW], _MULTIPLIER
    # the product of two words, by halves: its upper word
    a, b, c, d = low >> _HALF_BITS, low & _ONES, by_low >> _HALF_BITS, by_low & _ONES
    middle = a * d + ((b * d) >> _HALF_BITS)
    other = b * c + (middle & _ONES)
    carried = a * c + (middle >> _HALF_BITS) + (other >> _HALF_BITS)
    new_high, new_low = high * by_low + low * by_high + carried, low * by_low
    low = new_low + state[STEP_LOW]
    high = new_high + state[STEP_HIGH] + (_ONE if low < new_low else _ZERO)
    state[HIGH], state[LOW] = high, low
    mixed, turn = high ^ low, high >> _TOP_BITS
    return (mixed >> turn) | (mixed << ((_WORD - turn) & (_WORD - _ONE)))


next_word = kernel(_next_word, allocates=False)


def _below(state, n):
    """Return a number in 0..n-1, for n of at least 1 and below 2**32: Lemire's method."""
    if n == _ONE:
        return _ZERO
    while True:
        if state[HAS_HALF]:
            state[HAS_HALF], half = _ZERO, state[HALF]
        else:
            word = next_word(state)
            state[HAS_HALF], state[HALF], half = _ONE, word >> _HALF_BITS, word & _ONES
        product = half * n
        left = product & _ONES
        # the rest of 2**32 over n would make small numbers more frequent: such draws are repeated
        if left >= n or left >= ((_ONES + _ONE) - n) % n:
            return product >> _HALF_BITS


below = kernel(_below, allocates=False)


def _draw_sets(state, sizes, counts, marks, out):
    """Draw sets of different numbers, one after the other, each in ascending order.

    Parameters
    ----------
    state : (6,) uint64
        Of the generator; goes on.
    sizes, counts : (s,) int64
        Of each set: numbers are below its size, at most 10,000, and there are as many as its count.
    marks : (m,) bool
        Scratch for the largest size; False throughout, and left so.
    out : (sum of the counts,) int64
    """
    place = 0
    for s in range(sizes.shape[0]):
        size, count = sizes[s], counts[s]
        for top in range(size - count, size):
            number = np.int64(below(state, np.uint64(top + 1)))
            # already drawn: the newest number cannot be
            marks[top if marks[number] else number] = True
        for top in range(count - 1, 0, -1):
            below(state, np.uint64(top + 1))
        for number in range(size):
            if marks[number]:
                out[place] = number
                marks[number] = False
                place += 1


draw_sets = kernel(_draw_sets, allocates=False)
