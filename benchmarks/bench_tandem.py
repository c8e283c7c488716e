# ruff: noqa: B023  (each lambda is called at once)
"""Benchmark of Tandem: accuracy at equal bytes beside the other learners, and speed beside its numpy transcription.

`python -m benchmarks.bench_tandem --speed` measures the speed alone; `--seeds N` takes fewer streams (usually 10).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import tandem_transcription
from benchmarks.bench_core import class_change, seconds
from benchmarks.tune_speech import REPORTING, hands
from tmlcd_core import ActiveTinyKNN, CondensingInTime, Experiment, HybridTinyKNN, Tandem, condense
from tmlcd_core.knn import distance_cache
from tmlcd_core.knn.class_balance import cut_evenly
from tmlcd_core.learners import SAMKNN, IncrementalKNN
from tmlcd_core.streams.stream import Stream

CLASSES = (2, 3, 5)
SEEDS = 10
SCENARIOS: dict[str, dict[str, Any]] = {
    "class change": {"drift": "class-change"},
    "noise": {"drift": "noise"},
    "swap": {"drift": "labels-swapped"},
    "recurring": {"drift": "recurring"},
    "gradual": {"drift": "class-change", "over": 0.5},
    "none": {"drift": "none"},
}
SMALL, PER_CLASS = 50, 100  # budgets in samples of 4 d + 8 bytes: fixed, and for each class


class HalvedActive(ActiveTinyKNN):
    """Active Tiny kNN whose T and W together keep to the budget: half for W, half for the initial T, cut evenly."""

    def fit(self, X: Any, y: Any) -> HalvedActive:
        keep = condense(X, y)
        keep = keep[cut_evenly(np.unique(y[keep], return_inverse=True)[1].astype(np.int32), self.window)]
        return super().fit(X[keep], y[keep])


Build = Callable[[int], Any]  # a learner within so many samples of 4 d + 8 bytes
LEARNERS: dict[str, Build] = {
    "CIT": lambda n: CondensingInTime(max_size=n),
    "Active": lambda n: HalvedActive(window=n // 2),
    "Hybrid": lambda n: HybridTinyKNN(max_size=n),
    "window": lambda n: IncrementalKNN(max_size=n),
    "SAM-kNN": lambda n: SAMKNN(max_size=n, min_stm=min(50, n // 2)),
    "Tandem": lambda n: Tandem(max_size=n),
}


def streams(data: str, words: tuple[str, ...], seeds: int) -> Iterator[tuple[str, int, Stream]]:
    """Yield scenario, number of classes and stream for all scenarios and seeds; `words` are dealt from a pack."""
    for classes in CLASSES:
        for seed, hand in enumerate(islice(hands(sorted(words), classes + 1), seeds)):
            for scenario, changed in SCENARIOS.items():
                experiment = Experiment(data, classes=hand[:-1], new=hand[-1], seed=seed, **changed)
                yield scenario, classes, experiment.stream()


def accuracies(
    data: str, words: tuple[str, ...], seeds: int, learners: Mapping[str, Build]
) -> dict[tuple[str, str, str, int], list[tuple[float, float]]]:
    """Return accuracy, over all and in the 100 samples after a change, by learner, budget, scenario and classes."""
    found: dict[tuple[str, str, str, int], list[tuple[float, float]]] = {}
    for scenario, classes, stream in streams(data, words, seeds):
        for budget, size in (("50", SMALL), ("100·λ", PER_CLASS * classes)):
            for name, build in learners.items():
                trace = build(size).fit(stream.X0, stream.y0).run(stream.X, stream.y)
                hits = trace.predictions == stream.y
                soon = [hits[change : change + 100].mean() for change in stream.changes]
                pair = float(hits.mean()), float(np.mean(soon)) if soon else np.nan
                found.setdefault((name, budget, scenario, classes), []).append(pair)
        distance_cache.clear()
    return found


def mean_of(found: Mapping[tuple[str, str, str, int], list], name: str, budget: str, scenario: str = "") -> np.ndarray:
    """Return the mean accuracies over all and soon after a change, shape (2,), of one scenario or all."""
    chosen = [v for k, v in found.items() if k[:2] == (name, budget) and scenario in ("", k[2])]
    pairs = np.concatenate(chosen)
    soon = pairs[~np.isnan(pairs[:, 1]), 1]  # a stream without a change has no such accuracy
    return np.array([pairs[:, 0].mean(), soon.mean() if len(soon) else np.nan])


def table(title: str, data: str, words: tuple[str, ...], seeds: int) -> None:
    """Print the accuracy of all learners by budget and scenario."""
    found = accuracies(data, words, seeds, LEARNERS)
    print(f"\n{title}: accuracy, mean over λ = {', '.join(map(str, CLASSES))} and {seeds} seeds")
    print(f"{'budget':8}{'scenario':16}" + "".join(f"{name:>9}" for name in LEARNERS))
    for budget in ("50", "100·λ"):
        for scenario in (*SCENARIOS, ""):
            row = [mean_of(found, name, budget, scenario)[0] for name in LEARNERS]
            print(f"{budget:8}{scenario or 'all':16}" + "".join(f"{value:9.3f}" for value in row), flush=True)
        row = [mean_of(found, name, budget)[1] for name in LEARNERS]
        print(f"{budget:8}{'100 after':16}" + "".join(f"{value:9.3f}" for value in row), flush=True)


def speed(n: int = 2000) -> None:
    """Print how many times faster `run` and `observe` are than the numpy transcription, one thread."""
    print(f"{'budget':>8}{'rows':>7}{'run':>8}{'observe':>9}   times faster than plain numpy (target of run: 25)")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true", help="measure the speed alone")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="streams of each scenario and number of classes")
    options = parser.parse_args() if __name__ == "__main__" else parser.parse_args([])
    speed()
    if not options.speed:
        table("speech, reporting half of the words", "speech", REPORTING, options.seeds)
        table("digits", "digits", tuple("0123456789"), options.seeds)


if __name__ == "__main__":
    main()
