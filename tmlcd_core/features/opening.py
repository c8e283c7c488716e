"""Opening of media from a path, bytes or an open file, and a limit on the memory for decoding."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from tmlcd_core.errors import DataError
from tmlcd_core.memory import give_back

DECODING_BYTES = 320_000_000  # memory limit for decoding in all threads together: one image of 40 megapixels
KEPT_BYTES = 32_000_000  # after a larger reservation, freed memory is returned to the system


class Room:
    """Weighted semaphore: threads reserve bytes of a common limit and wait if too few are free.

    Parameters
    ----------
    size
        Limit in bytes. A thread that needs more waits until no other thread has a reservation.

    Examples
    --------
    >>> room = Room(100)
    >>> with room.take(60), room.take(40):
    ...     room.used
    100
    >>> room.used
    0
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._empty()

    @contextmanager
    def take(self, amount: int) -> Iterator[None]:
        """Reserve `amount` bytes within the `with` block; nesting it in one thread can cause a deadlock."""
        amount = min(amount, self.size)
        with self._changed:
            self._changed.wait_for(lambda: self.used + amount <= self.size)
            self.used += amount
        try:
            yield
        finally:
            if amount > KEPT_BYTES:
                give_back()
            with self._changed:
                self.used -= amount
                self._changed.notify_all()

    def _empty(self) -> None:
        self.used, self._changed = 0, threading.Condition()


decoding = Room(DECODING_BYTES)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=decoding._empty)  # the threads with reservations do not exist in the child


@contextmanager
def open_binary(source: str | Path | bytes | BinaryIO, error: type[DataError]) -> Iterator[tuple[BinaryIO, str]]:
    """Open `source` for reading from its beginning; yields the file and its name for error messages.

    `source` is a path, bytes or an open binary file; `error` is the type of the exception if it cannot be opened.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        yield BytesIO(source), f"the upload of {len(source)} bytes"
    elif isinstance(source, str | Path):
        try:
            file = open(source, "rb")  # noqa: SIM115 - closed below; the error belongs to the opening alone
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise error(f"{str(source)!r} cannot be opened: {reason}") from problem
        with file:
            yield file, str(source)
    else:
        yield _rewound(source, error), str(getattr(source, "name", "the given file"))


def _rewound(source: Any, error: type[DataError]) -> BinaryIO:
    try:
        source.seek(0)
    except (AttributeError, OSError, ValueError) as problem:
        raise error(f"{type(source).__name__} is not a source: pass a path, bytes or an open binary file") from problem
    return source
