"""Run limiter: when a whole class clicks at once, a few visitors are served at a time, and the first soon.

Python runs one thread at a time. Thirty scripts that take turns every few milliseconds all end together, when the last
one would; one after the other, half of them end in half of that time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

SERVED = 2  # scripts that run at once
PATIENCE = 0.7  # s after which a script runs anyway: somebody else's long computation holds nobody up for longer
_slots = threading.BoundedSemaphore(SERVED)
_open = threading.Event()  # cleared while no script may run
_open.set()


@contextmanager
def run_slot() -> Iterator[None]:
    """Wait for a free slot, or until patience ends."""
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
