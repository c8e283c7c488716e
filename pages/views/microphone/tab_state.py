"""State of one browser tab on the Microphone page, and the ways to change its session.

No method here calls Streamlit's drawing functions: such a call ends the run when the user has clicked meanwhile, and
a change would be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pages.views.microphone.messages import Messages
from pages.views.microphone.session_handle import SessionHandle
from pages.views.microphone.session_store import StoredSession
from pages.views.microphone.step_state import CHANGE, SAY, TEACH, DriftState, SayState, TeachState
from tmlcd_core.features.voice import BEST_VOICE, default_voice
from tmlcd_core.live import LiveSession, SessionProject


@dataclass
class TabState:
    """One tab: its session, the state of its three steps and its messages."""

    handle: SessionHandle = field(default_factory=SessionHandle)
    teach: TeachState = field(default_factory=TeachState)
    say: SayState = field(default_factory=SayState)
    drift: DriftState = field(default_factory=DriftState)
    messages: Messages = field(default_factory=Messages)
    step: str = TEACH
    moves: int = 0  # changes of the step that the browser did not make
    uploads: int = 0  # received so far: each one is followed by an empty uploader with a new key
    former_address: str = ""  # token of the session before: a click may still carry it
    address_runs: int = 0  # runs with the address of this session; the first may be the one that has set it
    refused: str = ""  # why the file in the uploader of sessions cannot be opened
    project: tuple[object, SessionProject] | None = None  # last C project, after the settings it was made with
    page: tuple[object, bytes] | None = None  # last web page, after the settings it was made with

    @classmethod
    def open(cls, stored: StoredSession) -> TabState:
        """Return the state of a new tab for a stored session."""
        tab = cls(SessionHandle.of(stored))
        with tab.handle.exclusive():
            tab.reload()
            begun = tab.say.answer is not None or tab.session.started
            tab.step = CHANGE if tab.drift.guide is not None else SAY if begun else TEACH
            if tab.session.notice:
                tab.messages.info(tab.session.notice)
        return tab

    @property
    def session(self) -> LiveSession:
        """Return the session of this tab."""
        return self.handle.current

    def go_to(self, step: str) -> None:
        """Show another step, whatever the browser sends for the one before."""
        if step != self.step:
            self.step, self.moves = step, self.moves + 1

    def refresh(self) -> None:
        """Show the session as it is now, in the same drift."""
        self.teach.refresh(self.session)
        self.say.refresh(self.session, self.drift)

    def reload(self) -> None:
        """Show the session as it is now, after any change of its log."""
        self.drift.refresh(self.session)
        self.refresh()

    def use_best_voice(self) -> None:
        """Compute all takes again with the best extractor once it is loaded, if the session began before.

        A session keeps an extractor that the user has chosen, and any extractor from its first drift on: the alarms on
        the screen must not change.
        """
        if not self.session.provisional or default_voice() != BEST_VOICE:
            return
        with self.exclusive() as session:
            if session.provisional and not any(event["do"] == "drift" for event in session.events):
                session.change(BEST_VOICE)
                if self.handle.stored is not None:
                    self.handle.mark_changed()
                self.refresh()

    @contextmanager
    def exclusive(self) -> Iterator[LiveSession]:
        """Lock the session against other tabs after loading their changes, and yield it. May be nested."""
        with self.handle.exclusive() as newer:
            if newer:
                self.reload()
                self.messages.info("This session was changed in another tab. This tab now shows the changes.")
            yield self.session

    @contextmanager
    def changing(self) -> Iterator[LiveSession]:
        """Lock the session for one change and yield it; a TmlcdError becomes a message and marks nothing as changed."""
        with self.messages.catch_errors(), self.exclusive() as session:
            yield session
            self.handle.mark_changed()

    def apply(self, action: Callable[[LiveSession], object]) -> None:
        """Change the session by a function, and show the result or its error."""
        with self.messages.catch_errors(), self.exclusive() as session:
            action(session)
            self.handle.mark_changed()
            self.reload()

    def run_action(self, action: Callable[..., None], *args: object, **kwargs: object) -> None:
        """Run the action of a button in one piece, without the messages of the action before it.

        After a second click Streamlit runs the page in two threads for a while: the lock keeps them apart.
        """
        self.messages.clear()
        with self.exclusive():
            action(*args, **kwargs)

    def export(self, make: Callable[[LiveSession], bytes]) -> Callable[[], bytes]:
        """Return a function that makes the bytes of a download, for Streamlit to call in another thread."""

        def locked() -> bytes:
            with self.exclusive() as session:
                return make(session)

        return locked
