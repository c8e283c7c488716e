"""Accuracy of the front ends on recorded voices: one take of each of ten words, page against chip.

    python -m benchmarks.bench_front_ends FOLDER

FOLDER holds files word_speaker_take, as AudioMNIST. Writes tmlcd_core/mcu/front_ends.csv, which the STM32 page shows.
"""

from __future__ import annotations

import sys

from tmlcd_core.live.speakers import measure_speakers
from tmlcd_core.mcu import board_choices
from tmlcd_core.progress import terminal_bar

WORDS, SHOTS = 10, 1
PAGE = {"clip": "aligned", "word": "word", "speech": "speech"}  # front end: the page's extractor
CHIP = {"clip": "aligned", "word": "word-chip", "speech": "speech-chip"}


def main(folder: str) -> None:
    """Measure all front ends and write the file."""
    names = tuple(dict.fromkeys((*PAGE.values(), *CHIP.values())))
    trial = measure_speakers(folder, shots=SHOTS, classes=WORDS, extractors=names, progress=terminal_bar())
    rows = []
    for front_end, chip in CHIP.items():
        page, board = trial.extractors[PAGE[front_end]], trial.extractors[chip]
        rows.append(
            board_choices.VoiceAccuracy(
                front_end, WORDS, SHOTS, len(board.speakers), trial.takes, trial.tests, board.accuracy,
                board.other_voice or 0.0, page.accuracy, page.other_voice or 0.0, board.different or 0,
            )
        )  # fmt: skip
        print(rows[-1])
    board_choices.write_accuracies(rows)


if __name__ == "__main__":
    main(sys.argv[1])
