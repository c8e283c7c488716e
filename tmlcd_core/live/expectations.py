"""Expected rates of alarms and of unknown words, measured with recorded voices."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tmlcd_core.features.voice import BEST_VOICE
from tmlcd_core.live.settings import LiveSettings
from tmlcd_core.shipped_data import PLACE

if TYPE_CHECKING:
    from tmlcd_core.live.session import LiveSession

FILE = PLACE / "live_drifts.json"  # written by `tmlcd live-drifts`
ANSWERS_FILE = PLACE / "live_answers.json"  # written by `tmlcd live-answers`
MOST_REFUSED, MOST_ACCEPTED = 0.05, 0.02  # of the taught words, and of others: above it the page warns
UNLIKELY, LIKELY = 0.2, 0.5  # share of sessions with an alarm below which none, and from which on one is expected
CYCLE = ("first", "second", "third")  # keys of the words that change places
CONTRADICTS = "a new word contradicts nothing that was learned, and one error is enough to learn it"
WHY = {"class-change": CONTRADICTS, "new-word": CONTRADICTS}  # reason for no alarm, by kind of drift
ANY_VOICE = "the network knows the words in any voice, so that another speaker is no drift for it"
FEW_ERRORS = "too few answers are wrong, and a learner that learns from every error soon has none"


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """Return the shipped table of `tmlcd live-drifts`: its settings, and `rows` by drift, extractor and takes."""
    return json.loads(FILE.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def measured_answers() -> dict[str, Any]:
    """Return the shipped table of `tmlcd live-answers`: its settings, and `rows` by extractor and takes."""
    return json.loads(ANSWERS_FILE.read_text(encoding="utf-8"))


def expect_unknown(session: LiveSession) -> str:
    """Return a warning if the session's extractor often mistakes known and unknown words, else an empty text."""
    rows = [row for row in measured_answers()["rows"] if row["extractor"] == session.extractor]
    takes = min(session.counts().values())
    fewer = [row for row in rows if row["takes"] <= takes]
    if not fewer or (fewer[-1]["refused"] <= MOST_REFUSED and fewer[-1]["accepted"] <= MOST_ACCEPTED):
        return ""
    row = fewer[-1]
    text = (
        f"With the extractor “{session.voice.title}” and {row['takes']} take{'s' * (row['takes'] > 1)} of each word, "
    )
    text += (
        f"{row['refused']:.0%} of the taught words were answered with “unknown”, and {row['accepted']:.0%} of other "
    )
    text += "words were not (measured with recorded voices)."
    return text + (" Teach more takes." if row is not rows[-1] else "")


def drift_name(event: dict[str, Any]) -> str:
    """Return the name of a drift in the table; a fault has its effect and, below 1, its strength in the name.

    >>> drift_name({"do": "drift", "kind": "fault", "effect": "babble", "strength": 1.0})
    'fault: babble'
    """
    if event["kind"] != "fault":
        return event["kind"]
    return f"fault: {event['effect']}" + ("" if event["strength"] == 1 else f" {event['strength']:g}")


def find_row(drift: str, extractor: str, takes: int) -> dict[str, Any] | None:
    """Return the row for a drift, an extractor and at most `takes` takes of a word; None if it was not measured."""
    rows = [row for row in measured()["rows"] if (row["drift"], row["extractor"]) == (drift, extractor)]
    fewer = [row for row in rows if row["takes"] <= takes] or rows[:1]
    return max(fewer, key=lambda row: row["takes"], default=None)


def expect(session: LiveSession, event: dict[str, Any]) -> tuple[str, tuple[int, int] | None]:
    """Return what to expect from a drift in sentences, and median and 80 % quantile of the answers until the alarm.

    The second value is None if no alarm is expected.
    """
    if event["kind"] == "end":
        return "Samples learned during the drift may be wrong now.", None
    watching = [name for name in session.learners if name != "cit"]
    if not watching:
        return "No alarm: Condensing-in-Time has no detector. It only learns from its errors.", None
    if (waiting := session.settings.warmup - session.judged) > 0:
        text = f"End this drift, judge {waiting} more answers, and start it again."
        return f"Too early for an alarm: the test has not estimated the accuracy yet. {text}", None
    taught = [count for count in session.counts().values() if count]
    row = find_row(drift_name(event), session.extractor, min(taught, default=0))
    if row is None:
        return "The rate of alarms was not measured for this change and this extractor.", None
    found = {name: row["learners"][name] for name in watching}
    takes = f"{row['takes']} take{'s' * (row['takes'] > 1)}"
    text = f"Measured in {row['sessions']} sessions with recorded voices ({measured()['words']} words, {takes} each): "
    text += "; ".join(_in_words(name, rates) for name, rates in found.items()) + "."
    if rare := [name.capitalize() for name, rates in found.items() if rates["alarms"] < UNLIKELY]:
        why = WHY.get(event["kind"], FEW_ERRORS)
        if (event["kind"], session.extractor) == ("speaker", BEST_VOICE):
            why = ANY_VOICE
        text += f" No alarm is expected from {' and '.join(rare)}: {why}."
    if session.settings != LiveSettings():
        text += " The figures are for the default settings; yours differ."
    first = max(found.values(), key=lambda rates: rates["alarms"])
    return text, (first["median"], first["most"]) if first["alarms"] >= LIKELY else None


def _in_words(name: str, rates: dict[str, Any]) -> str:
    text = f"{name.capitalize()} raised an alarm in {rates['alarms']:.0%} of them"
    if rates["alarms"] >= UNLIKELY:
        text += f", half of the alarms within {rates['median']} answers and 80 % within {rates['most']}"
    return text
