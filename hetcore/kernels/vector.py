"""What the compiler does not do by itself: rows worked through four places at a time, and memory asked for ahead.

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

__all__ = ["add_row", "ask_for_row", "lowest_bit", "move_pair", "move_row"]

_WORD = ir.IntType(64)
_FOUR_WORDS = ir.VectorType(_WORD, 4)
_REAL = ir.DoubleType()
_FOUR_REALS = ir.VectorType(_REAL, 4)
_FOUR_SHORT = ir.VectorType(ir.FloatType(), 4)
_TWO_REALS = ir.VectorType(_REAL, 2)
_TWO_SHORT = ir.VectorType(ir.FloatType(), 2)


@intrinsic
def add_row(typing_context: Any, target: Any, at: Any, source: Any, i: Any) -> Any:
    """Do target[at] += source[i] for C-contiguous int64 arrays (., W), W a multiple of 4, that do not overlap.

    Nothing is checked; `at` and `i` are not negative.
    """
    return types.void(target, at, source, i), _generate


@intrinsic
def move_row(typing_context: Any, sums: Any, node: Any, slopes: Any, i: Any, l2: Any) -> Any:
    """Move row i of slopes (., W) from sums[node, 1] to sums[node, 0]; return what both explain then, by `l2` above 0.

    A row is W / 2 gradients, and as many hessians: W / 2 is a multiple of 4. Arrays are C-contiguous, of float64 and
    (slopes) float32, and do not overlap; nothing is checked; `node` and `i` are not negative.
    """
    return types.float64(sums, node, slopes, i, types.float64), _move


@intrinsic
def move_pair(typing_context: Any, sums: Any, node: Any, slopes: Any, i: Any, l2: Any) -> Any:
    """Do what `move_row` does for rows of one gradient and one hessian, each child being a vector."""
    return types.float64(sums, node, slopes, i, types.float64), _move_pair


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


def _move(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the loop over the vectors of outputs."""
    sums, node, slopes, i, l2 = arguments
    children, _ = _row(context, builder, signature.args[0], sums, node)
    row, width = _row(context, builder, signature.args[2], slopes, i)
    penalty, none = ir.Constant(_FOUR_REALS, ir.Undefined), ir.Constant(_FOUR_REALS, [0.0] * 4)
    for lane in range(4):
        penalty = builder.insert_element(penalty, l2, ir.IntType(32)(lane))
    total = cgutils.alloca_once_value(builder, none)

    def at(start: Any, place: Any, kind: Any = _FOUR_REALS) -> Any:
        return builder.bitcast(builder.gep(start, [place]), kind.as_pointer())

    half = builder.lshr(width, _WORD(1))
    with cgutils.for_range_slice(builder, _WORD(0), half, _WORD(4), inc=True) as (k, _):
        moved, parts = [], (k, builder.add(half, k))
        slope = [builder.fpext(builder.load(at(row, part, _FOUR_SHORT), align=4), _FOUR_REALS) for part in parts]
        for child, change in ((_WORD(0), builder.fadd), (width, builder.fsub)):
            places = [at(children, builder.add(child, part)) for part in parts]
            found = [change(builder.load(place, align=8), own) for place, own in zip(places, slope)]
            for place, each in zip(places, found):
                builder.store(each, place, align=8)
            moved.append((found[0], builder.fadd(found[1], penalty)))
        (u, a), (v, b) = moved
        # one division for both children
        left, right = (builder.fmul(builder.fmul(g, g), h) for g, h in ((u, b), (v, a)))
        both = builder.fdiv(builder.fadd(left, right), builder.fmul(a, b))
        builder.store(builder.fadd(builder.load(total), both), total)
    lanes = [builder.extract_element(builder.load(total), ir.IntType(32)(lane)) for lane in range(4)]
    return builder.fadd(builder.fadd(lanes[0], lanes[1]), builder.fadd(lanes[2], lanes[3]))


def _move_pair(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the vectors of both children, [gradient, hessian]."""
    sums, node, slopes, i, l2 = arguments
    children, _ = _row(context, builder, signature.args[0], sums, node)
    row, _ = _row(context, builder, signature.args[2], slopes, i)
    slope = builder.fpext(builder.load(builder.bitcast(row, _TWO_SHORT.as_pointer()), align=4), _TWO_REALS)
    found = []
    for place, change in ((_WORD(0), builder.fadd), (_WORD(2), builder.fsub)):
        child = builder.bitcast(builder.gep(children, [place]), _TWO_REALS.as_pointer())
        moved = change(builder.load(child, align=8), slope)
        builder.store(moved, child, align=8)
        found.append(moved)

    def lanes(first: Any, second: Any, *which: int) -> Any:
        return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), 2), list(which)))

    penalty = builder.insert_element(ir.Constant(_TWO_REALS, ir.Undefined), l2, ir.IntType(32)(0))
    slope, weight = lanes(*found, 0, 2), builder.fadd(lanes(*found, 1, 3), lanes(penalty, penalty, 0, 0))
    # one division for both children
    parts = builder.fmul(builder.fmul(slope, slope), lanes(weight, weight, 1, 0))
    ends = [[builder.extract_element(pair, ir.IntType(32)(lane)) for lane in (0, 1)] for pair in (parts, weight)]
    return builder.fdiv(builder.fadd(*ends[0]), builder.fmul(*ends[1]))


def _row(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> tuple[Any, Any]:
    """Return where a row of an array begins (a pair of rows, where it has three dimensions), and the width of one."""
    fields = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(fields.shape, kind.ndim - 1)
    # widened without a sign: a bin is a uint8, and 255 must not become -1
    number = builder.zext(number, _WORD) if number.type.width < 64 else number
    apart = builder.mul(width, _WORD(2)) if kind.ndim == 3 else width
    return builder.gep(fields.data, [builder.mul(number, apart)]), width
