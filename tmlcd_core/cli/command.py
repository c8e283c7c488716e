"""What all commands share: parsing, `--json`, the exit code, and errors of one line."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import importlib
import json
import math
import os
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tmlcd_core.errors import TmlcdError
from tmlcd_core.interrupts import INTERRUPTED
from tmlcd_core.progress import fresh_line

DONE, FAULT, BAD_INPUT = 0, 1, 2
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# `tmlcd` where the package is installed
PROGRAM = "tmlcd" if Path(sys.argv[0]).stem == "tmlcd" else "python -m tmlcd_core"


@dataclasses.dataclass(frozen=True)
class Report:
    """What a command found out: `data` for `--json`, `text` for people."""

    data: Mapping[str, Any]
    text: str


Handler = Callable[[argparse.Namespace], Report]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"error: {message}; see {self.prog} --help\n")


def add_command(commands: Any, name: str, about: str, handler: Handler) -> argparse.ArgumentParser:
    """A parser for one command, with `--json`; `commands` is what `add_subparsers` gave."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE.py", help="your own learners, drifts, …")
    parser.set_defaults(handler=handler)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 2 (bad input), 1 (a fault) or 130 (interrupted)."""
    options = argparse.Namespace()
    try:
        options = _parser().parse_args(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _one_line_warning
            _load_plugins(options.plugin)
            report = options.handler(options)
        text = json.dumps(plain(report.data), allow_nan=False) if options.json else report.text
        # What a terminal cannot show is escaped rather than a fault.
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # there is no stdout after `>&-`
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
        return DONE
    except TmlcdError as error:
        _complain("error", error)
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("error", "interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        _drop_output()
        return DONE
    except OSError as error:
        if error.errno not in FULL_DISK:
            return _fault(error)
        _drop_output()
        where = error.filename or getattr(options, "out", None) or "standard output"
        _complain("error", f"{where}: {error.strerror}; free some space, or write to another disk")
        return BAD_INPUT
    except Exception as error:
        return _fault(error)


def plain(value: Any) -> Any:
    """`value` in the types of JSON: arrays become lists, paths text, what is not a finite number null, and an
    object its class.

    Examples
    --------
    >>> plain({"X": np.array([1.0, np.nan]), "n": np.int64(3)})
    {'X': [1.0, None], 'n': 3}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset | range):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Path):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


def _parser() -> argparse.ArgumentParser:
    from tmlcd_core import cli

    parser = _Parser(prog=PROGRAM, description="Tiny machine learning for concept drift.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in sorted(m.name for m in pkgutil.iter_modules(cli.__path__) if m.name != "command"):
        importlib.import_module(f"tmlcd_core.cli.{module}").register(commands)
    return parser


def _load_plugins(paths: Sequence[Path | str]) -> None:
    if paths:
        from tmlcd_core.experiments.plugins import load_plugin

        for path in paths:
            load_plugin(path)


def _fault(error: Exception) -> int:
    """Tell a fault of ours, the last resort, in one line."""
    if os.environ.get("TMLCD_DEBUG"):
        traceback.print_exc()
    _complain("fault", f"{type(error).__name__}: {error} (set TMLCD_DEBUG=1 for the traceback)")
    return FAULT


def _drop_output() -> None:
    """Drop what standard output could not take: the interpreter would complain when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(what: str, message: object) -> None:
    with contextlib.suppress(OSError):  # nobody hears it: a full disk behind `2>`
        fresh_line()
        sys.stderr.write(f"{what}: {' '.join(str(message).split())}\n")


def _one_line_warning(message: object, *_: Any, **__: Any) -> None:
    _complain("warning", message)
