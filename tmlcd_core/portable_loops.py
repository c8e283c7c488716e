"""Compiled functions with the same bits on every processor: squared distances, exp, log10 and the RBF kernel.

Without `fastmath`, numba neither reorders a sum nor fuses a multiplication with an addition; so a loop gives the same
bits with any vector instructions, but its sums are not vectorised. `squared_distance` fixes the order instead: LANES
sums side by side, then added in pairs, which every processor splits into the vectors it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16  # sums side by side
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first with 21 zero bits at its end
LOG10_2 = 0.30102999566398119521
LOG10_E = 0.43429448190325182765
SQRT_2 = 1.4142135623730951
EXP_RANGE = 708.0  # beyond it exp is taken as 0 or infinite
POWERS_OF_2 = np.ldexp(1.0, np.arange(-1022, 1024))


@intrinsic
def _lanes_of_squares(typing_context: Any, a: Any, b: Any) -> Any:
    """Sum of (a - b)^2 over the first LANES * (n // LANES) elements of two contiguous float32 vectors, in float64."""
    for one in (a, b):
        if not (isinstance(one, types.Array) and one.layout == "C" and one.ndim == 1 and one.dtype == types.float32):
            return None

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vectors = [
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, values, strict=True)
        ]
        double, single = ir.DoubleType(), ir.FloatType()
        wide, narrow = ir.VectorType(double, LANES), ir.VectorType(single, LANES)
        total = cgutils.alloca_once_value(builder, ir.Constant(wide, [ir.Constant(double, 0.0)] * LANES))
        n = builder.extract_value(vectors[0].shape, 0)
        step = n.type(LANES)
        whole = builder.sub(n, builder.srem(n, step))
        with cgutils.for_range_slice(builder, n.type(0), whole, step, inc=True) as (i, _):
            x, y = (
                builder.fpext(
                    builder.load(builder.bitcast(builder.gep(vector.data, [i]), narrow.as_pointer()), align=4), wide
                )
                for vector in vectors
            )
            difference = builder.fsub(x, y)
            builder.store(builder.fadd(builder.load(total), builder.fmul(difference, difference)), total)
        sums = builder.load(total)
        parts = [builder.extract_element(sums, ir.IntType(32)(lane)) for lane in range(LANES)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(p, q) for p, q in zip(parts[:half], parts[half:], strict=True)]
        return parts[0]

    return types.float64(a, b), generate


@njit(cache=True)
def squared_distance(a: NDArray, b: NDArray) -> float:
    """Return the squared Euclidean distance of a (d,) and b (d,), float32, in float64; exactly 0 if they are equal."""
    total = _lanes_of_squares(a, b)
    for i in range(a.shape[0] - a.shape[0] % LANES, a.shape[0]):
        difference = np.float64(a[i]) - np.float64(b[i])
        total += difference * difference
    return total


@njit(cache=True, error_model="numpy")
def exp(x: float) -> float:
    """Return e^x in float64, within two units in the last place; 0 below -708, infinite above 708."""
    if x != x:
        return x
    if x < -EXP_RANGE:
        return 0.0
    if x > EXP_RANGE:
        return np.inf
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * LN_2_HIGH) - k * LN_2_LOW  # |r| <= 0.347
    series = 1.0
    for term in range(14, 0, -1):  # r^15/15! < 1e-19
        series = 1.0 + series * r / term
    return series * POWERS_OF_2[int(k) + 1022]


@njit(cache=True, error_model="numpy")
def log10_of_bits(bits: int) -> np.float32:
    """Return log10 of the positive normal float32 with this int32 bit pattern, as float32."""
    exponent = np.float64((bits >> 23) - 127)
    m = 1.0 + np.float64(bits & 0x7FFFFF) * 1.1920928955078125e-07  # 2^-23
    if m > SQRT_2:
        m *= 0.5
        exponent += 1.0
    s = (m - 1.0) / (m + 1.0)
    z = s * s  # at most 0.0295: the series is exact to 1e-12, far below a float32's last bit
    series = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * (1 / 13)))))
    return np.float32(exponent * LOG10_2 + (2 * LOG10_E) * (s + s * (z * series)))


@njit(cache=True)
def rbf_kernel(A: NDArray, B: NDArray, gamma: float) -> NDArray:
    """Kernel matrix exp(-gamma |a - b|^2) of the rows of A (n, d) and B (m, d), float32; returns float64 (n, m)."""
    out = np.empty((A.shape[0], B.shape[0]))
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            out[i, j] = exp(-gamma * squared_distance(A[i], B[j]))
    return out
