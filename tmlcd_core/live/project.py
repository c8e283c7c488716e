"""Export of a live session to an STM32: its takes with the features of the board's front end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.features import Extractor
from tmlcd_core.features.voice import aligned
from tmlcd_core.knn import TinyKNN
from tmlcd_core.learners import StreamLearner
from tmlcd_core.live.session import LiveSession
from tmlcd_core.live.unknown import distances_between, largest_distance
from tmlcd_core.mcu import Board, Firmware, FirmwareConfiguration, export_firmware, find_board, largest_store
from tmlcd_core.mcu.budget import board_bytes
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.mcu.keeping import SessionTakes
from tmlcd_core.mcu.sound import as_int16

SMALLEST_STORE = "uint8"  # data type of T with room for the most takes
CLIPS = ("paper",)  # extractors whose front end is the paper's filter on clips
FALLBACK = "word"  # front end of extractors without C code


@dataclass(frozen=True, eq=False)
class SessionProject:
    """C project of a session's learner, and its decisions compared with those of the page."""

    firmware: Firmware
    stored: int  # takes in T
    accuracy_board: float  # leave-one-out accuracy of the takes as the board hears them
    accuracy_page: float  # leave-one-out accuracy with the session's extractor
    different: int  # takes that the board and the page decide differently
    unknown_board: int  # takes further than the limit from all others, by the board's features
    unknown_page: int  # by the page's
    remark: str  # sentences on the difference
    model: StreamLearner  # the exported learner

    def zip(self) -> bytes:
        """Return the project as a zip."""
        return self.firmware.zip()


def front_end_of(session: LiveSession) -> str:
    """Return the name of the front end with the session's extractor, or of the nearest one that has C code."""
    if session.extractor in CLIPS:
        return "clip"
    return next((name for name, one in FRONT_ENDS.items() if one.page == session.extractor), FALLBACK)


def session_project(
    session: LiveSession,
    board: str | Board = "stm32f401",
    learner: str = "hybrid",
    front_end: str | None = None,
    sample_rate: int = 22_050,
    layout: str = "streamed",
    store: str = "auto",
) -> SessionProject:
    """Export a session's learner as a C project, after replaying the session with the features of the board.

    Parameters
    ----------
    session : LiveSession
        Session in which every word has a take.
    board : str or Board
        Target board.
    learner : str
        "cit", "active" or "hybrid".
    front_end : str or None
        "clip", or one of `FRONT_ENDS`; None for the session's extractor (`front_end_of`).
    sample_rate : int
        22,050 or 4,410 Hz, of the front end "clip".
    layout, store : str
        Buffer layout of the front end "clip" and data type of T, as in `export_firmware`. T and W have the size of the
        session's settings, or the largest that fits the board.

    Returns
    -------
    SessionProject
    """
    device = find_board(board) if isinstance(board, str) else board
    labels = session.labels()
    if lacking := session.missing():
        raise DataError(lacking)
    front_end = front_end or front_end_of(session)
    takes = [session.takes[take] for take in labels]
    words = np.array(list(labels.values()))
    extractor: Extractor | str
    check: Any
    sound: dict[str, Any]
    if front_end == "clip":
        extractor = Extractor.at_rate(sample_rate)
        check = np.stack([aligned(take, sample_rate) for take in takes])
        X = extractor.transform(check)
        sound = {"sample_rate": sample_rate, "n_fft": extractor.n_fft, "hop": extractor.hop, "layout": layout}
    else:
        extractor = front_end
        check = [as_int16(take.samples) for take in takes]
        X = FRONT_ENDS[front_end].hear_takes(takes)
        sound = {"front_end": front_end}
    size = _room(session, device, learner, FirmwareConfiguration(learner=learner, **sound), store)
    settings = replace(session.settings, max_size=size, window=size)
    replayed = session.through(dict(zip(labels, X, strict=True)), (learner,), settings)
    model = replayed.model(learner)
    bound = size if learner == "cit" else None
    if bound is not None and len(model) > bound:
        raise DataError(
            f"T has {len(model)} takes, but the {device.title} can store only {bound}: choose a larger board"
        )
    same = front_end == session.extractor
    limit = session.farthest_known() if same else largest_distance(front_end, X, words.tolist())
    firmware = export_firmware(
        model,
        extractor,
        board=device,
        layout=layout,
        store=store,
        max_size=bound,
        classes=session.words,
        limit=limit,
        session=SessionTakes(X, session.settings.warmup),
        check=(check, words),
    )
    page = session.voice.transform(takes)
    told_board, told_page = leave_one_out(X, words), leave_one_out(page, words)
    on_board, on_page = float(np.mean(told_board == words)), float(np.mean(told_page == words))
    different = int(np.sum(told_board != told_page))
    remark = (
        f"{_front_end_in_words(session, front_end)} Leave-one-out accuracy over the {len(takes)} takes: "
        f"{on_board:.0%} on the board, {on_page:.0%} on the page; {different} decided differently. "
    )
    farthest = math.inf if firmware.farthest is None else math.sqrt(firmware.farthest)
    unknown_board = _count_unknown(firmware.quantise(X), farthest)
    unknown_page = _count_unknown(page, session.farthest_known())
    if firmware.farthest is not None:
        remark += (
            f"“Unknown”: {unknown_board} on the board, {unknown_page} on the page, each take compared with all others. "
        )
    remark += f"{firmware.in_words()}."
    files = {**firmware.files, "README.md": f"{firmware.files['README.md']}\n## Features\n\n{remark}\n"}
    firmware = replace(firmware, files=files)
    return SessionProject(
        firmware, len(model), on_board, on_page, different, unknown_board, unknown_page, remark, model
    )


def _count_unknown(X: NDArray[np.float32], limit: float) -> int:
    """Number of takes X (n, d) that are further than the limit from all others."""
    return int(np.sum(distances_between(X).min(axis=1, initial=np.inf) > limit))


def _front_end_in_words(session: LiveSession, front_end: str) -> str:
    if front_end in FRONT_ENDS and FRONT_ENDS[front_end].page == session.extractor:
        return f"The board hears words in a stream with the page's extractor, “{session.voice.title}”."
    if front_end == "clip":
        same = session.extractor in CLIPS
        text = "the page too" if same else f"the page uses “{session.voice.title}”: their accuracies differ"
        return f"The board uses the paper's filter, {text}. Each clip must begin with the word."
    title = FRONT_ENDS[front_end].title
    return f"The board uses “{title}”, the page uses “{session.voice.title}”: their accuracies differ."


def leave_one_out(X: NDArray[np.float32], words: NDArray) -> NDArray:
    """Return the word of the nearest other take for each take, by a 1-NN, shape (n,).

    X has shape (n, d), words (n,).

    >>> leave_one_out(np.array([[0.0], [0.1], [1.0]], np.float32), np.array(["a", "a", "b"])).tolist()
    ['a', 'a', 'a']
    """
    if len(X) < 2:
        return np.full(len(words), "", words.dtype)
    others = TinyKNN(k=1).fit(X, np.arange(len(X))).neighbours(X, k=2)
    nearest = others.labels[:, 0] == np.arange(len(X))
    return words[np.where(nearest, others.labels[:, 1], others.labels[:, 0])]


def _room(session: LiveSession, board: Board, learner: str, configuration: FirmwareConfiguration, store: str) -> int:
    """Size of T: as in the settings, or the largest that fits beside the serial line and a microphone."""
    asked = session.settings.window if learner == "active" else session.settings.max_size
    store = SMALLEST_STORE if store == "auto" else store
    wanted = replace(configuration, samples=asked, store=store)
    return max(5, min(asked, largest_store(wanted, replace(board, ram=board.ram - board_bytes(wanted, board)))))
