"""Removal of recordings that nobody has changed for a day: at the server's start, and by a timer."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tmlcd_core.datasets.cache import cache_folder

EVERY = 600.0  # s between two rounds of the timer
KEPT = 24 * 3600.0 - EVERY  # s after its last change for which a file stays: with the timer a day at most


def recordings() -> Path:
    """Return the folder of all sessions of this server, and of others that share its cache."""
    return cache_folder() / "microphone"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder against other servers, where the file system has locks."""
    with open(folder.with_name(f"{folder.name}.lock"), "ab") as file:
        with contextlib.suppress(OSError, ImportError):  # no locks here: servers that share a cache are on their own
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prune(folder: Path) -> None:
    """Remove every file that is older than KEPT, or from as far in the future (the clock was wrong then)."""
    with contextlib.suppress(OSError):  # no folder yet
        for path in list(folder.iterdir()):
            with contextlib.suppress(OSError), locked(folder):  # not a file, not ours, or just removed by another
                if abs(time.time() - path.lstat().st_mtime) > KEPT:
                    path.unlink()


def start_pruning(stop: threading.Event | None = None) -> threading.Thread:
    """Prune now, then every EVERY seconds in a thread of its own, until `stop` is set."""
    stop = stop or threading.Event()

    def rounds() -> None:
        while not stop.wait(EVERY):
            prune(recordings())

    prune(recordings())
    thread = threading.Thread(target=rounds, name="prune-recordings", daemon=True)
    thread.start()
    return thread
