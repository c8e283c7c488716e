"""Search for the k nearest among approximate distances: against sorting, with ties, overflow and wrong guesses."""

import numpy as np
import pytest

from tmlcd_core.knn.kernels import FEW, Voters, _doubt, _nearest, _scratch

SIZES = [1, 2, 63, FEW, FEW + 1, 500, 3000]


def spread(rng, n):
    return rng.normal(1400, 50, n)


def ties(rng, n):
    return rng.integers(0, 4, n)


def equal(rng, n):
    return np.full(n, 7.0)


def far_ones_first(rng, n):
    """The guess from a part of the members is too large, or too small."""
    return np.where(np.arange(n) % (n // 64 or 1) == 0, rng.choice([1e-3, 1e6]), spread(rng, n))


def overflown(rng, n):
    return rng.choice([np.nan, np.inf, -np.inf, 1.0, 2.0, 3.0], n)


@pytest.mark.parametrize("slack", [(0.0, 0.0), (0.1, 0.0), (1e-30, 1e-3), (np.inf, 0.0)])
@pytest.mark.parametrize("distances", [spread, ties, equal, far_ones_first, overflown])
@pytest.mark.parametrize("n", SIZES)
def test_nothing_that_may_be_among_the_k_nearest_is_left_out(n, distances, slack):
    rng = np.random.default_rng(n)
    ids = np.arange(n, dtype=np.int32)
    for k in {1, min(5, n), int(np.ceil(np.sqrt(n))), n}:
        near = distances(rng, n).astype(np.float32)
        voters = Voters(ids, ids, near, *slack)
        scratch = _scratch(n)
        found, kth = _nearest(voters, k, scratch)
        numbers = np.sort(near[near < np.inf])
        assert kth == (numbers[k - 1] if len(numbers) >= k else np.inf)
        wanted = np.flatnonzero(~(near > kth + _doubt(kth, voters)))
        positions = scratch.nearest[:found].tolist()
        assert sorted(set(positions)) == positions
        assert set(wanted.tolist()) <= set(positions)
