"""Stream length for data with fewer samples than requested: which classes are drawn, and how long the stream is.

The rule depends on the sample counts only, not on the seed, so that all runs of an experiment have the same length:

1. Named classes always take part. The others are drawn from the classes that have at least `SHARE` of the samples that
   the largest classes have, or of the requested number.
2. If a class has fewer samples than the run needs, at most a fifth of them are initial training samples, and the stream
   is as long as the rest allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.streams.drifts import DriftDetails, add_drift
from tmlcd_core.streams.scenario import Scenario
from tmlcd_core.streams.stream import order_labels

SHARE = 0.9  # of the samples of the largest classes; smaller classes are not drawn
INITIAL = 5  # if a class is too small, 1 of INITIAL samples is used for initial training
FEWEST = 2  # samples per class of a stream, so that a change lies inside it
DRAWN = ""  # key of all classes that are drawn


class FittedScenario(NamedTuple):
    """Scenario of one run; if it is shorter than requested, `fewest` is the limiting class and `samples` its count."""

    scenario: Scenario
    fewest: str = ""
    samples: int = 0


def samples_needed(scenario: Scenario) -> dict[str, int]:
    """Return the maximum number of samples that a run needs, over all seeds, by class; drawn classes have the key "".

    >>> from tmlcd_core.streams.drifts import make_scenario
    >>> samples_needed(make_scenario("class-change", 2, per_class=40, train=10, words=["yes"]))
    {'yes': 30, '': 50}
    """
    named = scenario.names
    if scenario.is_open:
        names = [*named, *(f"{DRAWN}{i}" for i in range(scenario.classes_needed))]
        scenario = scenario.complete(list(dict.fromkeys(names)), 0)
    concepts = scenario.concepts()
    needed: dict[str, int] = {}
    for word in scenario.names:
        total = scenario.train if word in concepts[0] else 0
        for begin, end in pairwise([0, *scenario.changes, scenario.length]):
            there = _concepts_from(scenario, begin)
            sizes = [len(concepts[i]) for i in there if any(o.word == word for o in concepts[i].values())]
            if sizes:
                total += -(-(end - begin) // min(sizes)) + len(there) - 1
        key = word if word in named else DRAWN
        needed[key] = max(total, needed.get(key, 0))
    return needed


def _concepts_from(scenario: Scenario, begin: int) -> list[int]:
    """Indices of the concepts that samples between `begin` and the next change may belong to."""
    started = [number for number, drift in enumerate(scenario.drifts, 1) if drift.at <= begin]
    newest = started[-1] if started else 0
    ramps = [number for number in started if scenario.drifts[number - 1].at == begin]
    if not any(scenario.drifts[number - 1].over for number in ramps):
        return [newest]
    return list(range(ramps[0] - 1, newest + 1))


def fitting_scenario(
    make: Callable[[int, int], Scenario], asked: tuple[int, int], counts: Mapping[str, int], name: str, seed: int
) -> FittedScenario:
    """Draw the classes of a run and choose its length: as requested, or the longest that the data allow.

    Parameters
    ----------
    make : callable
        Function of stream samples and initial samples per class that returns a `Scenario`.
    asked : tuple of int
        The two arguments of `make`, as requested.
    counts : mapping
        Number of samples by class.
    name : str
        Name of the data, for error messages.
    seed : int
        Seed of the draw of classes.

    Returns
    -------
    FittedScenario
    """
    scenario = make(*asked)
    scenario.complete(list(counts), seed)  # raises an error that names a missing class
    needed = samples_needed(scenario)
    others = sorted((n for word, n in counts.items() if word not in needed), reverse=True)
    drawn = scenario.classes_needed - len(needed) + (DRAWN in needed)
    have = {word: counts[word] for word in needed if word != DRAWN}
    eligible = None
    if drawn:
        enough = SHARE * min(needed[DRAWN], others[drawn - 1])
        eligible = [word for word, n in counts.items() if word not in needed and n >= enough]
        have[DRAWN] = min(counts[word] for word in eligible)
    tight = min(
        have, key=lambda word: have[word] / needed[word] if needed[word] else math.inf
    )  # 0: a concept of no samples
    if have[tight] < needed[tight]:
        train = min(asked[1], max(1, have[tight] // INITIAL))
        per_class = _longest(lambda n: _fits(make(n, train), have), asked[0])
        fewest = tight or min(eligible or (), key=lambda word: counts[word])
        if per_class is None:
            raise DataError(
                f"{name} has {have[tight]} samples of {fewest!r}, too few for this drift: add samples to each class"
            )
        return FittedScenario(make(per_class, train).complete(list(counts), seed, eligible), fewest, have[tight])
    return FittedScenario(scenario.complete(list(counts), seed, eligible))


def fitting_addition(
    found: FittedScenario, drift: str, at: int, details: DriftDetails, counts: Mapping[str, int], seed: int
) -> FittedScenario:
    """Return the scenario with a drift added at sample `at` (`add_drift`), shorter if the data do not suffice.

    The length depends on the seed, because the samples before `at` are those that the seed has drawn.
    """
    scenario = found.scenario
    fewest = SHARE * min(counts[word] for word in scenario.concepts()[0])
    eligible = [word for word, n in counts.items() if n >= fewest]

    def longer(length: int) -> Scenario:
        undrawn = add_drift(scenario, drift, at, length, details)
        try:
            return undrawn.complete(list(counts), seed, eligible)
        except ConfigError:  # a small class is better than none; the stream gets shorter
            return undrawn.complete(list(counts), seed)

    def short(one: Scenario) -> list[str]:
        return [word for word, n in order_labels(one, seed).needed.items() if n > counts[word]]

    if not (lacking := short(longer(scenario.length))):
        return found._replace(scenario=longer(scenario.length))
    length = _longest(lambda n: not short(longer(n)), scenario.length, at + 1)
    if length is None:
        raise DataError(
            f"the data have no sample of {lacking[0]!r} left for the drift {drift!r} at sample {at}: "
            "choose another drift, or an earlier sample"
        )
    return FittedScenario(longer(length), lacking[0], counts[lacking[0]])


def _fits(scenario: Scenario, have: Mapping[str, int]) -> bool:
    needed = samples_needed(scenario)
    return all(needed[word] <= n for word, n in have.items())


def _longest(fits: Callable[[int], bool], asked: int, fewest: int = FEWEST) -> int | None:
    """Largest number up to `asked` that fits, by bisection; None if not even `fewest` fits."""
    low, high = min(asked, fewest), asked
    if not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
