"""Blocks of squared distances against float64, with every limit of the memory."""

import numpy as np
import pytest

from tmlcd_core.knn import distances
from tmlcd_core.knn.distances import BLOCK, Distances


@pytest.mark.parametrize("least, limit", [(0, np.inf), (2**30, np.inf), (2**30, 0), (2**30, 900_000)])
def test_distances_are_true_whatever_is_kept(least, limit, monkeypatch):
    """Blocks that were dropped, kept or widened, in order or not, hold the same distances within the slack."""
    monkeypatch.setattr(distances, "LEAST_KEPT", least)
    rng = np.random.default_rng(0)
    X, others = (rng.normal(size=(n, 7)).astype(np.float32) for n in (1000, 30))
    found = Distances(X, limit)
    foreign = found.admit(others)
    vectors = np.concatenate([X, others]).astype(np.float64)
    blocks = -(-len(X) // BLOCK)
    for number in [*range(blocks), *range(blocks), *rng.permutation(blocks).tolist()]:
        ids = np.unique(np.r_[rng.integers(0, len(X), 200), foreign]).astype(np.int32)
        near = found.block(number, ids)[:, found.column[ids]]
        rows = vectors[: len(X)][number * BLOCK : (number + 1) * BLOCK]
        true = np.square(rows[:, None] - vectors[ids]).sum(axis=-1)
        assert np.all(np.abs(near - true) <= found.slack(number, ids)[:, None])


def test_a_long_stream_keeps_its_first_blocks_and_the_others_share_memory(monkeypatch):
    monkeypatch.setattr(distances, "LEAST_KEPT", 0)
    X = np.zeros((60 * BLOCK, 64), np.float32)
    found, ids = Distances(X), np.arange(256, dtype=np.int32)
    blocks = [found.block(number, ids) for number in range(60)]
    assert sum(block.nbytes for block in blocks) == 2 * distances.KEPT * X.nbytes  # half of them have to go
    shared = [np.shares_memory(blocks[i], blocks[i + 2]) for i in range(58)]
    assert shared == [False] * 29 + [True] * 29
    assert all(found.block(number, ids) is blocks[number] for number in range(29))
