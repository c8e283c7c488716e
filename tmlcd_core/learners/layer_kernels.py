"""Compiled loops of NN-FC1: outputs, gradient and gradient descent, with the same bits on every processor.

Weights have the shape (inputs, outputs): the inner loops run over the outputs of all layers, `pairs` times the classes,
so that they are vectorised without changing the order of a sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.portable_loops import exp


@njit(cache=True, nogil=True, error_model="numpy")
def _outputs(x: NDArray, weights: NDArray, out: NDArray) -> None:
    """Fill `out`, float32 (outputs,), with the sums over the inputs, in their order."""
    out[:] = 0
    for i in range(weights.shape[0]):
        value, row = x[i], weights[i]
        for r in range(out.shape[0]):
            out[r] += value * row[r]


@njit(cache=True, nogil=True, error_model="numpy")
def softmax_errors(outputs: NDArray, code: int, known: NDArray, errors: NDArray) -> None:
    """Fill `errors`, float32 (outputs,), with softmax - 1 at class `code`; classes that are not `known` have 0."""
    classes = known.shape[0]
    for first in range(0, outputs.shape[0], classes):
        highest = -np.inf
        for c in range(classes):
            if known[c]:
                highest = max(highest, np.float64(outputs[first + c]))
        total = 0.0
        for c in range(classes):
            if known[c]:
                total += exp(np.float64(outputs[first + c]) - highest)
        for c in range(classes):
            share = exp(np.float64(outputs[first + c]) - highest) / total if known[c] else 0.0
            errors[first + c] = share - (1.0 if c == code else 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def scores(X: NDArray, weights: NDArray) -> NDArray:
    """Return the outputs for samples X (n, inputs), float32 (n, outputs)."""
    out = np.empty((X.shape[0], weights.shape[1]), np.float32)
    for t in range(X.shape[0]):
        _outputs(X[t], weights, out[t])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def gradient(X: NDArray, codes: NDArray, weights: NDArray, known: NDArray) -> NDArray:
    """Return the gradient of the cross-entropy, summed over samples X (n, inputs): float32, the shape of `weights`.

    `codes` are their class codes, int32 (n,); `known` marks the classes that take part, bool (classes,).
    """
    total = np.zeros_like(weights)
    outputs, errors = np.empty(weights.shape[1], np.float32), np.empty(weights.shape[1], np.float32)
    for t in range(X.shape[0]):
        _outputs(X[t], weights, outputs)
        softmax_errors(outputs, codes[t], known, errors)
        for i in range(weights.shape[0]):
            value, row = X[t, i], total[i]
            for r in range(errors.shape[0]):
                row[r] += value * errors[r]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def descend(X: NDArray, codes: NDArray, weights: NDArray, rates: NDArray, known: NDArray, outputs: NDArray) -> None:
    """Stochastic gradient descent, sample by sample, changing `weights`; `outputs` receives those before each step.

    X (n, inputs), codes (n,) with -1 for no label, rates (outputs,), known (n, classes), outputs float32 (n, outputs).
    """
    errors = np.empty(weights.shape[1], np.float32)
    learn = rates.any()
    for t in range(X.shape[0]):
        _outputs(X[t], weights, outputs[t])
        if codes[t] < 0 or not learn:
            continue
        softmax_errors(outputs[t], codes[t], known[t], errors)
        for r in range(errors.shape[0]):
            errors[r] *= rates[r]
        for i in range(weights.shape[0]):
            value, row = X[t, i], weights[i]
            for r in range(errors.shape[0]):
                row[r] -= value * errors[r]


class AdamSettings(NamedTuple):
    """Settings of Adam: shares kept of the moving means, the number that avoids a division by 0, and weight decay."""

    keep: float
    keep_square: float
    epsilon: float
    decay: float


@njit(cache=True)
def power(base: float, exponent: int) -> float:
    """Return base ** exponent by repeated multiplication, which has the same bits on every processor."""
    found = 1.0
    for _ in range(exponent):
        found *= base
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def descend_by_adam(
    X: NDArray,
    codes: NDArray,
    weights: NDArray,
    mean: NDArray,
    square: NDArray,
    rates: NDArray,
    known: NDArray,
    outputs: NDArray,
    settings: AdamSettings,
    steps: int,
) -> int:
    """Adam, sample by sample, as `descend`; changes the moving means `mean` and `square` too. Return the steps.

    weights, mean and square (inputs, outputs); X (n, inputs), codes (n,), rates (outputs,), known (n, classes) and
    outputs (n, outputs) as in `descend`.
    """
    keep, keep_square = np.float32(settings.keep), np.float32(settings.keep_square)
    add, add_square = np.float32(1 - settings.keep), np.float32(1 - settings.keep_square)
    decay, epsilon = np.float32(settings.decay), np.float32(settings.epsilon)
    errors = np.empty(weights.shape[1], np.float32)
    left, left_square = power(settings.keep, steps), power(settings.keep_square, steps)
    for t in range(X.shape[0]):
        _outputs(X[t], weights, outputs[t])
        if codes[t] < 0:
            continue
        steps += 1
        left *= settings.keep
        left_square *= settings.keep_square
        unbias, unbias_square = np.float32(1 / (1 - left)), np.float32(1 / np.sqrt(1 - left_square))
        softmax_errors(outputs[t], codes[t], known[t], errors)
        for i in range(weights.shape[0]):
            value, row, first, second = X[t, i], weights[i], mean[i], square[i]
            for r in range(errors.shape[0]):
                slope = errors[r] * value + decay * row[r]
                first[r] = keep * first[r] + add * slope
                second[r] = keep_square * second[r] + add_square * slope * slope
                row[r] -= rates[r] * unbias * first[r] / (np.sqrt(second[r]) * unbias_square + epsilon)
    return steps
