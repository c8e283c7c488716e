"""Progress reports of long tasks: a callable with the arguments (done, total, what)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int, str], None]
_bar_is_open = False  # True while the last line on standard error is an unfinished progress bar


def silent(done: int, total: int, what: str) -> None:
    """Report nothing: the default of every `progress` parameter."""


_steps: ContextVar[Progress] = ContextVar("steps", default=silent)  # of this thread


@contextmanager
def reporting_steps(progress: Progress) -> Iterator[None]:
    """Report the steps of the learners that run inside to `progress`; it may raise an exception to stop them.

    >>> with reporting_steps(lambda done, total, what: print(what, done, "of", total)):
    ...     report_step(128, 1500, "samples")
    samples 128 of 1500
    """
    token = _steps.set(progress)
    try:
        yield
    finally:
        _steps.reset(token)


def report_step(done: int, total: int, what: str) -> None:
    """Report a step of a long computation to the `reporting_steps` around it, if there is one."""
    _steps.get()(done, total, what)


def terminal_bar(delay: float = 2.0) -> Progress:
    """Return a progress bar on standard error, shown only for tasks longer than `delay` seconds."""
    started = time.monotonic()
    shown = 0.0
    last = 0

    def report(done: int, total: int, what: str) -> None:
        global _bar_is_open
        nonlocal shown, started, last
        now = time.monotonic()
        if done < last:  # a new task begins
            started = now
        last = done
        finished = done >= total
        if now - started < delay or (now - shown < 0.2 and not (finished and shown)):
            return
        shown = now
        share = done / max(total, 1)
        left = f", {(now - started) * (1 - share) / share:.0f} s left" if share else ""
        bar = "#" * round(30 * share)
        sys.stderr.write(f"\r[{bar:<30}] {done}/{total} {what}{left} \x1b[K")
        sys.stderr.write("\n" if finished else "")
        sys.stderr.flush()
        _bar_is_open = not finished

    return report


def fresh_line() -> None:
    """End the line of an unfinished progress bar, so that other output starts on a new line."""
    global _bar_is_open
    if _bar_is_open:
        sys.stderr.write("\n")
    _bar_is_open = False
