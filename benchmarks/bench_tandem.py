# ruff: noqa: B023  (each lambda is called at once)
"""Benchmark of Tandem's speed beside its numpy transcription; `tmlcd equal-bytes` measures its accuracy."""

from __future__ import annotations

import numpy as np

from benchmarks import tandem_transcription
from benchmarks.bench_core import class_change, seconds
from tmlcd_core import Tandem

SMALL, PER_CLASS = 50, 100  # budgets in samples of 4 d + 8 bytes: fixed, and for each class


def main(n: int = 2000) -> None:
    """Print how many times faster `run` and `observe` are than the numpy transcription, one thread."""
    print(f"{'N':>8}{'rows':>7}{'run':>8}{'observe':>9}   times faster than plain numpy (target of run: 25)")
    X0, y0, X, y = class_change(n)
    for size in (SMALL, PER_CLASS * (int(y.max()) + 1)):
        budget = size * (4 * X.shape[1] + 8)
        model = Tandem(max_bytes=budget).fit(X0, y0)
        model.run(X, y)  # compile, and fill the ring
        slow = tandem_transcription.Tandem(X0, y0, budget, tandem_transcription.PLAIN)
        for x, label in zip(X, y, strict=True):
            slow.step(x, label)
        theirs, expected = seconds(lambda: [slow.step(x, label) for x, label in zip(X, y, strict=True)])
        ours, trace = seconds(lambda: model.run(X, y))
        single, _ = seconds(lambda: [model.observe(x, label) for x, label in zip(X, y, strict=True)])
        agree = np.mean(trace.predictions == expected)  # type: ignore[attr-defined]
        print(
            f"{size:8}{len(model):7}{theirs / ours:8.1f}{theirs / single:9.1f}   "
            f"{ours / n * 1e6:.1f} µs a sample; same predictions {agree:.1%}"
        )


if __name__ == "__main__":
    main()
