"""The `equal-bytes` command: Tandem, the paper's learners, SAM-kNN, a window and river's learners at equal bytes."""

from __future__ import annotations

import argparse
import time
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.cli.study_options import add_study_options, numbers, write_study
from tmlcd_core.progress import terminal_bar

FILE = "equal_bytes.json"


def register(commands: Any) -> None:
    """Add the command `equal-bytes`."""
    parser = add_command(commands, "equal-bytes", "compare learners that have the same bytes", _equal_bytes)
    add_study_options(parser, "speech, digits and points", "2,3,5", 10, "draws of the classes for each λ")
    parser.add_argument("--no-river", action="store_true", help="without river's learners, which are slow")


def _equal_bytes(options: argparse.Namespace) -> Report:
    from tmlcd_core.paper.equal_bytes import (
        BUDGETS,
        CLASSES,
        DATA,
        HEAD,
        LOSS_HEAD,
        loss_rows,
        river_sentence,
        rows,
        sentence,
        study_equal_bytes,
    )

    started, out = time.monotonic(), options.out
    classes = numbers(options.classes, CLASSES)
    study = study_equal_bytes(
        options.data or DATA, options.runs, out, options.jobs, terminal_bar(), not options.no_river, classes
    )
    write_study(out / FILE, study)
    lines, tables = [], []
    for data in study.data:
        for budget in BUDGETS:
            found = rows(study, data, budget)
            tables.append({"data": data, "budget": budget, "rows": [dict(zip(HEAD, r, strict=True)) for r in found]})
            lines += [f"{data}, the bytes of {budget} samples", *aligned_columns([list(HEAD), *found]), ""]
    lost = loss_rows(study)
    lines += ["Where Tandem clearly loses:", *aligned_columns([list(LOSS_HEAD), *lost]), ""] if lost else []
    said = sentence(study) + ("" if options.no_river else f" {river_sentence(study)}")
    seconds = time.monotonic() - started
    lines += [said, f"{out / FILE} written, {seconds:.0f} s"]
    found_losses = [dict(zip(LOSS_HEAD, row, strict=True)) for row in lost]
    data_out = {"runs": study.runs, "sentence": said, "tables": tables, "losses": found_losses, "seconds": seconds}
    return Report({**data_out, "file": out / FILE}, "\n".join(lines))
