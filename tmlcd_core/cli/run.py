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
    ("alarms", "alarms"),  # of recorded streams, whose changes are unknown
    ("delay", "delay"),
    ("change_point_error", "cp error"),
    ("missed", "missed"),
    ("false_alarms", "false"),
    ("microseconds", "µs"),
)
BYTES = (("mean_bytes", "mean bytes"), ("peak_bytes", "max bytes"))  # shown with --max-bytes
RECORDED = ("label", "scale", "order", "initial", "samples")  # options of recorded streams
COMPOSED = (
    "classes", "words", "new", "drift", "affected", "at", "over", "effect", "strength", "added", "scenario",
    "train", "per_class",
)  # fmt: skip
# Options that `--link` replaces.
ABOUT_EXPERIMENT = (
    "data", "extractor", "learners", "labels", "label_delay", "wrong_labels", "max_bytes", *RECORDED, *COMPOSED,
)  # fmt: skip


def register(commands: Any) -> None:
    """Add the command `run`."""
    parser = add_command(commands, "run", "run learners over a stream with a drift", _run)
    parser.add_argument("--link", metavar="URL", help="link of the Drift lab, instead of the options up to --set")
    data = parser.add_mutually_exclusive_group()
    data.add_argument(
        "--data",
        help="name from `data list`, `pack`, a folder, or a stream such as river:SEA or capymoa:SEA (default: speech)",
    )
    data.add_argument("--table", metavar="FILE", help="CSV, TSV, ARFF, Parquet or NPZ file in the order of time")
    parser.add_argument("--label", metavar="COLUMN", help="label column of the table")
    parser.add_argument("--scale", help="scaling of the table's numbers: z-score, min-max or none (default: z-score)")
    parser.add_argument("--order", help="use the files of a folder in the order of their `name` or `date`")
    parser.add_argument(
        "--initial", type=int, help="initial samples of a table, river stream or ordered folder (default: 100)"
    )
    parser.add_argument(
        "--samples", type=int, help="samples of such a stream to use, the initial ones included (default: all)"
    )
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
    parser.add_argument(
        "--affected", type=int, metavar="M", help="classes that change (default: 1), or labels that rotate (default: 2)"
    )
    parser.add_argument("--at", type=float, help="start of the drift, as a fraction of the stream (default: 0.5)")
    parser.add_argument(
        "--over", type=float, help="length of the drift, as a fraction of the rest of the stream (default: 0)"
    )
    parser.add_argument("--effect", help="kind of noise (default for speech: `very noisy`)")
    parser.add_argument("--strength", type=float, help="strength of the noise, 0 to 1 (default: 1)")
    parser.add_argument(
        "--added", metavar="NAME@SAMPLE,…", help="drifts added while the stream ran; the samples before stay the same"
    )
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
    parser.add_argument("--labels", type=float, help="share of the samples that get a label, 0 to 1 (default: 1)")
    parser.add_argument("--label-delay", type=int, help="samples until a label comes (default: 0)")
    parser.add_argument("--wrong-labels", type=float, help="share of the labels that are wrong, 0 to 1 (default: 0)")
    parser.add_argument(
        "--extractor",
        help="features of sound: `paper` (the paper's filter, default) or `speech` (a network for speech)",
    )
    parser.add_argument(
        "--max-bytes",
        type=int,
        metavar="N",
        help="the same memory for all learners, in bytes: T, and the window of Active, hold what fits",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE[,VALUE…]",
        help="setting of the learners, such as threshold=30 or hybrid.max_size=50,100; several values make a grid",
    )
    parser.add_argument(
        "--paper",
        choices=("printed", "code"),
        help="the paper's settings as printed (default), or as the authors' published code runs",
    )
    parser.add_argument("--runs", type=int, help="number of runs (default: 20; with --link: as in the link, or 1)")
    parser.add_argument("--seed", type=int, help="seed of the first run; further runs count up from it (default: 0)")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    work.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler to run on")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the runs; finished runs in it are not repeated"
    )
    parser.add_argument(
        "--web", type=Path, metavar="FILE.html", help="write the first run as a page with live sliders, in one file"
    )


def _run(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments import grid, sweep
    from tmlcd_core.experiments.variants import variant_of

    base = _experiment(options)
    if options.paper is not None:
        base = variant_of(options.paper).apply(base)
    experiments = grid(base, dict(_axis(text) for text in options.set))
    if options.web is not None and len(experiments) > 1:
        raise ConfigError(f"--web writes one experiment, and --set gives {len(experiments)}: use single values")
    _warn_of_broken_files(base)
    results = sweep(experiments, None, options.out, options.jobs, options.dask, terminal_bar())
    found = [_found(results, experiment) for experiment in experiments]
    data = found[0] if len(found) == 1 else {"experiments": found}
    text = "\n\n".join(_table(results, experiment) for experiment in experiments)
    if options.web is not None:
        size = _write_page(experiments[0], options.web)
        data, text = {**data, "web": options.web}, f"{text}\n{options.web}: {size / 1e6:.1f} MB, open it in a browser"
    return Report({**data, "folder": options.out}, text)


def _write_page(experiment: Experiment, path: Path) -> int:
    from tmlcd_core.web.lab_page import page_of_experiment
    from tmlcd_core.web.one_file import write_page

    return write_page(path, page_of_experiment(replace(experiment, runs=1), terminal_bar()))


def _experiment(options: argparse.Namespace) -> Experiment:
    from tmlcd_core.experiments import Experiment

    given = {name: getattr(options, name) for name in ABOUT_EXPERIMENT if getattr(options, name) is not None}
    if options.table is not None:
        given["data"] = options.table
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
    if options.table is not None and not options.label:
        raise ConfigError("--table needs the name of its label column: add --label COLUMN")
    if given.get("drift") == GRADUAL:
        given |= {"drift": "class-change", "over": given.get("over", THIRD)}
    if "scenario" in given:
        given["scenario"] = _scenario(given["scenario"])
    if "classes" in given:
        given["classes"] = _classes(given["classes"])
    for name in ("words", "learners", "added"):
        if name in given:
            given[name] = _names(given[name])
    experiment = Experiment(**given, **counts)
    unused = [name for name in (COMPOSED if experiment.is_recorded else RECORDED) if name in given]
    if unused:
        what = "a recorded stream, which keeps its samples" if experiment.is_recorded else "a composed stream"
        raise ConfigError(f"--{unused[0].replace('_', '-')} does not apply to {what}: leave it out")
    return replace(experiment, **({"runs": RUNS if experiment.is_random else 1} | counts))


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

    if experiment.is_recorded:
        return
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
    none = "changes unknown" if scenario.recorded else "no drift"
    changes = ", ".join(f"{drift.kind} at {drift.at}" for drift in scenario.drifts) or none
    initial = (
        f"{scenario.initial} initial samples" if scenario.recorded else f"{scenario.train} initial samples per class"
    )
    lines = [
        f"{experiment.data}: {scenario.start.size} classes, {initial}, "
        f"stream of {scenario.length} samples ({changes}), {len(runs)} runs",
        *(f"  {name}={value}" for name, value in experiment.settings),
        *([] if experiment.max_bytes is None else [f"  max_bytes={experiment.max_bytes}"]),
    ]
    columns = [(key, head) for key, head in SHOWN if (key == "alarms") <= bool(scenario.recorded)]
    if experiment.max_bytes is not None:
        columns += BYTES
    rows = [["learner", *(head for _, head in columns)]]
    for name, summary in results.summary(experiment).items():
        rows.append([name, *(_cell(summary[key].mean, summary[key].std, key) for key, _ in columns)])
    return "\n".join(lines + aligned_columns(rows))


def _cell(mean: float, std: float, key: str) -> str:
    if mean != mean:
        return "-"
    digits = 3 if key.startswith("accuracy") else 1
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def aligned_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line per row, with the cells padded to columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
