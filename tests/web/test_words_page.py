"""A live session in one file: decisions of its WebAssembly against the Python twin of the firmware."""

import base64
import json
import os
import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from tests.support.hummed_words import RATE, hum
from tests.support.node import needs_node, node
from tests.support.noises import NOISES, in_a_room
from tmlcd_core.cli import main
from tmlcd_core.errors import ConfigError
from tmlcd_core.features.voice import open_take
from tmlcd_core.live import LiveSession, session_project
from tmlcd_core.live.example import example_session, taught_session
from tmlcd_core.live.file import session_log
from tmlcd_core.mcu.expected_output import twin_of
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.sound import as_int16
from tmlcd_core.web.words_page import LARGEST, words_page

# Runs the page's own code on the model inside the page: hears a stream of sound, and learns the word of each record.
PROGRAM = """
import fs from "node:fs";
import { bytes } from "WEB/data.js";
import { WordCore } from "WEB/word_core.js";
const { file, sound, records } = JSON.parse(fs.readFileSync(0, "utf8"));
const text = fs.readFileSync(file, "utf8");
const element = (id) => new RegExp(`<script type="[a-z/]+" id="${id}">([^<]*)</script>`).exec(text)[1];
const page = JSON.parse(element("page"));
const body = await bytes(element("rows"));
const types = { float32: Float32Array, int16: Int16Array, uint8: Uint8Array };
const rows = Float32Array.from(new types[page.store](body.buffer));
const core = new WordCore(await WebAssembly.compile(await bytes(element("wasm"))), { ...page, rows });
const stream = fs.readFileSync(sound);
const samples = new Int16Array(stream.buffer, stream.byteOffset, stream.length / 2);
const lines = [];
let from = 0;
for (const [length, word] of records) {
  for (const { x, start, stop, decibels } of core.hear(samples.subarray(from, from + length))) {
    const { prediction, distance, unknown, noise } = core.predict(x);
    const step = core.judge(x, page.words.indexOf(word));
    const labels = core.labels();
    lines.push({ x: [...x], start, stop, decibels, told: prediction, distance, unknown, noise, ...step, labels });
  }
  from += length;
}
console.log(JSON.stringify(lines));
"""


def hummed(words, each: int, seed: int) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {word: [(hum(word, rng), RATE) for _ in range(each)] for word in words}


@lru_cache(maxsize=2)
def hummed_session(words=("low", "rise", "fall"), each: int = 3) -> LiveSession:
    return taught_session(hummed(words, each, 0))


def small_session() -> LiveSession:
    """For the speech network, whose twin in Python is slow."""
    return hummed_session(("low", "rise"), 1)


@lru_cache(maxsize=8)
def page_of_hummed(front_end: str, learner: str = "hybrid") -> str:
    session = hummed_session() if front_end == "word" else small_session()
    return words_page(session, "stm32f401", learner, front_end)


def records_of(recordings: dict[str, list], order: np.ndarray) -> tuple[list[np.ndarray], list[str]]:
    """Parts of a stream of sound and their labels; after two fifths of it two words have changed places."""
    words = list(recordings)
    swapped = {words[0]: words[1], words[1]: words[0]}
    sounds, labels = [], []
    for number, place in enumerate(order.tolist()):
        word = words[place % len(words)]
        takes = recordings[word]
        sounds.append(as_int16(open_take(takes[place // len(words) % len(takes)]).samples))
        labels.append(swapped.get(word, word) if number >= 0.4 * len(order) else word)
    return lay_out(sounds), labels


def twin_lines(session: LiveSession, front_end: str, learner: str, parts: list[np.ndarray], labels: list[str]):
    """The same stream through the Python twins of the front end and of the firmware's learner."""
    project = session_project(session, "stm32f401", learner, front_end)
    firmware = project.firmware
    model = twin_of(
        project.model, firmware.configuration, firmware.configuration.samples, firmware.offset, firmware.scale
    )
    ends = np.cumsum([len(part) for part in parts])
    for number, word in enumerate(FRONT_ENDS[front_end].hear(np.concatenate(parts))):
        label = labels[int(np.searchsorted(ends, word.end))]
        x = firmware.quantise(word.x[None])[0]
        known = np.concatenate([model.samples_, firmware.named]).astype(float)
        squared = np.square(known - x).sum(axis=1).min()
        nearest = np.sqrt(squared / (firmware.farthest or np.inf))
        unknown = bool(firmware.farthest) and squared > firmware.farthest
        told = str(model.predict(x[None])[0])
        prediction = str(model.observe(x, label))
        alarm = model.alarm_
        size, statistic = len(model), model.statistic_
        if prediction == label and number < session.settings.warmup:
            model.take_in(x[None], [label])
            size = len(model)
        yield word, told, prediction, unknown, nearest, size, statistic, alarm, model.labels_.tolist(), firmware.classes


def lines_of(text: str, parts, labels, folder: Path) -> list[dict]:
    """Lines of the page in node."""
    (folder / "page.html").write_text(text, encoding="utf-8")
    (folder / "sound").write_bytes(np.concatenate(parts).astype("<i2").tobytes())
    records = [[len(part), label] for part, label in zip(parts, labels, strict=True)]
    return node(PROGRAM, {"file": str(folder / "page.html"), "sound": str(folder / "sound"), "records": records})


def compare(lines: list[dict], twin) -> tuple[int, int]:
    """Every line of the page against the twin; returns the number of lines and of alarms."""
    alarms = 0
    for line, wanted in zip(lines, twin, strict=True):
        word, told, prediction, unknown, nearest, size, statistic, alarm, stored, classes = wanted
        assert line["x"] == word.x.tolist() and (line["start"], line["stop"]) == (word.start, word.stop)
        assert line["decibels"] == word.decibels and line["unknown"] == unknown
        assert (classes[line["told"]], classes[line["prediction"]]) == (told, prediction)
        assert line["size"] == size and [classes[code] for code in line["labels"]] == stored
        assert line["distance"] == pytest.approx(nearest, rel=1e-6)
        assert line["alarm"] == (alarm is not None) and (alarm is None or line["change"] == alarm.change_time)
        g = np.nan if line["statistic"] is None else line["statistic"]
        assert g == pytest.approx(statistic, rel=1e-9, nan_ok=True)
        alarms += line["alarm"]
    return len(lines), alarms


@needs_node
@pytest.mark.parametrize("learner", ["hybrid", "active", "cit"])
def test_every_line_of_a_stream_is_that_of_the_twin(learner, tmp_path):
    session = hummed_session()
    parts, labels = records_of(hummed(session.words, 10, 5), np.random.default_rng(1).permutation(90))
    found = lines_of(page_of_hummed("word", learner), parts, labels, tmp_path)
    lines, alarms = compare(found, twin_lines(session, "word", learner, parts, labels))
    assert lines > 80 and (alarms > 0) == (learner != "cit")


@needs_node
def test_every_line_of_the_speech_network_is_that_of_the_twin(tmp_path):
    session = small_session()
    parts, labels = records_of(hummed(session.words, 3, 6), np.random.default_rng(2).permutation(6))
    found = lines_of(page_of_hummed("speech"), parts, labels, tmp_path)
    assert compare(found, twin_lines(session, "speech", "hybrid", parts, labels))[0] == 6


@needs_node
def test_a_noise_is_background_in_the_file_too(tmp_path):
    """Decided by hand from the features that the page heard, and from the rooms inside the page."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    session = taught_session(hummed(("low", "rise"), 1, 0), "speech")
    kinds = ("low", "rise", "hiss", "door")
    sounds = [hum(kind, rng) if kind in session.words else in_a_room(NOISES[kind](rng), rng) for kind in kinds]
    parts = lay_out([as_int16(open_take((sound, RATE)).samples) for sound in sounds])
    text = words_page(session, "stm32f767", "cit", "speech")
    lines = lines_of(text, parts, ["low", "rise", "", ""], tmp_path)  # noises are learned as no word
    page = json.loads(re.search(r'id="page">([^<]*)<', text)[1])
    assert page["limit"] == pytest.approx(session.farthest_known())
    for line in lines:
        room = min(float(np.linalg.norm(np.subtract(room, line["x"]))) for room in page["background"])
        assert line["noise"] == (room < page["limit"] * min(1, line["distance"]))
    words, others = lines[:2], lines[2:]  # the chip's word finder does not hear every noise
    assert not any(line["noise"] for line in words)
    assert others and all(line["noise"] for line in others)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_line_of_real_voices_is_that_of_the_twin(front_end, tmp_path):
    folder = os.environ.get("TMLCD_VOICES")
    if not folder:
        pytest.skip("set TMLCD_VOICES to a folder of takes DIGIT_SPEAKER_TAKE.flac")
    files = sorted(Path(folder).glob("[0-4]_*.flac"))
    of = {str(digit): [file for file in files if file.name[0] == str(digit)] for digit in range(5)}
    session = taught_session({word: takes[:3] for word, takes in of.items()})
    rest = {word: takes[3:43] for word, takes in of.items()}
    parts, labels = records_of(rest, np.random.default_rng(3).permutation(200))
    found = lines_of(words_page(session, front_end=front_end), parts, labels, tmp_path)
    lines, alarms = compare(found, twin_lines(session, front_end, "hybrid", parts, labels))
    assert lines > 150 and (alarms or front_end == "filter"), "the filter mistakes too many words for an alarm"


SAVE = """
import fs from "node:fs";
import { sessionFile } from "WEB/session_file.js";
const { log, sounds } = JSON.parse(fs.readFileSync(0, "utf8"));
const takes = {};
for (const name of Object.keys(sounds)) takes[name] = { ...log.takes[name], samples: Int16Array.from(sounds[name]) };
console.log(JSON.stringify(Buffer.from(sessionFile(log, takes)).toString("base64")));
"""


def saved_by_page(session: LiveSession, kept) -> LiveSession:
    sounds = {name: as_int16(session.takes[name].samples).tolist() for name in kept}
    return LiveSession.open(base64.b64decode(node(SAVE, {"log": session_log(session), "sounds": sounds})))


@needs_node
def test_session_file_of_the_page_is_read_by_python():
    """Complete, without some takes, and without all takes that a word was taught with."""
    session = LiveSession.open(hummed_session().save())
    for number, (word, sources) in enumerate(hummed(session.words, 2, 8).items()):
        answer = session.say(open_take(sources[0]))
        session.judge(answer.id, word)
        if number == 1:
            session.begin_drift("swap", first="low", second="rise")
    whole = saved_by_page(session, session.takes)
    assert whole.save() == session.save()
    one_each = [take for take in session.takes if take not in ("t2", "t3", "t12")]
    some = saved_by_page(session, one_each)
    assert list(some.takes) == one_each and some.judged == 2 and some.curves()["hybrid"].correct.shape == (2,)
    poor = saved_by_page(session, [take for take in session.takes if session.labels()[take] != "fall"])
    assert poor.judged == 0 and poor.counts() == {"low": 4, "rise": 4, "fall": 0}


@needs_node
def test_word_without_its_taught_takes_is_taught_with_its_first_answer():
    """Nothing else of the session is lost: answers, change of meaning, answers after it."""
    session = LiveSession.open(hummed_session().save())
    spoken = hummed(session.words, 2, 9)
    for word in session.words:
        session.judge(session.say(open_take(spoken[word][0])).id, word)
    session.begin_drift("swap", first="low", second="rise")
    session.judge(session.say(open_take(spoken["low"][1])).id, "rise")
    lost = {event["take"] for event in session.events if event["do"] == "teach" and event["word"] == "fall"}
    back = saved_by_page(session, [take for take in session.takes if take not in lost])
    assert (back.judged, back.counts()) == (3, {"low": 3, "rise": 3, "fall": 1})  # of taught takes
    assert [event for event in back.events if event["do"] == "drift"] == session.events[-3:-2]
    assert back.events[-2:] == session.events[-2:]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_page_is_small(front_end):
    text = words_page(example_session()) if front_end == "word" else page_of_hummed(front_end)
    assert (
        len(text.encode()) <= LARGEST[front_end] <= {"word": 100_000, "speech": 1_500_000, "filter": 300_000}[front_end]
    )
    page = json.loads(re.search(r'id="page">([^<]*)<', text)[1])
    assert page["sounds"], "no take is inside"


def test_page_of_a_full_training_set_is_small():
    """200 stored takes of ten words, the most that T holds."""
    rng = np.random.default_rng(0)
    takes = {f"word {i}": [(hum("low", rng, 1 + 0.1 * i), RATE) for _ in range(20)] for i in range(10)}
    assert len(words_page(taught_session(takes), front_end="word").encode()) <= LARGEST["word"]


def test_all_sounds_are_inside_if_asked_for():
    session = hummed_session()
    page = json.loads(re.search(r'id="page">([^<]*)<', words_page(session, all_sounds=True))[1])
    assert page["sounds"] == {name: len(take.samples) for name, take in session.takes.items()}


def test_page_asks_no_other_host_and_escapes_its_words():
    rng = np.random.default_rng(0)
    names = {"<b>a</b>": "low", "</script>": "high"}
    session = taught_session({name: [(hum(tune, rng), RATE)] for name, tune in names.items()})
    text = words_page(session)
    assert "&lt;b&gt;a" in text and "<b>a</b>" not in text and text.count("</script>") == 5
    assert not re.search(r'(src|href|url)\s*[=(]\s*["\']?(https?:)?//', text)
    assert "default-src 'none'" in text and "unsafe-inline" not in text


def test_front_end_without_a_word_finder_is_refused():
    with pytest.raises(ConfigError, match="front_end"):
        words_page(hummed_session(), front_end="clip")


def test_command_writes_the_page_of_a_saved_session(tmp_path, capsys):
    (tmp_path / "mine.zip").write_bytes(hummed_session().save())
    out = tmp_path / "page" / "words.html"
    assert main(["export", "--web", str(out), "--model", str(tmp_path / "mine.zip"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    text = out.read_text("utf-8")
    assert found["bytes"] == len(text.encode()) and found["words"] == hummed_session().words
    assert "My words: low, rise, fall" in text


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "Give --out"),
        (["--web", "a.html", "--out", "b"], "give one of them"),
        (["--web", "a.html", "--model", "absent.zip"], "cannot be read"),
        (["--web", "a.html", "--front-end", "clip", "--model", "mine.zip"], "must be one of 'word', 'speech'"),
        (["--web", "absent.html/a.html", "--model", "mine.zip"], "cannot be written"),
    ],
)
def test_command_refuses_in_one_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.zip").write_bytes(hummed_session().save())
    (tmp_path / "absent.html").write_text("a file, not a folder")
    assert main(["export", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and not (tmp_path / "a.html").exists()
