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


@contextmanager
def run_slot() -> Iterator[None]:
    """Wait for a free slot, at most PATIENCE seconds."""
    mine = _slots.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        if mine:
            _slots.release()
