"""Benchmark of the feature cache: loading 3 x 1,600 x 715 features with digest check, against reading plain bytes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets import FeatureCache, load

CLASSES, ROWS, FEATURES = ("yes", "no", "up"), 1600, 715
TURNS = 9


class Noise:
    """Data source of random vectors."""

    name, kind, key, sample_rate, classes = "noise", "vector", "1", None, CLASSES

    def count(self, label: str) -> int:
        return ROWS

    def media(self, label: str, indices: Sequence[int]) -> NDArray[np.float32]:
        return np.random.default_rng(len(label)).random((len(indices), FEATURES), np.float32)


def main() -> None:
    """Print the median times and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        cache = FeatureCache(folder)
        load(Noise(), CLASSES, ROWS, None, cache=cache)
        plain, cached = [], []
        for _ in range(TURNS):
            start = time.perf_counter()
            size = sum(len(path.read_bytes()) for path in Path(folder).rglob("*.features"))
            plain.append(time.perf_counter() - start)
            start = time.perf_counter()
            load(Noise(), CLASSES, ROWS, None, cache=cache)
            cached.append(time.perf_counter() - start)
    bytes_, load_ = np.median(plain), np.median(cached)
    print(f"plain bytes, {size / 1e6:.1f} MB {bytes_ * 1e3:>6.0f} ms")
    print(f"load              {load_ * 1e3:>6.0f} ms, {load_ / bytes_:.1f} times as long")


if __name__ == "__main__":
    main()
