"""State of the three steps in one tab; every class refreshes itself from the session."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pages.views.microphone.session_handle import WORDS
from tmlcd_core.features.voice import Take
from tmlcd_core.live import GOOD_START, Answer, Guide, LiveSession, Outcome
from tmlcd_core.live.drifts import word_to_ask

TEACH, SAY, CHANGE = STEPS = ("1 Teach", "2 Say", "3 Change")
GOAL = 5  # takes of a word that the user has chosen, after which the page selects the next word


@dataclass
class TeachState:
    """Step 1, Teach: the word being taught, and the words found in a long recording until they are kept."""

    word: str = WORDS[0]
    cut: dict[str, Take] = field(default_factory=dict)  # by id
    recordings: int = 0  # long recordings so far, for the ids
    kept: set[str] = field(default_factory=set)  # ids of odd takes that the user keeps
    chosen: bool = False  # by the user

    def refresh(self, session: LiveSession) -> None:
        """Select the word with the fewest takes; a word that the user has chosen stays until it has GOAL takes."""
        counts = session.counts()
        if self.word not in counts:
            self.chosen, self.word = False, next(iter(counts))
        if not self.chosen or (counts[self.word] >= GOAL and min(counts.values()) < GOAL):
            self.chosen, self.word = False, min(counts, key=counts.__getitem__)

    def choose(self, word: str) -> None:
        """Teach a word next, and stay with it."""
        self.chosen, self.word = True, word

    def add_cut(self, takes: Sequence[Take]) -> None:
        """Add the words found in a long recording, to be kept or dropped."""
        self.recordings += 1
        self.cut |= {f"c{self.recordings}-{i}": take for i, take in enumerate(takes)}

    def advice(self, session: LiveSession) -> str | None:
        """Return which word to say, or None when every word has a take."""
        few = [word for word, count in session.counts().items() if count < GOOD_START]
        if not few or session.started:
            return None
        word = self.word if self.word in few else few[0]
        return f"say “{word}” once{'' if len(few) == 1 else ', then the next word'}"


@dataclass(frozen=True)
class AlarmMessage:
    """An alarm of one learner."""

    learner: str
    at: int  # number of judged answers at the alarm
    change: int  # estimated change point: the first answer of the new concept, counted from 1
    forgotten: tuple[str, ...]  # ids of the takes that the learner has removed


@dataclass
class DriftState:
    """Step 3, Change: the drift in progress."""

    guide: Guide | None = None  # None if there is no drift in progress
    started_at: int = 0  # number of judged answers when the last drift began or ended

    @property
    def often(self) -> tuple[str, ...]:
        """Return the words that the drift changes, one of them to be said every second time."""
        return () if self.guide is None else self.guide.often

    def refresh(self, session: LiveSession) -> None:
        """Find the drift in progress in the log of the session."""
        self.started_at, self.guide = session.drift_under_way()

    def alarms(self, session: LiveSession) -> list[AlarmMessage]:
        """Return the alarms since the last drift began or ended, by time."""
        found = [
            AlarmMessage(name, at + 1, change + 1, forgotten)
            for name, curve in session.curves().items()
            for at, change, forgotten in zip(curve.alarms, curve.change_points, curve.forgotten, strict=True)
            if at >= self.started_at
        ]
        return sorted(found, key=lambda alarm: alarm.at)


@dataclass
class SayState:
    """Step 2, Say: the answer on the screen and its outcome, and the word that the page asks for."""

    answer: Answer | None = None
    outcome: Outcome | None = None  # of the answer, once it is judged
    prompting: bool = True  # the page says which word to say
    prompted: str = ""  # that word

    @property
    def awaits_judgement(self) -> bool:
        """Return whether the answer on the screen is not judged yet."""
        return self.answer is not None and self.outcome is None

    def show(self, answer: Answer | None) -> None:
        """Show an answer that is not judged yet, or none."""
        self.answer, self.outcome = answer, None

    def refresh(self, session: LiveSession, drift: DriftState) -> None:
        """Show the answer that waits for a judgement; remove an answer whose take or word is no longer the same."""
        if (pending := session.pending()) is not None:
            self.show(pending)
        elif self.answer is not None:
            word = None if self.outcome is None else self.outcome.word
            if self.answer.id not in session.takes or session.labels().get(self.answer.id) != word:
                self.show(None)
        if self.prompted not in session.words:
            self.choose_prompt(session, drift)

    def choose_prompt(self, session: LiveSession, drift: DriftState) -> None:
        """Choose the next word to ask for: random, but during a drift one of its words every second time."""
        self.prompted = word_to_ask(session, drift.often, drift.started_at)
