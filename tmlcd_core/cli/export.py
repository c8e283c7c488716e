"""`export`: a fitted Hybrid Tiny kNN as a C project for a microcontroller."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError, DataError, ExportError
from tmlcd_core.progress import terminal_bar

TRAINING = 100  # clips per word (paper, Sec. 7.3)


def register(commands: Any) -> None:
    parser = add_command(commands, "export", "a fitted model as a C project for a microcontroller", _export)
    parser.add_argument("--board", default="stm32f401", help="stm32h743, stm32f767 or stm32f401 (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, or a file that ends in .zip")
    parser.add_argument("--data", default="speech", help="a name from `data list`, or a folder of clips (%(default)s)")
    parser.add_argument(
        "--classes", nargs="+", metavar="WORD", default=["yes", "no"], help="what to tell apart (yes no)"
    )
    parser.add_argument("--later", nargs="+", metavar="WORD", default=[], help="classes that may turn up on the device")
    parser.add_argument("--train", type=int, default=TRAINING, help="clips per class to fit on (%(default)s)")
    parser.add_argument("--sample-rate", type=int, default=22_050, metavar="HZ", help="%(default)s, or 4410")
    parser.add_argument("--max-size", type=int, default=50, metavar="N", help="largest |T| (%(default)s)")
    parser.add_argument("--layout", default="streamed", help="streamed, compact or paper (%(default)s)")
    parser.add_argument("--store", default="auto", help="type of T: float32, int16, uint8, or auto (%(default)s)")


def _export(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import load, open_source
    from tmlcd_core.features import Extractor
    from tmlcd_core.learners import HybridTinyKNN
    from tmlcd_core.mcu import export_firmware, find_board

    find_board(options.board)
    if options.train < 1:
        raise ConfigError(f"--train is {options.train}; ask for at least 1 clip per class")
    # The window keeps its length in time: the paper takes 512 samples at 22,050 Hz and 128 at 4,410.
    window = 512 if options.sample_rate > 11_025 else 256 if options.sample_rate > 5_512 else 128
    extractor = Extractor(sample_rate=options.sample_rate, n_fft=window, hop=window)
    source = open_source(options.data, options.classes, progress=terminal_bar())
    if source.kind != "audio":
        raise DataError(f"{options.data} holds {source.kind}s; the exported project listens to sound: choose clips")
    data = load(source, tuple(options.classes), options.train, extractor, progress=terminal_bar())
    model = HybridTinyKNN(max_size=options.max_size).fit(data.X, data.y)
    firmware = export_firmware(
        model,
        extractor,
        board=options.board,
        layout=options.layout,
        store=options.store,
        classes=options.later,
    )
    try:
        _write(firmware, options.out)
    except OSError as error:
        raise ExportError(f"{options.out} cannot be written ({error.strerror}): choose another --out") from error
    table = firmware.budget
    found = {
        "out": options.out,
        "board": firmware.board.name,
        "classes": firmware.classes,
        "stored": len(model),
        "configuration": firmware.configuration,
        "fused": firmware.fused,
        "needed": table.needed,
        "ram": firmware.board.ram,
        "rows": table.rows,
    }
    text = (
        f"{options.out}: {', '.join(firmware.classes)} for the {firmware.board.title}, {len(model)} of at most "
        f"{firmware.configuration.samples} samples in {firmware.configuration.store}\n"
        f"{table.needed:,} of {firmware.board.ram:,} bytes of RAM; README.md in it says how to build, flash and feed it"
    )
    return Report(found, text)


def _write(firmware: Any, out: Path) -> None:
    if out.suffix != ".zip":
        firmware.write(out)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(firmware.zip())
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
