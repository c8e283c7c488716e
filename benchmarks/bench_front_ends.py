"""Front ends: instructions per word, and accuracy on recorded voices with one take of each of ten words, page and chip.

    python -m benchmarks.bench_front_ends [FOLDER]

Without FOLDER instructions are counted under emulation, of a synthetic word, and compared with the recorded ones
(`PER_WORD` of tmlcd_core/mcu/timing.py). FOLDER holds files word_speaker_take, as AudioMNIST: prints the accuracy of
page and chip on the same sound at each of `LEVELS` of noise, with the predictions that differ, and writes them to
tmlcd_core/mcu/front_ends.csv. The STM32 page shows both. Measured is the second half of the speakers: on the first half
the frames of `filter` were chosen and the ranges of `speech` calibrated (docs/make_speech_int8.py).
"""

from __future__ import annotations

import sys

from tmlcd_core.datasets.folder import FolderSource
from tmlcd_core.live.speakers import find_speakers, measure_speakers
from tmlcd_core.mcu import BOARDS, board_choices
from tmlcd_core.mcu.front_ends import NOISE
from tmlcd_core.mcu.timing import PER_WORD, count_word_instructions
from tmlcd_core.progress import terminal_bar

WORDS, SHOTS = 10, 1
PAGE = {"clip": "aligned", "filter": "aligned", "word": "word", "speech": "speech"}  # front end: the page's extractor
CHIP = {"clip": "aligned", "filter": "filter-chip", "word": "word-chip", "speech": "speech-chip"}
LEVELS = {  # root mean square of the noise in steps of int16
    0.0: "none but the rounding to 16 bits",
    NOISE: "own noise of an INMP441, a common MEMS microphone",
    4.6: "rounding of a converter with 12 bits",
}
SHOWN = 5  # most frequent predictions that differ


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


def at_noise(folder: str, noise: float, people: list[str]) -> list[board_choices.VoiceAccuracy]:
    """Measure all front ends at a level of noise, print a line for each, and return the results."""
    names = tuple(dict.fromkeys((*PAGE.values(), *CHIP.values())))
    trial = measure_speakers(
        folder, shots=SHOTS, classes=WORDS, extractors=names, noise=noise, people=people, progress=terminal_bar()
    )
    rows = []
    for front_end, chip in CHIP.items():
        page, board = trial.extractors[PAGE[front_end]], trial.extractors[chip]
        row = board_choices.VoiceAccuracy(
            front_end, noise, WORDS, SHOTS, len(board.speakers), trial.takes, trial.tests, board.accuracy,
            board.other_voice or 0.0, page.accuracy, page.other_voice or 0.0, board.different or 0,
        )  # fmt: skip
        rows.append(row)
        print(
            f"{noise:>5.1f}  {front_end:<7} {row.same_voice:>9.4f} {row.page_same:.4f}  {row.other_voice:>10.4f} "
            f"{row.page_other:.4f} {row.different:>8,}",
            flush=True,
        )
        for said, on_page, on_board, count in trial.differing.get(chip, [])[:SHOWN]:
            print(f"         “{said}”: the page says “{on_page}”, the chip “{on_board}”: {count:,} times", flush=True)
    return rows


def accuracy(folder: str) -> None:
    """Measure all front ends at each level of noise and write the file."""
    everybody = list(find_speakers(FolderSource(folder)))
    people = everybody[len(everybody) // 2 :]
    print(f"speakers {', '.join(people)}")
    for noise, why in LEVELS.items():
        print(f"noise {noise:g}: {why}")
    print("noise  front   same voice: chip, page; another voice: chip, page; predictions that differ")
    board_choices.write_accuracies([row for noise in LEVELS for row in at_noise(folder, noise, people)])


def main(folder: str | None = None) -> None:
    """Count instructions, or measure the accuracy on the recordings of a folder."""
    if folder is None:
        instructions()
    else:
        accuracy(folder)


if __name__ == "__main__":
    main(*sys.argv[1:2])
