"""The `forgetting` command: when does forgetting pay? Hybrid against CIT by the share of T that a change affected."""

from __future__ import annotations

import argparse
import time
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.cli.study_options import add_study_options, numbers, write_study
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import terminal_bar

FILE = "forgetting.json"


def register(commands: Any) -> None:
    """Add the command `forgetting`."""
    parser = add_command(commands, "forgetting", "measure when forgetting pays: Hybrid against CIT", _forgetting)
    add_study_options(parser, "speech and digits", "2,3,5,10", 20, "number of runs")


def _forgetting(options: argparse.Namespace) -> Report:
    from tmlcd_core.paper.forgetting import CLASSES, DATA, SPLIT_HEAD, forgetting_sentence, split_rows, study_forgetting
    from tmlcd_core.viz.forgetting import write_picture

    require("plotly")  # before the study, which takes minutes
    require("matplotlib")
    started, out = time.monotonic(), options.out
    classes = numbers(options.classes, CLASSES)
    study = study_forgetting(options.data or DATA, options.runs, out, options.jobs, terminal_bar(), classes)
    files = [out / FILE, *write_picture(out, study)]
    write_study(files[0], study)
    said, rows = forgetting_sentence(study), split_rows(study)
    seconds = time.monotonic() - started
    lines = aligned_columns([[str(cell) for cell in row] for row in (SPLIT_HEAD, *rows)])
    lines += ["", said, f"{out}: {len(files)} files, {seconds:.0f} s"]
    split = [dict(zip(SPLIT_HEAD, row, strict=True)) for row in rows]
    found = {**study.to_json(), "sentence": said, "split": split, "files": files, "seconds": seconds}
    return Report(found, "\n".join(lines))
