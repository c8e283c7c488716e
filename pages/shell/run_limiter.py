"""Run limiter: at most SERVED page scripts run at the same time.

Python runs one thread at a time. If 30 scripts alternate, all of them finish at the end; one after the other, half of
them finish in half the time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

SERVED = 2  # scripts that run at the same time
PATIENCE = 0.7  # s after which a script runs anyway, so that a long computation does not block others
_slots = threading.BoundedSemaphore(SERVED)
_open = threading.Event()  # cleared while no script may run
_open.set()


@contextmanager
def run_slot() -> Iterator[None]:
    """Wait for a free slot, at most PATIENCE seconds."""
    mine = _slots.acquire(timeout=PATIENCE)
    _open.wait()
    try:
        yield
    finally:
        if mine:
            _slots.release()


@contextmanager
def no_scripts() -> Iterator[None]:
    """Wait until the scripts that have a slot are done, and let none run meanwhile."""
    for _ in range(SERVED):
        _slots.acquire()
    _open.clear()
    try:
        yield
    finally:
        _open.set()
        for _ in range(SERVED):
            _slots.release()
