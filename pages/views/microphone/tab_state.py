"""What one tab is about: its session, the word it teaches, the answer it waits to judge, and what there is to say.

Everything that must not be lost happens here on plain objects, without a call to Streamlit in between: such a call
may end the run when the visitor has clicked meanwhile.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.views.microphone.sample_clips import sample_clip
from pages.views.microphone.session_store import Overtaken, StoredSession, session_store
from tmlcd_core.errors import DataError, TmlcdError
from tmlcd_core.features.audio import read_sound
from tmlcd_core.features.voice import Take, cut_words, open_take
from tmlcd_core.features.voice.take import LONGEST_TAKE
from tmlcd_core.live import (
    GOOD_START,
    Answer,
    Guide,
    LiveSession,
    Outcome,
    SessionProject,
    warm_up,
)
from tmlcd_core.live.drifts import EVERY, in_force

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("yes", "no", "up")
GOAL = 5  # takes a word after which the next word's turn comes
UPLOAD = re.compile(r"the upload of \d+ bytes")  # what the core calls bytes without a name
STATE, STEP, ADDRESS = "mic:tab", "mic:step", "session"


@dataclass(frozen=True)
class AlarmMessage:
    """An alarm that has come, as it is told."""

    learner: str
    at: int  # judged answers when it came
    change: int  # the answer that was the first of the new concept, as estimated
    forgotten: tuple[str, ...]


@dataclass
class TabState:
    """One tab."""

    stored_session: StoredSession | None = None
    draft: LiveSession = field(default_factory=lambda: LiveSession(WORDS))
    lock: threading.RLock = field(default_factory=threading.RLock)  # of the draft
    seen: int = 0  # version of the stored session that this tab has shown
    word: str = WORDS[0]  # being taught
    cut: dict[str, Take] = field(default_factory=dict)  # words of a long take, until they are kept
    answer: Answer | None = None
    outcome: Outcome | None = None
    asks: bool = False  # whether the page tells what to say
    asked: str = ""
    guide: Guide | None = None
    ordered: int = 0  # answers that were judged when the drift was ordered
    said: list[tuple[str, str]] = field(default_factory=list)  # (kind, sentence) about what came last
    cuts: int = 0  # long takes so far
    inside: bool = False  # whether `alone` holds the session: then it stays the same object
    project: tuple[object, SessionProject] | None = None  # the last C project, and what it was made of

    @classmethod
    def here(cls) -> TabState:
        """The state of this tab, in the session that the address names."""
        tab: TabState = st.session_state.setdefault(STATE, cls())
        if tab.stored_session is not None:
            with tab.stored_session.lock:
                tab.stored_session.refresh()
        if tab.stored_session is not None and tab.stored_session.forgotten:
            tab = cls.anew()
        token = st.query_params.get(ADDRESS)
        if tab.stored_session is not None and token in (None, tab.stored_session.former):
            st.query_params[ADDRESS] = tab.stored_session.token  # back from another page, or parted from its address
        elif token is not None and (tab.stored_session is None or tab.stored_session.token != token):
            tab = st.session_state[STATE] = tab.follow(token)
        return tab

    @classmethod
    def anew(cls) -> TabState:
        """A state that begins with the first step, after the recordings of another were removed."""
        tab = st.session_state[STATE] = cls()
        tab.say_that("info", "All recordings of this session have been removed.")
        st.query_params.pop(ADDRESS, None)
        st.session_state.pop(STEP, None)
        return tab

    def follow(self, token: str) -> TabState:
        """The state for another address, or this one with a sentence that says why not."""
        why = "sessions are kept for a day after the last take"
        try:
            if (found := session_store().find(token)) is not None:
                tab = TabState.to(found)
                if not found.forgotten:
                    return tab
        except TmlcdError as fault:
            why = str(fault)
        self.say_that("warning", f"The session of this address cannot be opened ({why}); this is another one.")
        del st.query_params[ADDRESS]
        return self

    @classmethod
    def to(cls, stored_session: StoredSession) -> TabState:
        """The state of a tab that works on this stored session."""
        tab = cls(stored_session=stored_session)
        with stored_session.lock:
            stored_session.refresh()
            tab.catch_up()
        return tab

    def catch_up(self) -> None:
        """Take over what the session has become meanwhile: an answer that is gone, a drift that is under way."""
        assert self.stored_session is not None
        self.seen = self.stored_session.version
        self.ordered, self.guide = self.session.drift_under_way()
        self.look_again()

    def look_again(self) -> None:
        """What is on the screen as the session has it now: what was said last, if it is to be judged, comes first."""
        session = self.session
        self.next_word()
        if (pending := session.pending()) is not None:
            self.answer, self.outcome = pending, None
        elif self.answer is not None:
            word = None if self.outcome is None else self.outcome.word
            if self.answer.id not in session.takes or session.labels().get(self.answer.id) != word:
                self.answer = self.outcome = None
        if self.asked not in session.words:
            self.ask()

    @property
    def session(self) -> LiveSession:
        return self.draft if self.stored_session is None else self.stored_session.session

    @property
    def alarms(self) -> list[AlarmMessage]:
        """Those since the drift was ordered or ended, as they came."""
        found = [
            AlarmMessage(name, at + 1, change + 1, forgotten)
            for name, curve in self.session.curves().items()
            for at, change, forgotten in zip(curve.alarms, curve.change_points, curve.forgotten, strict=True)
            if at >= self.ordered
        ]
        return sorted(found, key=lambda alarm: alarm.at)

    @contextmanager
    def alone(self) -> Iterator[LiveSession]:
        """The session with no other tab in it; what another one did meanwhile is taken over first."""
        with self.lock if self.stored_session is None else self.stored_session.lock:
            if self.stored_session is not None and not self.inside:
                self.stored_session.refresh()
            if self.stored_session is not None and self.stored_session.version != self.seen:
                self.catch_up()
                self.say_that("info", "This session went on in another tab; what was done there is here now.")
            outer, self.inside = self.inside, True
            try:
                yield self.session
            finally:
                self.inside = outer

    def changed(self) -> None:
        """Something was done to the session: it gets its place among those that are kept."""
        if self.stored_session is None:
            self.stored_session = session_store().create(self.draft)
            self.stored_session.lock = self.lock  # which this tab may be waiting for already
        self.stored_session.changed()
        self.seen = self.stored_session.version

    def locked(self, make: Callable[[LiveSession], bytes]) -> Callable[[], bytes]:
        """To be called later, from another thread: a download is made when it is clicked."""

        def alone() -> bytes:
            with self.alone() as session:
                return make(session)

        return alone

    def keep(self) -> None:
        """At the end of a run, when all is on the screen: write the session, and its name into the address."""
        if self.stored_session is None:
            return
        parted = False
        try:
            with self.stored_session.lock:
                try:
                    self.stored_session.keep()
                except Overtaken:
                    session_store().part(self.stored_session)
                    self.stored_session.keep()
                    parted = True
        except OSError as fault:
            st.warning(f"The session cannot be kept on the server ({fault.strerror}): download it to be safe.")
        if st.query_params.get(ADDRESS) != self.stored_session.token:
            st.query_params[ADDRESS] = self.stored_session.token
        if parted:
            st.rerun()  # to show it

    def open_newer(self) -> None:
        """Go over to the version that another server has written; this one stays under its own address."""
        assert self.stored_session is not None
        newer = self.follow(self.stored_session.former)
        if newer.stored_session is not None and newer is not self:
            st.session_state[STATE] = newer
            st.query_params[ADDRESS] = newer.stored_session.token
            st.session_state.pop(STEP, None)

    # -- what comes in -----------------------------------------------------------------------------------------------

    def act(self, action: Callable[..., None], *args: object, **kwargs: object) -> None:
        """Do what a button asks for, as a whole: clicked again, Streamlit runs the page in two threads for a while.

        What was said about the last event is over.
        """
        self.said.clear()
        with self.alone():
            action(*args, **kwargs)

    def say_that(self, kind: str, sentence: str) -> None:
        if (kind, sentence) not in self.said:  # ten clips may fail for one reason
            self.said.append((kind, sentence))

    @contextmanager
    def faults_said(self, name: str = "") -> Iterator[None]:
        """A fault becomes a sentence beside the recorder; the session is as it was."""
        try:
            yield
        except TmlcdError as fault:
            text = UPLOAD.sub(name or "the recording", str(fault))
            if not name:
                text = text[:1].upper() + text[1:]
            self.say_that("warning", text if name in text else f"{name}: {text}")

    def receive(
        self, sound: bytes | tuple, teaching: bool, *, long: bool = False, name: str = "", word: str = ""
    ) -> None:
        """A sound from anywhere: a take of the word being taught, a long take to cut, or something to answer.

        `word` is what it is known to be; otherwise the word being taught, or the one that the page has asked for.
        """
        with self.faults_said(name), self.alone():
            if teaching and (long or (isinstance(sound, bytes) and read_sound(sound, 0.1)[2] > LONGEST_TAKE)):
                words = cut_words(sound)
                self.cuts += 1
                self.cut |= {f"c{self.cuts}-{i}": take for i, take in enumerate(words)}
                return
            take = open_take(sound)
            if teaching:
                self.session.teach(word or self.word, take)
                self.changed()
                self.look_again()
            else:
                self.answer, self.outcome = self.session.say(take), None
                self.changed()
                if truth := word or (self.asked if self.asks else ""):
                    self.judge(truth)
            for remark in take.remarks:
                self.say_that("info", f"The take is kept, with a remark: {remark}.")

    def next_word(self) -> None:
        """Stay with a word until it has GOAL takes, then turn to the one that has fewest."""
        counts = self.session.counts()
        if self.word not in counts:
            self.word = next(iter(counts))
        if counts[self.word] >= GOAL and min(counts.values()) < GOAL:
            self.word = min(counts, key=counts.__getitem__)

    def keep_cut(self, word: str) -> None:
        """Teach what is left of a long take."""
        with self.alone() as session:
            for take in self.cut.values():
                with self.faults_said():
                    session.teach(word, take)
                    self.changed()
            self.cut = {}
            self.look_again()

    def judge(self, word: str) -> None:
        """The truth about the last answer; a second click changes nothing."""
        if self.answer is None or self.outcome is not None:
            return
        with self.faults_said(), self.alone() as session:
            self.outcome = session.judge(self.answer.id, word)
            self.changed()
            self.ask()

    def waits_for_truth(self) -> bool:
        return self.answer is not None and self.outcome is None

    def do(self, action: Callable[[LiveSession], object]) -> None:
        """Change the session; a fault is said."""
        with self.faults_said(), self.alone() as session:
            action(session)
            self.changed()
            self.catch_up()

    # -- what is to be said ------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Choose the next word that the page asks for."""
        session = self.session
        rng = np.random.default_rng([session.seed, len(session.events)])
        often = None if self.guide is None else self.guide.often
        others = [word for word in session.words if word != often]
        turn = (session.judged - self.ordered) % EVERY == 0
        self.asked = often if often is not None and turn else str(rng.choice(others))

    def spoken_for(self, word: str) -> str:
        """What is said for a word: another one, once a change of class was ordered."""
        changes = in_force(self.session.events, "class-change")
        return next((event["new"] for event in changes if event["old"] == word), word)

    def ready(self, word: str, teaching: bool, judged: bool = False) -> None:
        """A ready-made take instead of a recorded one, each used once; it follows the drift that was ordered."""
        with self.faults_said():
            spoken = word if teaching else self.spoken_for(word)
            other, covered = (
                bool(in_force(self.session.events, kind)) and not teaching for kind in ("speaker", "cover")
            )
            known = {take.digest for take in self.session.takes.values()}
            clips = (sample_clip(spoken, number, other, covered) for number in count(self.session.number))
            clip = next(clip for clip in clips if open_take(clip).digest not in known)
            self.receive(clip, teaching, word=word if teaching or judged or self.asks else "")

    def ready_words(self, how_many: int) -> None:
        """So many ready-made words in random order, each answered and judged."""
        for _ in range(how_many):
            self.ask()
            self.ready(self.asked, teaching=False, judged=True)

    def order(self, kind: str, **what: object) -> None:
        """Begin a drift."""
        with self.faults_said(), self.alone() as session:
            if lacking := session.missing():
                raise DataError(lacking)
            self.guide = session.begin_drift(kind, **what)
            self.ordered = session.judged
            self.changed()
            self.ask()

    def lacks(self) -> str | None:
        """The one next step of teaching in words; None when there are enough takes of every word."""
        few = {word: GOOD_START - n for word, n in self.session.counts().items() if n < GOOD_START}
        if not few or self.session.started:
            return None
        word = self.word if self.word in few else next(iter(few))
        return f"say “{word}” {few[word]} time{'s' * (few[word] > 1)}{'' if len(few) == 1 else ', then the next word'}"


@st.cache_resource(show_spinner=False)
def warming() -> threading.Thread:
    """Imports and compiled code, paid for while the first visitor reads."""
    thread = threading.Thread(target=warm_up, daemon=True)
    thread.start()
    return thread
