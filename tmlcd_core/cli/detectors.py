"""The `detectors` command: drift detectors compared at one false-alarm rate."""

from __future__ import annotations

import argparse
import csv
import io
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmlcd_core.cli.command import Report, add_command, plain, shortened
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.errors import ConfigError
from tmlcd_core.progress import terminal_bar
from tmlcd_core.validation import whole_number

if TYPE_CHECKING:
    from tmlcd_core.detectors.benchmark import ErrorStreams, Estimate, Result

ACCURACY = 0.8  # of the simulated classifier before the change
DROPS = (0.05, 0.1, 0.2, 0.3, 0.5)  # of its accuracy
CHANGED_STREAMS = 2000  # most simulated streams of each change: delays need fewer than rare alarms
FEWEST_SAMPLES = 400  # of a stream: the change is half-way, after the warm-up
BASE_LEARNERS = {"static": "Static kNN", "cit": "Condensing-in-Time"}  # one does not adapt, the other does
WORDS, NEW = ("yes", "no"), "stop"  # of the shipped pack: those with the most samples
CHANGES = {"class-change": "a word changes", "labels-swapped": "labels swap"}
MOST_PER_CLASS = 1500  # samples of a word of the pack, without the 100 initial ones
COLUMNS = (
    "errors", "detector", "parameter", "level", "false alarms", "from", "to", "streams", "note", "change", "drop",
    "width", "delay", "delay from", "delay to", "missed", "missed from", "missed to", "detected delay",
    "change point error",
)  # fmt: skip


def register(commands: Any) -> None:
    """Add the command `detectors`."""
    about = "compare drift detectors at one false-alarm rate"
    parser = add_command(commands, "detectors", about, _detectors)
    parser.add_argument(
        "--rate", type=float, default=0.01, help="share of stationary streams with an alarm (%(default)s)"
    )
    parser.add_argument("--streams", type=int, default=10_000, help="simulated streams to calibrate on (%(default)s)")
    parser.add_argument(
        "--learner-streams",
        type=int,
        default=1000,
        help="runs of each learner to calibrate on; 0 for simulated errors only (%(default)s)",
    )
    parser.add_argument("--samples", type=int, default=2000, help="samples per stream (%(default)s)")
    parser.add_argument(
        "--detector", nargs="+", metavar="NAME", help="detectors to compare (default: all, also those of plugins)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the streams (%(default)s)")
    parser.add_argument("--jobs", type=int, default=-1, help="worker processes of the learners (default: one per core)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results to FILE.csv or FILE.json")


def _detectors(options: argparse.Namespace) -> Report:
    from tmlcd_core.detectors import benchmark
    from tmlcd_core.experiments.results import write_text

    started = time.monotonic()
    names = [benchmark.as_detector(name).name for name in options.detector or benchmark.DETECTORS]
    _check(options, benchmark.fewest_streams(options.rate))
    found: dict[str, Any] = {
        "rate": options.rate,
        "samples": options.samples,
        "warmup": benchmark.WARMUP,
        "accuracy": ACCURACY,
        "seed": options.seed,
    }
    kinds = []
    for name, stationary, changed in [_simulated(options), *_measured(options)]:
        results = benchmark.compare(names, stationary, changed, options.rate, progress=terminal_bar())
        kinds.append(
            {"name": name, "streams": len(stationary) // 2, "samples": stationary.samples, "detectors": results}
        )
    found |= {"errors": kinds, "seconds": round(time.monotonic() - started)}
    lines = [line for kind in kinds for line in _table(kind, options.rate)]
    if options.out:
        as_json = options.out.suffix.lower() == ".json"
        write_text(options.out, json.dumps(shortened(plain(found)), allow_nan=False) if as_json else _csv(kinds))
        lines.append(f"{options.out} written")
    lines.append(f"{found['seconds']} s")
    return Report(shortened(plain(found)), "\n".join(lines))


def _check(options: argparse.Namespace, needed: int) -> None:
    """Refuse what cannot run, before any work."""
    for option, value in (("--streams", options.streams), ("--learner-streams", options.learner_streams)):
        if value < needed and not (option == "--learner-streams" and value == 0):
            raise ConfigError(f"{option} is {value}: a rate of {options.rate:g} needs at least {needed:,}")
    whole_number("--samples", options.samples, FEWEST_SAMPLES, 1_000_000)
    whole_number("--seed", options.seed, 0, 2**31)
    if options.out and options.out.suffix.lower() not in (".csv", ".json"):
        raise ConfigError(f"--out is {options.out}: give a file that ends in .csv or .json")
    if options.out and not options.out.absolute().parent.is_dir():
        raise ConfigError(f"--out is {options.out}: the folder does not exist; create it first")


def _simulated(options: argparse.Namespace) -> tuple[str, ErrorStreams, list[ErrorStreams]]:
    """Simulated errors: name, stationary streams, streams with a change."""
    from tmlcd_core.detectors.benchmark import bernoulli

    stationary = bernoulli(ACCURACY, 0.0, 2 * options.streams, options.samples, 0, options.seed)
    shapes = [(drop, width) for width in (0, options.samples // 4) for drop in DROPS]
    n = min(options.streams, CHANGED_STREAMS)
    changed = [
        bernoulli(ACCURACY, drop, n, options.samples, width, options.seed + number)
        for number, (drop, width) in enumerate(shapes, start=1)
    ]
    return f"Simulated errors, accuracy {ACCURACY:g}", stationary, changed


def _measured(options: argparse.Namespace) -> list[tuple[str, ErrorStreams, list[ErrorStreams]]]:
    """Errors of learners on the shipped speech: for each learner its name, stationary streams, streams with a drift."""
    from tmlcd_core.detectors.benchmark import ErrorStreams
    from tmlcd_core.experiments import Experiment
    from tmlcd_core.experiments.error_streams import error_streams

    n = options.learner_streams
    if not n:
        return []
    per_class = min(options.samples // 2, MOST_PER_CLASS)
    bar = terminal_bar()

    def errors(drift: str, over: float, runs: int) -> dict[str, Any]:
        experiment = Experiment(
            "pack", len(WORDS), WORDS, NEW, drift=drift, over=over, per_class=per_class, learners=tuple(BASE_LEARNERS)
        )
        return error_streams(experiment, range(options.seed, options.seed + runs), options.jobs, bar)

    quiet = errors("none", 0.0, 2 * n)
    drifted = {(drift, over): errors(drift, over, n) for over in (0.0, 0.5) for drift in CHANGES}
    found = []
    for learner, name in BASE_LEARNERS.items():
        changed = [
            ErrorStreams(
                f"{CHANGES[drift]}, {'gradual' if over else 'abrupt'}", one[learner], per_class, int(over * per_class)
            )
            for (drift, over), one in drifted.items()
        ]
        found.append((f"{name} on speech", ErrorStreams(name, quiet[learner]), changed))
    return found


def _table(kind: dict[str, Any], rate: float) -> list[str]:
    """Lines of a table: calibration, and delay with missed changes for each change."""
    results: list[Result] = kind["detectors"]
    changes = [one.name for one in results[0].detections]
    head = ["", "parameter", "false alarms", "streams", *(f"({i})" for i in range(1, len(changes) + 1))]
    rows = [
        [
            one.detector, f"{one.parameter} = {one.level:.4g}" if one.parameter else "fixed",
            _percent(one.false_alarms), f"{one.streams:,}",
            *(f"{found.delay.value:.0f} ({found.missed.value:.0%})" for found in one.detections),
        ]
        for one in results
    ]  # fmt: skip
    return [
        f"{kind['name']}: {rate:.2%} false alarms on {kind['streams']:,} streams of {kind['samples']:,} samples",
        "Delay in samples (share of missed changes, which count with all samples after the change):",
        *(f"  ({i}) {name}" for i, name in enumerate(changes, start=1)),
        *aligned_columns([head, *rows]),
        *(f"{one.detector}: {one.note}" for one in results if one.note),
        "",
    ]


def _percent(estimate: Estimate) -> str:
    return f"{estimate.value:.2%} [{estimate.low:.2%}, {estimate.high:.2%}]"


def _csv(kinds: list[dict[str, Any]]) -> str:
    """The comparison as CSV, one row for each detector and change."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for kind in kinds:
        for one in kind["detectors"]:
            for found in one.detections:
                about = [kind["name"], one.detector, one.parameter, one.level, *_ends(one.false_alarms)]
                change = [one.streams, one.note, found.name, found.drop, found.width]
                place = "" if found.location is None else found.location.value
                row = [*about, *change, *_ends(found.delay), *_ends(found.missed), found.detected_delay, place]
                writer.writerow(shortened(row))
    return text.getvalue()


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high
