"""Vector operations of Tandem for numba: dot products in a fixed order, and exact squared distances of bytes.

LLVM vectorises neither float sums whose order is fixed nor, at full width, products of differences of bytes, so the
vector operations are written here. They become the instructions of the processor at hand, with the same results on all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16  # partial sums of a dot product
WIDTH = 32  # features that one vector operation of a distance takes
ROWS = 8  # distances computed together: independent sums, which do not wait for each other
INT16, INT32 = ir.IntType(16), ir.IntType(32)


@intrinsic
def _lanes(typing_context: Any, a: Any, b: Any) -> Any:
    """Partial sums of a dot product, as a tuple of LANES float32: lane j sums the terms j, j + LANES, j + 2 LANES, …"""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.FloatType(), LANES)
        left, right = (
            context.make_array(kind)(context, builder, v) for kind, v in zip(signature.args, args, strict=True)
        )
        length = builder.extract_value(left.shape, 0)
        lanes = length.type(LANES)
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        with cgutils.for_range(builder, builder.udiv(length, lanes)) as loop:
            at = builder.mul(loop.index, lanes)
            places = (builder.gep(array.data, [at]) for array in (left, right))
            x, y = (builder.load(builder.bitcast(place, vector.as_pointer()), align=4) for place in places)
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, y)), total)
        sums = builder.load(total)
        items = [builder.extract_element(sums, ir.IntType(32)(lane)) for lane in range(LANES)]
        return context.make_tuple(builder, signature.return_type, items)

    return types.UniTuple(types.float32, LANES)(a, b), codegen


@njit(cache=True, error_model="numpy")
def dot(a: NDArray, b: NDArray) -> np.float32:
    """Return the dot product of a (d,) and b (d,), contiguous float32: the lanes in turn, then the terms left over."""
    sums = _lanes(a, b)
    total = sums[0]
    for lane in range(1, LANES):
        total += sums[lane]
    n = a.shape[0]
    for i in range(n - n % LANES, n):
        total += a[i] * b[i]
    return total


@intrinsic
def _block_of_distances(typing_context: Any, a: Any, rows: Any, first: Any) -> Any:
    """Squared distances of a sample in levels, int16 (d,), to ROWS rows of bytes from `first` on, as a tuple of int32.

    rows is uint8 (n, d), contiguous, with d >= WIDTH.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        levels, sums = ir.VectorType(INT16, WIDTH), ir.VectorType(INT32, WIDTH)
        sample, stored = (
            context.make_array(kind)(context, builder, v) for kind, v in zip(signature.args[:2], args[:2], strict=True)
        )
        d = builder.extract_value(sample.shape, 0)
        width = d.type(WIDTH)
        places = [builder.mul(builder.add(args[2], d.type(row)), d) for row in range(ROWS)]
        starts = [builder.gep(stored.data, [place]) for place in places]
        totals = [cgutils.alloca_once_value(builder, ir.Constant(sums, [0] * WIDTH)) for _ in range(ROWS)]

        def load(start: Any, at: Any, kind: Any) -> Any:
            vector = ir.VectorType(kind, WIDTH)
            return builder.load(builder.bitcast(builder.gep(start, [at]), vector.as_pointer()), align=kind.width // 8)

        def add(at: Any, mask: Any = None) -> None:
            x = load(sample.data, at, INT16)
            for start, total in zip(starts, totals, strict=True):
                difference = builder.sub(x, builder.zext(load(start, at, ir.IntType(8)), levels))
                if mask is not None:
                    difference = builder.and_(difference, mask)
                difference = builder.sext(difference, sums)
                builder.store(builder.add(builder.load(total), builder.mul(difference, difference)), total)

        with cgutils.for_range(builder, builder.udiv(d, width)) as loop:
            add(builder.mul(loop.index, width))
        # The features left over are the last ones of a vector that ends with the row; the others are masked.
        counted = builder.trunc(builder.sub(width, builder.urem(d, width)), INT16)
        counted = builder.insert_element(ir.Constant(levels, ir.Undefined), counted, INT32(0))
        counted = builder.shuffle_vector(counted, counted, ir.Constant(sums, [0] * WIDTH))
        lane = ir.Constant(levels, list(range(WIDTH)))
        add(builder.sub(d, width), builder.sext(builder.icmp_unsigned(">=", lane, counted), levels))
        kind = ir.FunctionType(INT32, [sums])
        total_of = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.add.v{WIDTH}i32")
        items = [builder.call(total_of, [builder.load(total)]) for total in totals]
        return context.make_tuple(builder, signature.return_type, items)

    return types.UniTuple(types.int32, ROWS)(a, rows, types.intp), codegen


@njit(cache=True, error_model="numpy")
def squared_distances(a: NDArray, rows: NDArray, out: NDArray) -> None:
    """Write the squared distances of a sample a, int16 (d,) in 0..255, to rows, uint8 (n, d), into out, int32 (n,).

    They are exact up to 33,000 features.
    """
    n, whole = rows.shape[0], 0
    if a.shape[0] >= WIDTH:
        whole = n - n % ROWS
        for first in range(0, whole, ROWS):
            block = _block_of_distances(a, rows, first)
            for row in range(ROWS):
                out[first + row] = block[row]
    for row in range(whole, n):
        total = np.int32(0)
        for i in range(a.shape[0]):
            difference = np.int16(a[i] - np.int16(rows[row, i]))  # 16 bits: one instruction multiplies and adds pairs
            total = np.int32(total + np.int32(difference) * np.int32(difference))
        out[row] = total
