"""Ctrl-C (SIGINT) handling: one line on standard error instead of a traceback, and exit code 130."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

INTERRUPTED = 130  # exit code of a program that was ended by SIGINT (128 + 2)
PATIENCE = 5.0  # s after which the process ends even if a library has suppressed the KeyboardInterrupt


def leave_on_interrupt(reported: bool = False) -> None:
    """End the process immediately on Ctrl-C, for phases without clean-up: imports and shutdown.

    A KeyboardInterrupt raised during an import would print a traceback or look like another error. A process that
    ignores SIGINT, such as a background job of a shell, continues to ignore it. Set `reported` if the message is
    already written.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave_silently if reported else _leave)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _leave_silently if reported else _leave)


def raise_on_interrupt() -> None:
    """Raise a KeyboardInterrupt on Ctrl-C; end the process on a second Ctrl-C or after PATIENCE seconds."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Context manager that ignores Ctrl-C, so that worker processes started within it always ignore it.

    A terminal also sends Ctrl-C to worker processes, which would print their own tracebacks; the main process ends
    them. (Blocking the signal does not work: joblib starts its workers with an empty signal mask.)
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
    threading.excepthook = lambda _: None  # no tracebacks from threads that lose their work, such as joblib's
    raise KeyboardInterrupt


def _unraisable(lost: Any) -> None:
    """End the process if Python has discarded a KeyboardInterrupt, for example one raised in a callback."""
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
