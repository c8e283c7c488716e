"""The `live-answers` command: unknown words, calibration and odd takes of live sessions, on recorded voices."""

from __future__ import annotations

import argparse
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.cli.live_drifts import add_options, check_seed, names_of, write_rows
from tmlcd_core.progress import terminal_bar

DRAWS = 20


def register(commands: Any) -> None:
    """Add the command `live-answers`."""
    parser = add_command(
        commands,
        "live-answers",
        "measure unknown words, the calibration of “% sure” and odd takes, on a folder of recorded words",
        _measure,
    )
    add_options(parser, "live_answers.json")
    parser.add_argument("--draws", type=int, default=DRAWS, help="random draws per speaker (%(default)s)")
    parser.add_argument("--speakers", metavar="A,B,…", help="names of the speakers (default: all)")


def _measure(options: argparse.Namespace) -> Report:
    from dataclasses import asdict

    from tmlcd_core.cli.run import aligned_columns
    from tmlcd_core.live.answer_trials import ANSWERING, measure_answers

    table = measure_answers(
        options.data,
        options.draws,
        check_seed(options.seed),
        names_of(options.extractors, ANSWERING),
        names_of(options.speakers, ()),
        terminal_bar(),
    )
    write_rows(options.out, asdict(table))
    rows = [["extractor", "takes", "taught refused", "untaught accepted", "calibration", "odd found", "false flags"]]
    for row in table.rows:
        odd = ["-" if share is None else f"{share:.1%}" for share in (row.odd_found, row.odd_false)]
        shares = [f"{row.refused:.1%}", f"{row.accepted:.1%}", f"{row.calibration_error:.3f}"]
        rows.append([row.extractor, str(row.takes), *shares, *odd])
    lines = [
        f"{options.data}: {len(table.speakers)} speakers, {table.words} words taught, {table.draws} draws per speaker",
        *aligned_columns(rows),
        "calibration: mean distance of “% sure” to the share of right answers; half of the words were not taught",
    ]
    return Report(asdict(table), "\n".join(lines))
