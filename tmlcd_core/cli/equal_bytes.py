"""The `equal-bytes` command: Tandem, the paper's learners, SAM-kNN, a window and river's learners at equal bytes."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.cli.forgetting import numbers
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.progress import terminal_bar

FILE = "equal_bytes.json"


def register(commands: Any) -> None:
    """Add the command `equal-bytes`."""
    parser = add_command(commands, "equal-bytes", "compare learners that have the same bytes", _equal_bytes)
    parser.add_argument(
        "--data", action="append", metavar="NAME|FOLDER", help="speech, digits, … or a folder; can be repeated "
        "(default: speech, digits and points)",
    )  # fmt: skip
    parser.add_argument(
        "--classes", metavar="N,N,…", help="numbers of classes λ, those that the data have (default: 2,3,5)"
    )
    parser.add_argument("--runs", type=int, default=10, help="draws of the classes for each λ (%(default)s)")
    parser.add_argument("--no-river", action="store_true", help="without river's learners, which are slow")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR",
        help="output folder; finished runs in it are not repeated (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")


def _equal_bytes(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments.results import write_text
    from tmlcd_core.paper.equal_bytes import (
        BUDGETS,
        CLASSES,
        DATA,
        HEAD,
        LOSS_HEAD,
        loss_rows,
        rows,
        sentence,
        study_equal_bytes,
    )

    started, out = time.monotonic(), options.out
    classes = CLASSES if options.classes is None else numbers(options.classes)
    study = study_equal_bytes(
        options.data or DATA, options.runs, out, options.jobs, terminal_bar(), not options.no_river, classes
    )
    write_text(out / FILE, json.dumps(study.to_json(), separators=(",", ":"), allow_nan=False) + "\n")
    lines, tables = [], []
    for data in study.data:
        for budget in BUDGETS:
            found = rows(study, data, budget)
            tables.append({"data": data, "budget": budget, "rows": [dict(zip(HEAD, r, strict=True)) for r in found]})
            lines += [f"{data}, the bytes of {budget} samples", *aligned_columns([list(HEAD), *found]), ""]
    lost = loss_rows(study)
    lines += ["Where Tandem clearly loses:", *aligned_columns([list(LOSS_HEAD), *lost]), ""] if lost else []
    said = sentence(study)
    seconds = time.monotonic() - started
    lines += [said, f"{out / FILE} written, {seconds:.0f} s"]
    found_losses = [dict(zip(LOSS_HEAD, row, strict=True)) for row in lost]
    data_out = {"runs": study.runs, "sentence": said, "tables": tables, "losses": found_losses, "seconds": seconds}
    return Report({**data_out, "file": out / FILE}, "\n".join(lines))
