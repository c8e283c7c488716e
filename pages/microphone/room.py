"""A visitor's session: one for all tabs that have its address, in memory and on disk for a day."""

import contextlib
import os
import re
import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

import streamlit as st

from tmlcd_core.datasets.cache import cache_folder
from tmlcd_core.experiments.live import LiveSession

KEPT = 24 * 3600.0  # s after its last change for which a session stays on disk
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
SUFFIX, TEMPORARY = ".session", ".writing-"


@dataclass
class Room:
    """A session that any number of tabs work on, one at a time: whoever reads or changes it holds the lock."""

    token: str
    session: LiveSession
    folder: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    version: int = 0
    written: int = 0
    forgotten: bool = False

    @property
    def path(self) -> Path:
        return self.folder / f"{self.token}{SUFFIX}"

    def changed(self) -> None:
        self.version += 1

    def keep(self) -> None:
        """Write the session if it has changed: to a temporary file that then takes the old one's place."""
        if self.version == self.written or self.forgotten:
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self.folder / f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            temporary.write_bytes(self.session.save())
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
        self.written = self.version

    def forget(self) -> None:
        """Remove it from the disk, and let no tab that still shows it write it again."""
        self.forgotten = True
        self.path.unlink(missing_ok=True)


class Rooms:
    """All rooms of this server: in memory while a tab is in them, so that all tabs share one, and on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: WeakValueDictionary[str, Room] = WeakValueDictionary()
        self._lock = threading.Lock()

    def create(self, session: LiveSession) -> Room:
        """A room of its own for a session, under a new token that nobody can guess."""
        self.prune()
        room = Room(secrets.token_urlsafe(16), session, self.folder)
        with self._lock:
            self._open[room.token] = room
        return room

    def find(self, token: str) -> Room | None:
        """The room of this token, from memory or from disk; None if it is gone. A damaged file is a DataError."""
        if not TOKEN.fullmatch(token):
            return None
        with self._lock:
            if (room := self._open.get(token)) is not None:
                return room
            self.prune()
            try:
                data = (self.folder / f"{token}{SUFFIX}").read_bytes()
            except OSError:
                return None
            room = self._open[token] = Room(token, LiveSession.open(data), self.folder)
            return room

    def forget(self, room: Room) -> None:
        """Remove a session from memory and disk."""
        with room.lock, self._lock:  # in the order of a tab that opens a session while it is in this one
            self._open.pop(room.token, None)
            room.forget()

    def prune(self) -> None:
        """Remove from the disk what nobody has changed for a day."""
        oldest = time.time() - KEPT
        with contextlib.suppress(OSError):  # no folder yet; a file that somebody else has just removed
            for path in self.folder.iterdir():
                if path.stat().st_mtime < oldest:
                    path.unlink()


@st.cache_resource(show_spinner=False)
def rooms() -> Rooms:
    return Rooms(cache_folder() / "microphone")
