"""Feature cache on disk: one file per (source, class, extractor, effect)."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tmlcd_core.datasets.arrayfile import TEMPORARY, read_arrays, read_meta, write_arrays
from tmlcd_core.errors import ConfigError, DataError

SUFFIX = ".features"
LIMIT_MB = 2_000  # megabytes of all entries, unless TMLCD_CACHE_MB is set
KEPT_SHARE = 0.9  # of the limit after an eviction, so that not every new entry causes another one
STALE = 3600.0  # seconds after which a temporary file counts as left over from a crashed writer


class CacheWarning(UserWarning):
    """The cache cannot be used; the computation continues without it."""


def cache_folder() -> Path:
    """Return the user's cache folder: `TMLCD_CACHE`, or the platform's default."""
    if chosen := os.environ.get("TMLCD_CACHE"):
        return Path(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        # XDG specification: a relative path is invalid and must be ignored.
        xdg = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    return base / "tmlcd"


def cache_limit() -> float:
    """Return the size limit of the feature cache in megabytes: `TMLCD_CACHE_MB`, or 2,000."""
    given = os.environ.get("TMLCD_CACHE_MB", "")
    try:
        limit = float(given or LIMIT_MB)
    except ValueError:
        limit = math.nan
    if not limit >= 0:
        raise ConfigError(f"TMLCD_CACHE_MB is {given!r}; set it to a number of megabytes, 0 for no cache")
    return limit


@dataclass(frozen=True)
class CacheEntry:
    """Listing entry of one cached file."""

    source: str
    label: str
    rows: int
    bytes: int
    path: Path


class FeatureCache:
    """Feature cache in one folder, with one file per combination of keys.

    A damaged file is reported with a `CacheWarning`, removed and treated as missing. If the folder is not writable
    (full disk, no permission), a `CacheWarning` is issued and nothing is cached. Several processes may use one folder:
    files are replaced atomically, and a file that another process removes counts as missing.

    Parameters
    ----------
    folder
        Folder of the files; by default `features` in `cache_folder()`.
    limit_mb
        Size limit of all files in megabytes; by default `cache_limit()`. If a new file exceeds it, the least recently
        used files are removed.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(folder)
    ...     cache.store("speech", "yes", ("key", "stem"), {"X": np.ones((2, 3))}, {"rows": 2})
    ...     arrays, meta = cache.fetch("speech", "yes", ("key", "stem"))
    >>> meta["rows"], float(arrays["X"].sum())
    (2, 6.0)
    """

    def __init__(self, folder: str | Path | None = None, limit_mb: float | None = None) -> None:
        self.folder = Path(folder) if folder is not None else cache_folder() / "features"
        self.limit = 1e6 * (cache_limit() if limit_mb is None else limit_mb)  # bytes

    def path(self, source: str, label: str, keys: tuple[str, ...]) -> Path:
        """Return the path of the file of one class; special characters are replaced and a digest keeps it unique."""
        digest = blake2b("\0".join((source, label, *keys)).encode(), digest_size=12).hexdigest()
        return self.folder / _folder_name(source) / f"{_harmless(label)}-{digest}{SUFFIX}"

    def fetch(self, source: str, label: str, keys: tuple[str, ...]) -> tuple[dict[str, NDArray], dict[str, Any]] | None:
        """Return the arrays and metadata stored under these keys, or None."""
        path = self.path(source, label, keys)
        try:
            found = read_arrays(path)
            with contextlib.suppress(OSError):  # the folder belongs to another user
                os.utime(path)  # time of last use: many systems do not record access times
            return found
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn(f"cached features in {self.folder} cannot be read ({error.strerror}); they are computed again")
        except DataError as error:
            _warn(f"{error}; the features are computed again")
            with contextlib.suppress(OSError):  # read-only: the next write issues a warning
                path.unlink(missing_ok=True)
        return None

    def store(
        self,
        source: str,
        label: str,
        keys: tuple[str, ...],
        arrays: Mapping[str, NDArray],
        meta: Mapping[str, Any],
    ) -> None:
        """Store `arrays` (n, …) by name and `meta` under these keys, if disk space and limit allow."""
        path = self.path(source, label, keys)
        size = sum(array.nbytes for array in arrays.values())
        if not self.limit:
            return
        if size > self.limit:
            _warn(
                f"{size / 1e6:.0f} MB of features are more than the cache may hold ({self.limit / 1e6:g} MB); "
                "set TMLCD_CACHE_MB to a larger number"
            )
            return
        try:
            write_arrays(path, arrays, {**meta, "source": source, "label": label})
            self._sweep(path.parent)
            self._evict(path)
        except OSError as error:
            _warn(
                f"features cannot be cached in {self.folder} ({error.strerror}); "
                "free some space or set TMLCD_CACHE to a writable folder"
            )

    def entries(self) -> list[CacheEntry]:
        """Return one entry per readable file, sorted by path."""
        found = []
        for path in self._files(f"*/*{SUFFIX}"):
            try:
                meta, size = read_meta(path), path.stat().st_size
                found.append(CacheEntry(meta["source"], meta["label"], int(meta.get("rows", 0)), size, path))
            except (DataError, OSError, KeyError):
                continue  # damaged or just removed: `size` counts it, `fetch` reports it
        return found

    def size(self) -> int:
        """Return the size on disk in bytes, including leftover temporary files."""
        total = 0
        for path in self._files(f"*/*{SUFFIX}", f"*/{TEMPORARY}*"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size
        return total

    def clear(self, source: str | None = None) -> int:
        """Remove all files, or those of one source; return the number of bytes freed."""
        freed, under = 0, "*" if source is None else _folder_name(source)
        for path in self._files(f"{under}/*{SUFFIX}", f"{under}/{TEMPORARY}*"):
            try:
                size = path.stat().st_size
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise DataError(f"{path} cannot be removed ({error.strerror}); remove it manually") from error
            freed += size
        return freed

    def _evict(self, newest: Path) -> None:
        """Remove the least recently used files if the total size exceeds the limit."""
        found: list[tuple[int, int, str]] = []  # last use, bytes, path
        for path in self._files(f"*/*{SUFFIX}"):
            with contextlib.suppress(OSError):  # just removed by another process
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, str(path)))
        left = sum(size for _, size, _ in found)
        if left <= self.limit:
            return
        for _, size, name in sorted(found):
            if left <= KEPT_SHARE * self.limit:
                break
            if name != str(newest):
                with contextlib.suppress(OSError):  # removed, or open in another process under Windows
                    os.unlink(name)
                left -= size

    def _files(self, *patterns: str) -> list[Path]:
        """Files of the folder that match; empty if the folder cannot be read."""
        try:
            return sorted(path for pattern in patterns for path in self.folder.glob(pattern))
        except OSError:
            return []

    @staticmethod
    def _sweep(folder: Path) -> None:
        for path in folder.glob(f"{TEMPORARY}*"):
            try:
                if time.time() - path.stat().st_mtime > STALE:
                    path.unlink()
            except FileNotFoundError:
                continue


def _harmless(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "_", text)[:40]


def _folder_name(source: str) -> str:
    return f"{_harmless(source)}-{blake2b(source.encode(), digest_size=4).hexdigest()}"


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=3)
