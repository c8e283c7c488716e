"""Ctrl-C without a traceback: one line, and exit code 130."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

INTERRUPTED = 130  # exit code of a program that was ended by SIGINT (128 + 2)
PATIENCE = 5.0  # s after which an interrupt that a library has swallowed ends the process all the same


def leave_on_interrupt(told: bool = False) -> None:
    """End the process at once on Ctrl-C, where there is nothing to clean up: while it imports, or ends.

    A KeyboardInterrupt that is raised in the middle of an import is printed, or taken for another fault. What ignores
    SIGINT, as a background job of a shell does, goes on ignoring it. `told`: the line has been written already.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave_silently if told else _leave)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _leave_silently if told else _leave)


def raise_on_interrupt() -> None:
    """Raise a KeyboardInterrupt on Ctrl-C, and end the process on the second one or PATIENCE seconds later."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment, so that processes that are started meanwhile ignore it for ever.

    A terminal sends it to worker processes, too, and those would print tracebacks of their own; the main process ends
    them. (A blocked signal would not be lost, but joblib starts its workers with an empty mask.)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(*_: Any) -> NoReturn:
    signal.signal(signal.SIGINT, _leave)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    threading.excepthook = lambda _: None  # of threads whose work is taken away, as joblib's
    raise KeyboardInterrupt


def _unraisable(lost: Any) -> None:
    """End the process if Python has dropped a KeyboardInterrupt, as it does when one is raised in a callback."""
    if lost.exc_type is KeyboardInterrupt:
        _leave()
    sys.__unraisablehook__(lost)


def _leave(*_: Any) -> NoReturn:
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def _leave_silently(*_: Any) -> NoReturn:
    os._exit(INTERRUPTED)
