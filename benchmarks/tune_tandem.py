"""Search for a better Tandem: every variant is measured on half of the words and on synthetic streams.

python -m benchmarks.tune_tandem            # the table of docs/tandem.md; the reporting half is not touched

A variant is the compiled module with some of its lines replaced. Accuracy over all samples and in the 100 samples after
a change, mean over λ = 2, 3, 5 and the six scenarios of `bench_tandem`, for both budgets; "clouds" are overlapping
Gaussian classes with 2 features that swap, with a budget of 100·λ.
"""

from __future__ import annotations

import argparse
import linecache
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.bench_tandem import PER_CLASS, SCENARIOS, SMALL, hands
from benchmarks.tune_speech import TUNING
from tmlcd_core import Experiment, Tandem
from tmlcd_core.learners import tandem, tandem_kernels

SAMPLES = 600  # of each class in a stream
CLASSES = (2, 3, 5)
CLOUDS = 20  # streams of clouds

Change = tuple[str, str]  # text in tandem_kernels.py, and what replaces it


def constant(name: str, value: str) -> Change:
    """Return the change of a constant of float32."""
    return f"\n{name} = np.float32(", f"\n{name} = np.float32({value}) if True else np.float32("


def without(*experts: int) -> Change:
    """Return the change that leaves out some of the eight experts."""
    return (
        "weight = exp(state.evidence[h] - best)",
        f"weight = ZERO if h in {experts!r} or h == -1 else exp(state.evidence[h] - best)",
    )


FLOORS = "LAYER_FLOOR, VOTE_FLOOR = np.float32(0.01), np.float32(0.2)"
VOTE = "ONE / np.float32(max(answers.near[window, j], 1))"
VARIANTS: dict[str, Sequence[Change]] = {
    "the rule": (),
    "STEP 0.25": (constant("STEP", "0.25"),),
    "STEP 0.75": (constant("STEP", "0.75"),),
    "STEP 1": (constant("STEP", "1"),),
    "SHARPNESS 3": (constant("SHARPNESS", "3"),),
    "SHARPNESS 8": (constant("SHARPNESS", "8"),),
    "BIAS_STEP 0.01": (constant("BIAS_STEP", "0.01"),),
    "BIAS_STEP 0.2": (constant("BIAS_STEP", "0.2"),),
    "LEAST_AVERAGING 0.005": (constant("LEAST_AVERAGING", "0.005"),),
    "LEAST_AVERAGING 0.02": (constant("LEAST_AVERAGING", "0.02"),),
    "LEAST_AVERAGING 0.04": (constant("LEAST_AVERAGING", "0.04"),),
    "DISCOUNT 0.9": (constant("DISCOUNT", "0.9"),),
    "DISCOUNT 0.95": (constant("DISCOUNT", "0.95"),),
    "DISCOUNT 0.99": (constant("DISCOUNT", "0.99"),),
    "FLOOR 0.005": (constant("FLOOR", "0.005"),),
    "FLOOR 0.05": (constant("FLOOR", "0.05"),),
    "product floors 0.05, 0.2": ((FLOORS, FLOORS.replace("0.01", "0.05")),),
    "product floors 0.01, 0.05": ((FLOORS, FLOORS.replace("0.2", "0.05")),),
    "product floors 0.01, 0.5": ((FLOORS, FLOORS.replace("0.2", "0.5")),),
    "K 3": (("K = 5 ", "K = 3 "),),
    "K 9": (("K = 5 ", "K = 9 "),),
    "windows 1/2, 1/8": (("WINDOWS = (1, 4, 16)", "WINDOWS = (1, 2, 8)"),),
    "windows 1/3, 1/9": (("WINDOWS = (1, 4, 16)", "WINDOWS = (1, 3, 9)"),),
    "windows 1/8, 1/16": (("WINDOWS = (1, 4, 16)", "WINDOWS = (1, 8, 16)"),),
    "votes 1/d": ((VOTE, f"np.sqrt({VOTE})"),),
    "votes 1/d^4": ((VOTE, f"({VOTE}) * ({VOTE})"),),
    "equal votes": ((VOTE, "ONE"),),
    "without F alone": (without(0),),
    "without products with F": (without(6, 7),),
    "without F in any expert": (without(0, 6, 7),),
    "without votes alone": (without(2, 3, 4),),
    "without products": (without(5, 6, 7),),
    "without the smallest window": (without(4, 7),),
    "A and its product alone": (without(0, 2, 3, 4, 6, 7),),
    "equal votes, K 7": ((VOTE, "ONE"), ("K = 5 ", "K = 7 ")),
    "equal votes, K 9": ((VOTE, "ONE"), ("K = 5 ", "K = 9 ")),
    "equal votes, without F alone": ((VOTE, "ONE"), without(0)),
    "equal votes, without products with F": ((VOTE, "ONE"), without(6, 7)),
}


def module(changes: Sequence[Change]) -> ModuleType:
    """Return `tandem_kernels` compiled with some of its lines changed."""
    source = Path(tandem_kernels.__file__).read_text()
    source = source.replace("cache=True, ", "")
    for old, new in changes:
        if source.count(old) != 1:
            raise SystemExit(f"{old!r} is {source.count(old)} times in tandem_kernels.py: update VARIANTS")
        source = source.replace(old, new)
    made = ModuleType("variant")
    name = f"<variant {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), made.__dict__)
    return made


def speech(seeds: int) -> list[tuple]:
    """Return streams of the tuning half: X0, y0, X, y, changes and number of classes."""
    found = []
    for classes in CLASSES:
        dealt = hands(sorted(TUNING), classes + 1)
        for seed in range(seeds):
            hand = next(dealt)
            for changed in SCENARIOS.values():
                one = Experiment("speech", hand[:-1], new=hand[-1], seed=seed, per_class=SAMPLES, **changed).stream()
                found.append((one.X0, one.y0, one.X, one.y, one.changes, classes))
    return found


def clouds() -> list[tuple]:
    """Return streams of overlapping Gaussian classes with 2 features; half-way two classes swap."""
    found = []
    for seed in range(CLOUDS):
        rng = np.random.default_rng(seed)
        classes = CLASSES[seed % len(CLASSES)]
        n = SAMPLES * classes
        y0, y = np.arange(100 * classes) % classes, rng.integers(0, classes, n)
        centres = 1.5 * rng.normal(size=(classes, 2))
        place = np.where((np.arange(n) >= n // 2) & (y < 2), 1 - y, y)
        X0, X = rng.normal(size=(len(y0), 2)) + centres[y0], rng.normal(size=(n, 2)) + centres[place]
        found.append((X0.astype(np.float32), y0, X.astype(np.float32), y, (n // 2,), classes))
    return found


def measure(streams: list[tuple], size: int) -> tuple[float, float]:
    """Return the mean accuracy over all and in the 100 samples after a change; `size` 0 is 100·λ."""
    overall, soon = [], []
    for X0, y0, X, y, changes, classes in streams:
        model = Tandem(max_size=size or PER_CLASS * classes, threshold=np.inf)
        hits = model.fit(X0, y0).run(X, y).predictions == y
        overall.append(hits.mean())
        soon += [hits[change : change + 100].mean() for change in changes]
    return float(np.mean(overall)), float(np.mean(soon))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="streams of each scenario and number of classes")
    parser.add_argument("--only", nargs="+", default=list(VARIANTS), metavar="VARIANT", help="some of the variants")
    options = parser.parse_args()
    words, points = speech(options.seeds), clouds()
    print(
        "| variant | N = 50 | 100 after | N = 100·λ | 100 after | clouds | 100 after |\n|---|---|---|---|---|---|---|"
    )
    original = tandem.kernels
    for name in options.only:
        began = time.monotonic()
        tandem.kernels = module(VARIANTS[name])
        row = [*measure(words, SMALL), *measure(words, 0), *measure(points, 0)]
        tandem.kernels = original
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |", flush=True)
        if options.only == [name]:
            print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
