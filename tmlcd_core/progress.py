"""How long work tells what it is doing: a callable that takes (done, total, what)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[int, int, str], None]
_bar_is_open = False  # whether standard error stands at the end of a bar that will be drawn again


def silent(done: int, total: int, what: str) -> None:
    """The default of every `progress` parameter."""


def terminal_bar(delay: float = 2.0) -> Progress:
    """A bar on standard error, shown only for work that takes longer than `delay` seconds."""
    started = time.monotonic()
    shown = 0.0
    last = 0

    def report(done: int, total: int, what: str) -> None:
        global _bar_is_open
        nonlocal shown, started, last
        now = time.monotonic()
        if done < last:  # another piece of work begins
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
    """Leave an open bar as it is and go to the next line, so that something else can be said."""
    global _bar_is_open
    if _bar_is_open:
        sys.stderr.write("\n")
    _bar_is_open = False
