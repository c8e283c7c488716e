"""The one rule for data that are fewer than asked for: which classes are drawn, and how long the stream is.

The rule looks at counts alone, not at the seed, so that the runs of an experiment are equally long:

1. Classes that are named take part. The others are drawn from those that have at least `SHARE` of what the best choice
   would offer, or of what is asked for.
2. Where a class has less than the run takes, a fifth of it at most is used to begin with, and the stream is the longest
   that the rest allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from tmlcd_core.errors import DataError
from tmlcd_core.streams.scenario import Scenario

SHARE = 0.9  # of what the best choice of classes offers; classes with less are not drawn
INITIAL = 5  # one in so many samples of a class is used to begin with, where there are too few
FEWEST = 2  # samples per class of a stream: a change lies within it
DRAWN = ""  # stands for any class that is drawn


class Fit(NamedTuple):
    """The scenario of one run, and where it is shorter than asked for the class that is to blame with its samples."""

    scenario: Scenario
    fewest: str = ""
    samples: int = 0


def samples_needed(scenario: Scenario) -> dict[str, int]:
    """The most samples of each named class of the data that a run can take, whatever the seed, and of any drawn one.

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
    """Numbers of the concepts of which samples may come from `begin` to the next change."""
    started = [number for number, drift in enumerate(scenario.drifts, 1) if drift.at <= begin]
    newest = started[-1] if started else 0
    ramps = [number for number in started if scenario.drifts[number - 1].at == begin]
    if not any(scenario.drifts[number - 1].over for number in ramps):
        return [newest]
    return list(range(ramps[0] - 1, newest + 1))


def fitting_scenario(
    make: Callable[[int, int], Scenario], asked: tuple[int, int], counts: Mapping[str, int], name: str, seed: int
) -> Fit:
    """Draw the classes of a run and find its length: as asked for, or what the data allow.

    Parameters
    ----------
    make : callable
        The scenario for samples per class and initial samples per class.
    asked : tuple of int
        These two, as asked for.
    counts : mapping
        Samples of each class of the data.
    name : str
        Of the data, for messages.
    seed : int
        Draws the classes.
    """
    scenario = make(*asked)
    scenario.complete(list(counts), seed)  # says which class is missing, if one is
    needed = samples_needed(scenario)
    others = sorted((n for word, n in counts.items() if word not in needed), reverse=True)
    drawn = scenario.classes_needed - len(needed) + (DRAWN in needed)
    have = {word: counts[word] for word in needed if word != DRAWN}
    eligible = None
    if drawn:
        enough = SHARE * min(needed[DRAWN], others[drawn - 1])
        eligible = [word for word, n in counts.items() if word not in needed and n >= enough]
        have[DRAWN] = min(counts[word] for word in eligible)
    tight = min(have, key=lambda word: have[word] / needed[word])
    if have[tight] < needed[tight]:
        train = min(asked[1], max(1, have[tight] // INITIAL))
        per_class = _longest(lambda n: _fits(make(n, train), have), asked[0])
        fewest = tight or min(eligible or (), key=lambda word: counts[word])
        if per_class is None:
            raise DataError(f"{name} has {have[tight]} of {fewest!r}, too few for this drift: give more of each class")
        return Fit(make(per_class, train).complete(list(counts), seed, eligible), fewest, have[tight])
    return Fit(scenario.complete(list(counts), seed, eligible))


def _fits(scenario: Scenario, have: Mapping[str, int]) -> bool:
    needed = samples_needed(scenario)
    return all(needed[word] <= n for word, n in have.items())


def _longest(fits: Callable[[int], bool], asked: int) -> int | None:
    """The largest number up to `asked` that fits, by halving; None if even the fewest of use do not."""
    low, high = min(asked, FEWEST), asked
    if not fits(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
