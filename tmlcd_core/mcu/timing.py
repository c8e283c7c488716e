"""Instruction counts of each stage under emulation, compared with the milliseconds of Table 3."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.mcu.boards import BOARDS, PAPER_TIMES, Board
from tmlcd_core.mcu.budget import FULL_RATE_F401, PAPER_CONFIGURATIONS, FirmwareConfiguration
from tmlcd_core.mcu.device import EmulatedBoard, build_firmware

WARMUP, BATCH = 20, 10  # short, since the slowest update is the one that ends a batch with an alarm
WORD_SECONDS, QUIET_BLOCKS = 0.4, 150  # the word of `count_word_instructions`, and the blocks of 10 ms before it


@dataclass(frozen=True)
class Instructions:
    """Instruction counts for one clip: spectrogram, features, prediction with |T| = 10 and 50, and the slowest
    prediction and update with |T| = 50."""

    spectrogram: int
    features: int
    knn_10: int
    knn_50: int
    worst: int


@dataclass(frozen=True)
class Case:
    """Measured case: a configuration on a board, with or without the fused colour table."""

    name: str
    board: str
    configuration: FirmwareConfiguration
    fused: bool


_FULL, _SLOW = PAPER_CONFIGURATIONS
CASES = (
    Case("paper, 22,050 Hz", "stm32h743", _FULL, False),
    Case("paper, 22,050 Hz", "stm32f767", _FULL, False),
    Case("paper, 4,410 Hz", "stm32f401", _SLOW, False),
    Case("compact, plain colours", "stm32f767", replace(_FULL, layout="compact", store="int16"), False),
    Case("compact, fused colours", "stm32f767", replace(_FULL, layout="compact", store="int16"), True),
    Case("streamed, 22,050 Hz", "stm32f401", FULL_RATE_F401, True),
)
# Results of `count_instructions` with the pinned compiler (zig's clang, -O2); a test repeats the measurement.
MEASURED: dict[Case, Instructions] = dict(
    zip(
        CASES,
        (
            Instructions(2_696_726, 2_441_473, 37_551, 166_371, 188_419),
            Instructions(2_696_726, 2_441_473, 37_551, 166_371, 188_419),
            Instructions(533_287, 521_748, 10_315, 162_289, 709_287),
            Instructions(2_765_789, 2_946_737, 64_427, 251_920, 267_456),
            Instructions(2_765_789, 1_483_999, 64_427, 251_920, 267_456),
            Instructions(3_649_733, 1_466_847, 49_280, 178_979, 841_121),
        ),
        strict=True,
    )
)


@dataclass(frozen=True)
class WordInstructions:
    """Instructions of a front end for a second of sound without a word, and for a word when it ends."""

    second: int
    word: int


# Results of `count_word_instructions` on the STM32F401 and F767 with this compiler; a test repeats the measurement.
PER_WORD = {
    ("clip", "cortex-m4"): WordInstructions(3_649_733, 1_466_847),
    ("clip", "cortex-m7"): WordInstructions(3_461_533, 1_483_999),
    ("filter", "cortex-m4"): WordInstructions(5_762_751, 1_627_961),
    ("filter", "cortex-m7"): WordInstructions(5_300_514, 1_626_824),
    ("word", "cortex-m4"): WordInstructions(5_151_801, 487_690),
    ("word", "cortex-m7"): WordInstructions(4_891_014, 298_750),
    ("speech", "cortex-m4"): WordInstructions(5_100_601, 194_661_764),
    ("speech", "cortex-m7"): WordInstructions(4_901_614, 207_150_733),
}


def count_word_instructions(front_end: str, board: Board) -> WordInstructions:
    """Compile a front end for a board and return its `WordInstructions`, counted under emulation.

    The stream is noise with a synthetic word of `WORD_SECONDS` s, a glide of three harmonics, in blocks of 10 ms.
    Counted are the 100 blocks before the word, and the one block in which the word ended: its features, and 10 ms of
    listening. A word of 1.2 s takes `word` 2.5 times as many; `speech` always computes 1.6 s. For clips they are the
    streamed spectrogram of one second, and its features. The prediction is not counted.
    """
    if front_end == "clip":
        stages = _count(Case("", board.name, FULL_RATE_F401, True), board, FULL_RATE_F401.samples)
        return WordInstructions(stages.spectrogram, stages.features)
    from tmlcd_core.learners import HybridTinyKNN
    from tmlcd_core.mcu.export import export_firmware
    from tmlcd_core.mcu.front_ends import FRONT_ENDS
    from tmlcd_core.mcu.listening import HOP

    y = np.arange(10) % 2
    X = _vectors(np.random.default_rng(0), y, FRONT_ENDS[front_end].n_features)
    firmware = export_firmware(HybridTinyKNN(max_size=10).fit(X, y), front_end, board=board, store="uint8")
    with tempfile.TemporaryDirectory() as folder:
        device = EmulatedBoard(build_firmware(firmware.write(folder), board), board, count=True)
    counts = device.hear_instructions(_spoken(), HOP)
    (word,) = (n for n, ended in counts if ended)
    return WordInstructions(sum(n for n, _ in counts[QUIET_BLOCKS - 100 : QUIET_BLOCKS]), word)


def _spoken() -> NDArray[np.int16]:
    """Stream at 16 kHz: noise, a word that glides from 400 to 1,200 Hz, noise."""
    rate, before = 16_000, QUIET_BLOCKS * 160
    time = np.arange(round(WORD_SECONDS * rate)) / rate
    phase = 2 * np.pi * (400 * time + 400 * time**2 / WORD_SECONDS)
    sound = np.random.default_rng(0).normal(0, 30, before + len(time) + rate)
    sound[before : before + len(time)] += 6_000 * sum(np.sin(k * phase) / k for k in (1, 2, 3))
    return np.rint(sound).astype(np.int16)


def count_instructions(case: Case) -> Instructions:
    """Compile a case for its board and return its `Instructions`, counted under emulation."""
    board = BOARDS[case.board]
    counts = {n: _count(case, board, n) for n in (10, 50)}
    return replace(counts[50], knn_10=counts[10].knn_50)


def _count(case: Case, board: Board, size: int) -> Instructions:
    from tmlcd_core.features import Extractor
    from tmlcd_core.learners import HybridTinyKNN
    from tmlcd_core.mcu.export import export_firmware

    c = case.configuration
    extractor = Extractor(sample_rate=c.sample_rate, n_fft=c.n_fft, hop=c.hop)
    rng = np.random.default_rng(0)
    y = np.arange(size) % 2
    X = _vectors(rng, y, extractor.n_features)
    model = HybridTinyKNN(max_size=c.samples, threshold=5.0, batch=BATCH, warmup=WARMUP, condense=False).fit(X, y)
    firmware = export_firmware(model, extractor, board=board, layout=c.layout, store=c.store, fused=case.fused)
    with tempfile.TemporaryDirectory() as folder:
        device = EmulatedBoard(build_firmware(firmware.write(folder), board, whole=True), board, count=True)
    clip = np.round(rng.normal(0, 3000, c.sample_rate)).astype(np.int16)
    stages = device.stage_instructions(clip, streamed=c.layout == "streamed")
    worst = _dearest(device, rng, extractor.n_features) if size == c.samples else 0
    return Instructions(stages["spectrogram"], stages["features"], 0, stages["knn"], worst)


def _vectors(rng: np.random.Generator, y: NDArray, d: int) -> NDArray[np.float32]:
    return (rng.random((len(y), d)) * 0.5 + 0.3 * y[:, None]).astype(np.float32)


def _dearest(device: EmulatedBoard, rng: np.random.Generator, d: int) -> int:
    """Predict and learn until the CUSUM test raises an alarm; return the maximum instructions of a sample."""
    x, result = device.symbols["features"], (device.symbols["_ebss"] + 7) & ~7
    device.call("tml_reset")
    costs = []
    for i in range(WARMUP + 3 * BATCH):
        vector = _vectors(rng, np.array([i % 2]), d)[0]
        device.machine.mem_write(x, vector.astype("<f4").tobytes())
        label = i % 2 if i < WARMUP + BATCH else 1 - i % 2  # correct labels, then wrong ones
        before = device.instructions
        device.call("tml_observe", result, x, label)
        costs.append(device.instructions - before)
    return max(costs)


@dataclass(frozen=True)
class TimeRow:
    """Stage of a case: instructions (measured), milliseconds (estimated) and the paper's milliseconds.

    `one_cycle_ms` is at one cycle per instruction; `paper_pace_ms` at the board's `cpi`, with which the two
    audio stages take the times that the paper printed. Both are estimates.
    """

    board: str
    case: str
    stage: str
    instructions: int
    one_cycle_ms: float
    paper_pace_ms: float
    paper: str


def time_rows(cases: Sequence[Case] = CASES) -> list[TimeRow]:
    """Return the rows of the timing table, from the recorded measurements."""
    printed = {t.board: t for t in PAPER_TIMES}
    rows = []
    for case in cases:
        board, paper = BOARDS[case.board], printed[case.board]
        own = case.name.startswith("paper")
        milliseconds = {
            "spectrogram": f"{paper.spectrogram}",
            "features": f"{paper.features}",
            "knn_10": f"{paper.knn_10}",
            "knn_50": f"{paper.knn_50}",
            "worst": f"{paper.knn_50_worst}",
        }
        for field in fields(Instructions):
            n = getattr(MEASURED[case], field.name)
            one_cycle = n / board.mhz / 1000
            printed_ms = milliseconds[field.name] if own else ""
            rows.append(TimeRow(board.title, case.name, field.name, n, one_cycle, one_cycle * board.cpi, printed_ms))
    return rows
