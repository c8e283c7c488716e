"""Hostile session files: an error message, or a session that a page can show; nothing is computed before a refusal."""

from __future__ import annotations

import copy
import io
import itertools
import json
import zipfile
from collections import Counter
from hashlib import sha256

import numpy as np
import pytest

from tests.live.test_live_any_order import seen
from tests.support.hummed_words import take_of
from tmlcd_core import DataError
from tmlcd_core.features.voice import VoiceExtractor
from tmlcd_core.live import RANGES, LiveSession, LiveSettings
from tmlcd_core.live import settings as live_settings
from tmlcd_core.live.session import MOST_DRIFTS

RNG = np.random.default_rng(0)


def made() -> LiveSession:
    """Two words with two takes each, three judged answers, a word added, a drift of each kind of key."""
    session = LiveSession(["low", "rise"], "log-mel", settings=LiveSettings(batch=2, warmup=4, threshold=3.0))
    for word in ("low", "rise") * 2:
        session.teach(word, take_of(word, RNG))
    for word in ("low", "rise"):
        session.judge(session.say(take_of(word, RNG)).id, word)
    session.add_word("fall")
    session.teach("fall", take_of("fall", RNG))
    session.begin_drift("class-change", old="low", new="high")
    session.judge(session.say(take_of("high", RNG)).id, "low")
    session.begin_drift("fault", effect="echo", strength=0.5)
    session.say(take_of("fall", RNG))
    return session


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(made().save())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes], log: object) -> bytes:
    """The session file with another log, digest included."""
    text = log if isinstance(log, bytes) else json.dumps(log).encode()
    names = set(log.get("takes") or ()) if isinstance(log, dict) and isinstance(log.get("takes"), dict) else None
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr("session.json", text)
        archive.writestr("session.sha256", sha256(text).hexdigest())
        for name, sound in files.items():
            if name.endswith(".wav") and (names is None or name[6:-4] in names):
                archive.writestr(name, sound)
    return out.getvalue()


@pytest.fixture
def computed(monkeypatch) -> Counter[str]:
    """How often something slow was computed."""
    counts: Counter[str] = Counter()

    def counted(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def count(*args, **kwargs):
            counts[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, count)

    counted(live_settings, "calibrate_threshold")
    counted(live_settings, "simulate_statistic")
    counted(VoiceExtractor, "transform")
    return counts


def refusal(data: bytes, computed: Counter[str]) -> str | None:
    """The message with which a file is refused, or None if it opens as a session that a page can show."""
    computed.clear()
    try:
        session = LiveSession.open(data)
    except DataError as error:
        assert not computed, "nothing is computed of a file that is refused"
        message = str(error)
        assert len(message) < 400 and "\n" not in message and message.encode()
        return message
    assert not computed, "opening computes nothing"
    for name, (low, high) in RANGES.items():
        value = getattr(session.settings, name)
        assert value in (None, "sqrt") or low <= value <= high
    assert LiveSession.open(session.save()).save() == session.save()
    seen(session)
    return None


def with_settings(log: dict, **changed: object) -> dict:
    return log | {"settings": log["settings"] | {"threshold": None} | changed}


def with_take(log: dict, **changed: object) -> dict:
    return log | {"takes": log["takes"] | {"t1": log["takes"]["t1"] | changed}}


def with_remark(log: dict, remark: object) -> dict:
    return with_take(log, remarks=[remark])


def only_new_words(log: dict) -> dict:
    events = [{"do": "drift", "kind": "new-word", "word": word} for word in log["words"]]
    events += [event for event in log["events"] if event["do"] in ("say", "judge")]
    used = {event.get("take") for event in events}
    return log | {"events": events, "takes": {name: about for name, about in log["takes"].items() if name in used}}


def judged_first(log: dict) -> dict:
    return log | {"events": sorted(log["events"], key=lambda event: event["do"] == "teach")}


def with_event(log: dict, **event: object) -> dict:
    return log | {"events": [*log["events"], event]}


HARDENING = {
    "a calibration of minutes": lambda log: with_settings(log, horizon=671, batch=1, false_alarms=0.001),
    "a calibration of gigabytes": lambda log: with_settings(log, horizon=10_000, batch=1),
    "a threshold of 401 digits": lambda log: with_settings(log, threshold=10**400),
    "a batch of 401 digits": lambda log: with_settings(log, batch=10**400),
    "an infinite threshold": lambda log: with_settings(log, threshold=float("inf")),
    "a start that is no number": lambda log: with_take(log, start=float("nan")),
    "taught after the judgements": judged_first,
    "a remark that is no text": lambda log: with_remark(log, "\ud800"),
    "a remark of a number": lambda log: with_remark(log, 7),
    "null words": lambda log: log | {"words": [None, None]},
    "an event about null": lambda log: with_event(log, do="word", word=None),
    "a null take": lambda log: with_event(log, do="say", take=None),
    "a setting named by a surrogate": lambda log: with_settings(log, **{"\ud800": 1}),
    "a take named by a surrogate": lambda log: log | {"takes": {**log["takes"], "\ud800": {}}},
    "a word of a megabyte": lambda log: log | {"words": ["a" * 900_000, "b"]},
    "too many drifts": lambda log: log | {"events": log["events"] + [{"do": "drift", "kind": "end"}] * MOST_DRIFTS},
    "a word added twice": lambda log: with_event(log, do="word", word="fall"),
    "a change of nothing": lambda log: with_event(log, do="drift", kind="class-change", old="low", new="low"),
    "a swap with itself": lambda log: with_event(log, do="drift", kind="swap", first="low", second="low"),
    "a swap with an unknown word": lambda log: with_event(log, do="drift", kind="swap", first="low", second="none"),
    "no lessons but new words": only_new_words,
}  # fmt: skip


@pytest.mark.parametrize("what", HARDENING)
def test_a_file_that_the_page_could_not_have_written_is_refused_before_anything_is_computed(files, computed, what):
    log = json.loads(files["session.json"])
    assert refusal(packed(files, log), computed) is None, "as it was, it opens"
    assert refusal(packed(files, HARDENING[what](log)), computed) is not None


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 900_000,
        b'{"a":' * 180_000,
        b'"\\"' + b'\\"' * 400_000,  # a string without an end
        b"1" * 900_000,
        b'{"format": Infinity}',
        "[[[[[]]]]]".encode("utf-16"),
        b"null",
        b"",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_log_that_is_no_log_is_refused(files, computed, text):
    assert refusal(packed(files, text), computed) is not None


def paths(value: object, path: tuple = ()) -> list[tuple]:
    """Every place of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *itertools.chain.from_iterable(paths(item, (*path, key)) for key, item in items)]


def replaced(log: dict, path: tuple, value: object) -> object:
    if not path:
        return value
    changed = copy.deepcopy(log)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


GONE = object()
VALUES = [
    None, True, -1, 0, 3, 2**70, 10**400, 0.5, 1e308, float("inf"), float("nan"), "", "low", "\ud800", "t1", "sqrt",
    "\0", "a" * 5000, [], {}, ["low"], {"do": "teach"}, [[[[[]]]]], GONE,
]  # fmt: skip


def test_any_value_in_any_place_is_refused_or_harmless(files, computed):
    log = json.loads(files["session.json"])
    refused = opened = 0
    for path in paths(log):
        for value in VALUES if path else VALUES[:-1]:
            if refusal(packed(files, replaced(log, path, value)), computed) is None:
                opened += 1
            else:
                refused += 1
    assert refused > 2_000 and opened > 50, (refused, opened)


def test_events_in_any_order_are_refused_or_harmless(files, computed):
    log = json.loads(files["session.json"])
    rng = np.random.default_rng(1)
    outcomes = Counter()
    for _ in range(150):
        order = rng.permutation(len(log["events"])).tolist()
        if rng.random() < 0.5:  # nearly as it was
            order = list(range(len(order)))
            a, b = rng.integers(0, len(order), 2)
            order[a], order[b] = order[b], order[a]
        shuffled = log | {"events": [log["events"][i] for i in order]}
        outcomes[refusal(packed(files, shuffled), computed) is None] += 1
    assert outcomes[True] > 10 and outcomes[False] > 50
