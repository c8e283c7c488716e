"""The `run` command: run learners over a stream with a drift and print the mean metrics over runs."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.progress import terminal_bar

if TYPE_CHECKING:
    from tmlcd_core.experiments import Experiment, Results

RUNS = 20  # as in the paper
GRADUAL, THIRD = "gradual", 1 / 3  # `--drift gradual`: a class change over a third of the rest of the stream
SHOWN = (
    ("accuracy_before", "before"),
    ("accuracy_after", "after"),
    ("accuracy", "overall"),
    ("final_size", "final |T|"),
    ("largest_size", "max |T|"),
    ("delay", "delay"),
    ("change_point_error", "cp error"),
    ("missed", "missed"),
    ("false_alarms", "false"),
    ("microseconds", "µs"),
)
# Options that `--link` replaces.
ABOUT_EXPERIMENT = (
    "data", "classes", "words", "new", "drift", "at", "over", "effect", "strength", "scenario", "learners", "train",
    "per_class",
)  # fmt: skip


def register(commands: Any) -> None:
    parser = add_command(commands, "run", "run learners over a stream with a drift", _run)
    parser.add_argument("--link", metavar="URL", help="link of the Drift lab, instead of the options up to --set")
    parser.add_argument("--data", help="name from `data list`, `pack`, or a folder (default: speech)")
    parser.add_argument(
        "--classes", metavar="N|A,B,…", help="number of classes, drawn for each run, or their names (default: 2)"
    )
    parser.add_argument("--words", metavar="A,B,…", help="names of the first classes; the others are drawn at random")
    parser.add_argument(
        "--drift",
        help="class-change, noise, class-added, class-removed, labels-swapped, gradual, recurring, several, none, "
        "or the name of a plugin's drift (default: class-change)",
    )
    parser.add_argument("--new", metavar="CLASS", help="class that appears (default: drawn at random)")
    parser.add_argument("--at", type=float, help="start of the drift, as a fraction of the stream (default: 0.5)")
    parser.add_argument(
        "--over", type=float, help="length of the drift, as a fraction of the rest of the stream (default: 0)"
    )
    parser.add_argument("--effect", help="kind of noise (default for speech: `very noisy`)")
    parser.add_argument("--strength", type=float, help="strength of the noise, 0 to 1 (default: 1)")
    parser.add_argument(
        "--scenario", type=Path, metavar="FILE", help="JSON file of a scenario, instead of classes and drift"
    )
    parser.add_argument("--learners", metavar="A,B,…", help="names of learners (default: cit,active,hybrid)")
    parser.add_argument(
        "--train", type=int, help="initial training samples per class; fewer if the data have fewer (default: 100)"
    )
    parser.add_argument(
        "--per-class", type=int, help="stream samples per class; fewer if the data have fewer (default: 1500)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE[,VALUE…]",
        help="setting of the learners, such as threshold=30 or hybrid.max_size=50,100; several values make a grid",
    )
    parser.add_argument("--runs", type=int, help="number of runs (default: 20; with --link: as in the link, or 1)")
    parser.add_argument("--seed", type=int, help="seed of the first run; further runs count up from it (default: 0)")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    work.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler to run on")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the runs; finished runs in it are not repeated"
    )


def _run(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments import grid, sweep

    base = _experiment(options)
    experiments = grid(base, dict(_axis(text) for text in options.set))
    _warn_of_broken_files(base)
    results = sweep(experiments, None, options.out, options.jobs, options.dask, terminal_bar())
    found = [_found(results, experiment) for experiment in experiments]
    data = found[0] if len(found) == 1 else {"experiments": found}
    text = "\n\n".join(_table(results, experiment) for experiment in experiments)
    return Report({**data, "folder": options.out}, text)


def _experiment(options: argparse.Namespace) -> Experiment:
    from tmlcd_core.experiments import Experiment

    given = {name: getattr(options, name) for name in ABOUT_EXPERIMENT if getattr(options, name) is not None}
    counts = {name: getattr(options, name) for name in ("runs", "seed") if getattr(options, name) is not None}
    for name, value in counts.items():
        if value < (name == "runs"):
            raise ConfigError(f"--{name} is {value}; give {int(name == 'runs')} or more")
    if options.link is not None:
        if given:
            raise ConfigError(
                f"--link already sets the whole experiment: leave out --{next(iter(given)).replace('_', '-')}"
            )
        return replace(Experiment.from_link(options.link), **counts)
    if given.get("drift") == GRADUAL:
        given |= {"drift": "class-change", "over": given.get("over", THIRD)}
    if "scenario" in given:
        given["scenario"] = _scenario(given["scenario"])
    if "classes" in given:
        given["classes"] = _classes(given["classes"])
    for name in ("words", "learners"):
        if name in given:
            given[name] = _names(given[name])
    return Experiment(**given, **({"runs": RUNS} | counts))


def _scenario(path: Path) -> Any:
    from tmlcd_core.streams import Scenario

    try:
        return Scenario.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"the scenario {path} cannot be read ({error}): give a JSON file written by Scenario.to_json"
        ) from error


def _warn_of_broken_files(experiment: Experiment) -> None:
    from tmlcd_core.datasets.folder import left_out
    from tmlcd_core.streams import SourcePool

    feature_pool = experiment.feature_pool()
    if isinstance(feature_pool, SourcePool):
        experiment.prepare(feature_pool, terminal_bar())
        if told := left_out(feature_pool.skipped):
            warnings.warn(f"{told} `tmlcd data check {experiment.data}` lists them all", stacklevel=2)


def _classes(text: str) -> int | tuple[str, ...]:
    parts = _names(text)
    if len(parts) == 1 and parts[0].lstrip("-").isdigit():
        return int(parts[0])
    return parts


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _axis(text: str) -> tuple[str, list[Any]]:
    from tmlcd_core.experiments.link import value_of

    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ConfigError(f"--set {text!r}; write SETTING=VALUE, such as threshold=30")
    return name.strip(), [value_of(value.strip()) for value in values.split(",")]


def _found(results: Results, experiment: Experiment) -> dict[str, Any]:
    from tmlcd_core.experiments.evaluation import summary_json

    runs = results.runs(experiment)
    return {
        "data": experiment.data,
        "scenario": runs[0].scenario.to_json(),
        "extractor": dict(experiment.extractor),
        "runs": len(runs),
        "seed": experiment.seed,
        "classes": [run.names for run in runs],
        "learners": {
            name: {**summary_json(summary), "settings": _settings(experiment, name, runs[0])}
            for name, summary in results.summary(experiment).items()
        },
        **({} if experiment.scenario else {"link": experiment.link(), "command": experiment.command()}),
    }


def _settings(experiment: Experiment, name: str, run: Any) -> dict[str, Any]:
    return experiment.learner_settings(name, run.scenario)


def _table(results: Results, experiment: Experiment) -> str:
    runs = results.runs(experiment)
    scenario = runs[0].scenario
    changes = ", ".join(f"{drift.kind} at {drift.at}" for drift in scenario.drifts) or "no drift"
    lines = [
        f"{experiment.data}: {scenario.start.size} classes, {scenario.train} initial samples per class, "
        f"stream of {scenario.length} samples ({changes}), {len(runs)} runs",
        *(f"  {name}={value}" for name, value in experiment.settings),
    ]
    rows = [["learner", *(head for _, head in SHOWN)]]
    for name, summary in results.summary(experiment).items():
        rows.append([name, *(_cell(summary[key].mean, summary[key].std, key) for key, _ in SHOWN)])
    return "\n".join(lines + aligned(rows))


def _cell(mean: float, std: float, key: str) -> str:
    if mean != mean:
        return "-"
    digits = 3 if key.startswith("accuracy") else 1
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line per row, with the cells padded to columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
