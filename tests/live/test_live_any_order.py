"""A live session after any sequence of actions equals the replay of its own file."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.hummed_words import TUNES, take_of
from tmlcd_core.errors import TmlcdError
from tmlcd_core.live import LIVE_LEARNERS, LiveSession, LiveSettings

RNG = np.random.default_rng(0)
TAKES = [take_of(list(TUNES)[i % 4], RNG) for i in range(80)]
WORDS = st.sampled_from([*TUNES, "other"])
DRIFTS = [
    {"kind": "swap", "first": "low", "second": "rise"},
    {"kind": "rotate", "first": "low", "second": "rise", "third": "high"},
    {"kind": "class-change", "old": "low", "new": "high"},
    {"kind": "class-change", "old": "high", "new": "other"},
    {"kind": "new-word", "word": "high"},
    {"kind": "new-word", "word": "other"},
    {"kind": "speaker"},
    {"kind": "fault", "effect": "muffled", "strength": 0.5},
    {"kind": "end"},
]
QUICK = LiveSettings(batch=2, warmup=4, threshold=1.0, max_size=8, window=6)  # alarms after a few answers
ALIKE = LiveSettings(batch=1, warmup=4, threshold=0.5, k=3, weights="distance")


def seen(session: LiveSession) -> dict[str, object]:
    """Everything that a page shows of a session."""
    pending = session.pending()
    return {
        "words": session.words,
        "labels": session.labels(),
        "missing": session.missing(),
        "drift": session.drift_under_way(),
        "pending": pending and (pending.id, pending.ballots),
        "curves": {
            name: repr([getattr(value, "tolist", lambda v=value: v)() for value in vars(curve).values()])
            for name, curve in session.curves().items()
        },
        "stored": {} if session.missing() else {name: session.stored(name) for name in session.learners},
    }


class AnyOrder(RuleBasedStateMachine):
    @initialize(chosen=st.sampled_from([QUICK, ALIKE]), each=st.integers(0, 2))
    def begin(self, chosen, each):
        self.session = LiveSession(["low", "rise"], "log-mel", settings=chosen)
        self.next = iter(TAKES)
        for word in ("low", "rise") * each:
            self.session.teach(word, next(self.next))

    def tried(self, action, *args, **kwargs):
        """What is refused leaves the session as it was."""
        before = self.session.save()
        try:
            return action(*args, **kwargs)
        except TmlcdError:
            assert self.session.save() == before

    def some(self, number):
        takes = list(self.session.takes) or ["t1"]
        return takes[number % len(takes)]

    @rule(word=WORDS)
    def teach(self, word):
        self.tried(self.session.teach, word, next(self.next))

    @rule()
    def say(self):
        self.tried(self.session.say, next(self.next))

    @rule(word=WORDS)
    def say_and_judge(self, word):
        if answer := self.tried(self.session.say, next(self.next)):
            self.tried(self.session.judge, answer.id, word)

    @rule(number=st.integers(0, 99), word=WORDS)
    def judge(self, number, word):
        self.tried(self.session.judge, self.some(number), word)

    @rule(number=st.integers(0, 99), word=WORDS)
    def relabel(self, number, word):
        self.tried(self.session.relabel, self.some(number), word)

    @rule(number=st.integers(0, 99))
    def drop(self, number):
        self.tried(self.session.drop, self.some(number))

    @rule()
    def undo(self):
        self.session.undo()

    @rule(word=WORDS)
    def add_word(self, word):
        self.tried(self.session.add_word, word)

    @rule(word=WORDS)
    def remove_word(self, word):
        self.tried(self.session.remove_word, word)

    @rule(drift=st.sampled_from(DRIFTS))
    def begin_drift(self, drift):
        guide = self.tried(self.session.begin_drift, **drift)
        if guide is not None and guide.kind != "end":
            assert self.session.drift_under_way() == (self.session.judged, guide)

    @rule(learners=st.sets(st.sampled_from(LIVE_LEARNERS), min_size=1), chosen=st.sampled_from([QUICK, ALIKE]))
    def change(self, learners, chosen):
        self.session.change(learners=sorted(learners), settings=chosen)

    @rule()
    def save_and_open(self):
        features, self.session = self.session._X, LiveSession.open(self.session.save())
        self.session._X = features

    @invariant()
    def it_is_the_replay_of_its_file(self):
        if hasattr(self, "session"):
            again = LiveSession.open(self.session.save())
            again._X = dict(self.session._X)  # the features alone are not worked out again: that takes most of the time
            assert seen(self.session) == seen(again)


AnyOrder.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestAnyOrder = AnyOrder.TestCase
