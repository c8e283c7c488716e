"""Microphone sessions of this server: in memory while a tab uses them, on disk for a day after the last change."""

from __future__ import annotations

import os
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

import streamlit as st

from pages.views.microphone.expiry import locked, prune, recordings
from tmlcd_core.errors import TmlcdError
from tmlcd_core.live import LiveSession

TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
SUFFIX, TEMPORARY = ".session", ".writing-"

Stamp = tuple[int, int, int]  # inode, modification time (ns) and size of a file: different after each write


class NewerOnDisk(Exception):
    """Another server has written this session since it was last read or written here."""


@dataclass
class StoredSession:
    """A session with a token, shared by all tabs that open it; hold `lock` to read or change it.

    Servers that share a cache folder share its sessions. Each server remembers the stamp of the file that it has read
    or written last. A different stamp means that the file on disk is newer: it is loaded before the next change, and
    it is never overwritten.
    """

    token: str
    session: LiveSession
    folder: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: int = 0  # number of changes
    written: int = 0  # version on disk
    stamp: Stamp | None = None  # of the file as last read or written here
    former_token: str = ""  # now of the newer version that another server has written
    removed: bool = False

    @property
    def path(self) -> Path:
        """Return the file of this session."""
        return self.folder / f"{self.token}{SUFFIX}"

    def mark_changed(self) -> None:
        """Count a change, which the next `save` writes."""
        self.version += 1

    def save(self) -> None:
        """Write the session if it has changed, to a temporary file that then replaces the old one.

        If another server has written the session since, raise NewerOnDisk and write nothing. If another server has
        removed it, mark it as removed here too.
        """
        if self.version == self.written or self.removed:
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self.folder / f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            temporary.write_bytes(self.session.save())
            with locked(self.folder):
                if (found := stamp_of(self.path)) == self.stamp:
                    os.replace(temporary, self.path)
                    self.stamp = stamp_of(self.path)
                elif found is None:
                    self.removed = True
                else:
                    raise NewerOnDisk
        finally:
            temporary.unlink(missing_ok=True)
        self.written = self.version

    def load_newer(self) -> None:
        """Load the file if another server has written it, unless there are unsaved changes here."""
        found = stamp_of(self.path)
        if found == self.stamp or self.version != self.written:
            return
        if found is None:
            self.removed = True
            return
        with suppress(OSError, TmlcdError):  # removed or damaged meanwhile: keep what is in memory
            self.session, self.stamp = read(self.path)
            self.version += 1
            self.written = self.version

    def remove(self) -> None:
        """Delete the file, and stop all tabs that still show the session from writing it again."""
        self.removed = True
        with suppress(FileNotFoundError), locked(self.folder):
            self.path.unlink()


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file, or None if there is no file."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def read(path: Path) -> tuple[LiveSession, Stamp]:
    """Read a session file; return the session and the stamp of exactly the file that was read."""
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        return LiveSession.open(file.read()), (about.st_ino, about.st_mtime_ns, about.st_size)


class SessionStore:
    """All sessions of a folder. A session that a tab uses is held in memory once, so that all tabs share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: WeakValueDictionary[str, StoredSession] = WeakValueDictionary()
        self._lock = threading.Lock()

    def create(self, session: LiveSession, lock: threading.RLock | None = None) -> StoredSession:
        """Store a session under a new random token and return it; `lock` is the one that its tab already uses."""
        prune(self.folder)
        stored = StoredSession(secrets.token_urlsafe(16), session, self.folder, lock or threading.RLock())
        with self._lock:
            self._open[stored.token] = stored
        return stored

    def in_memory(self, token: str) -> StoredSession | None:
        """Return the session of a token if a tab uses it now, else None."""
        with self._lock:
            return self._open.get(token)

    def find(self, token: str) -> StoredSession | None:
        """Return the session of a token from memory or disk, or None if there is none; DataError for a damaged file."""
        if not TOKEN.fullmatch(token):
            return None
        with self._lock:
            if (stored := self._open.get(token)) is not None:
                return stored
            prune(self.folder)
            try:
                session, stamp = read(self.folder / f"{token}{SUFFIX}")
            except OSError:
                return None
            stored = self._open[token] = StoredSession(token, session, self.folder, stamp=stamp)
            return stored

    def change_token(self, stored: StoredSession) -> None:
        """Give a session a new token; the newer version on disk keeps the former one."""
        with stored.lock, self._lock:
            self._open.pop(stored.token, None)
            stored.former_token, stored.token, stored.stamp = stored.token, secrets.token_urlsafe(16), None
            self._open[stored.token] = stored

    def remove(self, stored: StoredSession) -> None:
        """Remove a session from memory and disk."""
        # The session's lock comes first, as in a tab that holds its session while it opens another one.
        with stored.lock, self._lock:
            self._open.pop(stored.token, None)
            stored.remove()


@st.cache_resource(show_spinner=False)
def session_store() -> SessionStore:
    """Return the session store of this server."""
    return SessionStore(recordings())
