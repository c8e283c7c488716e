"""Story of a run in words: the change, and the reaction of each learner, as known at any sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tmlcd_core.changes import Judgement

Dropped = Mapping[int, tuple[int, int]]  # sample of an alarm -> samples that T lost, and samples that it held


@dataclass(frozen=True)
class Step:
    """Text of a story that is valid from sample `at` on: a sentence, and a clause for each learner ("" for none)."""

    at: int
    lead: str
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class Moment:
    """Moment to jump to: a "change", or an "alarm" or the recovery ("back") of learner number `learner`."""

    at: int
    kind: str
    learner: int | None
    text: str


def lead(change: int, end: int, text: str) -> str:
    """Return the sentence about a change.

    >>> lead(1750, 1750, "“yes” and “up” swapped"), lead(750, 1050, "noise started")
    ('At 1,750 “yes” and “up” swapped.', 'Between 750 and 1,050 noise started, step by step.')
    """
    text = text or "the world changed"
    return f"At {change:,} {text}." if end <= change else f"Between {change:,} and {end:,} {text}, step by step."


def clause(known: Judgement, tested: bool, over: bool, dropped: Dropped) -> str:
    """Return what one learner did about the last change, without its name.

    Parameters
    ----------
    known : Judgement
        The judgement up to a sample (`Judgement.until`).
    tested : bool
        True if the learner has a change-detection test.
    over : bool
        True if the concept of the last change ends at this sample: nothing more can happen.
    dropped : mapping
        Samples lost at each alarm.

    Examples
    --------
    >>> import numpy as np
    >>> from tmlcd_core.changes import judge
    >>> correct = np.ones(1000, bool)
    >>> correct[400:460] = False
    >>> found = judge(correct, alarms=[449], changes=[400])
    >>> clause(found.until(430), True, False, {})
    'has not recovered yet'
    >>> clause(found, True, True, {449: (121, 163)})
    'noticed after 49 samples, dropped 121 of 163 and was back at 554'
    >>> clause(judge(correct, alarms=[649], changes=[400]), True, True, {})
    'was back at 554 and noticed after 249 samples'
    """
    parts: list[str] = []
    if not known.outcomes:
        early = len(known.alarms)
        return f"raised {early} false alarm{'s' * (early > 1)}" if early else ""
    outcome = known.outcomes[-1]
    if outcome.detection is not None:
        parts.append(f"noticed after {outcome.delay:,} samples")
        lost, held = dropped.get(known.alarms[outcome.detection], (0, 0))
        if lost:
            parts.append(f"dropped {lost:,} of {held:,}")
    elif tested and over:
        parts.append("did not notice")
    later = sum(alarm >= outcome.change for alarm in known.false)
    if later:
        parts.append(f"raised {later} more alarm{'s' * (later > 1)}")
    if outcome.back is not None:
        early = outcome.delay is not None and outcome.back < outcome.change + outcome.delay
        parts.insert(0 if early else len(parts), f"was back at {outcome.back:,}")
    elif outcome.fell is not None:
        parts.append("never recovered" if over else "has not recovered yet")
    elif outcome.alone < outcome.stop:
        parts.append("did not fall")
    return _joined(parts)


def story(
    judged: Mapping[str, Judgement],
    tested: Sequence[str],
    texts: Sequence[str],
    dropped: Mapping[str, Dropped],
) -> list[Step]:
    """Return the story of a run in steps; between two steps the text does not change.

    Parameters
    ----------
    judged : mapping
        Judgement of each learner.
    tested : sequence of str
        Learners with a change-detection test.
    texts : sequence of str
        What changed at each change; may be empty.
    dropped : mapping
        Learner -> samples lost at each alarm.
    """
    steps: list[Step] = []
    for sample in sorted({event for one in judged.values() for event in one.events()}):
        sentence, clauses = "", []
        for name, one in judged.items():
            known = one.until(sample)
            over = bool(known.outcomes) and one.outcomes[len(known.outcomes) - 1].stop == sample + 1
            clauses.append(clause(known, name in tested, over, dropped.get(name, {})))
            if known.outcomes and not sentence:
                number = len(known.outcomes) - 1
                whole = one.outcomes[number]
                sentence = lead(whole.change, whole.end, texts[number] if number < len(texts) else "")
        step = Step(sample, sentence, tuple(clauses))
        if not steps or replace(steps[-1], at=sample) != step:
            steps.append(step)
    return steps


def moments(judged: Mapping[str, Judgement], texts: Sequence[str]) -> list[Moment]:
    """Return the moments of a run in the order of time: every change, every alarm, every recovery."""
    found: list[Moment] = []
    for number, one in enumerate(judged.values()):
        for place, outcome in enumerate(one.outcomes):
            if number == 0:
                text = texts[place] if place < len(texts) else ""
                found.append(Moment(outcome.change, "change", None, text))
            if outcome.back is not None:
                found.append(Moment(outcome.back, "back", number, ""))
        found += [Moment(alarm, "alarm", number, "") for alarm in one.alarms]
    return sorted(found, key=lambda moment: (moment.at, moment.learner is not None, moment.learner or 0))


def _joined(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
