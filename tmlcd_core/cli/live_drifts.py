"""The `live-drifts` command: alarms of live sessions with recorded voices, for every drift of the page Microphone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError
from tmlcd_core.progress import terminal_bar

SESSIONS = 24


def register(commands: Any) -> None:
    """Add the command `live-drifts`."""
    parser = add_command(
        commands,
        "live-drifts",
        "measure how often and how soon live sessions detect each drift, on a folder of recorded words",
        _measure,
    )
    add_options(parser, "live_drifts.json")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="sessions per row (%(default)s)")
    parser.add_argument("--drifts", metavar="A,B,…", help="names of the drifts (default: all)")


def _measure(options: argparse.Namespace) -> Report:
    from dataclasses import asdict

    from tmlcd_core.cli.run import aligned_columns
    from tmlcd_core.live.drift_trials import LAST, SOON, TRIED_DRIFTS, TRIED_EXTRACTORS, measure_drifts

    table = measure_drifts(
        options.data,
        options.sessions,
        check_seed(options.seed),
        names_of(options.drifts, tuple(TRIED_DRIFTS)),
        names_of(options.extractors, TRIED_EXTRACTORS),
        terminal_bar(),
    )
    rows = [["drift", "extractor", "takes", "learner", "alarms", f"within {SOON}", "median", "80 %", f"last {LAST}"]]
    for row in table.rows:
        for name, rates in row.learners.items():
            times = ["-" if time is None else str(time) for time in (rates.median, rates.most)]
            shares = [f"{rates.alarms:.0%}", f"{rates.soon:.0%}", *times, f"{rates.accuracy:.3f}"]
            rows.append([row.drift, row.extractor, str(row.takes), name, *shares])
    write_rows(options.out, asdict(table))
    lines = [
        f"{options.data}: {table.speakers} speakers; {table.words} words, {table.before} answers, the drift, "
        f"{table.after} answers; {table.sessions} sessions per row",
        *aligned_columns(rows),
        f"alarms: share of the sessions; median, 80 %: answers from the drift to the alarm; last {LAST}: accuracy",
    ]
    return Report(asdict(table), "\n".join(lines))


# -- shared with `live-answers` ----------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, shipped: str) -> None:
    """Add the options of a command that measures on a folder of recorded words; `shipped` is the file of its table."""
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="one folder per word, or files word_speaker_take.wav as in the Free Spoken Digit Dataset and AudioMNIST",
    )
    parser.add_argument("--extractors", metavar="A,B,…", help="names of the extractors (default: word,speech)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"also write the table as JSON, as data/{shipped}")


def names_of(given: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a list separated by commas, or `default` if there is none."""
    return tuple(name.strip() for name in given.split(",") if name.strip()) if given else default


def check_seed(seed: int) -> int:
    """Return the seed; a `ConfigError` if it is negative."""
    if seed < 0:
        raise ConfigError(f"--seed is {seed}; give 0 or more")
    return seed


def write_rows(path: Path | None, table: dict[str, Any]) -> None:
    """Write a table with `rows` as JSON, one line per row; nothing if there is no path."""
    import json

    if path is None:
        return
    rows = ",\n".join("  " + json.dumps(row) for row in table["rows"])
    rest = {key: value for key, value in table.items() if key != "rows"}
    text = json.dumps(rest)[:-1] + ', "rows": [\n' + rows + "\n]}\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): choose another --out") from error
