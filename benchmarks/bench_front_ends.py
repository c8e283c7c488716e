"""Front ends: instructions per word, and accuracy on recorded voices with one take of each of ten words, page and chip.

    python -m benchmarks.bench_front_ends [FOLDER]

Without FOLDER instructions are counted under emulation, of a synthetic word, and compared with the recorded ones
(`PER_WORD` of tmlcd_core/mcu/timing.py). FOLDER holds files word_speaker_take, as AudioMNIST: writes their accuracy to
tmlcd_core/mcu/front_ends.csv. The STM32 page shows both.
"""

from __future__ import annotations

import sys

from tmlcd_core.live.speakers import measure_speakers
from tmlcd_core.mcu import BOARDS, board_choices
from tmlcd_core.mcu.timing import PER_WORD, count_word_instructions
from tmlcd_core.progress import terminal_bar

WORDS, SHOTS = 10, 1
PAGE = {"clip": "aligned", "word": "word", "speech": "speech"}  # front end: the page's extractor
CHIP = {"clip": "aligned", "word": "word-chip", "speech": "speech-chip"}


def instructions() -> None:
    """Print the instructions of each front end on a Cortex-M4 and an M7, and their difference to the recorded ones."""
    print("instructions of a second without a word, and of a word at its end; difference to those recorded")
    for front_end in PAGE:
        for board in (BOARDS["stm32f401"], BOARDS["stm32f767"]):
            found, old = count_word_instructions(front_end, board), PER_WORD[front_end, board.core]
            print(
                f"  {front_end:<6} {board.core} {found.second:>9,} {found.second / old.second - 1:>+6.1%} "
                f"{found.word:>11,} {found.word / old.word - 1:>+6.1%}",
                flush=True,
            )


def accuracy(folder: str) -> None:
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


def main(folder: str | None = None) -> None:
    """Count instructions, or measure the accuracy on the recordings of a folder."""
    if folder is None:
        instructions()
    else:
        accuracy(folder)


if __name__ == "__main__":
    main(*sys.argv[1:2])
