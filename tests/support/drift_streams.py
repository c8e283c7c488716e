"""The streams of the SAM-kNN paper, generated from their descriptions."""

from __future__ import annotations

from itertools import islice

import numpy as np


def moving_squares(n=10_000, seed=0):
    """Four squares of side 0.05, 0.03 apart, go to and fro along x by 0.03 in 120 samples; the classes take turns.

    For 120 samples what was is true; then it is the neighbour's.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    way = 1 - 0.29
    gone = 0.03 / 120 * np.arange(n) % (2 * way)
    left = 0.24 - 0.08 * y + np.minimum(gone, 2 * way - gone)
    return np.c_[left + 0.05 * rng.random(n), 0.05 * rng.random(n)], y


def transient_chessboard(n=10_000, seed=0, field=250):
    """8 x 8 fields in eight classes: four fields, one after the other, then as many samples of the whole board."""
    rng = np.random.default_rng(seed)
    places = []
    while len(places) < n:
        for x, y in rng.integers(0, 8, (4, 2)):
            places += [(x, y)] * field
        places += [tuple(place) for place in rng.integers(0, 8, (4 * field, 2))]
    column, row = np.array(places[:n]).T
    return (np.c_[column, row] + rng.random((n, 2))) / 8, (column + 4 * (row % 2)) % 8


def interchanging_rbf(n=9_000, seed=0, concept=1000, kernels=15):
    """Fifteen Gaussian classes; every 1,000 samples one more of them exchange places."""
    rng = np.random.default_rng(seed)
    centres = rng.random((kernels, 2))
    spreads = rng.uniform(-0.06, 0.06, (kernels, 2, 2))
    X, y = np.empty((n, 2)), rng.integers(0, kernels, n)
    for i in range(n):
        if i and i % concept == 0:
            moving = rng.permutation(kernels)[: min(i // concept + 1, kernels)]
            centres[moving] = centres[np.roll(moving, 1)]
        X[i] = centres[y[i]] + spreads[y[i]] @ rng.normal(size=2)
    return X, y


def mixed_drift(n=9_000, seed=0):
    """The three beside each other, in turns: incremental, virtual and abrupt drift at the same time."""
    parts = [moving_squares(n // 3, seed), transient_chessboard(n // 3, seed), interchanging_rbf(n // 3, seed)]
    X, y, first = np.empty((n, 2)), np.empty(n, int), 0
    for i, (x, labels) in enumerate(parts):
        X[i::3], y[i::3] = x + np.array([2, 0]) * i, labels + first
        first += labels.max() + 1
    return X, y


def sea(n=10_000, seed=0):
    """Street & Kim: x0 + x1 <= 8, 9, 7, 9.5 in turn, three attributes in 0..10, 10 % of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = 10 * rng.random((n, 3))
    threshold = np.array([8.0, 9.0, 7.0, 9.5])[np.arange(n) * 4 // n]
    return X, (X[:, 0] + X[:, 1] <= threshold) ^ (rng.random(n) < 0.1)


def rotating_hyperplane(n=10_000, seed=0):
    """River's generator, the parameters of the SAM-kNN paper: ten attributes, weights that change by 0.001."""
    from river.datasets.synth import Hyperplane

    points = islice(Hyperplane(seed=seed, n_features=10, n_drift_features=10, mag_change=0.001), n)
    X, y = zip(*((list(x.values()), label) for x, label in points), strict=True)
    return np.array(X), np.array(y)


STREAMS = {
    "SEA": sea,
    "rotating hyperplane": rotating_hyperplane,
    "moving squares": moving_squares,
    "transient chessboard": transient_chessboard,
    "interchanging RBF": interchanging_rbf,
    "mixed drift": mixed_drift,
}
