"""Functions with the same bits on every processor: logarithm, cosine, in plain numpy.

numpy and the C library choose their code by the processor: with AVX-512 or fused multiply-add (FMA), exp, log, cos,
power and |z| have other last bits. These functions use only + - * /, which IEEE 754 defines to the last bit, each as an
operation of its own. `portable_loops` has the compiled ones.

With the pinned versions, features and runs are the same on every x86-64 processor with Linux; test_same_numbers.py
compares a small reproduction with one for a plain x86-64, and `tmlcd reproduce` prints digests to compare machines.
What may differ in last bits: other versions of numpy, scikit-learn or eSpeak NG; ARM, where compilers may fuse numpy's
FFT; `engine="torch"` of the extractor; SAM-kNN's clustering (a BLAS product); audio effects, which use numpy's
functions and are rounded to float32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

LN_2 = 0.6931471805599453
LOG_TERMS = 12  # of the series in s^2 <= 0.0295: the first one left out is below 1e-19
COS_TERMS = 10  # of the series in x^2 <= (pi/4)^2: the first one left out is below 1e-20


def log(x: ArrayLike) -> NDArray[np.float64]:
    """Return the natural logarithm of positive finite x as float64, shape of x, within a few units in the last place.

    Examples
    --------
    >>> log([1.0, 10.0]).round(12).tolist()
    [0.0, 2.302585092994]
    """
    m, exponent = np.frexp(np.asarray(x, np.float64))  # x = m 2^exponent, 0.5 <= m < 1
    small = m < 0.7071067811865476
    m, exponent = np.where(small, 2 * m, m), np.where(small, exponent - 1, exponent)
    s = (m - 1) / (m + 1)  # ln m = 2 (s + s^3/3 + s^5/5 + ...)
    z = s * s
    series = np.zeros_like(z)
    for term in range(LOG_TERMS, 0, -1):
        series = (series + 1 / (2 * term + 1)) * z
    return exponent * LN_2 + (2 * s + 2 * s * series)


def cos_of_turns(numerator: ArrayLike, denominator: int) -> NDArray[np.float64]:
    """Return the cosine of 2 pi numerator / denominator, whole numbers, as float64 with the shape of numerator.

    Examples
    --------
    >>> cos_of_turns([0, 1, 2, 3, 4], 8).round(4).tolist()
    [1.0, 0.7071, 0.0, -0.7071, -1.0]
    """
    place = np.asarray(numerator, np.int64) * 8 % (8 * denominator)  # in 1/8 of a step; whole numbers are exact
    eighth, rest = np.divmod(place, denominator)  # eighth of the circle, and the way into it
    odd = eighth % 2 == 1
    x = np.where(odd, denominator - rest, rest) * (np.pi / 4) / denominator  # 0 <= x <= pi/4
    z = x * x
    cos, sin = np.ones_like(z), np.ones_like(z)
    for term in range(COS_TERMS, 0, -1):
        cos = 1 - cos * z / ((2 * term - 1) * (2 * term))
        sin = 1 - sin * z / (2 * term * (2 * term + 1))
    value = np.where(np.isin(eighth, (1, 2, 5, 6)), x * sin, cos)
    return np.where(np.isin(eighth, (2, 3, 4, 5)), -value, value) + 0.0  # no -0


def sin_of_turns(numerator: ArrayLike, denominator: int) -> NDArray[np.float64]:
    """Return the sine of 2 pi numerator / denominator, as `cos_of_turns`; float64 with the shape of numerator."""
    return cos_of_turns(4 * np.asarray(numerator, np.int64) - denominator, 4 * denominator)
