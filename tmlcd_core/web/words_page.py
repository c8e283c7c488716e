"""A live session in one HTML file: the learner and the front end of its firmware in the reader's browser."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice import VOICE_RATE
from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.knn.storage import VALUE_RANGE, sample_bytes
from tmlcd_core.live.file import session_log
from tmlcd_core.live.project import FALLBACK, SessionProject, front_end_of, session_project
from tmlcd_core.live.session import LiveSession
from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.mcu.sound import as_int16
from tmlcd_core.mcu.timing import PER_WORD
from tmlcd_core.mcu.wasm import module
from tmlcd_core.validation import one_of
from tmlcd_core.viz.palette import styles
from tmlcd_core.viz.recorder import wav_script
from tmlcd_core.web.one_file import LOADING, bundle, lean, modules_of, one_file, packed, style_sheet

MODULES = ("page", "data", "word_core", "word_charts", "session_file", "microphone", "words")
LARGEST = {"word": 100_000, "speech": 1_500_000, "filter": 300_000}  # bytes of a page, unless all sounds are asked for
AROUND = 0.1  # seconds
TAKE_BYTES = 260  # of the description of a recording and its events, at most
STORE_TYPES = {"float32": "<f4", "int16": "<i2", "uint8": "<u1"}
BODY = """\
<h1>{title}</h1>
<p>Say one of your words: this page answers with the code of the {board}, offline.
Then choose what it was, and the page learns.</p>
<p id="state" role="status">{loading}</p>
<main>
<fieldset id="voice" disabled>
<div class="row">
<button id="listen" class="main" type="button">Listen</button>
<label id="file-label" class="button">Sound file<input id="file" type="file" accept="audio/*"></label>
<button id="play" type="button">Play a take</button>
<button id="run" type="button">Answer 40 takes</button>
</div>
<div id="level"><div></div></div>
<div id="answer" aria-live="assertive"><b>…</b><small></small></div>
<p id="question">It was:</p>
<div id="judge" class="row"></div>
<p id="told"></p>
<h2>Change the meaning</h2>
<div class="row">
<select id="first" aria-label="First word"></select><select id="second" aria-label="Second word"></select>
<button id="swap" type="button">Swap the two words</button>
</div>
<p id="meaning"></p>
<h2>Teach and save</h2>
<div class="row">
<label class="tick"><input id="teaching" type="checkbox">Store the next words as</label>
<select id="taught" aria-label="Word to teach"></select>
</div>
<div class="row">
<button id="save" type="button">Save the session</button>
<button id="reset" type="button">Start again</button>
</div>
<p><small id="saved"></small></p>
</fieldset>
<section id="charts" aria-label="Curves">
<h2>{learner}</h2>
<figure id="accuracy"><figcaption>Accuracy of the last 10 answers: <b></b></figcaption></figure>
<figure id="size"><figcaption>Stored takes (|T|): <b></b></figcaption></figure>
<figure id="statistic"><figcaption>Evidence of a change (g), alarm at h = {threshold:.1f}: <b></b></figcaption></figure>
<h2>What the {board} would do</h2>
<table><tbody id="board"></tbody></table>
<p><small>{front_end}. Instructions were counted in an emulator; times assume one cycle per instruction and were not
measured on a board.</small></p>
</section>
</main>
<footer><p>Nothing you say leaves this page. Made with TML-CD Lab.</p></footer>
<noscript><p>This page needs JavaScript.</p></noscript>
"""


def words_page(
    session: LiveSession, board: str | Board = "stm32f401", learner: str = "hybrid", front_end: str | None = None,
    all_sounds: bool = False,
) -> str:  # fmt: skip
    """Return the HTML page of a session: its learner as exported for a board, as WebAssembly, with a microphone.

    Parameters
    ----------
    session : LiveSession
        Session in which every word has a take.
    board : str or Board
        Board whose limits the page shows and keeps.
    learner : str
        "cit", "active" or "hybrid".
    front_end : str or None
        "word" or "speech"; None for the session's extractor, or "word" if it has no C code that hears words.
    all_sounds : bool
        Include every recording. By default those are included that fit `LARGEST`, cut at `AROUND` seconds before and
        after the word: of every word a take, then another one, … Takes without their sound cannot be handed back to
        the page Microphone.
    """
    own = front_end_of(session)
    name = own if own in FRONT_ENDS else FALLBACK
    if front_end is not None:
        name = one_of("front_end", front_end, FRONT_ENDS)
    project = session_project(session, board, learner, name)
    page, rows = _model(session, project, learner, name)
    title = f"My words: {', '.join(session.words)}"
    body = BODY.format(
        title=html.escape(title),
        loading=LOADING,
        board=project.firmware.board.title,
        learner=html.escape(styles([learner])[learner].name),
        threshold=session.settings.h,
        front_end=f"Features: {FRONT_ENDS[name].title}; T in {project.firmware.configuration.store}",
    )
    style = style_sheet("page.css") + style_sheet("words.css")
    code = lean(bundle(modules_of(MODULES, {"wav": wav_script()}), "words"))

    def made(sounds: Mapping[str, NDArray[np.int16]]) -> str:
        about = {take: page["log"]["takes"][take] for take in sounds}
        inside = page | {"sounds": {take: len(sound) for take, sound in sounds.items()}}
        events = [event for event in page["log"]["events"] if event.get("take") is None or event["take"] in sounds]
        inside["log"] = page["log"] | {"takes": about, "events": events}
        inside["lost"] = len(session.labels()) - len(sounds)
        blobs = {"wasm": module(name), "rows": rows, "takes": pack_sounds(sounds)}
        return one_file(title, body, style, code, {"page": inside}, blobs)

    room = LARGEST[name] - len(made({}).encode())
    chosen: dict[str, NDArray[np.int16]] = {}
    for take in _in_order(session):
        sound = as_int16(session.takes[take].samples)
        if not all_sounds:
            sound = _cut(sound, page["log"]["takes"][take])
        size = len(packed(pack_sounds({take: sound}))) + TAKE_BYTES
        if all_sounds or size <= room:
            chosen[take] = sound
            room -= size
    return made(chosen)


def _model(session: LiveSession, project: SessionProject, learner: str, name: str) -> tuple[dict[str, Any], bytes]:
    """The page's values, and T and the other named takes on the firmware's grid in the firmware's type."""
    firmware, model, s = project.firmware, project.model, session.settings
    c, board = firmware.configuration, firmware.board
    store = c.store
    classes = list(firmware.classes)
    grid = None if store == "float32" else [firmware.offset, firmware.scale, *VALUE_RANGE[store]]
    per_word = PER_WORD[name, board.core]
    log = session_log(session)
    labels = session.labels()
    log["events"] = [event for event in log["events"] if "take" not in event or event["take"] in labels]
    same = FRONT_ENDS[name].page == session.extractor  # its rooms have the features that the page in one file hears
    rooms = session.background.vectors(session.voice).astype(np.float64) if same else np.zeros((0, c.features))
    page = {
        "words": classes,
        "learner": learner,
        "settings": {
            "max_size": c.samples, "k": s.k, "weights": s.weights, "threshold": s.h, "batch": s.batch,
            "warmup": s.warmup, "margin": s.margin,
        },
        "grid": grid,
        "store": store,
        "features": c.features,
        "codes": [classes.index(str(label)) for label in model.labels_.tolist()],
        "farthest": firmware.farthest,
        "background": np.round(rooms, 4).tolist(),
        "limit": session.farthest_known() if len(rooms) else 0.0,
        "board": {
            "name": board.title, "ram": board.ram, "needed": firmware.budget.needed, "hertz": board.mhz * 1e6,
            "each": sample_bytes(c.features, store), "second": per_word.second, "word": per_word.word,
        },
        "log": log,
    }  # fmt: skip
    rows = firmware.quantise(model.samples_)
    inside = {row.tobytes() for row in rows}
    rows = np.concatenate([rows, *(row[None] for row in firmware.named if row.tobytes() not in inside)])
    return page, np.ascontiguousarray(rows).astype(STORE_TYPES[store]).tobytes()


def _in_order(session: LiveSession) -> Iterator[str]:
    """Takes with a word, in the order in which a page includes their sound: words in turns, taught takes first."""
    labels = session.labels()
    taught = [event["take"] for event in session.events if event["do"] == "teach"]
    others = [take for take in labels if take not in set(taught)]
    for takes in (taught, others):
        if takes:
            yield from (takes[i] for i in in_turns([labels[take] for take in takes]))


def _cut(sound: NDArray[np.int16], about: dict[str, Any]) -> NDArray[np.int16]:
    """The word with `AROUND` seconds before and after it; `about` gets its new place and digest."""
    first = max(0, round((about["start"] - AROUND) * VOICE_RATE))
    part = sound[first : round((about["stop"] + AROUND) * VOICE_RATE)]
    seconds = first / VOICE_RATE
    about |= {"start": max(0.0, about["start"] - seconds), "stop": min(about["stop"] - seconds, len(part) / VOICE_RATE)}
    about["sha256"] = hashlib.sha256(part.tobytes()).hexdigest()
    return part


def pack_sounds(sounds: Mapping[str, NDArray[np.int16]]) -> bytes:
    """Return the sounds, each int16 (n,), one after the other: their differences, low bytes before high bytes.

    The differences of neighbours wrap at 16 bits, with the sign in the lowest bit: deflated, this takes half of the
    bytes of the samples.
    """
    if not sounds:
        return b""
    steps = np.concatenate([np.diff(sound, prepend=np.int16(0)) for sound in sounds.values()]).astype(np.int16)
    folded = (steps << 1) ^ (steps >> 15)
    return folded.astype("<i2").tobytes()[0::2] + folded.astype("<i2").tobytes()[1::2]
