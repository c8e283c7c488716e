"""A session on disk: a zip of one JSON text and 16-bit wavs, each with its digest. No pickle, nothing trusted."""

from __future__ import annotations

import hashlib
import io
import json
import re
import wave
import zipfile
import zlib
from typing import Any

import numpy as np

from tmlcd_core.errors import DataError, TmlcdError
from tmlcd_core.experiments.live.session import FEWEST_WORDS, MOST_TAKES, MOST_WORDS, Event, LiveSession, clean_name
from tmlcd_core.experiments.live.settings import LiveSettings
from tmlcd_core.features.voice import VOICE_RATE, Take, restore_take
from tmlcd_core.features.voice.take import FULL_SCALE, LONGEST_TAKE
from tmlcd_core.validation import real_number, whole_number

FORMAT, VERSION = "tmlcd-session", 1
LOG, DIGEST, SOUNDS = "session.json", "session.sha256", "takes/"
LARGEST_LOG = 2**20  # bytes
LARGEST_SOUND = round(2 * (LONGEST_TAKE + 1) * VOICE_RATE) + 4_096
LARGEST_FILE = 64 * 2**20
MOST_EVENTS = 20 * MOST_TAKES
KEYS: dict[str, tuple[str, ...]] = {  # of each kind of event, beside "do"
    "word": ("word",),
    "teach": ("take", "word"),
    "say": ("take",),
    "judge": ("take", "word"),
}
DRIFT_KEYS: dict[str, tuple[str, ...]] = {
    "class-change": ("old", "new"),
    "new-word": ("word",),
    "cover": (),
    "speaker": (),
    "fault": ("effect", "strength"),
    "end": (),
}
UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]')


def write_session(session: LiveSession) -> bytes:
    """The bytes of a session's file; the same session always gives the same."""
    takes = {
        name: {"start": take.start, "stop": take.stop, "remarks": take.remarks, "sha256": take.digest}
        for name, take in session.takes.items()
    }
    log = {
        "format": FORMAT,
        "version": VERSION,
        "words": session.words,
        "extractor": session.extractor,
        "learners": session.learners,
        "settings": session.settings.to_json(),
        "seed": session.seed,
        "number": session.number,
        "events": session.events,
        "takes": takes,
    }
    text = json.dumps(log, ensure_ascii=False, allow_nan=False).encode()
    files = {LOG: text, DIGEST: hashlib.sha256(text).hexdigest().encode()}
    files |= {f"{SOUNDS}{name}.wav": take.wav() for name, take in session.takes.items()}
    return _zip(files)


def read_session(data: bytes) -> LiveSession:
    """The session of these bytes, or a DataError in one sentence."""
    try:
        log, sounds = _unpack(data)
        return _restore(log, sounds)
    except DataError:
        raise
    except (TmlcdError, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise DataError(f"the session file was edited and makes no sense ({error}): take another copy") from error


def zip_takes(session: LiveSession) -> bytes:
    """Every take that has a word as a wav in the folder of that word."""
    folders: dict[str, str] = {}
    for word in session.words:
        name = UNSAFE.sub("-", word).lstrip("._ ").rstrip(". ") or "word"
        taken = {other.casefold() for other in folders.values()}
        number = 2
        plain = name
        while name.casefold() in taken:
            name, number = f"{plain}-{number}", number + 1
        folders[word] = name
    files = {f"{folders[word]}/{take}.wav": session.takes[take].wav() for take, word in session.labels().items()}
    if not files:
        raise DataError("there are no takes yet: record some first")
    return _zip(files, zipfile.ZIP_DEFLATED)


def _zip(files: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> bytes:
    """Not packed unless told: that saves a fifth of a noisy recording, and takes up to a second after every answer."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = packing
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The log and the sounds by take; sizes are looked at before anything is read."""
    if len(data) > LARGEST_FILE:
        raise DataError(f"{len(data) / 2**20:.0f} MB is no session file: those have at most {LARGEST_FILE >> 20}")
    if not data.startswith(b"PK"):
        raise DataError("this is no session file: choose one that the page Microphone has saved")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if LOG not in members or DIGEST not in members:
                raise DataError("this zip is no session file: choose one that the page Microphone has saved")
            if len(members) != len(archive.infolist()) or len(members) > MOST_TAKES + 2:
                raise DataError(f"the session file holds {len(archive.infolist())} parts, too many or some twice")
            text = _part(archive, members.pop(LOG), LARGEST_LOG)
            digest = _part(archive, members.pop(DIGEST), 64)
            if hashlib.sha256(text).hexdigest().encode() != digest:
                raise DataError("the session file was edited or damaged: its digest does not match; take another copy")
            log = json.loads(text)
            if not isinstance(log, dict) or log.get("format") != FORMAT:
                raise DataError("this zip is no session file: choose one that the page Microphone has saved")
            if log.get("version") != VERSION:
                raise DataError(f"the session file is of version {log.get('version')!r}; this program reads {VERSION}")
            wanted = {f"{SOUNDS}{name}.wav": name for name in log["takes"]}
            if set(members) != set(wanted):
                odd = sorted(set(members) ^ set(wanted))[0]
                raise DataError(f"the session file is not whole: {odd!r} is missing or too many; take another copy")
            return log, {wanted[name]: _part(archive, member, LARGEST_SOUND) for name, member in members.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        raise DataError(f"the session file is damaged or was cut ({error}): take another copy") from error


def _part(archive: zipfile.ZipFile, member: zipfile.ZipInfo, largest: int) -> bytes:
    if member.file_size > largest or member.flag_bits & 1 or member.compress_type not in (0, zipfile.ZIP_DEFLATED):
        raise DataError(f"{member.filename!r} in the session file is too large or packed in an unusual way")
    with archive.open(member) as part:
        content = part.read(largest + 1)
    if len(content) > largest:
        raise DataError(f"{member.filename!r} in the session file is larger than it says: take another copy")
    return content


def _restore(log: dict[str, Any], sounds: dict[str, bytes]) -> LiveSession:
    words = [clean_name(word) for word in log["words"]]
    if words != log["words"] or not FEWEST_WORDS <= len(words) <= MOST_WORDS:
        raise DataError(f"the session file names the words {log['words']!r}, which no session has")
    settings = LiveSettings(**log["settings"])
    seed = whole_number("seed", log["seed"], 0, 2**32)
    session = LiveSession(words, log["extractor"], log["learners"], settings, seed)
    for name, about in log["takes"].items():
        if not re.fullmatch(r"t[1-9][0-9]{0,6}", name):
            raise DataError(f"the session file has a take called {name!r}")
        session.takes[name] = _take(name, sounds[name], about)
    session.number = whole_number("number", log["number"], max((int(name[1:]) for name in sounds), default=0), 10**7)
    session.events = _events(log["events"], session)
    return session


def _take(name: str, sound: bytes, about: dict[str, Any]) -> Take:
    try:
        with wave.open(io.BytesIO(sound)) as file:
            if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, VOICE_RATE):
                raise DataError(f"take {name} is not mono, 16 bit, {VOICE_RATE} Hz: take another copy of the file")
            steps = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    except (wave.Error, EOFError) as error:
        raise DataError(f"take {name} is damaged ({error}): take another copy of the session file") from error
    seconds = len(steps) / VOICE_RATE
    start = real_number("start", about["start"], 0.0, seconds)
    stop = real_number("stop", about["stop"], start, seconds + 0.05)
    remarks = tuple(str(remark)[:200] for remark in about["remarks"][:10])
    take = restore_take((steps / FULL_SCALE).astype(np.float32), start, stop, remarks)
    if take.digest != about["sha256"] or stop <= start:
        raise DataError(f"take {name} was changed: its digest does not match; take another copy of the session file")
    return take


def _events(events: Any, session: LiveSession) -> list[Event]:
    """The events, each with its own keys, in an order in which they can have happened."""
    if not isinstance(events, list) or len(events) > MOST_EVENTS:
        raise DataError("the session file has no list of events, or too long a one")
    done: dict[str, set[str]] = {name: set() for name in session.takes}
    clean: list[Event] = []
    for number, event in enumerate(events):
        do = event["do"]
        keys = ("kind", *DRIFT_KEYS[event["kind"]]) if do == "drift" else KEYS[do]
        if set(event) != {"do", *keys}:
            raise DataError(f"event {number} of the session file has the keys {sorted(event)}")
        word, take = event.get("word"), event.get("take")
        if word is not None and word not in session.words:
            raise DataError(f"event {number} of the session file is about {word!r}, which is none of its words")
        if take is not None:
            before = {"teach": set(), "say": set(), "judge": {"say"}}[do]
            if done[take] != before:
                raise DataError(f"event {number} of the session file cannot have happened: {do} {take}")
            done[take].add(do)
        if do == "drift":
            _check_drift(event)
        clean.append(dict(event))
    if idle := [name for name, what in done.items() if not what]:
        raise DataError(f"the session file holds takes that nothing happened to: {', '.join(idle[:5])}")
    session.events = clean
    if session.started and session.missing():
        raise DataError(f"the session file has answers but lacks lessons: {session.missing()}")
    return clean


def _check_drift(event: Event) -> None:
    from tmlcd_core.experiments.live.drifts import FAULTS

    for key in ("old", "new", "word"):
        if key in event and clean_name(event[key]) != event[key]:
            raise DataError(f"the session file has a drift with the word {event[key]!r}")
    if event["kind"] == "fault" and event["effect"] not in FAULTS:
        raise DataError(f"the session file has a fault {event['effect']!r}, which there is not")
    if "strength" in event:
        real_number("strength", event["strength"], 0.0, 1.0)
