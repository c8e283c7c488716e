"""What a learner made of the true changes of a stream: detection delay, false alarms and recovery.

The only place with these rules: `evaluate`, the player's table, the command line and the notebooks all ask `judge`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.metrics import TAPS, accuracy_curve

RECOVERED = 0.95  # share of the accuracy before the change at which a learner counts as recovered


@dataclass(frozen=True)
class ChangeOutcome:
    """One true change as one learner met it; sample numbers count from 0.

    Parameters
    ----------
    change, end
        First sample of the new concept, and the first from which on it is alone (`end == change`: abrupt).
    stop
        First sample of the next change, or the length of the stream.
    detection
        Number of the alarm that detects the change: the first one in `change <= alarm < stop`. None: missed.
    delay
        Samples from the change to that alarm.
    fell
        First sample at which the accuracy over the last 100 was below the level of recovery; None if it never was.
    back
        First sample after it at which that accuracy, all 100 after `end`, was at the level again; None if it never was.
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
        """First sample whose last 100 are all of the new concept alone."""
        return self.end + TAPS - 1

    @property
    def recovery(self) -> float:
        """Samples until the learner recovered: 0 if its accuracy did not fall; nan if it never did or nobody can tell.

        They count from the change. An accuracy that falls only after 100 samples of the new concept alone does so for
        another reason (by chance, or because an alarm made the learner forget): then they count from the fall.
        """
        if self.fell is None:
            return 0.0 if self.alone < self.stop else math.nan
        if self.back is None:
            return math.nan
        since = self.change if self.fell <= self.alone else self.fell
        return self.back - since + 1.0

    @property
    def unrecovered(self) -> bool:
        """Whether the accuracy fell and was not back before the next change or the end."""
        return self.fell is not None and self.back is None


@dataclass(frozen=True)
class Judgement:
    """The alarms of one learner, and its outcome at every change.

    Parameters
    ----------
    alarms
        Samples at which an alarm was raised.
    false
        Those that neither detect a change nor come while one goes on.
    outcomes
        One for each change.
    """

    alarms: tuple[int, ...]
    false: tuple[int, ...]
    outcomes: tuple[ChangeOutcome, ...]

    @property
    def delay(self) -> float:
        """Mean over the detected changes; nan if none is."""
        return mean([outcome.delay for outcome in self.outcomes if outcome.delay is not None])

    @property
    def missed(self) -> int:
        return sum(outcome.detection is None for outcome in self.outcomes)

    @property
    def recovery(self) -> float:
        """Mean over the changes from which the learner recovered; nan if there is none."""
        found = [outcome.recovery for outcome in self.outcomes]
        return mean([samples for samples in found if not math.isnan(samples)])

    @property
    def unrecovered(self) -> int:
        return sum(outcome.unrecovered for outcome in self.outcomes)

    def until(self, sample: int) -> Judgement:
        """What is known at a sample: the judgement of the run up to and including it."""

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
        """The samples at which anything of `until` changes, in order, the first sample among them."""
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
    """Judge a learner's alarms and accuracy by the true changes of the stream.

    The level of recovery is 95 % of the accuracy of the concept before the change.

    Parameters
    ----------
    correct
        Shape (n,): whether each sample was predicted right.
    alarms
        Samples at which the learner raised an alarm, in order.
    changes, ends
        First sample of each new concept, and from where on it is alone; the same unless given.

    Returns
    -------
    Judgement
        Alarms told apart, and for each change its delay and recovery.

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
    spans = zip(bounds[:-2], bounds[1:-1], changes if ends is None else ends, bounds[2:], strict=True)
    for before, change, end, stop in spans:
        outcome = ChangeOutcome(change, int(end), stop)
        found = [i for i, alarm in enumerate(raised) if change <= alarm < stop]
        if found:
            outcome = replace(outcome, detection=found[0], delay=raised[found[0]] - change)
            true |= {found[0], *(i for i in found if raised[i] < end)}
        level = RECOVERED * float(correct[before:change].mean())
        fell = _first(curve[:stop] < level, change)
        back = None if fell is None else _first(curve[:stop] >= level, max(fell, outcome.alone))
        outcomes.append(replace(outcome, fell=fell, back=back))
    false = tuple(alarm for i, alarm in enumerate(raised) if i not in true)
    return Judgement(raised, false, tuple(outcomes))


def mean(values: ArrayLike) -> float:
    """The mean; nan of nothing."""
    array = np.asarray(values, np.float64)
    return float(array.mean()) if array.size else math.nan


def _first(where: NDArray[np.bool_], begin: int) -> int | None:
    """Index of the first True from `begin` on."""
    found = np.flatnonzero(where[begin:])
    return begin + int(found[0]) if len(found) else None


def _up_to(samples: Sequence[int], last: int) -> tuple[int, ...]:
    return tuple(sample for sample in samples if sample <= last)
