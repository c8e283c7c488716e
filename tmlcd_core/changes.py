"""Change-detection metrics against the true changes of a stream: delay, false alarms and recovery.

All these metrics are computed here: `evaluate`, the player's table, the command line and the notebooks call `judge`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.metrics import TAPS, accuracy_curve

RECOVERED = 0.95  # share of the accuracy before the change at which a learner counts as recovered


@dataclass(frozen=True)
class ChangeOutcome:
    """Outcome of one true change for one learner; sample numbers count from 0.

    Parameters
    ----------
    change, end
        First sample of the new concept, and the first sample from which only the new concept occurs (`end == change`:
        abrupt change).
    stop
        First sample of the next change, or the length of the stream.
    detection
        Index of the alarm that detects the change: the first with `change <= alarm < stop`. None: missed.
    delay
        Samples from the change to that alarm.
    fell
        First sample at which the accuracy over the last 100 samples was below the recovery level; None if never.
    back
        First sample after `fell` at which the accuracy over the last 100 samples, all after `end`, reached the recovery
        level again; None if never.
    """

    change: int
    end: int
    stop: int
    detection: int | None = None
    delay: int | None = None
    fell: int | None = None
    back: int | None = None

    @property
    def alone(self) -> int:
        """First sample at which the last 100 samples all belong to the new concept."""
        return self.end + TAPS - 1

    @property
    def recovery(self) -> float:
        """Number of samples until the learner recovered: 0 if its accuracy did not fall, nan if unknown or never.

        They count from the change. If the accuracy falls only after 100 samples of the new concept, the change is not
        the cause (but chance, or an alarm that made the learner forget): then they count from the fall.
        """
        if self.fell is None:
            return 0.0 if self.alone < self.stop else math.nan
        if self.back is None:
            return math.nan
        since = self.change if self.fell <= self.alone else self.fell
        return self.back - since + 1.0

    @property
    def unrecovered(self) -> bool:
        """True if the accuracy fell and did not recover before the next change or the end."""
        return self.fell is not None and self.back is None


@dataclass(frozen=True)
class Judgement:
    """Alarms of one learner and its outcome for every change.

    Parameters
    ----------
    alarms
        Samples at which an alarm was raised.
    false
        False alarms: those that neither detect a change nor occur during one.
    outcomes
        One for each change.
    """

    alarms: tuple[int, ...]
    false: tuple[int, ...]
    outcomes: tuple[ChangeOutcome, ...]

    @property
    def delay(self) -> float:
        """Mean delay over the detected changes in samples; nan if none was detected."""
        return mean([outcome.delay for outcome in self.outcomes if outcome.delay is not None])

    @property
    def missed(self) -> int:
        """Number of changes without an alarm."""
        return sum(outcome.detection is None for outcome in self.outcomes)

    @property
    def recovery(self) -> float:
        """Mean recovery in samples over the changes from which the learner recovered; nan if there are none."""
        found = [outcome.recovery for outcome in self.outcomes]
        return mean([samples for samples in found if not math.isnan(samples)])

    @property
    def unrecovered(self) -> int:
        """Number of changes from which the learner did not recover."""
        return sum(outcome.unrecovered for outcome in self.outcomes)

    def until(self, sample: int) -> Judgement:
        """Return the judgement of the run up to and including `sample`."""

        def known(value: int | None) -> int | None:
            return value if value is not None and value <= sample else None

        outcomes = []
        for one in self.outcomes:
            if one.change > sample:
                break
            raised = one.delay is not None and one.change + one.delay <= sample
            outcomes.append(
                replace(
                    one,
                    stop=min(one.stop, sample + 1),
                    detection=one.detection if raised else None,
                    delay=one.delay if raised else None,
                    fell=known(one.fell),
                    back=known(one.back),
                )
            )
        return Judgement(_up_to(self.alarms, sample), _up_to(self.false, sample), tuple(outcomes))

    def events(self) -> list[int]:
        """Return the samples at which the result of `until` changes, in ascending order, including sample 0."""
        found: set[int | None] = {0, *self.alarms}
        for one in self.outcomes:
            found |= {one.change, one.fell, one.back, one.alone, one.stop - 1}
        last = self.outcomes[-1].stop if self.outcomes else math.inf
        return sorted(sample for sample in found if sample is not None and sample < last)


def judge(
    correct: ArrayLike,
    alarms: Iterable[int] = (),
    changes: Sequence[int] = (),
    ends: Sequence[int] | None = None,
) -> Judgement:
    """Evaluate a learner's alarms and accuracy against the true changes of the stream.

    The recovery level is 95 % of the accuracy on the concept before the change. If the learner did not recover from the
    change before, the level of that change stays: a learner that is as bad as before has not recovered.

    Parameters
    ----------
    correct
        Whether each sample was predicted correctly, bool (n,).
    alarms
        Samples at which the learner raised an alarm, in order.
    changes, ends
        First sample of each new concept, and the first sample from which only the new concept occurs; by default the
        same.

    Returns
    -------
    Judgement
        False alarms, and delay and recovery of each change.

    Examples
    --------
    >>> correct = np.ones(1000, bool)
    >>> correct[400:460] = False
    >>> found = judge(correct, alarms=[90, 449], changes=[400])
    >>> found.delay, found.recovery, found.false
    (49.0, 155.0, (90,))
    """
    correct = np.asarray(correct, bool)
    raised = tuple(int(alarm) for alarm in alarms)
    curve = accuracy_curve(correct)
    bounds = [0, *(int(change) for change in changes), len(correct)]
    outcomes: list[ChangeOutcome] = []
    true: set[int] = set()
    level = 0.0
    spans = zip(bounds[:-2], bounds[1:-1], changes if ends is None else ends, bounds[2:], strict=True)
    for before, change, end, stop in spans:
        outcome = ChangeOutcome(change, int(end), stop)
        found = [i for i, alarm in enumerate(raised) if change <= alarm < stop]
        if found:
            outcome = replace(outcome, detection=found[0], delay=raised[found[0]] - change)
            true |= {found[0], *(i for i in found if raised[i] < end)}
        if not (outcomes and outcomes[-1].unrecovered):
            level = RECOVERED * float(correct[before:change].mean())
        fell = _first(curve[:stop] < level, change)
        back = None if fell is None else _first(curve[:stop] >= level, max(fell, outcome.alone))
        outcomes.append(replace(outcome, fell=fell, back=back))
    false = tuple(alarm for i, alarm in enumerate(raised) if i not in true)
    return Judgement(raised, false, tuple(outcomes))


def agreements(alarms: Mapping[str, Iterable[int]], within: int = TAPS) -> list[tuple[int, tuple[str, ...]]]:
    """Return where several learners raise an alarm near each other: first sample, and the learners in order of alarm.

    Alarms form a group as long as each follows the one before within `within` samples. Without known changes, alarms
    of different learners at the same time are the best hint at a real change.

    >>> agreements({"active": [100, 900], "hybrid": [150, 2000], "cit": []})
    [(100, ('active', 'hybrid'))]
    """
    groups: list[list[tuple[int, str]]] = []
    for alarm in sorted((int(sample), name) for name, samples in alarms.items() for sample in samples):
        if groups and alarm[0] - groups[-1][-1][0] <= within:
            groups[-1].append(alarm)
        else:
            groups.append([alarm])
    found = [(group[0][0], tuple(dict.fromkeys(name for _, name in group))) for group in groups]
    return [(sample, names) for sample, names in found if len(names) > 1]


def mean(values: ArrayLike) -> float:
    """Return the mean of values (n,); nan if n is 0."""
    array = np.asarray(values, np.float64)
    return float(array.mean()) if array.size else math.nan


def _first(where: NDArray[np.bool_], begin: int) -> int | None:
    """Index of the first True from `begin` on; None if there is none."""
    found = np.flatnonzero(where[begin:])
    return begin + int(found[0]) if len(found) else None


def _up_to(samples: Sequence[int], last: int) -> tuple[int, ...]:
    return tuple(sample for sample in samples if sample <= last)
