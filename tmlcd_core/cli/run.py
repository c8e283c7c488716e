"""`run`: learners over a stream with a drift, repeated, with their mean figures."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.progress import terminal_bar

if TYPE_CHECKING:
    from tmlcd_core.experiments import Experiment, Results, Scenario

RUNS = 20  # as in the paper
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


def register(commands: Any) -> None:
    parser = add_command(commands, "run", "run learners over a stream with a drift", _run)
    parser.add_argument("--data", default="speech", help="a name from `data list`, or a folder (%(default)s)")
    parser.add_argument(
        "--classes",
        default="2",
        metavar="N|A,B,…",
        help="how many classes are drawn for each run, or which to take (%(default)s)",
    )
    parser.add_argument(
        "--drift",
        default="class-change",
        help="class-change, noise, class-added, class-removed, labels-swapped, gradual, recurring, several or none "
        "(%(default)s)",
    )
    parser.add_argument("--new", metavar="CLASS", help="the class that comes in; drawn unless given")
    parser.add_argument("--effect", help="what the noise is; `very noisy` for speech unless given")
    parser.add_argument("--strength", type=float, default=1.0, help="of the effect, 0 to 1 (%(default)s)")
    parser.add_argument("--scenario", type=Path, metavar="FILE", help="a scenario in JSON instead of the above")
    parser.add_argument("--learners", default="cit,active,hybrid", help="names with commas (%(default)s)")
    parser.add_argument("--train", type=int, help="samples per class to begin with; the paper's 100 if enough")
    parser.add_argument(
        "--per-class", type=int, help="samples per class in each concept; the paper's 750, images 500, if enough"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE[,VALUE…]",
        help="a learner's setting, such as threshold=30 or hybrid.max_size=50,100; several values make a grid",
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="repetitions (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first run; the others follow (%(default)s)")
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--jobs", type=int, default=-1, help="processes; all cores unless given")
    work.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler that does the work")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the runs there; what is there is not redone")


def _run(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments import Experiment, grid, sweep

    if options.runs < 1:
        raise ConfigError(f"--runs is {options.runs}; ask for at least 1")
    if options.seed < 0:
        raise ConfigError(f"--seed is {options.seed}; give 0 or more")
    learners = tuple(name.strip() for name in options.learners.split(",") if name.strip())
    base = Experiment(options.data, _scenario(options), learners)
    experiments = grid(base, dict(_axis(text) for text in options.set))
    seeds = range(options.seed, options.seed + options.runs)
    results = sweep(experiments, seeds, options.out, options.jobs, options.dask, terminal_bar())
    found = [_found(results, experiment, options.seed) for experiment in experiments]
    data = found[0] if len(found) == 1 else {"experiments": found}
    text = "\n\n".join(_table(results, experiment) for experiment in experiments)
    return Report({**data, "folder": options.out}, text)


def _scenario(options: argparse.Namespace) -> Scenario:
    from tmlcd_core.datasets.folder import left_out
    from tmlcd_core.experiments import Scenario, SourceMaterial, fitting_sizes, make_scenario

    if options.scenario is not None:
        try:
            return Scenario.from_json(options.scenario.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"the scenario {options.scenario} cannot be read ({error})") from error
    classes = _classes(options.classes)
    named = () if isinstance(classes, int) else classes
    new = (options.new,) if options.new else ()
    material = SourceMaterial(options.data, (*named, *new))
    train, per_class = fitting_sizes(material, options.drift, (*named, *new) or None, terminal_bar())
    if told := left_out(material.skipped):
        warnings.warn(f"{told} `python -m tmlcd_core data check {options.data}` lists them all", stacklevel=2)
    default = {"audio": "white noise", "image": "image noise", "vector": "very noisy"}[material.kind]
    return make_scenario(
        options.drift,
        classes,
        per_class if options.per_class is None else options.per_class,
        train if options.train is None else options.train,
        options.new,
        options.effect or ("very noisy" if options.data == "speech" else default),
        options.strength,
    )


def _classes(text: str) -> int | tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(parts) == 1 and parts[0].lstrip("-").isdigit():
        return int(parts[0])
    return parts


def _axis(text: str) -> tuple[str, list[Any]]:
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ConfigError(f"--set {text!r}; write SETTING=VALUE, such as threshold=30")
    return name.strip(), [_value(value.strip()) for value in values.split(",")]


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _found(results: Results, experiment: Experiment, seed: int) -> dict[str, Any]:
    from tmlcd_core.experiments.evaluation import summary_json

    settings = experiment.all_settings(seed)
    return {
        **{key: value for key, value in experiment.to_json().items() if key in ("data", "scenario", "extractor")},
        "runs": len(results.runs(experiment)),
        "seed": seed,
        "classes": [run.names for run in results.runs(experiment)],
        "learners": {
            name: {**summary_json(summary), "settings": settings[name]}
            for name, summary in results.summary(experiment).items()
        },
    }


def _table(results: Results, experiment: Experiment) -> str:
    scenario = experiment.scenario
    changes = ", ".join(f"{drift.kind} at {drift.at}" for drift in scenario.drifts) or "no drift"
    lines = [
        f"{experiment.data}: {scenario.start.size} classes, {scenario.train} samples each to begin with, "
        f"a stream of {scenario.length} ({changes}), {len(results.runs(experiment))} runs",
        *(f"  {name}: {', '.join(f'{k}={v}' for k, v in s.items())}" for name, s in experiment.settings.items()),
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
    """Rows of text as columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
