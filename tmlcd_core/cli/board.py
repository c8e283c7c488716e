"""The `board` command: a connected or emulated board beside its Python twin, every decision compared."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmlcd_core.cli.command import Report, add_command, plain
from tmlcd_core.errors import BoardError, ConfigError, DataError
from tmlcd_core.progress import terminal_bar

if TYPE_CHECKING:
    from tmlcd_core.mcu.board_twin import BoardLoop, Comparison
    from tmlcd_core.mcu.link import BoardInfo


def register(commands: Any) -> None:
    """Add the command `board`."""
    parser = add_command(commands, "board", "run a connected or emulated board beside its Python twin", _board)
    parser.add_argument("--port", help="serial port of the board, such as /dev/ttyACM0, COM3 or socket://HOST:PORT")
    parser.add_argument("--emulate", action="store_true", help="start an STM32F405 under QEMU instead of --port")
    parser.add_argument(
        "--project",
        type=Path,
        metavar="DIR",
        help="exported project, whose stream.bin is sent (--emulate: an example)",
    )
    parser.add_argument(
        "--listen", type=float, metavar="S", help="print what the board's own microphone hears for S seconds"
    )
    parser.add_argument("--samples", type=int, metavar="N", help="samples to send; stream.bin is repeated (all once)")
    parser.add_argument("--swap", action="store_true", help="swap the first two classes in the second half: a drift")
    for name, about in (("threshold", "alarm level h"), ("batch", "batch n"), ("warmup", "warm-up ξ")):
        kind = float if name == "threshold" else int
        parser.add_argument(f"--{name}", type=kind, help=f"{about} of the change test (as exported)")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the result and every step to this file")
    parser.add_argument("--live", type=Path, metavar="FILE.jsonl", help="write each step to this file as it happens")
    parser.add_argument("--baud", type=int, default=115_200, help="bits per second of the serial line (%(default)s)")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds to wait for a lost board (%(default)s)",
    )


def _board(options: argparse.Namespace) -> Report:
    from tmlcd_core.mcu.board_twin import BoardLoop
    from tmlcd_core.mcu.link import BoardLink, open_line

    if (options.port is None) == (not options.emulate):
        raise ConfigError("Give --port PORT, or --emulate for a board under QEMU")
    if options.samples is not None and options.samples < 1:
        raise ConfigError(f"--samples is {options.samples}; give at least 1")
    with _device(options) as (port, project):
        settings = {name: getattr(options, name) for name in ("threshold", "batch", "warmup")}
        given = {name: value for name, value in settings.items() if value is not None}
        loop = BoardLoop(lambda: BoardLink(open_line(port, options.baud), port), _say, options.patience, given)
        try:
            stream = _stream(project / "stream.bin", loop.link.info) if project is not None else []
            with _live(options.live) as tell:
                tell(_head(loop, stream, options))
                heard = _listen(loop, options.listen) if options.listen else _follow(loop, stream, options)
                made = [_told(loop, one, number, options.emulate, tell) for number, one in heard]
            report = _report(loop, made, options.emulate)
        finally:
            loop.link.close()
    if options.out is not None:
        try:
            options.out.write_text(json.dumps(plain({**report.data, "steps": made}), allow_nan=False), encoding="utf-8")
        except OSError as error:
            raise DataError(f"{options.out} cannot be written ({error.strerror}): choose another --out") from error
    return report


@contextlib.contextmanager
def _live(path: Path | None) -> Iterator[Callable[[Any], None]]:
    """A function that appends an object to the file as a line of JSON; it does nothing without a file."""
    if path is None:
        yield lambda _: None
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror}): choose another --live") from error
    with file:

        def tell(what: Any) -> None:
            file.write(json.dumps(plain(what), allow_nan=False) + "\n")
            file.flush()

        yield tell


def _head(loop: BoardLoop, stream: list[tuple[int, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """The first line of the file of steps."""
    info, n = loop.link.info, _length(stream, options)
    return {
        "board": info.board, "emulated": options.emulate, "learner": info.learner, "classes": loop.names, "samples": n,
        "threshold": loop.twin.settings["threshold"], "change": n // 2 if options.swap else None,
    }  # fmt: skip


def _length(stream: list[tuple[int, Any]], options: argparse.Namespace) -> int:
    return (options.samples or len(stream)) if stream else 0


@contextlib.contextmanager
def _device(options: argparse.Namespace) -> Iterator[tuple[str, Path | None]]:
    """The port, and the folder of the project if there is one."""
    if not options.emulate:
        yield options.port, options.project
        return
    from tmlcd_core.mcu.example import export_example
    from tmlcd_core.mcu.qemu import BOARD, EXAMPLE, EmulatedSerialBoard, missing_tools

    if missing := missing_tools():
        raise BoardError(missing)
    with tempfile.TemporaryDirectory(prefix="tmlcd-board-") as temporary:
        project = options.project
        if project is None:
            project = export_example(EXAMPLE, BOARD, terminal_bar())[0].write(Path(temporary) / "project")
        with EmulatedSerialBoard(project) as board:
            _say(f"The emulated board listens at {board.port}.")
            yield board.port, project


def _stream(path: Path, info: BoardInfo) -> list[tuple[int, Any]]:
    """Labels and samples of a stream.bin, whose format is in stream.h."""
    import numpy as np

    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): give the --project that you flashed") from error
    found, at = [], 0
    while at < len(data):
        label, at = int.from_bytes(data[at : at + 4], "little", signed=True), at + 4
        kind, count = ("<f4", info.features) if info.front_end == 0 else ("<i2", info.sample_rate)
        if info.front_end > 1:  # it hears words: the record has its length
            count, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        size = count * np.dtype(kind).itemsize
        if at + size > len(data):
            raise DataError(f"{path} ends inside a sample: give the --project that you flashed")
        found.append((label, np.frombuffer(data, kind, count, at).copy()))
        at += size
    return found


def _follow(
    loop: BoardLoop, stream: list[tuple[int, Any]], options: argparse.Namespace
) -> Iterator[tuple[int, Comparison]]:
    """Number of the record, and the comparison of each sample of it."""
    n = _length(stream, options)
    for i in range(n):
        label, sample = stream[i % len(stream)]
        if options.swap and i >= n // 2 and label in (0, 1):
            label = 1 - label
        for one in loop.step(sample, label):
            yield i, one


def _listen(loop: BoardLoop, seconds: float) -> Iterator[tuple[int, Comparison]]:
    _say(f"Say a word; the board listens for {seconds:g} seconds.")
    yield from enumerate(loop.listen(seconds))


def _told(loop: BoardLoop, one: Comparison, number: int, emulated: bool, tell: Callable[[Any], None]) -> Comparison:
    """The same comparison, after its line and its step were written."""
    _say(_line(loop, one))
    tell({"sample": number, "cost": _cost(one, emulated), **asdict(one)})
    return one


def _cost(one: Comparison, emulated: bool) -> int:
    """Cycles of prediction and update that the board has measured; of the emulated one its instructions."""
    from tmlcd_core.mcu.qemu import instructions

    return instructions(one.board.cycles) if emulated else one.board.cycles


def _line(loop: BoardLoop, one: Comparison) -> str:
    b = one.board
    told = f", is {loop.names[one.label]}" if one.label >= 0 else ""
    alarm = f", ALARM: change at {b.change}" if b.alarm else ""
    same = "equal" if one.equal else f"DIFFERS: Python says {_name(loop, one.prediction)}, |T| = {one.size}"
    answer = f"unknown (nearest: {_name(loop, b.prediction)})" if b.unknown else _name(loop, b.prediction)
    return f"{b.time}: {answer}{told}, |T| = {b.size}, g = {b.statistic:.2f}{alarm} ({same})"


def _name(loop: BoardLoop, code: int) -> str:
    return loop.names[code] if 0 <= code < len(loop.names) else "(refused)"


def _report(loop: BoardLoop, made: list[Comparison], emulated: bool) -> Report:
    info = loop.link.info
    different = sum(not one.equal for one in made)
    counted = [cost for one in made if (cost := _cost(one, emulated))]
    unit = "instructions (counted under emulation)" if emulated else "cycles (measured on the board)"
    found: dict[str, Any] = {
        "board": info.board,
        "emulated": emulated,
        "learner": info.learner,
        "classes": loop.names,
        "clock": info.clock,
        "samples": len(made),
        "different": different,
        "unknown": sum(one.board.unknown for one in made),
        "alarms": [[one.board.time, one.board.change] for one in made if one.board.alarm],
        "restarts": loop.restarts,
        "repeated": loop.link.repeated,
        "cost_unit": unit,
        "cost": {"mean": sum(counted) / len(counted), "most": max(counted)} if counted else None,
        "stack": max((one.board.stack for one in made), default=0),
    }
    text = (
        f"{info.board}: {info.learner} learner, {info.features:,} features, classes {', '.join(loop.names)}, "
        f"clock {info.clock / 1e6:g} MHz"
    )
    if made:
        text += f"\n{len(made):,} samples, {different:,} differ from Python; {len(found['alarms'])} alarms"
        text += f", {found['unknown']:,} answers “unknown”"
        if counted:
            text += f"\nPrediction and update: mean {found['cost']['mean']:,.0f}, most {max(counted):,} {unit}"
        text += f"\nDeepest stack: {found['stack']} bytes"
    return Report(found, text)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
