"""Search that led to Tandem's rule: every rule that was tried, measured on development data only.

python -m benchmarks.tune_tandem --out docs/tandem-search.md     # all stages; about 6 minutes of one processor
python -m benchmarks.tune_tandem --only "the first rule" "K 7"   # some of the rules

The development data are half of the words and synthetic clouds; `tmlcd equal-bytes` reports on the other half of the
words, digits, points and folders. The rules are members of `benchmarks/tandem_rules.py`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_tandem import PER_CLASS, SMALL
from benchmarks.tandem_rules import CHOSEN, FIRST, Rule
from benchmarks.tune_speech import TUNING
from tmlcd_core import Experiment
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.paper.equal_bytes import SCENARIOS, SOON, hands

SAMPLES = 600  # of each class in a stream
CLASSES = (2, 3, 5)
CLOUDS = 20  # streams of clouds
GENERATORS = (
    "RandomRBF", "RandomTree", "Mixed", "Sine", "SEA", "Agrawal", "Hyperplane", "Waveform", "LED", "STAGGER"
)  # fmt: skip
INITIAL, LONG = 200, 6000  # samples of a generator's stream at its start, and in all
FEW_HEAD = ("rule", *GENERATORS, "mean", "mean, N = 100·λ")
HEAD = ("rule", "N = 50", "soon", "swap", "N = 100·λ", "soon", "swap", "clouds", "soon", "calm")


def variants(rule: Rule, **settings: Any) -> dict[str, Rule]:
    """Return the rule with one setting changed at a time, by name; a setting has a list of values."""
    return {f"{name} {value}": replace(rule, **{name: value}) for name, values in settings.items() for value in values}


def without(rule: Rule, *experts: str) -> Rule:
    """Return the rule without some experts."""
    return replace(rule, experts=tuple(one for one in rule.experts if one not in experts))


def plus(rule: Rule, *experts: str) -> Rule:
    """Return the rule with more experts."""
    return replace(rule, experts=(*rule.experts, *experts))


EQUAL = replace(FIRST, power=0)
EQUAL_VOTES = replace(CHOSEN, power=0)
RENAMED = ("r", "r v1", "r v2")
ALL_NEW = Rule(("A", "v0", "v1", "v2", "A v0", *RENAMED), power=2)
LAYER = Rule(("A", "A v0", *RENAMED), power=2)
ONE_SETTING: dict[str, Any] = {
    "step": [0.25, 0.75],
    "sharpness": [3.0, 8.0],
    "bias_step": [0.01, 0.2],
    "least_averaging": [0.005, 0.02],
    "discount": [0.95, 0.99],
    "floor": [0.005, 0.05],
    "layer_floor": [0.05],
    "vote_floor": [0.05, 0.5],
    "k": [3, 7, 9],
    "windows": [(1, 2, 8), (1, 8, 16)],
    "push_below": [0.9],
}


@dataclass(frozen=True)
class Stage:
    """Part of the search: rules, and how many sets of words there are for each λ."""

    title: str
    seeds: int
    rules: dict[str, Rule]


STAGES = (
    Stage("The first rule and its variants", 1, {
        "the first rule": FIRST,
        **variants(FIRST, **ONE_SETTING, power=[0, 1, 4]),
        "without F alone": without(FIRST, "F"),
        "without products with F": without(FIRST, "F v1", "F v2"),
        "without F": without(FIRST, "F", "F v1", "F v2"),
        "without votes alone": without(FIRST, "v0", "v1", "v2"),
        "without products": without(FIRST, "A v0", "F v1", "F v2"),
        "without the newest sixteenth": without(FIRST, "v2", "F v2"),
        "A and its product": replace(FIRST, experts=("A", "A v0")),
    }),
    Stage("Its most promising variants", 2, {
        "the first rule": FIRST,
        "equal votes": EQUAL,
        "equal votes, k 7": replace(EQUAL, k=7),
        "equal votes, k 9": replace(EQUAL, k=9),
        "equal votes, without F alone": without(EQUAL, "F"),
        "equal votes, without products with F": without(EQUAL, "F v1", "F v2"),
    }),
    Stage("With the confusion matrix", 2, {
        "A, v0, v1, v2, A v0, r, r v1, r v2": ALL_NEW,
        "A, A v0, r, r v1, r v2": LAYER,
        "the same, equal votes": replace(LAYER, power=0),
        "fewer experts: A, v0, A v0, r, r v1, r v2, equal votes": EQUAL_VOTES,
        "fewer experts, k 7": replace(EQUAL_VOTES, k=7),
        "fewer experts, discount 0.96": replace(EQUAL_VOTES, discount=0.96),
    }),
    Stage("Variants with fewer experts", 1, {
        "fewer experts": EQUAL_VOTES,
        **{f"fewer, {name}": rule for name, rule in variants(
            EQUAL_VOTES, **ONE_SETTING, confusion_step=[0.1, 0.3, 0.5], power=[1, 2],
        ).items()},
        "fewer, A alone is renamed": replace(EQUAL_VOTES, renamed="A"),
        "fewer, without A alone": without(EQUAL_VOTES, "A"),
        "fewer, without v0 alone": without(EQUAL_VOTES, "v0"),
        "fewer, without both alone": without(EQUAL_VOTES, "A", "v0"),
        "fewer, without the newest sixteenth": without(EQUAL_VOTES, "r v2"),
        "fewer, without the newest quarter": without(EQUAL_VOTES, "r v1"),
        "fewer, without renamed experts": without(EQUAL_VOTES, *RENAMED),
        "fewer, without the confusion matrix": replace(EQUAL_VOTES, confusion_step=0.0),
        "fewer, with F": plus(EQUAL_VOTES, "F"),
        "fewer, with v2": plus(EQUAL_VOTES, "v2"),
    }),
    Stage("Votes by distance", 2, {
        "fewer experts, equal votes": EQUAL_VOTES,
        "**the chosen rule**: votes 1/distance": CHOSEN,
        "votes 1/squared distance": replace(CHOSEN, power=2),
    }),
)  # fmt: skip


FEW_RULES = {
    "equal votes, few features": EQUAL_VOTES,
    "equal votes, k 3, few features": replace(EQUAL_VOTES, k=3),
    "**the chosen rule**, few features": CHOSEN,
    "votes 1/squared distance, few features": replace(CHOSEN, power=2),
}


@dataclass(frozen=True)
class Sample:
    """Stream of the development data: initial samples, samples with class codes 0, 1, …, and where it changes."""

    X0: NDArray
    y0: NDArray
    X: NDArray
    y: NDArray
    changes: tuple[int, ...]
    classes: int
    scenario: str


def speech(seeds: int) -> list[Sample]:
    """Return streams of the words for development: `seeds` sets of words for each λ, in each scenario."""
    found = []
    for classes in CLASSES:
        dealt = hands(sorted(TUNING), classes + 1)
        for seed in range(seeds):
            hand = next(dealt)
            for scenario, changed in SCENARIOS.items():
                one = Experiment("speech", hand[:-1], new=hand[-1], seed=seed, per_class=SAMPLES, **changed).stream()
                _, codes = np.unique(np.concatenate([one.y0, one.y]), return_inverse=True)
                n = len(one.y0)
                found.append(Sample(one.X0, codes[:n], one.X, codes[n:], one.changes, classes, scenario))
    return found


def few_features() -> dict[str, Sample]:
    """Return streams of river's generators without a change, by name."""
    found = {}
    for name in GENERATORS:
        one = Experiment(f"river:{name}", seed=1, initial=INITIAL, samples=LONG).stream()
        _, codes = np.unique(np.concatenate([one.y0, one.y]), return_inverse=True)
        n = len(one.y0)
        found[name] = Sample(one.X0, codes[:n], one.X, codes[n:], (), int(codes.max()) + 1, "none")
    return found


def clouds() -> list[Sample]:
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
        found.append(Sample(X0.astype(np.float32), y0, X.astype(np.float32), y, (n // 2,), classes, "swap"))
    return found


def measure(rule: Rule, streams: list[Sample], size: int) -> tuple[float, float, float]:
    """Return the mean accuracy over all samples, in the SOON samples after each change, and in those after a swap.

    `size` is the budget in samples of 4 d + 8 bytes; 0 is 100·λ.
    """
    overall, soon, swap = [], [], []
    for one in streams:
        budget = (size or PER_CLASS * one.classes) * sample_bytes(one.X.shape[1])
        hits = rule.run(one.X0, one.y0, one.X, one.y, budget) == one.y
        overall.append(hits.mean())
        after = [hits[change : change + SOON].mean() for change in one.changes]
        soon += after
        swap += after if one.scenario == "swap" else []
    return tuple(float(np.mean(values)) if values else math.nan for values in (overall, soon, swap))


def row(rule: Rule, words: list[Sample], points: list[Sample]) -> list[float]:
    """Return the measures of a rule in the order of HEAD; "calm" is the clouds before the swap."""
    calm = [replace(one, X=one.X[: one.changes[0]], y=one.y[: one.changes[0]]) for one in points]
    before = [
        rule.run(one.X0, one.y0, one.X, one.y, PER_CLASS * one.classes * sample_bytes(2)) == one.y for one in calm
    ]
    steady = float(np.mean([hits.mean() for hits in before]))
    return [*measure(rule, words, SMALL), *measure(rule, words, 0), *measure(rule, points, 0)[:2], steady]


def few_row(rule: Rule, streams: list[Sample]) -> list[float]:
    """Return the accuracies of a rule on the streams of `few_features` in the order of FEW_HEAD."""
    small, large = ([measure(rule, [one], size)[0] for one in streams] for size in (SMALL, 0))
    return [*small, float(np.mean(small)), float(np.mean(large))]


def about() -> str:
    """Return the head of the document: command, data and measures."""
    return f"""\
# The search for Tandem's rule
Written by `python -m benchmarks.tune_tandem --out docs/tandem-search.md`. `tandem.md` says what was concluded.

Development data: the words {", ".join(sorted(TUNING))} of the
synthetic speech, and {CLOUDS} streams of overlapping Gaussian classes with 2 features (clouds) that swap half-way. Each
stream has {SAMPLES} samples of each class; λ = 2, 3, 5; the words have the six scenarios of `tmlcd equal-bytes`. What
that command reports on (the other half of the words, digits, points, folders) is not used here.

Accuracy over all samples; “soon” in the {SOON} samples after each change; “swap” in those after a swap of two labels;
“calm” is the clouds before it. N is the budget in samples of 4 d + 8 bytes, with all parts counted; 100·λ for the
clouds. F and A are the layers, v0, v1, v2 the votes of all rows and of the newest ones, r is A v0 renamed by the
confusion matrix; the other settings are those of `benchmarks/tandem_rules.py`. The last table has streams of river's
generators (seed 1, {LONG:,} samples, {INITIAL} of them initial), N = 50 unless it says 100·λ.
"""


def document(only: list[str]) -> Iterator[str]:
    """Yield the lines of the document, with the rules of these names, or all of them."""
    points = clouds()
    yield from about().splitlines()
    for stage in STAGES:
        rules = {name: rule for name, rule in stage.rules.items() if not only or name in only}
        if rules:
            words = speech(stage.seeds)
            sets = "one set of words" if stage.seeds == 1 else f"{stage.seeds} sets of words"
            yield from ("", f"## {stage.title}", f"Rules: {len(rules)}; {sets} for each λ.", "")
            yield from (f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD))
            for name, rule in rules.items():
                yield line_of(name, row(rule, words, points))
    rules = {name: rule for name, rule in FEW_RULES.items() if not only or name in only}
    if rules:
        streams = list(few_features().values())
        yield from ("", "## Streams with few features", "", f"| {' | '.join(FEW_HEAD)} |", "|" + "---|" * len(FEW_HEAD))
        for name, rule in rules.items():
            yield line_of(name, few_row(rule, streams))


def line_of(name: str, values: list[float]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="RULE", help="some of the rules (default: all)")
    parser.add_argument("--out", type=Path, help="file to write")
    options = parser.parse_args()
    known = {name for stage in STAGES for name in stage.rules} | set(FEW_RULES)
    if unknown := set(options.only) - known:
        parser.error(f"no rule {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    lines = []
    for line in document(options.only):
        print(line, flush=True)
        lines.append(line)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
