"""The `forgetting` command: when does forgetting pay? Hybrid against CIT by the share of T that a change affected."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.errors import ConfigError
from tmlcd_core.progress import terminal_bar

FILE = "forgetting.json"


def register(commands: Any) -> None:
    """Add the command `forgetting`."""
    parser = add_command(commands, "forgetting", "measure when forgetting pays: Hybrid against CIT", _forgetting)
    parser.add_argument(
        "--data", action="append", metavar="NAME|FOLDER", help="speech, digits, … or a folder; can be repeated "
        "(default: speech and digits)",
    )  # fmt: skip
    parser.add_argument(
        "--classes", metavar="N,N,…", help="numbers of classes λ, those that the data have (default: 2,3,5,10)"
    )
    parser.add_argument("--runs", type=int, default=20, help="number of runs (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR",
        help="output folder; finished runs in it are not repeated (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")


def _forgetting(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments.results import write_text
    from tmlcd_core.paper.forgetting import CLASSES, DATA, SPLIT_HEAD, forgetting_sentence, split_rows, study_forgetting
    from tmlcd_core.viz.forgetting import write_picture

    started, out = time.monotonic(), options.out
    classes = CLASSES if options.classes is None else numbers(options.classes)
    study = study_forgetting(options.data or DATA, options.runs, out, options.jobs, terminal_bar(), classes)
    files = [out / FILE, *write_picture(out, study)]
    write_text(files[0], json.dumps(study.to_json(), separators=(",", ":"), allow_nan=False) + "\n")
    said, rows = forgetting_sentence(study), split_rows(study)
    seconds = time.monotonic() - started
    lines = aligned_columns([[str(cell) for cell in row] for row in (SPLIT_HEAD, *rows)])
    lines += ["", said, f"{out}: {len(files)} files, {seconds:.0f} s"]
    split = [dict(zip(SPLIT_HEAD, row, strict=True)) for row in rows]
    found = {**study.to_json(), "sentence": said, "split": split, "files": files, "seconds": seconds}
    return Report(found, "\n".join(lines))


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of classes of an option such as "2,3,5", ascending."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 2 <= int(part) <= 1000 for part in parts):
        raise ConfigError(f"--classes is {text!r}; give numbers from 2 on, such as 2,3,5")
    return tuple(sorted({int(part) for part in parts}))
