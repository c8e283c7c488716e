"""Front ends on each board: memory, largest |T|, run time and accuracy on voices, and the best one that fits."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

from tmlcd_core.mcu.boards import BOARDS, Board
from tmlcd_core.mcu.budget import (
    FULL_RATE_F401,
    FirmwareConfiguration,
    budget,
    flash_bytes,
    largest_store,
)
from tmlcd_core.mcu.front_ends import NOISE
from tmlcd_core.mcu.timing import PER_WORD, WordInstructions

RECORDED = "front_ends.csv"
TITLES = {
    "clip": "The paper's filter on clips of one second",
    "filter": "The paper's filter on words",
    "word": "Cepstra of the word",
    "speech": "Network trained on speech, 8 bits",
}
CONFIGURATIONS = {
    "clip": FULL_RATE_F401,
    "filter": FirmwareConfiguration(front_end="filter", store="uint8"),
    "word": FirmwareConfiguration(front_end="word", store="uint8"),
    "speech": FirmwareConfiguration(front_end="speech", store="uint8"),
}
SLOWEST = 2.0  # seconds for a word at one cycle per instruction, beyond which a front end is not the board's choice


@dataclass(frozen=True)
class VoiceAccuracy:
    """Accuracy of a front end on recorded voices, measured by `benchmarks/bench_front_ends.py`.

    The takes are laid into a stream with noise of `noise` steps of int16; page and board hear the same sound. `words`
    words are taught with `shots` takes each by one of `speakers` speakers; `same_voice` and `other_voice` are the
    accuracies of the board, `page_same` and `page_other` those of the page's extractor. `different` predictions of
    both voices differ from the page's; `tests` are those of the same voice. For clips the board has no word finder:
    both are the page's extractor on seconds that Python cut at the word.
    """

    front_end: str
    noise: float
    words: int
    shots: int
    speakers: int
    takes: int
    tests: int
    same_voice: float
    other_voice: float
    page_same: float
    page_other: float
    different: int

    @property
    def how(self) -> str:
        """Footnote to all front ends: data and conditions of the measurement."""
        return (
            f"{self.words} words, {self.shots} take each, {self.speakers} speakers of AudioMNIST, on whom no front end "
            "was tuned, as the board hears them in the noise of a common microphone; for clips, the page's extractor "
            "on seconds that Python cut at the word"
        )


@dataclass(frozen=True)
class BoardChoice:
    """Front end on a board, with T in uint8 and |T| = 50.

    `seconds` is the estimated time for a word: its instructions at one cycle each; `load` is the share of the time that
    listening takes, estimated in the same way. `largest` is the largest |T| that fits.
    """

    board: Board
    front_end: str
    title: str
    ram: int
    flash: int
    fits: bool
    largest: int
    instructions: WordInstructions
    seconds: float
    load: float
    accuracy: VoiceAccuracy
    best: bool = False


@lru_cache(maxsize=1)
def voice_accuracies() -> dict[str, VoiceAccuracy]:
    """Return the recorded accuracies by front end, at the noise of a common microphone (`NOISE`)."""
    kinds = {"int": int, "str": str, "float": float}
    with resources.files(__package__).joinpath(RECORDED).open(encoding="utf-8") as file:
        rows = [
            VoiceAccuracy(*(kinds[str(f.type)](line[f.name]) for f in fields(VoiceAccuracy)))
            for line in csv.DictReader(file)
        ]
    return {row.front_end: row for row in rows if row.noise == NOISE}


def write_accuracies(rows: Iterable[VoiceAccuracy]) -> None:
    """Write the file that `voice_accuracies` reads."""
    lines = [",".join(f.name for f in fields(VoiceAccuracy))]
    lines += [",".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in astuple(row)) for row in rows]
    Path(__file__).with_name(RECORDED).write_text("\n".join(lines) + "\n", encoding="utf-8")


def board_choices(boards: Sequence[Board] = tuple(BOARDS.values())) -> list[BoardChoice]:
    """Return every front end on each board; `best` marks the most accurate one that fits and answers in two seconds.

    Examples
    --------
    >>> [(choice.board.name, choice.front_end) for choice in board_choices() if choice.best]
    [('stm32h743', 'speech'), ('stm32f767', 'speech'), ('stm32f401', 'word')]
    """
    return [choice for board in boards for choice in _on_board(board)]


def _on_board(board: Board) -> list[BoardChoice]:
    found = []
    for front_end, c in CONFIGURATIONS.items():
        flash = flash_bytes(c, fused=c.clips)
        n = PER_WORD[front_end, board.core]
        hertz = board.mhz * 1e6
        found.append(
            BoardChoice(
                board,
                front_end,
                TITLES[front_end],
                budget(c).needed,
                flash,
                budget(c).fits(board) and flash <= board.flash,
                largest_store(c, board) if flash <= board.flash else 0,
                n,
                n.word / hertz,
                n.second / hertz,
                voice_accuracies()[front_end],
            )
        )
    able = [c for c in found if c.fits and c.seconds <= SLOWEST and c.load < 1]
    best = max(able, key=lambda c: c.accuracy.same_voice + c.accuracy.other_voice, default=None)
    return [replace(c, best=c is best) for c in found]
