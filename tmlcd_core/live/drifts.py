"""Drifts of a live session: instructions for the user, and the expected detection delay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.features import EFFECTS
from tmlcd_core.features.voice import VOICE_RATE, Take, open_take
from tmlcd_core.features.voice.take import in_steps, restore_take
from tmlcd_core.knn import TinyKNN
from tmlcd_core.live.answers import Guide
from tmlcd_core.validation import real_number

if TYPE_CHECKING:
    from tmlcd_core.live.session import LiveSession

COVERED = ("muffled", 0.7)  # effect and strength that stand for a hand over the microphone: low-pass at 1 kHz
EVERY = 2  # answers: the changed word is said once in EVERY answers, since a rare change is detected late
HARMLESS = 0.08  # drop in accuracy; a smaller one is not expected to raise an alarm
FAULTS = tuple(name for name, effect in EFFECTS.items() if effect.kind == "audio")
LIVE_DRIFTS = ("class-change", "new-word", "cover", "speaker", "fault", "end")

Event = dict[str, Any]
Planned = tuple[Event, str, float, str]  # event, instruction, accuracy after, reason


def describe_drift(session: LiveSession, kind: str, what: Mapping[str, Any]) -> tuple[Event, Guide]:
    """Return the event of a drift, and its `Guide`; `what` are the arguments of the kind of drift."""
    plans: dict[str, Callable[..., Planned]] = {
        "class-change": _class_change,
        "new-word": _new_word,
        "cover": _cover,
        "speaker": _speaker,
        "fault": _fault,
        "end": _end,
    }
    if kind not in plans:
        raise ConfigError(f"there is no drift {kind!r}; there are {', '.join(LIVE_DRIFTS)}")
    try:
        event, sentence, after, why = plans[kind](session, **what)
    except TypeError as error:
        raise ConfigError(f"the drift {kind!r} does not take {dict(what)!r} ({error})") from error
    before = _accuracy_now(session)
    expectation, between = _expect(session, before, after, why)
    return event, Guide(kind, sentence, expectation, between, after, event.get("old") or event.get("word"))


def in_force(events: Sequence[Event], kind: str) -> list[Event]:
    """Return the active drifts of a kind, newest first: those after the last "end"."""
    drifts = (event for event in reversed(events) if event["do"] == "drift")
    return [event for event in takewhile(lambda event: event["kind"] != "end", drifts) if event["kind"] == kind]


def _class_change(session: LiveSession, old: str, new: str) -> Planned:
    from tmlcd_core.live.session import clean_name

    session._known(old)
    new = clean_name(new)
    if new == old:
        raise ConfigError(f"{new!r} is the same word as {old!r}: choose another word")
    event = {"do": "drift", "kind": "class-change", "old": old, "new": new}
    sentence = f"From now on say “{new}” instead of “{old}”, every second time. The correct answer is still “{old}”."
    after = _accuracy_now(session) * (1 - 1 / EVERY)
    return event, sentence, after, f"every second word is wrong, unless “{new}” is recognised as “{old}” from the start"


def _new_word(session: LiveSession, word: str) -> Planned:
    from tmlcd_core.live.session import clean_name

    name = clean_name(word)
    event = {"do": "drift", "kind": "new-word", "word": name}
    sentence = f"From now on say “{name}” every second time, and select “{name}” as the correct answer."
    after = _accuracy_now(session) * (1 - 1 / EVERY)
    return event, sentence, after, "every second word is unknown"


def _cover(session: LiveSession) -> Planned:
    event = {"do": "drift", "kind": "cover"}
    sentence = "Cover the microphone with your hand, and continue to say the words."
    after, tried = _accuracy_through(session, *COVERED)
    return event, sentence, after, f"estimated from the taught takes, muffled: {tried}"


def _speaker(session: LiveSession) -> Planned:
    event = {"do": "drift", "kind": "speaker"}
    sentence = "From now on another person speaks."
    after = (_accuracy_now(session) + 1 / len(session.words)) / 2
    return event, sentence, after, "assumed half-way to random guessing; it depends on how similar the two voices are"


def _fault(session: LiveSession, effect: str, strength: float = 1.0) -> Planned:
    if effect not in FAULTS:
        raise ConfigError(f"there is no fault {effect!r}; there are {', '.join(FAULTS)}")
    strength = real_number("strength", strength, 0.0, 1.0)
    event = {"do": "drift", "kind": "fault", "effect": effect, "strength": strength}
    how = EFFECTS[effect].explanation
    sentence = f"From now on every take gets the effect “{effect}” with strength {strength:g}. {how}"
    after, tried = _accuracy_through(session, effect, strength)
    return event, sentence, after, f"estimated from the taught takes with this effect: {tried}"


def _end(session: LiveSession) -> Planned:
    event = {"do": "drift", "kind": "end"}
    sentence = "The drift has ended. Use the words and the microphone as at the start."
    return event, sentence, _accuracy_now(session), "samples learned during the drift may be wrong now"


def _accuracy_now(session: LiveSession) -> float:
    """Accuracy before the change (v0) estimated by the test; before its warm-up, the accuracy of the settings."""
    if session.started:
        for name in session.learners:
            detector = session.model(name).detector_
            before = getattr(detector, "accuracy_before", np.nan)
            if np.isfinite(before):
                return float(before)
    return session.settings.accuracy


def _accuracy_through(session: LiveSession, effect: str, strength: float) -> tuple[float, str]:
    """Leave-one-out accuracy of the taught takes with an effect, and a text for the guide; cached."""
    taught = [(event["take"], event["word"]) for event in session.events if event["do"] == "teach"]
    if len(taught) < 2:
        return session.settings.accuracy, "too few takes"
    tried = (session.extractor, session.settings.k, session.settings.weights, effect, strength, *taught)
    if tried not in session._tried:
        session._tried[tried] = _right_through(session, effect, strength, taught)
    right = session._tried[tried]
    return right / len(taught), f"{right} of {len(taught)} correct"


def _right_through(session: LiveSession, effect: str, strength: float, taught: list[tuple[str, str]]) -> int:
    clean = np.stack([session._features(take) for take, _ in taught])
    faulty = [heard_through(session.takes[take], effect, strength, i) for i, (take, _) in enumerate(taught)]
    heard = session.voice.transform(faulty)
    words = np.array([word for _, word in taught])
    right = 0
    for i in range(len(taught)):
        others = np.arange(len(taught)) != i
        knn = TinyKNN(k=session.settings.k, weights=session.settings.weights).fit(clean[others], words[others])
        right += int(knn.predict(heard[i : i + 1])[0] == words[i])
    return right


def heard_through(take: Take, effect: str, strength: float, number: int, seed: int = 0) -> Take:
    """Return the take with an audio effect applied, like the recording of a faulty microphone."""
    changed = EFFECTS[effect](take.samples[None], strength, seed=seed, indices=[number], sample_rate=VOICE_RATE)[0]
    remark = f"heard through “{effect}”"
    try:
        heard = open_take((changed, VOICE_RATE))
    except AudioError:  # no word found: keep the take, so that the learners fail on it, not the recorder
        return restore_take(in_steps(changed), take.start, take.stop, (remark,))
    return restore_take(heard.samples, heard.start, heard.stop, (remark, *heard.remarks))


def _expect(session: LiveSession, before: float, after: float, why: str) -> tuple[str, tuple[int, int] | None]:
    watching = [name for name in session.learners if name != "cit"]
    if not watching:
        return "No alarm: Condensing-in-Time has no change-detection test. It only learns from its errors.", None
    reason = f"The accuracy is expected to change from about {before:.2f} to {after:.2f} ({why})."
    if after > before - HARMLESS:
        return f"{reason} This change is too small for an alarm.", None
    settings = session.settings
    if (waiting := settings.warmup - session.judged) > 0:
        text = f"End this drift, judge {waiting} more answers, and start it again."
        return f"Too early for an alarm: the test has not estimated the accuracy yet. {text}", None
    rest = (session.judged - settings.warmup) % settings.batch  # answers in the current batch
    delay = settings.delay(round(after, 2), round(before, 2))
    low, high = delay.usual[0], delay.usual[1] + (settings.batch if rest else 0)
    text = f"{reason} The alarm is expected {low} to {high} answers from now"
    if delay.missed >= 0.01:
        text += f"; in {delay.missed:.0%} of cases there is no alarm within {settings.horizon} answers"
    text += "."
    if "hybrid" in watching:
        text += " Hybrid also learns from every error, so it may recover before its test raises an alarm."
    return text, (low, high)
