"""Benchmark of scanning a folder of 100,000 files: time against a bare `os.walk`, and memory."""

from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from pathlib import Path

from tmlcd_core.datasets import FolderSource

FILES, CLASSES = 100_000, 35


def main() -> None:
    """Print times, ratios and memory."""
    with tempfile.TemporaryDirectory() as folder:
        for label in range(CLASSES):
            os.mkdir(f"{folder}/class{label}")
        for i in range(FILES):
            Path(folder, f"class{i % CLASSES}", f"{i:08x}_nohash_0.wav").touch()
        bare = time.perf_counter()
        for inside, _, names in os.walk(folder):
            for name in names:
                os.stat(os.path.join(inside, name))
        bare = time.perf_counter() - bare
        scan = time.perf_counter()
        source = FolderSource(folder)
        scan, key = time.perf_counter() - scan, time.perf_counter()
        assert source.key
        key = time.perf_counter() - key
        tracemalloc.start()
        kept = FolderSource(folder)
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sum(kept.count(label) for label in kept.classes) == FILES
    print(f"{'step':<34} {'seconds':>8} {'x os.walk':>15}")
    print(f"{'os.walk and os.stat':<34} {bare:>8.2f} {1:>15.2f}")
    print(f"{f'FolderSource, {FILES} files':<34} {scan:>8.2f} {scan / bare:>15.2f}")
    print(f"{'its key (names, sizes, dates)':<34} {key:>8.2f} {key / bare:>15.2f}")
    print(f"memory kept {now / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
