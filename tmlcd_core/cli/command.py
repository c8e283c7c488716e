"""Shared code of all commands: argument parsing, `--json` output, exit codes and one-line error messages."""

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
SHARED = ("command", "study_options")  # modules of this package that are no commands
# The console script `tmlcd` exists only where the package is installed.
PROGRAM = "tmlcd" if Path(sys.argv[0]).stem == "tmlcd" else "python -m tmlcd_core"


@dataclasses.dataclass(frozen=True)
class Report:
    """Result of a command: `data` is printed with `--json`, `text` otherwise."""

    data: Mapping[str, Any]
    text: str


Handler = Callable[[argparse.Namespace], Report]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"error: {message}; see {self.prog} --help\n")


def add_command(commands: Any, name: str, about: str, handler: Handler) -> argparse.ArgumentParser:
    """Add the parser of a command with `--json` and `--plugin`.

    Parameters
    ----------
    commands
        Return value of `ArgumentParser.add_subparsers`.
    name, about : str
        Name and one-line description of the command.
    handler : callable
        Function of the parsed arguments that returns a `Report`.

    Returns
    -------
    argparse.ArgumentParser
        For the options of the command.
    """
    text = about.replace("%", "%%")  # argparse formats it
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="Python file that registers learners, drifts, …",
    )
    parser.set_defaults(handler=handler)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 (internal error), 2 (bad input) or 130 (interrupted).

    Parameters
    ----------
    arguments : sequence of str or None
        Command-line arguments; `sys.argv[1:]` if None.
    """
    options = argparse.Namespace()
    try:
        options = parser_of_commands().parse_args(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _one_line_warning
            _load_plugins(options.plugin)
            report = options.handler(options)
        text = json.dumps(plain(report.data), allow_nan=False) if options.json else report.text
        # Escape characters that the terminal cannot encode instead of raising UnicodeEncodeError.
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # sys.stdout is None after `>&-`
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
        return DONE
    except TmlcdError as error:
        _complain("error", error)
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("error", "interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `| head`, has closed the pipe
        _drop_output()
        return DONE
    except OSError as error:
        if error.errno not in FULL_DISK:
            return _fault(error)
        _drop_output()
        where = error.filename or getattr(options, "out", None) or "standard output"
        _complain("error", f"{where}: {error.strerror}; free disk space or write to another disk")
        return BAD_INPUT
    except Exception as error:
        return _fault(error)


def plain(value: Any) -> Any:
    """Return a value converted to JSON types.

    Arrays become lists, paths strings, nan and infinity None, dataclasses dicts, and any other object its class name.

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


def shortened(value: Any) -> Any:
    """Return JSON types with floats of six significant digits: a fifth of the file size of measured numbers.

    >>> shortened({"a": [1 / 3, 2]})
    {'a': [0.333333, 2]}
    """
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def parser_of_commands() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    from tmlcd_core import __version__, cli

    parser = _Parser(prog=PROGRAM, description="Tiny machine learning for concept drift.")
    parser.add_argument("--version", action="version", version=f"tmlcd {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in sorted(m.name for m in pkgutil.iter_modules(cli.__path__) if m.name not in SHARED):
        importlib.import_module(f"tmlcd_core.cli.{module}").register(commands)
    return parser


def _load_plugins(paths: Sequence[Path | str]) -> None:
    if paths:
        from tmlcd_core.experiments.plugins import load_plugin

        for path in paths:
            load_plugin(path)


def _fault(error: Exception) -> int:
    """Print an unexpected exception in one line and return its exit code."""
    if os.environ.get("TMLCD_DEBUG"):
        traceback.print_exc()
    _complain("fault", f"{type(error).__name__}: {error} (set TMLCD_DEBUG=1 for the traceback)")
    return FAULT


def _drop_output() -> None:
    """Redirect standard output to the null device if it cannot be flushed, to avoid an error message at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(what: str, message: object) -> None:
    with contextlib.suppress(OSError):  # stderr may point to a file on a full disk
        fresh_line()
        sys.stderr.write(f"{what}: {' '.join(str(message).split())}\n")


def _one_line_warning(message: object, *_: Any, **__: Any) -> None:
    _complain("warning", message)
