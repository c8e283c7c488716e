"""Export of a live session to an STM32: its takes with the paper's features, which the firmware uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.features import Extractor
from tmlcd_core.features.voice import aligned
from tmlcd_core.knn import TinyKNN
from tmlcd_core.live.session import LiveSession
from tmlcd_core.mcu import Board, Firmware, FirmwareConfiguration, export_firmware, find_board, largest_store

SMALLEST_STORE = "uint8"  # data type of T with room for the most takes


@dataclass(frozen=True)
class SessionProject:
    """C project of a session's learner, and the accuracy of its features compared with those of the page."""

    firmware: Firmware
    stored: int  # takes in T
    accuracy_board: float  # leave-one-out accuracy of the takes with the paper's features
    accuracy_page: float  # leave-one-out accuracy with the session's extractor
    remark: str  # one sentence on the difference

    def zip(self) -> bytes:
        """Return the project as a zip."""
        return self.firmware.zip()


def session_project(
    session: LiveSession,
    board: str | Board = "stm32f401",
    learner: str = "hybrid",
    sample_rate: int = 22_050,
    layout: str = "streamed",
    store: str = "auto",
) -> SessionProject:
    """Export a session's learner as a C project, after replaying the session with the paper's features.

    Parameters
    ----------
    session : LiveSession
        Session in which every word has a take.
    board : str or Board
        Target board.
    learner : str
        "cit", "active" or "hybrid".
    sample_rate : int
        22,050 or 4,410 Hz.
    layout, store : str
        Buffer layout and data type of T, as in `export_firmware`. T and W have the size of the session's settings,
        or the largest that fits the board.

    Returns
    -------
    SessionProject
    """
    device = find_board(board) if isinstance(board, str) else board
    labels = session.labels()
    if lacking := session.missing():
        raise DataError(lacking)
    extractor = Extractor.at_rate(sample_rate)
    takes = list(labels)
    clips = np.stack([aligned(session.takes[take], sample_rate) for take in takes])
    X = extractor.transform(clips)
    words = np.array(list(labels.values()))
    size = _room(session, device, learner, extractor, layout, store)
    settings = replace(session.settings, max_size=size, window=size)
    model = session.through(dict(zip(takes, X, strict=True)), (learner,), settings).model(learner)
    bound = size if learner == "cit" else None
    if bound is not None and len(model) > bound:
        raise DataError(
            f"T has {len(model)} takes, but the {device.title} can store only {bound}: choose a larger board"
        )
    firmware = export_firmware(
        model,
        extractor,
        board=device,
        layout=layout,
        store=store,
        max_size=bound,
        classes=session.words,
        check=(clips, words),
    )
    on_board = leave_one_out(X, words)
    on_page = leave_one_out(session.voice.transform([session.takes[take] for take in takes]), words)
    remark = (
        f"The board uses the paper's filter, the page uses “{session.voice.title}”: their accuracies differ. "
        f"Leave-one-out accuracy over the {len(takes)} takes: {on_board:.0%} on the board, {on_page:.0%} on the page. "
        f"Each clip must begin with the word. {firmware.in_words()}."
    )
    files = {**firmware.files, "README.md": f"{firmware.files['README.md']}\n## Features\n\n{remark}\n"}
    firmware = replace(firmware, files=files)
    return SessionProject(firmware, len(model), on_board, on_page, remark)


def leave_one_out(X: NDArray[np.float32], words: NDArray) -> float:
    """Return the leave-one-out accuracy of a 1-NN; X has shape (n, d), words (n,).

    >>> leave_one_out(np.array([[0.0], [0.1], [1.0]], np.float32), np.array(["a", "a", "b"]))
    0.6666666666666666
    """
    if len(X) < 2:
        return 0.0
    knn = TinyKNN(k=1).fit(X, np.arange(len(X)))
    others = knn.neighbours(X, k=2)
    second = np.where(others.labels[:, 0] == np.arange(len(X)), others.labels[:, 1], others.labels[:, 0])
    return float(np.mean(words[second] == words))


def _room(session: LiveSession, board: Board, learner: str, extractor: Extractor, layout: str, store: str) -> int:
    """Size of T: as in the settings, or the largest that fits."""
    asked = session.settings.window if learner == "active" else session.settings.max_size
    configuration = FirmwareConfiguration(
        samples=asked,
        layout=layout,
        learner=learner,
        store=SMALLEST_STORE if store == "auto" else store,
        sample_rate=extractor.sample_rate,
        n_fft=extractor.n_fft,
        hop=extractor.hop,
    )
    return max(5, min(asked, largest_store(configuration, board)))
