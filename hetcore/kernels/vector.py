"""What the compiler does not do by itself: rows of words added four at a time, and memory asked for ahead.

The compiler turns the plain loop over a row's W words into vector code only behind checks for overlap and length,
which cost more than so short an addition. Measured against that loop: W = 4 three times, W = 8 and 12 one and a half
times as fast.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["add_row", "ask_for_row", "lowest_bit"]

_WORD = ir.IntType(64)
_FOUR_WORDS = ir.VectorType(_WORD, 4)


@intrinsic
def add_row(typing_context: Any, target: Any, at: Any, source: Any, i: Any) -> Any:
    """Do target[at] += source[i] for C-contiguous int64 arrays (., W), W a multiple of 4, that do not overlap.

    Nothing is checked; `at` and `i` are not negative.
    """
    return types.void(target, at, source, i), _generate


@intrinsic
def ask_for_row(typing_context: Any, source: Any, i: Any) -> Any:
    """Bring the start of row i of a C-contiguous array (., W) to the cache, without waiting for it.

    Nothing is checked; `i` is not negative.
    """
    return types.void(source, i), _ask


@intrinsic
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest set bit of an int64 that is not 0."""
    return types.int64(word), _lowest


def _lowest(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write LLVM's count of trailing zeros."""
    return builder.cttz(arguments[0], ir.IntType(1)(1))


def _ask(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write LLVM's prefetch: of data, to be read, for all levels of the cache."""
    row, _ = _row(context, builder, signature.args[0], *arguments)
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(prefetch, [builder.bitcast(row, byte), number(0), number(3), number(1)])
    return context.get_dummy_value()


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the loop over the vectors of a row."""
    to, width = _row(context, builder, signature.args[0], *arguments[:2])
    by, _ = _row(context, builder, signature.args[2], *arguments[2:])
    with cgutils.for_range_slice(builder, _WORD(0), width, _WORD(4), inc=True) as (c, _):
        sums, packed = (builder.bitcast(builder.gep(row, [c]), _FOUR_WORDS.as_pointer()) for row in (to, by))
        # align=8: a row of words begins at any multiple of eight bytes
        total = builder.add(builder.load(sums, align=8), builder.load(packed, align=8))
        builder.store(total, sums, align=8)
    return context.get_dummy_value()


def _row(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> tuple[Any, Any]:
    """Return where a row of an array begins, and its width."""
    fields = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(fields.shape, 1)
    # widened without a sign: a bin is a uint8, and 255 must not become -1
    number = builder.zext(number, _WORD) if number.type.width < 64 else number
    return builder.gep(fields.data, [builder.mul(number, width)]), width
