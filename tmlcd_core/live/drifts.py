"""Drifts of a live session: instructions for the user, and which word is said for which."""

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
from tmlcd_core.live.expectations import CYCLE, expect
from tmlcd_core.validation import real_number

if TYPE_CHECKING:
    from tmlcd_core.live.session import LiveSession

COVERED = ("muffled", 0.7)  # effect and strength similar to a hand over the microphone: low-pass at 1 kHz
EVERY = 2  # answers: the changed word is said once in EVERY answers, since a rare change is detected late
FAULTS = tuple(name for name, effect in EFFECTS.items() if effect.kind == "audio")
MEANING_ONLY = ("swap", "rotate")  # drifts that change the meaning of words, not their sound
LIVE_DRIFTS = ("swap", "rotate", "class-change", "new-word", "cover", "speaker", "fault", "end")

Event = dict[str, Any]
Planned = tuple[Event, str, str]  # event, instruction, what was tried with the taught takes (may be empty)


def describe_drift(session: LiveSession, kind: str, what: Mapping[str, Any]) -> tuple[Event, Guide]:
    """Return the event of a drift, and its `Guide`; `what` are the arguments of the kind of drift."""
    plans: dict[str, Callable[..., Planned]] = {
        "swap": _swap,
        "rotate": _rotate,
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
        event, sentence, tried = plans[kind](session, **what)
    except TypeError as error:
        raise ConfigError(f"the drift {kind!r} does not take {dict(what)!r} ({error})") from error
    expectation, between = expect(session, event)
    return event, Guide(kind, sentence, f"{expectation} {tried}".strip(), between, tuple(named_words(event)))


def in_force(events: Sequence[Event], kind: str) -> list[Event]:
    """Return the active drifts of a kind, newest first: those after the last "end"."""
    drifts = (event for event in reversed(events) if event["do"] == "drift")
    return [event for event in takewhile(lambda event: event["kind"] != "end", drifts) if event["kind"] == kind]


def sound_changes(session: LiveSession) -> bool:
    """Return True if a drift in force changes the sound of words, so that takes may be far from all taught ones."""
    kinds = [kind for kind in LIVE_DRIFTS if kind not in (*MEANING_ONLY, "end")]
    return any(in_force(session.events, kind) for kind in kinds)


def named_words(event: Event) -> list[str]:
    """Return the words of the session that an event names."""
    return [event[key] for key in ("word", "old", *CYCLE) if key in event]


def spoken_for(session: LiveSession, word: str) -> str:
    """Return the word that is said for `word` while words have another meaning, else `word`."""
    for event in in_force(session.events, "class-change"):
        if event["old"] == word:
            return event["new"]
    for event in (*in_force(session.events, "swap"), *in_force(session.events, "rotate")):
        cycle = named_words(event)
        if word in cycle:
            return cycle[(cycle.index(word) + 1) % len(cycle)]
    return word


def word_to_ask(session: LiveSession, often: Sequence[str], started_at: int) -> str:
    """Return the next word to ask for: every second time since judged answer `started_at` one of `often`, in turn.

    Otherwise it is a random word.
    """
    turn, rest = divmod(session.judged - started_at, EVERY)
    if often and rest == 0:
        return often[turn % len(often)]
    rng = np.random.default_rng([session.seed, len(session.events)])
    return str(rng.choice(session.words))


def _swap(session: LiveSession, first: str, second: str) -> Planned:
    event = _cycle(session, "swap", (first, second))
    sentence = f"From now on “{first}” means “{second}”, and “{second}” means “{first}”."
    return event, f"{sentence} Say “{first}”, and select “{second}” as the correct answer, and the reverse.", ""


def _rotate(session: LiveSession, first: str, second: str, third: str) -> Planned:
    event = _cycle(session, "rotate", (first, second, third))
    sentence = f"From now on “{second}” means “{first}”, “{third}” means “{second}”, and “{first}” means “{third}”."
    return event, f"{sentence} Select the new meaning as the correct answer.", ""


def _cycle(session: LiveSession, kind: str, names: tuple[str, ...]) -> Event:
    for name in names:
        session._known(name)
    if len(set(names)) < len(names):
        raise ConfigError(f"{', '.join(map(repr, names))} repeat a word: choose {len(names)} different words")
    return {"do": "drift", "kind": kind, **dict(zip(CYCLE, names, strict=False))}


def _class_change(session: LiveSession, old: str, new: str) -> Planned:
    from tmlcd_core.live.session import clean_name

    session._known(old)
    new = clean_name(new)
    if new == old:
        raise ConfigError(f"{new!r} is the same word as {old!r}: choose another word")
    event = {"do": "drift", "kind": "class-change", "old": old, "new": new}
    sentence = f"From now on say “{new}” instead of “{old}”, every second time. The correct answer is still “{old}”."
    return event, sentence, ""


def _new_word(session: LiveSession, word: str) -> Planned:
    from tmlcd_core.live.session import clean_name

    name = clean_name(word)
    event = {"do": "drift", "kind": "new-word", "word": name}
    return event, f"From now on say “{name}” every second time, and select “{name}” as the correct answer.", ""


def _cover(session: LiveSession) -> Planned:
    sentence = "Cover the microphone with your hand, and continue to say the words."
    return {"do": "drift", "kind": "cover"}, sentence, _tried(session, *COVERED)


def _speaker(session: LiveSession) -> Planned:
    return {"do": "drift", "kind": "speaker"}, "From now on another person speaks.", ""


def _fault(session: LiveSession, effect: str, strength: float = 1.0) -> Planned:
    if effect not in FAULTS:
        raise ConfigError(f"there is no fault {effect!r}; there are {', '.join(FAULTS)}")
    strength = real_number("strength", strength, 0.0, 1.0)
    event = {"do": "drift", "kind": "fault", "effect": effect, "strength": strength}
    how = EFFECTS[effect].explanation
    sentence = f"From now on every take gets the effect “{effect}” with strength {strength:g}. {how}"
    return event, sentence, _tried(session, effect, strength)


def _end(session: LiveSession) -> Planned:
    return {"do": "drift", "kind": "end"}, "The drift has ended. Use the words and the microphone as at the start.", ""


def _tried(session: LiveSession, effect: str, strength: float) -> str:
    """Sentence on the leave-one-out predictions of the taught takes with an effect; cached; empty for one take."""
    taught = [(event["take"], event["word"]) for event in session.events if event["do"] == "teach"]
    if len(taught) < 2:
        return ""
    key = (session.extractor, session.settings.k, session.settings.weights, effect, strength, *taught)
    if key not in session._tried:
        session._tried[key] = _right_through(session, effect, strength, taught)
    return f"Your taught takes with the effect “{effect}”: {session._tried[key]} of {len(taught)} correct."


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
