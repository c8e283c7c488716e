"""Removal of recordings a day after their last change: when the server starts, and by a timer."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tmlcd_core.datasets.cache import cache_folder

EVERY = 600.0  # s between two runs of the timer
KEPT = 24 * 3600.0 - EVERY  # s that a file is kept after its last change; with the timer, one day at most


def recordings() -> Path:
    """Return the folder of the sessions, shared with other servers that use the same cache."""
    return cache_folder() / "microphone"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other servers, if the file system supports locks."""
    with open(folder.with_name(f"{folder.name}.lock"), "ab") as file:
        with contextlib.suppress(OSError, ImportError):  # no locks here: servers that share a cache are not protected
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prune(folder: Path) -> None:
    """Remove every file that is older than KEPT, or as far in the future because the clock was wrong."""
    with contextlib.suppress(OSError):  # no folder yet
        for path in list(folder.iterdir()):
            with (
                contextlib.suppress(OSError),
                locked(folder),
            ):  # a folder, no permission, or just removed
                if abs(time.time() - path.lstat().st_mtime) > KEPT:
                    path.unlink()


def start_pruning(stop: threading.Event | None = None) -> threading.Thread:
    """Prune now, then every EVERY seconds until `stop` is set; return the thread of the timer."""
    stop = stop or threading.Event()

    def rounds() -> None:
        while not stop.wait(EVERY):
            prune(recordings())

    prune(recordings())
    thread = threading.Thread(target=rounds, name="prune-recordings", daemon=True)
    thread.start()
    return thread
