"""Access of one tab to its session: locking, changes from other tabs, saving."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pages.views.microphone.session_store import NewerOnDisk, StoredSession, session_store
from tmlcd_core.features.voice import BEST_VOICE, default_voice
from tmlcd_core.live import LiveSession

WORDS = ("yes", "no", "up")  # of a new session


def new_session() -> LiveSession:
    """Return a session with the best extractor that is ready; another one than the best is provisional."""
    extractor = default_voice()
    return LiveSession(WORDS, extractor, provisional=extractor != BEST_VOICE)


@dataclass
class SessionHandle:
    """The session of one tab: a draft until the first change, then a stored session that other tabs may share."""

    stored: StoredSession | None = None
    draft: LiveSession = field(default_factory=new_session)
    lock: threading.RLock = field(default_factory=threading.RLock)  # the stored session uses the same one
    seen: int = 0  # version of the stored session that this tab shows
    _held: bool = False  # inside `exclusive`

    @classmethod
    def of(cls, stored: StoredSession) -> SessionHandle:
        """Return a handle on a stored session."""
        return cls(stored, lock=stored.lock)

    @property
    def current(self) -> LiveSession:
        """Return the session; inside `exclusive` it stays the same object."""
        return self.draft if self.stored is None else self.stored.session

    @contextmanager
    def exclusive(self) -> Iterator[bool]:
        """Lock the session against other tabs and threads, and load what other servers have saved.

        Yields True if the session has changed since this tab has shown it. May be nested.
        """
        with self.lock:
            newer = False
            if self.stored is not None:
                if not self._held:
                    self.stored.load_newer()
                newer, self.seen = self.stored.version != self.seen, self.stored.version
            outer, self._held = self._held, True
            try:
                yield newer
            finally:
                self._held = outer

    def load_newer(self) -> None:
        """Load what another server has saved or removed."""
        if self.stored is not None:
            with self.lock:
                self.stored.load_newer()

    def mark_changed(self) -> None:
        """Count a change; the first one stores the draft."""
        if self.stored is None:
            self.stored = session_store().create(self.draft, self.lock)
        self.stored.mark_changed()
        self.seen = self.stored.version

    def save(self) -> bool:
        """Write the stored session to disk; return True if it has got a new token because another version is newer.

        Raises OSError if it cannot be written.
        """
        if self.stored is None:
            return False
        with self.lock:
            try:
                self.stored.save()
                return False
            except NewerOnDisk:
                session_store().change_token(self.stored)
                self.stored.save()
                return True
