"""Portable functions: within the last places of the C library's, and in the promised order of operations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tmlcd_core.portable_loops import LANES, exp, log10_of_bits, rbf_kernel, squared_distance
from tmlcd_core.portable_math import cos_of_turns, log, sin_of_turns

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("numbers", [np.exp(RNG.uniform(-700, 700, 5000)), RNG.uniform(0.5, 2, 5000)])
def test_logarithm(numbers):
    expected = np.array([math.log(x) for x in numbers])
    assert (np.abs(log(numbers) - expected) <= 3 * np.spacing(np.abs(expected))).all()


def test_logarithm_of_1_is_0():
    assert log(1.0) == 0 and log([[1.0, 1.0]]).shape == (1, 2)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 128, 511, 512, 22_050])
def test_cosine_and_sine_of_turns(steps):
    k = np.arange(-steps, 2 * steps + 1)
    turns = [float(Fraction(int(i) % steps, steps)) for i in k]
    np.testing.assert_allclose(cos_of_turns(k, steps), [math.cos(2 * math.pi * t) for t in turns], atol=1e-15)
    np.testing.assert_allclose(sin_of_turns(k, steps), [math.sin(2 * math.pi * t) for t in turns], atol=1e-15)


def test_exact_angles_have_exact_cosines():
    assert cos_of_turns([0, 1, 2, 3, 4], 4).tolist() == [1, 0, -1, 0, 1]


def test_exponential():
    numbers = np.concatenate([RNG.uniform(-700, 700, 3000), RNG.uniform(-1, 1, 3000), [0.0]])
    for x in numbers.tolist():
        assert abs(exp(x) - math.exp(x)) <= 3 * math.ulp(math.exp(x))
    assert (exp(-1000.0), exp(1000.0), exp(-math.inf)) == (0.0, math.inf, 0.0) and math.isnan(exp(math.nan))


def test_decimal_logarithm_is_the_float64_one_rounded_once():
    numbers = np.concatenate([np.exp(RNG.uniform(-60, 60, 20_000)), [1.0, 10.0, 1e-10]]).astype(np.float32)
    found = np.array([log10_of_bits(bits) for bits in numbers.view(np.int32)], np.float32)
    expected = np.log10(numbers.astype(np.float64)).astype(np.float32)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("d", [0, 1, 15, 16, 17, 153, 715, 3136])
def test_squared_distance_adds_lanes_in_pairs(d):
    """The order of the sum, written with one numpy operation after another: bit for bit."""
    a, b = RNG.normal(size=(2, d)).astype(np.float32)
    squares = (a.astype(np.float64) - b) ** 2
    whole = d - d % LANES
    lanes = np.zeros(LANES)
    for row in squares[:whole].reshape(-1, LANES):
        lanes = lanes + row
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    total = lanes[0]
    for square in squares[whole:]:
        total = total + square
    assert squared_distance(a, b) == total == pytest.approx(math.fsum(squares))
    assert squared_distance(a, a) == 0


def test_the_kernel_matrix_is_scikit_learn_s():
    from sklearn.metrics.pairwise import rbf_kernel as theirs

    a, b = RNG.normal(size=(7, 30)).astype(np.float32), RNG.normal(size=(5, 30)).astype(np.float32)
    np.testing.assert_allclose(rbf_kernel(a, b, 0.05), theirs(a.astype(np.float64), b.astype(np.float64), 0.05))
