"""Session file: a zip of a JSON log and 16-bit WAV files, with SHA-256 digests. Files are untrusted input."""

from __future__ import annotations

import hashlib
import io
import json
import re
import wave
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from tmlcd_core.errors import DataError, TmlcdError
from tmlcd_core.features.voice import DEFAULT_VOICE, VOICE_EXTRACTORS, VOICE_RATE, Take, restore_take
from tmlcd_core.features.voice.take import FULL_SCALE, LONGEST_TAKE
from tmlcd_core.live.drifts import FAULTS, named_words
from tmlcd_core.live.expectations import CYCLE
from tmlcd_core.live.session import (
    FEWEST_WORDS,
    MOST_DRIFTS,
    MOST_TAKES,
    MOST_WORDS,
    Event,
    LiveSession,
    clean_name,
)
from tmlcd_core.live.settings import LiveSettings
from tmlcd_core.validation import one_line, one_of, real_number, shown, whole_number

FORMAT, VERSION = "tmlcd-session", 1
LOG, DIGEST, SOUNDS = "session.json", "session.sha256", "takes/"
LARGEST_LOG = 2**20  # bytes
DEEPEST = 4  # nesting of objects and lists in the log
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|$)|[][{}]', re.DOTALL)  # strings and brackets of JSON
LARGEST_SOUND = round(2 * (LONGEST_TAKE + 1) * VOICE_RATE) + 4_096
LARGEST_FILE = 64 * 2**20
MOST_EVENTS = 2 * MOST_TAKES + MOST_WORDS + MOST_DRIFTS
MOST_REMARKS, LONGEST_REMARK = 10, 200  # remarks per take; characters
KEYS: dict[str, tuple[str, ...]] = {  # keys of each kind of event, besides "do"
    "word": ("word",),
    "teach": ("take", "word"),
    "say": ("take",),
    "judge": ("take", "word"),
}
DRIFT_KEYS: dict[str, tuple[str, ...]] = {
    "swap": CYCLE[:2],
    "rotate": CYCLE,
    "class-change": ("old", "new"),
    "new-word": ("word",),
    "cover": (),
    "speaker": (),
    "fault": ("effect", "strength"),
    "end": (),
}
UNSAFE = re.compile(r'[\\/:*?"<>|\x00-\x1f]')


def session_log(session: LiveSession) -> dict[str, Any]:
    """Return the log of a session file as JSON values."""
    takes = {
        name: {"start": take.start, "stop": take.stop, "remarks": take.remarks, "sha256": take.digest}
        for name, take in session.takes.items()
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "words": session.words,
        "extractor": session.extractor,
        "provisional": session.provisional,
        "learners": session.learners,
        "settings": session.settings.to_json(),
        "seed": session.seed,
        "number": session.number,
        "events": session.events,
        "takes": takes,
    }


def write_session(session: LiveSession) -> bytes:
    """Return the bytes of a session file; deterministic."""
    text = json.dumps(session_log(session), ensure_ascii=False, allow_nan=False).encode()
    files = {LOG: text, DIGEST: hashlib.sha256(text).hexdigest().encode()}
    files |= {f"{SOUNDS}{name}.wav": take.wav() for name, take in session.takes.items()}
    return _zip(files)


def read_session(data: bytes) -> LiveSession:
    """Return the session of a session file's bytes; an invalid file raises a `DataError` in one sentence.

    All values are validated against the limits of the page; no features and no calibration are computed. If a package
    of the session's extractor is missing, the session gets the default extractor, and its `notice` says so.
    """
    try:
        log, sounds = _unpack(data)
        return _restore(log, sounds)
    except DataError:
        raise
    except (TmlcdError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = one_line(str(error))
        raise DataError(f"the session file was edited and is invalid ({why}): use another copy") from error


def zip_takes(session: LiveSession) -> bytes:
    """Return a zip with a folder of WAV files for each word: taught takes and judged answers."""
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
    """Bytes of a zip; uncompressed by default, since compression saves only a fifth and takes up to a second."""
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = packing
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _unpack(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Log and WAV bytes by take; sizes are checked before anything is decompressed."""
    if len(data) > LARGEST_FILE:
        raise DataError(
            f"{len(data) / 2**20:.0f} MB is too large for a session file: the maximum is {LARGEST_FILE >> 20} MB"
        )
    if not data.startswith(b"PK"):
        raise DataError("this is not a session file: choose a file saved by the page Microphone")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if LOG not in members or DIGEST not in members:
                raise DataError("this zip is not a session file: choose a file saved by the page Microphone")
            if len(members) != len(archive.infolist()) or len(members) > MOST_TAKES + 2:
                raise DataError(
                    f"the session file has {len(archive.infolist())} members, too many or repeated: use another copy"
                )
            text = _part(archive, members.pop(LOG), LARGEST_LOG)
            digest = _part(archive, members.pop(DIGEST), 64)
            if hashlib.sha256(text).hexdigest().encode() != digest:
                raise DataError("the session file was edited or damaged: its digest does not match; use another copy")
            log = _parse(text)
            if not isinstance(log, dict) or log.get("format") != FORMAT:
                raise DataError("this zip is not a session file: choose a file saved by the page Microphone")
            if log.get("version") != VERSION:
                raise DataError(
                    f"the session file has version {shown(log.get('version'))}; this program reads version {VERSION}"
                )
            wanted = {f"{SOUNDS}{name}.wav": name for name in log["takes"]}
            if set(members) != set(wanted):
                odd = sorted(set(members) ^ set(wanted))[0]
                raise DataError(
                    f"the session file is incomplete: {shown(odd)} is missing or unexpected; use another copy"
                )
            return log, {wanted[name]: _part(archive, member, LARGEST_SOUND) for name, member in members.items()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        why = one_line(str(error))
        raise DataError(f"the session file is damaged or truncated ({why}): use another copy") from error


def _parse(data: bytes) -> Any:
    """Parse JSON without NaN and infinity, with limited nesting."""
    text = data.decode()
    depth = 0
    for token in TOKENS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise DataError(f"the session file's log is nested deeper than {DEEPEST} levels: use another copy")
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> None:
    raise DataError(f"the session file contains {name}, which is not a number: use another copy")


def _part(archive: zipfile.ZipFile, member: zipfile.ZipInfo, largest: int) -> bytes:
    if member.file_size > largest or member.flag_bits & 1 or member.compress_type not in (0, zipfile.ZIP_DEFLATED):
        raise DataError(
            f"{shown(member.filename)} in the session file is too large or has an unsupported format: use another copy"
        )
    with archive.open(member) as part:
        content = part.read(largest + 1)
    if len(content) > largest:
        raise DataError(f"{shown(member.filename)} in the session file is larger than declared: use another copy")
    return content


def _restore(log: dict[str, Any], sounds: dict[str, bytes]) -> LiveSession:
    words, takes, learners = log["words"], log["takes"], log["learners"]
    if not isinstance(words, list) or not FEWEST_WORDS <= len(words) <= MOST_WORDS:
        raise DataError(
            f"the session file has the words {shown(words)}: a session has {FEWEST_WORDS} to {MOST_WORDS} words"
        )
    if any(clean_name(word) != word for word in words):
        raise DataError(f"the session file has invalid words {shown(words)}: use another copy")
    if not isinstance(learners, list):
        raise DataError(f"the session file has invalid learners {shown(learners)}: use another copy")
    settings = LiveSettings(**log["settings"])
    extractor = one_of("extractor", log["extractor"], VOICE_EXTRACTORS)
    lacking = VOICE_EXTRACTORS[extractor].missing()
    session = LiveSession(
        words, DEFAULT_VOICE if lacking else extractor, learners, settings, whole_number("seed", log["seed"], 0, 2**32),
        log.get("provisional") is True,
    )  # fmt: skip
    if lacking:
        session.notice = (
            f"The extractor “{VOICE_EXTRACTORS[extractor].title}” of this session is not available here ({lacking}). "
            f"The features of all takes are computed again with “{session.voice.title}”; predictions may differ."
        )
    for name in takes:
        if not re.fullmatch(r"t[1-9][0-9]{0,6}", name):
            raise DataError(f"the session file has an invalid take name {shown(name)}: use another copy")
    session.number = whole_number("number", log["number"], max((int(name[1:]) for name in takes), default=0), 10**7)
    session.events = _events(log["events"], words, takes)
    session.takes = {name: _take(name, sounds[name], about) for name, about in takes.items()}
    return session


def _take(name: str, sound: bytes, about: dict[str, Any]) -> Take:
    try:
        with wave.open(io.BytesIO(sound)) as file:
            if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, VOICE_RATE):
                raise DataError(
                    f"take {name} is not mono, 16 bit, {VOICE_RATE} Hz: use another copy of the session file"
                )
            steps = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    except (wave.Error, EOFError) as error:
        raise DataError(f"take {name} is damaged ({error}): use another copy of the session file") from error
    seconds = len(steps) / VOICE_RATE
    start = real_number("start", about["start"], 0.0, seconds)
    stop = real_number("stop", about["stop"], start, seconds + 0.05)
    remarks = about["remarks"]
    if not isinstance(remarks, list) or len(remarks) > MOST_REMARKS or not all(map(_is_remark, remarks)):
        raise DataError(f"take {name} has invalid remarks {shown(remarks)}: use another copy of the session file")
    take = restore_take((steps / FULL_SCALE).astype(np.float32), start, stop, tuple(remarks))
    if take.digest != about["sha256"] or stop <= start:
        raise DataError(f"take {name} was changed: its digest does not match; use another copy of the session file")
    return take


def _is_remark(remark: Any) -> bool:
    return isinstance(remark, str) and len(remark) <= LONGEST_REMARK and remark.isprintable()


def _events(events: Any, words: list[str], takes: Iterable[str]) -> list[Event]:
    """Validate the events: the keys of each, and a possible order."""
    if not isinstance(events, list) or len(events) > MOST_EVENTS:
        raise DataError("the session file has no list of events, or too many events: use another copy")
    done: dict[str, list[str]] = {name: [] for name in takes}  # events of each take
    named: list[str] = []  # words added later
    fitted: set[str] = set()  # words taught before the first judgement
    judged = drifts = 0
    for number, event in enumerate(events):
        do = event["do"]
        keys = ("kind", *DRIFT_KEYS[event["kind"]]) if do == "drift" else KEYS[do]
        if set(event) != {"do", *keys}:
            raise DataError(f"event {number} of the session file has invalid keys {shown(list(event))}")
        for word in named_words(event):
            if word not in words:
                raise DataError(f"event {number} of the session file has the unknown word {shown(word)}")
        if "take" in keys:
            if done[event["take"]] != (["say"] if do == "judge" else []):
                raise DataError(f"event {number} of the session file is not possible: {do} {event['take']}")
            done[event["take"]].append(do)
        if do == "drift":
            drifts += 1
            _check_drift(event)
        if do == "word" or (do == "drift" and event["kind"] == "new-word"):
            named.append(event["word"])
        judged += do == "judge"
        if do == "teach" and not judged:
            fitted.add(event["word"])
    if idle := [name for name, what in done.items() if not what]:
        raise DataError(f"the session file has takes without events: {', '.join(idle[:5])}")
    if drifts > MOST_DRIFTS or len(set(named)) < len(named):
        raise DataError(f"the session file has {drifts} drifts, or repeats a word: use another copy")
    late = [word for word in words if word not in fitted and word not in named]
    if judged and (late or not fitted):
        raise DataError(f"the session file has answers judged before {shown(late or words)} was taught")
    return [dict(event) for event in events]


def _check_drift(event: Event) -> None:
    if event["kind"] == "class-change" and (clean_name(event["new"]) != event["new"] or event["new"] == event["old"]):
        raise DataError(f"the session file has an invalid change from {shown(event['old'])} to {shown(event['new'])}")
    cycle = [event[key] for key in CYCLE if key in event]
    if len(set(cycle)) < len(cycle):
        raise DataError(f"the session file has a change of places that repeats a word: {shown(cycle)}")
    if event["kind"] == "fault":
        if event["effect"] not in FAULTS:
            raise DataError(f"the session file has the unknown fault {shown(event['effect'])}")
        real_number("strength", event["strength"], 0.0, 1.0)
