"""The `export` command: write a fitted learner as a C project for a microcontroller, or as a page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError, DataError, ExportError
from tmlcd_core.progress import terminal_bar

TRAINING = 100  # clips per word (paper, Sec. 7.3)
WEB_TAKES = 3  # clips per word of a page without a session
LARGEST_SESSION = 64 * 2**20  # bytes


def register(commands: Any) -> None:
    """Add the command `export`."""
    parser = add_command(commands, "export", "export a fitted model as a C project for a board, or as a page", _export)
    parser.add_argument("--board", default="stm32f401", help="stm32h743, stm32f767 or stm32f401 (%(default)s)")
    parser.add_argument("--out", type=Path, help="output folder, or a file that ends in .zip")
    parser.add_argument(
        "--web", type=Path, metavar="FILE", help="write one HTML file that listens, answers and learns in a browser"
    )
    parser.add_argument(
        "--all-sounds", action="store_true", help="with --web: include every recording, also if the file gets large"
    )
    parser.add_argument(
        "--model",
        type=Path,
        metavar="SESSION",
        help="session saved by the page Microphone, instead of --data and --classes",
    )
    parser.add_argument(
        "--learner", default="hybrid", help="cit, active, hybrid or, without a session, tandem (%(default)s)"
    )
    parser.add_argument(
        "--front-end",
        choices=("clip", "filter", "word", "speech"),
        help="front end of the session: clip or filter (the paper's filter on clips or on words), word or speech "
        "(default: the session's extractor)",
    )
    parser.add_argument("--data", default="speech", help="name from `data list`, or a folder of clips (%(default)s)")
    parser.add_argument(
        "--classes", nargs="+", metavar="WORD", default=["yes", "no"], help="class names (default: yes no)"
    )
    parser.add_argument(
        "--later", nargs="+", metavar="WORD", default=[], help="classes that may appear later on the device"
    )
    parser.add_argument("--train", type=int, default=TRAINING, help="initial clips per class (%(default)s)")
    parser.add_argument(
        "--sample-rate", type=int, default=22_050, metavar="HZ", help="sampling rate: 22050 or 4410 (%(default)s)"
    )
    parser.add_argument(
        "--max-size", type=int, default=50, metavar="N", help="maximum number of stored samples, |T| (%(default)s)"
    )
    parser.add_argument("--k", metavar="K", help="number of neighbours, or auto for the square root of |T| (auto)")
    parser.add_argument("--votes", choices=["uniform", "distance"], help="votes of the neighbours (uniform)")
    parser.add_argument("--threshold", type=float, metavar="H", help="alarm level h of the change test (25)")
    parser.add_argument("--batch", type=int, metavar="N", help="samples per batch n of the change test (50)")
    parser.add_argument("--warmup", type=int, metavar="XI", help="samples of the change test's warm-up ξ (100)")
    parser.add_argument("--layout", default="streamed", help="buffer layout: streamed, compact or paper (%(default)s)")
    parser.add_argument(
        "--store", default="auto", help="data type of the stored samples: float32, int16, uint8 or auto (%(default)s)"
    )


def _export(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import load, open_source
    from tmlcd_core.features import Extractor
    from tmlcd_core.mcu import export_firmware, find_board
    from tmlcd_core.mcu.example import clips_of, fit_in_turns

    find_board(options.board)
    settings = _settings(options)
    if options.web is not None:
        return _export_web(options)
    if options.out is None:
        raise ConfigError("Give --out FOLDER for a C project, or --web FILE.html for a page")
    if options.model is not None:
        return _export_session(options)
    if options.train < 1:
        raise ConfigError(f"--train is {options.train}; give at least 1 clip per class")
    extractor = Extractor.at_rate(options.sample_rate)
    source = open_source(options.data, options.classes, progress=terminal_bar())
    if source.kind != "audio":
        raise DataError(f"{options.data} holds {source.kind}s; export needs sound: choose a source of clips")
    data = load(source, tuple(options.classes), options.train, extractor, progress=terminal_bar())
    model = fit_in_turns(data.X, data.y, options.max_size, options.learner, **settings)
    firmware = export_firmware(
        model,
        extractor,
        board=options.board,
        layout=options.layout,
        store=options.store,
        classes=options.later,
        check=clips_of(data, extractor.sample_rate),
    )
    return _written(firmware, options.out)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters of the learner that were given; a ConfigError for those that it does not have."""
    given: dict[str, Any] = {"weights": options.votes}
    given |= {name: getattr(options, name) for name in ("threshold", "batch", "warmup")}
    if options.k is not None:
        if options.k != "auto" and not (options.k.isascii() and options.k.isdigit()):
            raise ConfigError(f"--k is {options.k!r}; give a whole number, or auto")
        given["k"] = "sqrt" if options.k == "auto" else int(options.k)
    found = {name: value for name, value in given.items() if value is not None}
    own = {"cit": {"k", "weights"}, "tandem": {"threshold", "batch", "warmup"}}.get(options.learner, set(given) | {"k"})
    if foreign := sorted(set(found) - own):
        option = "votes" if foreign[0] == "weights" else foreign[0]
        raise ConfigError(f"The learner {options.learner} has no --{option}: leave it out")
    if found and options.model is not None:
        option = "votes" if min(found) == "weights" else min(found)
        raise ConfigError(f"--{option} does not go with --model: the session has its own settings")
    return found


def _export_web(options: argparse.Namespace) -> Report:
    from tmlcd_core.web.one_file import write_page
    from tmlcd_core.web.words_page import words_page

    if options.out is not None:
        raise ConfigError("--web writes a page and --out a C project: give one of them")
    session = _saved_session(options) if options.model is not None else _spoken_session(options)
    text = words_page(session, options.board, options.learner, options.front_end, options.all_sounds)
    size = write_page(options.web, text)
    found = {"web": options.web, "bytes": size, "words": session.words, "takes": len(session.labels())}
    return Report(found, f"{options.web}: {', '.join(session.words)}, {size / 1000:.0f} kB; open it in a browser")


def _spoken_session(options: argparse.Namespace) -> Any:
    from tmlcd_core.datasets import open_source
    from tmlcd_core.live.example import taught_session

    source = open_source(options.data, options.classes, progress=terminal_bar())
    if source.kind != "audio" or source.sample_rate is None:
        raise DataError(f"{options.data} holds {source.kind}s; export needs sound: choose a source of clips")
    rate = source.sample_rate
    takes = range(min(max(1, options.train), WEB_TAKES))
    return taught_session({word: [(clip, rate) for clip in source.media(word, takes)] for word in options.classes})


def _saved_session(options: argparse.Namespace) -> Any:
    from tmlcd_core.live import LiveSession

    try:
        if options.model.stat().st_size > LARGEST_SESSION:
            raise DataError(f"{options.model} is too large for a session: give a session saved by the page Microphone")
        saved = options.model.read_bytes()
    except OSError as error:
        raise DataError(f"{options.model} cannot be read ({error.strerror}): give a saved session") from error
    return LiveSession.open(saved)


def _export_session(options: argparse.Namespace) -> Report:
    from tmlcd_core.live import session_project

    project = session_project(
        _saved_session(options),
        options.board,
        options.learner,
        options.front_end,
        options.sample_rate,
        options.layout,
        options.store,
    )
    report = _written(project.firmware, options.out)
    found = {
        "learner": options.learner,
        "accuracy_board": project.accuracy_board,
        "accuracy_page": project.accuracy_page,
        "different": project.different,
        "unknown_board": project.unknown_board,
        "unknown_page": project.unknown_page,
        "remark": project.remark,
    }
    return Report({**report.data, **found}, f"{report.text}\n{project.remark}")


def _written(firmware: Any, out: Path) -> Report:
    try:
        _write(firmware, out)
    except OSError as error:
        raise ExportError(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    table = firmware.budget
    stored = sum(firmware.samples_per_class.values())
    found = {
        "out": out,
        "board": firmware.board.name,
        "classes": firmware.classes,
        "stored": stored,
        "samples_per_class": firmware.samples_per_class,
        "configuration": firmware.configuration,
        "fused": firmware.fused,
        "needed": table.needed,
        "ram": firmware.board.ram,
        "rows": table.rows,
    }
    text = (
        f"{out}: {', '.join(firmware.classes)} for the {firmware.board.title}, {stored} of at most "
        f"{firmware.configuration.samples} samples in {firmware.configuration.store}\n"
        f"{firmware.in_words()}\n"
        f"{table.needed:,} of {firmware.board.ram:,} bytes of RAM; see its README.md to check, build and flash it"
    )
    return Report(found, text)


def _write(firmware: Any, out: Path) -> None:
    if out.suffix != ".zip":
        firmware.write(out)
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(firmware.zip())
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
