"""Emulated boards on recorded voices: every line of a long stream compared with the host build and the Python twin.

    python -m benchmarks.bench_boards [FRONT_END:CORE:STORE …]

A stream of `TAKES` takes (files DIGIT_SPEAKER_TAKE.flac in the folder named by TMLCD_VOICES) goes from sound to
decision, "unknown", alarm and change point; after half of it each digit gets the label of the next one. The network
takes seconds a word under emulation, so the stream runs in parts of `PART` takes, and the memory of the emulated board
is kept after each of them in results/boards: a run that was stopped goes on there. Without arguments all pairs run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tmlcd_core import HybridTinyKNN
from tmlcd_core.features.voice import open_take
from tmlcd_core.live.unknown import LARGEST, distances_between
from tmlcd_core.mcu import BOARDS, Board, Firmware, FirmwareConfiguration, export_firmware, largest_store
from tmlcd_core.mcu.check import Check, make_word_check
from tmlcd_core.mcu.device import EmulatedBoard, build_firmware, make
from tmlcd_core.mcu.expected_output import twin_of
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.sound import as_int16
from tmlcd_core.mcu.unknown import is_unknown

TAUGHT, TAKES, PART = 40, 1_000, 25
OF_CORE = {"cortex-m4": BOARDS["stm32f401"], "cortex-m7": BOARDS["stm32f767"]}
STORES = ("uint8", "int16")
KEPT = "results/boards"


@dataclass
class Progress:
    """Parts of a stream that were run, and what was found."""

    parts: int = 0
    lines: int = 0
    board_equal: int = 0
    host_equal: int = 0
    alarms: int = 0
    unknown: int = 0


def voices_check(folder: str | Path, name: str, board: Board, store: str) -> tuple[Firmware, Check]:
    """Return a model of `TAUGHT` recorded takes and the check of `TAKES` others; the test is sensitive for `filter`."""
    files = sorted(Path(folder).glob("*.flac"))
    files = [files[i] for i in np.random.default_rng(0).permutation(len(files))[: TAUGHT + TAKES]]
    known = [open_take(file) for file in files]
    digits = np.array([int(file.stem.split("_")[0]) for file in files])
    labels = np.where(np.arange(len(files)) < len(files) // 2, digits, (digits + 1) % 10)
    front_end = FRONT_ENDS[name]
    X = front_end.transform(known[:TAUGHT])
    batch, threshold = (10, 3.0) if name == "filter" else (20, 8.0)  # the filter is near chance
    size = min(50, largest_store(FirmwareConfiguration(front_end=name, store=store), board))
    model = HybridTinyKNN(max_size=size, batch=batch, warmup=60, threshold=threshold).fit(X, labels[:TAUGHT])
    limit = LARGEST.get(name) or float(np.quantile(distances_between(X).min(axis=1), 0.9))
    firmware = export_firmware(model, name, board=board, store=store, limit=limit, classes=range(10))
    parts = lay_out([as_int16(take.samples) for take in known[TAUGHT:]])
    words = [(word.end, firmware.quantise(word.x[None])[0]) for word in front_end.hear(np.concatenate(parts))]
    twin = twin_of(model, firmware.configuration, size, firmware.offset, firmware.scale)
    unknown = partial(is_unknown, farthest=firmware.farthest)
    return firmware, make_word_check(twin, np.arange(10), parts, labels[TAUGHT:], words, unknown)


def records(stream: bytes) -> list[bytes]:
    """Return the records of a stream of sound, one for each take."""
    found, at = [], 0
    while at < len(stream):
        end = at + 8 + 2 * int.from_bytes(stream[at + 4 : at + 8], "little")
        found.append(stream[at:end])
        at = end
    return found


def host_lines(folder: Path, stream: bytes) -> list[str]:
    """Return the lines of the host build for a stream."""
    make(folder, "host")
    done = subprocess.run([folder / "tmlcd-host", "--stream", "-"], input=stream, capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def compare(folder: str | Path, name: str, core: str, store: str) -> Progress:
    """Run the parts of a stream that are missing in `KEPT`, and return the progress; prints a line after each part."""
    board, title = OF_CORE[core], f"{name}-{core}-{store}"
    firmware, check = voices_check(folder, name, board, store)
    code = "".join(str(text) for file, text in sorted(firmware.files.items()) if file.endswith((".c", ".h", ".ld")))
    version = hashlib.sha256(check.stream + code.encode()).hexdigest()[:16]
    kept = Path(KEPT) / f"{title}-{version}.npz"
    kept.parent.mkdir(parents=True, exist_ok=True)
    expected, all_records = check.expected.decode().splitlines(), records(check.stream)
    with tempfile.TemporaryDirectory() as scratch:
        project = firmware.write(Path(scratch) / "c")
        device = EmulatedBoard(build_firmware(project, board), board)
        host = host_lines(project, check.stream)
    progress = Progress()
    if kept.exists():
        with np.load(kept) as found:
            device.restore(found["registers"].tolist(), found["memory"].tobytes())
            progress = Progress(*found["progress"].tolist())
    while progress.parts * PART < len(all_records):
        part = b"".join(all_records[progress.parts * PART : (progress.parts + 1) * PART])
        for line in device.run_part(part).splitlines():
            twin = expected[progress.lines]
            progress.board_equal += line == twin
            progress.host_equal += host[progress.lines] == twin
            progress.alarms += "alarm" in line
            progress.unknown += "(unknown)" in line
            progress.lines += 1
        progress.parts += 1
        registers, memory = device.save()
        new = kept.with_suffix(".new.npz")
        np.savez(
            new,
            registers=np.array(registers, np.uint64),
            memory=np.frombuffer(memory, np.uint8),
            progress=astuple(progress),
        )
        new.replace(kept)  # whole, or not at all
        print(
            f"{title}: {progress.lines:,} of {len(expected):,} lines, board = twin on {progress.board_equal:,}, host = "
            f"twin on {progress.host_equal:,}; {progress.alarms} alarms, {progress.unknown} unknown",
            flush=True,
        )
    return progress


def main(*pairs: str) -> None:
    """Compare the front ends, cores and stores that are named, or all of them."""
    folder = os.environ.get("TMLCD_VOICES", "")
    if not folder:
        print("skipped: set TMLCD_VOICES to a folder of recorded words", file=sys.stderr)
        return
    wanted = [pair.split(":") for pair in pairs] or [
        [name, core, store] for store in STORES for name in FRONT_ENDS for core in OF_CORE
    ]
    for name, core, store in wanted:
        compare(folder, name, core, store)


if __name__ == "__main__":
    main(*sys.argv[1:])
