"""Options that the studies `forgetting` and `equal-bytes` share, and their result as a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tmlcd_core.errors import ConfigError


def add_study_options(parser: argparse.ArgumentParser, data: str, classes: str, runs: int, run: str) -> None:
    """Add --data, --classes, --runs, --out and --jobs to a parser.

    Parameters
    ----------
    data, classes : str
        Default of the first two, for the help.
    runs : int
        Default number of runs.
    run : str
        What is run so many times, for the help.
    """
    parser.add_argument(
        "--data", action="append", metavar="NAME|FOLDER",
        help=f"speech, digits, … or a folder; can be repeated (default: {data})",
    )  # fmt: skip
    parser.add_argument(
        "--classes", metavar="N,N,…", help=f"numbers of classes λ, those that the data have (default: {classes})"
    )
    parser.add_argument("--runs", type=int, default=runs, help=f"{run} (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR",
        help="output folder; finished runs in it are not repeated (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")


def numbers(text: str | None, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of classes of an option such as "2,3,5", ascending; `default` without the option."""
    if text is None:
        return default
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 2 <= int(part) <= 1000 for part in parts):
        raise ConfigError(f"--classes is {text!r}; give numbers from 2 on, such as 2,3,5")
    return tuple(sorted({int(part) for part in parts}))


def write_study(path: Path, study: Any) -> None:
    """Write a `tmlcd_core.paper.study.Study` as JSON."""
    from tmlcd_core.experiments.results import write_text

    write_text(path, json.dumps(study.to_json(), separators=(",", ":"), allow_nan=False) + "\n")
