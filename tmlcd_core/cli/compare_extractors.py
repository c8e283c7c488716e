"""The `compare-extractors` command: few-shot word accuracy of each voice extractor on recorded words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.progress import terminal_bar

DRAWS, SPEAKERS = 20, 20


def register(commands: Any) -> None:
    """Add the command `compare-extractors`."""
    parser = add_command(
        commands,
        "compare-extractors",
        "compare the accuracy of the voice extractors on a folder of recorded words",
        _compare,
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="one folder per word, or files word_speaker_take.wav as in the Free Spoken Digit Dataset and AudioMNIST",
    )
    parser.add_argument(
        "--shots", type=int, default=5, help="training takes per word (%(default)s); the rest are used for testing"
    )
    parser.add_argument("--classes", type=int, default=3, help="words per trial (%(default)s)")
    parser.add_argument(
        "--draws", type=int, default=DRAWS, help="random draws of words and takes per speaker (%(default)s)"
    )
    parser.add_argument("--speakers", type=int, default=SPEAKERS, help="maximum number of speakers (%(default)s)")
    parser.add_argument(
        "--extractors",
        metavar="A,B,…",
        help="names of the extractors (default: all of the page); word-chip and speech-chip are the board's front ends",
    )
    parser.add_argument(
        "--k", default=None, metavar="N|sqrt", help="number of neighbours (default: as on the page Microphone)"
    )
    parser.add_argument(
        "--weights", choices=("uniform", "distance"), help="weights of the votes (default: as on the page Microphone)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (%(default)s)")


def _compare(options: argparse.Namespace) -> Report:
    from tmlcd_core.cli.run import aligned_columns
    from tmlcd_core.errors import ConfigError
    from tmlcd_core.features.voice import DEFAULT_VOICE
    from tmlcd_core.live import LiveSettings
    from tmlcd_core.live.speakers import COMPARED, measure_speakers, reasons

    changed: dict[str, Any] = {"weights": options.weights} if options.weights else {}
    if options.k is not None:
        if options.k != "sqrt" and not (options.k.isdecimal() and len(options.k) < 10):
            raise ConfigError(f"--k is {options.k!r}; give a whole number or sqrt")
        changed["k"] = options.k if options.k == "sqrt" else int(options.k)
    if options.seed < 0:
        raise ConfigError(f"--seed is {options.seed}; give 0 or more")
    names = COMPARED
    if options.extractors:
        names = tuple(name.strip() for name in options.extractors.split(",") if name.strip())
    settings = LiveSettings(**changed)
    trial = measure_speakers(
        options.data,
        options.shots,
        options.classes,
        options.draws,
        options.seed,
        names,
        settings,
        options.speakers,
        progress=terminal_bar(),
    )
    people = list(next(iter(trial.extractors.values())).speakers)
    rows = [["extractor", "accuracy", "sd", "other voice", *people]]
    for name, scores in trial.extractors.items():
        each = [f"{scores.speakers[person]:.3f}" for person in people]
        other = "-" if scores.other_voice is None else f"{scores.other_voice:.3f}"
        mark = " *" if name == DEFAULT_VOICE else ""
        rows.append([name + mark, f"{scores.accuracy:.3f}", f"{scores.sd:.3f}", other, *each])
    skipped = reasons(trial.skipped)
    chips = [
        f"{name}: {scores.different:,} predictions differ from those of {name.removesuffix('-chip')}"
        for name, scores in trial.extractors.items()
        if scores.different is not None
    ]
    lines = [
        f"{options.data}: {len(people)} speakers, {trial.takes} takes; {trial.classes} words with {trial.shots} "
        f"training takes each, {trial.draws} draws per speaker, {trial.tests} takes tested",
        *aligned_columns(rows),
        "other voice: taught by one speaker, tested with another; mfcc-dtw: nearest take by dynamic time warping",
        *chips,
        f"* default extractor; kNN with k={settings.k}, weights={settings.weights}",
        *trial.remarks,
    ]
    if skipped["count"]:
        lines.append(f"{skipped['count']} files skipped: " + "; ".join(skipped["reasons"]))
    found = {
        "data": options.data,
        "shots": trial.shots,
        "classes": trial.classes,
        "draws": trial.draws,
        "seed": trial.seed,
        "speakers": people,
        "takes": trial.takes,
        "tests": trial.tests,
        "default": DEFAULT_VOICE,
        "k": settings.k,
        "weights": settings.weights,
        "extractors": trial.extractors,
        "remarks": trial.remarks,
        "skipped": skipped,
    }
    return Report(found, "\n".join(lines))
