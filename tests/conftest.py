"""Streams for the tests: Gaussian classes whose centres are seeded, with or without a change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

# The same examples every time: a failure on one machine is a failure on all.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def gaussian_stream(n0=60, n=400, d=6, classes=3, separation=1.2, change=None, seed=0):
    """Initial samples and a stream; from `change` on two classes have swapped places and a third has moved."""
    rng = np.random.default_rng(seed)
    centres = separation * rng.normal(size=(classes + 1, d))
    y0 = np.arange(n0) % classes
    y = rng.integers(0, classes, n)
    moved = np.r_[1, 0, classes, 3:classes] if classes > 2 else np.array([1, 0])
    place = y if change is None else np.where(np.arange(n) >= change, moved[y], y)
    X0 = rng.normal(size=(n0, d)) + centres[y0]
    X = rng.normal(size=(n, d)) + centres[place]
    return X0.astype(np.float32), y0, X.astype(np.float32), y


@pytest.fixture
def make_stream():
    return gaussian_stream


def pytest_collection_modifyitems(items):
    """A browser on a busy machine may miss a click; what fails three times in a row is a fault."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=2))
