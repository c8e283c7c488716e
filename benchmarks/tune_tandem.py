"""Search for a better Tandem: every variant is measured on half of the words and on synthetic streams.

python -m benchmarks.tune_tandem            # the table of docs/tandem.md; the reporting half is not touched

A variant is the compiled module with some of its lines replaced. Accuracy over all samples and in the 100 samples after
a change, mean over λ = 2, 3, 5 and the six scenarios of `tmlcd equal-bytes`, for both budgets; "clouds" are overlapping
Gaussian classes with 2 features that swap, with a budget of 100·λ; "calm" is their first half.
"""

from __future__ import annotations

import argparse
import linecache
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.bench_tandem import PER_CLASS, SMALL
from benchmarks.tune_speech import TUNING
from tmlcd_core import Experiment, Tandem
from tmlcd_core.learners import tandem, tandem_kernels
from tmlcd_core.paper.equal_bytes import SCENARIOS, hands

SAMPLES = 600  # of each class in a stream
CLASSES = (2, 3, 5)
CLOUDS = 20  # streams of clouds

Change = tuple[str, str]  # text in tandem_kernels.py, and what replaces it


def constant(name: str, value: str) -> Change:
    """Return the change of a constant of float32."""
    return f"\n{name} = np.float32(", f"\n{name} = np.float32({value}) if True else np.float32("


def without(*experts: str) -> Change:
    """Return the change that leaves out some of the experts."""
    return (
        "weight = exp(state.evidence[h] - best)",
        f"weight = ZERO if h in ({', '.join(experts)},) else exp(state.evidence[h] - best)",
    )


def with_expert(lines: str) -> Sequence[Change]:
    """Return the changes that add a seventh expert, written to `experts[6]` by `lines`."""
    return (
        ("EXPERTS = 6", "EXPERTS = 7"),
        ("    best = state.evidence[0]\n", f"{lines}    best = state.evidence[0]\n"),
    )


RENAMED = ("RENAMED", "RENAMED_QUARTER", "RENAMED_NEWEST")
FLOORS = "LAYER_FLOOR, VOTE_FLOOR = np.float32(0.01), np.float32(0.2)"
VOTE = "out[label] += ONE\n"
RENAME = "_rename(experts[BOTH], state.confusion, n, experts[RENAMED])"
VARIANTS: dict[str, Sequence[Change]] = {
    "the rule": (),
    "STEP 0.25": (constant("STEP", "0.25"),),
    "STEP 0.75": (constant("STEP", "0.75"),),
    "SHARPNESS 3": (constant("SHARPNESS", "3"),),
    "SHARPNESS 8": (constant("SHARPNESS", "8"),),
    "BIAS_STEP 0.01": (constant("BIAS_STEP", "0.01"),),
    "BIAS_STEP 0.2": (constant("BIAS_STEP", "0.2"),),
    "LEAST_AVERAGING 0.005": (constant("LEAST_AVERAGING", "0.005"),),
    "LEAST_AVERAGING 0.02": (constant("LEAST_AVERAGING", "0.02"),),
    "DISCOUNT 0.95": (constant("DISCOUNT", "0.95"),),
    "DISCOUNT 0.99": (constant("DISCOUNT", "0.99"),),
    "CONFUSION_STEP 0.1": (constant("CONFUSION_STEP", "0.1"),),
    "CONFUSION_STEP 0.3": (constant("CONFUSION_STEP", "0.3"),),
    "CONFUSION_STEP 0.5": (constant("CONFUSION_STEP", "0.5"),),
    "FLOOR 0.005": (constant("FLOOR", "0.005"),),
    "FLOOR 0.05": (constant("FLOOR", "0.05"),),
    "product floors 0.05, 0.2": ((FLOORS, FLOORS.replace("0.01", "0.05")),),
    "product floors 0.01, 0.5": ((FLOORS, FLOORS.replace("0.2", "0.5")),),
    "K 3": (("K = 5 ", "K = 3 "),),
    "K 7": (("K = 5 ", "K = 7 "),),
    "K 9": (("K = 5 ", "K = 9 "),),
    "windows 1/2, 1/8": (("WINDOWS = (1, 4, 16)", "WINDOWS = (1, 2, 8)"),),
    "windows 1/8, 1/16": (("WINDOWS = (1, 4, 16)", "WINDOWS = (1, 8, 16)"),),
    "votes 1/squared distance": ((VOTE, "out[label] += ONE / np.float32(max(answers.near[window, j], 1))\n"),),
    "A alone is renamed": (
        (RENAME, RENAME.replace("BOTH", "AVERAGE")),
        ("experts[BOTH, c] > answers.experts[BOTH, named]", "experts[AVERAGE, c] > answers.experts[AVERAGE, named]"),
    ),
    "without A alone": (without("AVERAGE"),),
    "without the vote alone": (without("VOTE"),),
    "without both alone": (without("AVERAGE", "VOTE"),),
    "without the newest sixteenth": (without("RENAMED_NEWEST"),),
    "without the newest quarter": (without("RENAMED_QUARTER"),),
    "without the confusion matrix": (("confusion[named, c] += CONFUSION_STEP", "confusion[named, c] += ZERO"),),
    "without renamed experts": (without(*RENAMED),),
    "with F": with_expert("    _ask_layer(F, norm > ZERO, state, answers)\n    experts[6, :n] = answers.layer[:n]\n"),
    "with the vote of the newest sixteenth": with_expert("    experts[6, :n] = answers.votes[:n]\n"),
    "with the renamed vote": with_expert("    _rename(experts[VOTE], state.confusion, n, experts[6])\n"),
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
    return float(np.mean(overall)), float(np.mean(soon)) if soon else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="streams of each scenario and number of classes")
    parser.add_argument("--only", nargs="+", default=list(VARIANTS), metavar="VARIANT", help="some of the variants")
    options = parser.parse_args()
    words, points = speech(options.seeds), clouds()
    calm = [(X0, y0, X[: n[0]], y[: n[0]], (), classes) for X0, y0, X, y, n, classes in points]
    print("| variant | N = 50 | 100 after | N = 100·λ | 100 after | clouds | 100 after | calm |")
    print("|---|---|---|---|---|---|---|---|")
    original = tandem.kernels
    for name in options.only:
        began = time.monotonic()
        tandem.kernels = module(VARIANTS[name])
        row = [*measure(words, SMALL), *measure(words, 0), *measure(points, 0), measure(calm, 0)[0]]
        tandem.kernels = original
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row) + " |", flush=True)
        if options.only == [name]:
            print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
