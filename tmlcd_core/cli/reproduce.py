"""The `reproduce` command: compute the paper's table, figures and claims into one folder."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command, plain
from tmlcd_core.cli.run import aligned
from tmlcd_core.errors import ConfigError
from tmlcd_core.progress import terminal_bar

PARTS = ("table1", "figures", "claims", "all")


def register(commands: Any) -> None:
    parser = add_command(commands, "reproduce", "reproduce the paper's table, figures and claims", _reproduce)
    parser.add_argument("part", choices=PARTS, help="part of the paper to reproduce")
    parser.add_argument("--runs", type=int, default=20, help="number of runs (%(default)s, as in the paper)")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="output folder (%(default)s)")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    work.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler to run on")


def _reproduce(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments import sweep
    from tmlcd_core.experiments.results import write_text
    from tmlcd_core.paper import (
        Evidence,
        approximation_configurations,
        figure_configurations,
        judge,
        table_configurations,
    )
    from tmlcd_core.paper.tables import CLAIM_HEAD, TABLE_HEAD, claim_rows, table_1, verdict, write_table
    from tmlcd_core.viz.paper import algorithm_panels, approximation_panels, to_json, write_figure

    if options.runs < 1:
        raise ConfigError(f"--runs is {options.runs}; give at least 1")
    started, part, out = time.monotonic(), options.part, options.out
    table = table_configurations() if part != "figures" else []
    figure = figure_configurations() if part != "table1" else []
    boards = approximation_configurations() if part != "table1" else []
    everything = [*table, *figure, *boards]
    results = sweep(
        [one.experiment for one in everything], range(options.runs), out, options.jobs, options.dask, terminal_bar()
    )
    found: dict[str, Any] = {"part": part, "runs": options.runs, "folder": out}
    lines: list[str] = []
    files: list[Path] = []
    if part in ("table1", "all"):
        rows = table_1(results, table)
        files += write_table(out, "table1", TABLE_HEAD, rows)
        found["table1"] = [dict(zip(TABLE_HEAD, row, strict=True)) for row in rows]
        lines += [*aligned([[str(c) for c in row[:-1]] for row in (TABLE_HEAD, *rows)]), ""]
    if part in ("figures", "all"):
        drawn = {
            "algorithms": algorithm_panels(results, figure),
            "approximation": approximation_panels(results, boards),
        }
        for name, panels in drawn.items():
            files += write_figure(out, name, panels)
        found["curves"] = {name: to_json(panels) for name, panels in drawn.items()}
        found["figures"] = {one.name: _summary(results, one) for one in (*figure, *boards)}
    if part in ("claims", "all"):
        judged = judge(Evidence(results, everything))
        files += write_table(out, "claims", CLAIM_HEAD, claim_rows(judged))
        found["claims"] = [
            {
                "key": claim.key,
                "section": claim.section,
                "statement": claim.statement,
                "rule": claim.rule,
                "measured": finding.values,
                "verdict": verdict(finding),
            }
            for claim, finding in judged
        ]
        lines += [f"{row[5]:<14} {row[0]:<20} {row[2]}\n{'':<15}{row[4]}" for row in claim_rows(judged)]
        lines.append(f"{sum(finding.holds for _, finding in judged)} of {len(judged)} claims hold")
    found["files"] = files
    found["seconds"] = time.monotonic() - started
    kept = {
        **found,
        "folder": None,
        "files": [path.name for path in files],
    }  # no absolute paths, so that the folder can be copied
    write_text(out / "reproduction.json", json.dumps(_short(plain(kept)), separators=(",", ":"), allow_nan=False))
    lines.append(f"{out}: {len(files) + 1} files, {found['seconds']:.0f} s")
    return Report(found, "\n".join(lines))


def _short(value: Any) -> Any:
    """Round floats to six significant digits: a fifth of the file size, still finer than the spread over 20 runs."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _summary(results: Any, one: Any) -> dict[str, Any]:
    from tmlcd_core.experiments.evaluation import summary_json

    summary = results.summary(one.experiment)
    return {"title": one.title, "learners": {name: summary_json(found) for name, found in summary.items()}}
