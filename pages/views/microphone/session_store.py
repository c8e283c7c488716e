"""A visitor's session: one for all tabs that have its address, in memory and on disk for a day."""

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


Stamp = tuple[int, int, int]  # of a file: it is another one after each write


class Overtaken(Exception):
    """Another server has written this session since it was read here."""


@dataclass
class StoredSession:
    """A session that any number of tabs work on, one at a time: whoever reads or changes it holds the lock.

    Servers that share a cache folder share its sessions. Each knows the file that it has read or written last; if the
    file is another one now, what is on disk is newer: it is taken over before anything is done here, and it is never
    written over.
    """

    token: str
    session: LiveSession
    folder: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: int = 0
    written: int = 0
    stamp: Stamp | None = None  # of the file as it was last read or written here
    former: str = ""  # token that another server's newer version has kept
    forgotten: bool = False

    @property
    def path(self) -> Path:
        return self.folder / f"{self.token}{SUFFIX}"

    def changed(self) -> None:
        self.version += 1

    def keep(self) -> None:
        """Write the session if it has changed: to a temporary file that then takes the old one's place.

        If another server has written it meanwhile, raise Overtaken and write nothing; if another has removed it, it is
        forgotten here, too.
        """
        if self.version == self.written or self.forgotten:
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
                    self.forgotten = True
                else:
                    raise Overtaken
        finally:
            temporary.unlink(missing_ok=True)
        self.written = self.version

    def refresh(self) -> None:
        """Take over what another server has written or removed, unless there is something unwritten here."""
        found = stamp_of(self.path)
        if found == self.stamp or self.version != self.written:
            return
        if found is None:
            self.forgotten = True
            return
        with suppress(OSError, TmlcdError):  # gone or damaged since: what is here stays
            self.session, self.stamp = read(self.path)
            self.version += 1
            self.written = self.version

    def forget(self) -> None:
        """Remove it from the disk, and let no tab that still shows it write it again."""
        self.forgotten = True
        with suppress(FileNotFoundError), locked(self.folder):
            self.path.unlink()


def stamp_of(path: Path) -> Stamp | None:
    """Return what tells a file from any that takes its place; None if there is no file."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def read(path: Path) -> tuple[LiveSession, Stamp]:
    """Read a session and the stamp of the very file it was read from."""
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        return LiveSession.open(file.read()), (about.st_ino, about.st_mtime_ns, about.st_size)


class SessionStore:
    """All sessions of this server: in memory while a tab works on them, so that all tabs share one, and on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: WeakValueDictionary[str, StoredSession] = WeakValueDictionary()
        self._lock = threading.Lock()

    def create(self, session: LiveSession) -> StoredSession:
        """A new entry for a session, under a new token that nobody can guess."""
        prune(self.folder)
        stored_session = StoredSession(secrets.token_urlsafe(16), session, self.folder)
        with self._lock:
            self._open[stored_session.token] = stored_session
        return stored_session

    def find(self, token: str) -> StoredSession | None:
        """The session of this token, from memory or from disk; None if it is gone. A damaged file is a DataError."""
        if not TOKEN.fullmatch(token):
            return None
        with self._lock:
            if (stored_session := self._open.get(token)) is not None:
                return stored_session
            prune(self.folder)
            try:
                session, stamp = read(self.folder / f"{token}{SUFFIX}")
            except OSError:
                return None
            stored_session = self._open[token] = StoredSession(token, session, self.folder, stamp=stamp)
            return stored_session

    def part(self, stored_session: StoredSession) -> None:
        """Give a session that was overtaken a token of its own: the newer one on disk keeps the old token."""
        with stored_session.lock, self._lock:
            self._open.pop(stored_session.token, None)
            stored_session.former, stored_session.token, stored_session.stamp = (
                stored_session.token,
                secrets.token_urlsafe(16),
                None,
            )
            self._open[stored_session.token] = stored_session

    def forget(self, stored_session: StoredSession) -> None:
        """Remove a session from memory and disk."""
        with stored_session.lock, self._lock:  # in the order of a tab that opens a session while it is in this one
            self._open.pop(stored_session.token, None)
            stored_session.forget()


@st.cache_resource(show_spinner=False)
def session_store() -> SessionStore:
    return SessionStore(recordings())
