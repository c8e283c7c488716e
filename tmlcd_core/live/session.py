"""Live session: a log of taught words, judged answers and drifts, from which the learners are replayed."""

from __future__ import annotations

import copy
import itertools
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, DataError, TmlcdError
from tmlcd_core.features.voice import DEFAULT_VOICE, VOICE_EXTRACTORS, Take, VoiceExtractor, open_take
from tmlcd_core.features.voice.take import TakeSource
from tmlcd_core.learners import StreamLearner
from tmlcd_core.live.answers import Answer, Guide, LiveCurve, Outcome
from tmlcd_core.live.background import Background
from tmlcd_core.live.drifts import Event, describe_drift, heard_through, in_force, named_words
from tmlcd_core.live.odd_takes import find_odd
from tmlcd_core.live.settings import LIVE_LEARNERS, LiveSettings
from tmlcd_core.live.state import LiveLearner
from tmlcd_core.live.unknown import largest_distance, probability_known

FEWEST_WORDS, MOST_WORDS = 2, 10
LONGEST_NAME = 40  # characters
MOST_TAKES = 300  # 13 MB at 1.4 s each
MOST_DRIFTS = 200
GOOD_START = 1  # takes per word for a useful accuracy


class LiveSession:
    """Session of teaching words by voice and judging the predictions, with several learners in parallel.

    The session is a log of events over its takes. The state of the learners is the replay of this log: they are fitted
    on the takes taught before the first judgement, then run test-then-train over the judged ones; a take taught later
    is stored at its position, and so are the judged ones of the warm-up. After a take is dropped or relabelled, the
    log is replayed as if it had always been so.

    Parameters
    ----------
    words : sequence of str
        Two to ten names, plain text of 1 to 40 characters.
    extractor : str
        A name of `VOICE_EXTRACTORS`.
    learners : sequence of str
        Any of "cit", "active" and "hybrid".
    settings : LiveSettings or None
        Settings of all learners; the defaults if None.
    seed : int
        Seed of the simulated faults.
    provisional : bool
        True if the extractor is used only until the best one is loaded; a change of the extractor ends it.

    Examples
    --------
    >>> rng, time = np.random.default_rng(0), np.arange(16_000) / 16_000
    >>> def hum(pitch):
    ...     sound = np.sin(2 * np.pi * pitch * time) * ((time > 0.3) & (time < 0.7))
    ...     return open_take((0.3 * sound + rng.normal(0, 1e-3, 16_000), 16_000))
    >>> session = LiveSession(["low", "high"])
    >>> taught = [session.teach(word, hum(pitch)) for word, pitch in [("low", 300), ("high", 1500)] * 3]
    >>> answer = session.say(hum(1450))
    >>> answer.ballots["hybrid"].prediction, session.judge(answer.id, "high").verdicts["hybrid"].right
    ('high', True)
    """

    def __init__(
        self,
        words: Sequence[str],
        extractor: str = DEFAULT_VOICE,
        learners: Sequence[str] = LIVE_LEARNERS,
        settings: LiveSettings | None = None,
        seed: int = 0,
        provisional: bool = False,
    ) -> None:
        self.words: list[str] = []
        self.takes: dict[str, Take] = {}
        self.events: list[Event] = []
        self.seed = seed
        self.number = 0  # takes so far, for the next id
        self.notice = ""  # what opening the session file has changed, in one or two sentences
        self.background = Background()  # not part of the log: the room is another one when the session is reopened
        self._X: dict[str, NDArray[np.float32]] = {}
        self._tried: dict[tuple[Any, ...], int] = {}  # taught takes predicted correctly with a fault
        self._live_learners: dict[str, LiveLearner] | None = None
        self._outcomes: dict[str, Outcome] = {}  # of the judged answers, by take
        self.settings = LiveSettings()
        self.learners: tuple[str, ...] = ()
        self.extractor = DEFAULT_VOICE
        self.change(extractor, learners, settings or LiveSettings())
        self.provisional = provisional
        for word in words:
            self._name(word)
        if len(self.words) < FEWEST_WORDS:
            raise ConfigError(f"at least {FEWEST_WORDS} words are required; there are {len(self.words)}")

    def change(
        self,
        extractor: str | None = None,
        learners: Sequence[str] | None = None,
        settings: LiveSettings | None = None,
    ) -> None:
        """Change the extractor, learners or settings (None: unchanged) and replay the log with them."""
        if extractor is not None and extractor != self.extractor:
            if extractor not in VOICE_EXTRACTORS:
                raise ConfigError(f"there is no extractor {extractor!r}; there are {', '.join(VOICE_EXTRACTORS)}")
            if lacking := VOICE_EXTRACTORS[extractor].missing():
                raise ConfigError(f"the extractor {extractor!r} cannot be used here: {lacking}")
            self.extractor = extractor
            self.provisional = False
            self._X = {}
        if learners is not None:
            chosen = tuple(dict.fromkeys(learners))
            if not chosen or not set(chosen) <= set(LIVE_LEARNERS):
                raise ConfigError(f"learners={learners!r}: choose from {', '.join(LIVE_LEARNERS)}")
            self.learners = chosen
        if settings is not None:
            self.settings = settings
        self._live_learners = None

    # -- teaching ----------------------------------------------------------------------------------------------------

    def add_word(self, word: str) -> str:
        """Add a word; return its cleaned name."""
        name = self._name(word)
        self.events.append({"do": "word", "word": name})
        return name

    def remove_word(self, word: str) -> None:
        """Remove a word with its takes, as if it had never been added; only before the first judgement."""
        self._known(word)
        if self.started or len(self.words) <= FEWEST_WORDS:
            raise DataError(
                f"the word {word!r} stays: answers have been judged, or fewer than {FEWEST_WORDS} words would remain"
            )
        for take in [take for take, label in self.labels().items() if label == word]:
            self.drop(take)
        self.words.remove(word)
        self.events = [event for event in self.events if word not in named_words(event)]

    def teach(self, word: str, take: Take) -> str:
        """Store a take of a word; return its id."""
        self._known(word)
        identity = self._admit(take)
        self.events.append({"do": "teach", "take": identity, "word": word})
        if self.started and self._live_learners is not None:
            self._apply(self.events[-1])
        else:
            self._live_learners = None
        return identity

    def relabel(self, take: str, word: str) -> None:
        """Change the word of a taught or judged take and replay the log."""
        self._known(word)
        for event in self._of(take):
            if event["do"] in ("teach", "judge"):
                self._lasting(take, event, word)
                event["word"] = word
                self._live_learners = None
                return
        raise DataError(f"take {take} has not been judged yet: judge it instead")

    def drop(self, take: str) -> None:
        """Remove a take, as if it had never been recorded."""
        own = self._of(take)
        for event in own:
            self._lasting(take, event, None)
        self.events = [event for event in self.events if event.get("take") != take]
        del self.takes[take]
        self._X.pop(take, None)
        if any(event["do"] != "say" for event in own):  # the learners have seen it
            self._live_learners = None

    def counts(self) -> dict[str, int]:
        """Return the number of taught takes by word."""
        taught = [event["word"] for event in self.events if event["do"] == "teach"]
        return {word: taught.count(word) for word in self.words}

    def labels(self) -> dict[str, str]:
        """Return the word of every taught or judged take, by take id."""
        return {event["take"]: event["word"] for event in self.events if event["do"] in ("teach", "judge")}

    def hear_room(self, source: TakeSource) -> None:
        """Learn the background class from a second of the room without a word; it follows the newest ones."""
        self.background.hear(source)

    def is_noise(self, take: str) -> bool:
        """Return True if a stored take is nearer to the room than to every other take with a word."""
        return self._known_word(self._features(take), ignored=take)[1]

    def odd_takes(self) -> dict[str, str]:
        """Return the taught takes that sound like another word, by id, with that word (see `find_odd`)."""
        taught = {event["take"]: event["word"] for event in self.events if event["do"] == "teach"}
        if not taught:
            return {}
        self._extract(list(taught))
        odd = find_odd(np.stack([self._X[take] for take in taught]), list(taught.values()))
        return {list(taught)[number]: word for number, word in odd.items()}

    def missing(self) -> str | None:
        """Return a sentence on what is still needed before the first prediction; None if nothing is."""
        late = ("word", "drift") if self.started else ("drift",)  # words added by these events need no take
        later = {event.get("word") for event in self.events if event["do"] in late}
        absent = [word for word, count in self.counts().items() if not count and word not in later]
        if not any(self.counts().values()):
            absent = self.words
        if not absent:
            return None
        names = ", ".join(f"“{word}”" for word in absent)
        have, one = ("has", "one") if len(absent) == 1 else ("have", "one of each")
        return f"{names} {have} no take yet: record {one}"

    @property
    def judged(self) -> int:
        """Number of judged answers."""
        return sum(event["do"] == "judge" for event in self.events)

    @property
    def started(self) -> bool:
        """True if an answer has been judged: takes taught from then on are part of the stream."""
        return self.judged > 0

    # -- test, then train --------------------------------------------------------------------------------------------

    def say(self, take: Take) -> Answer:
        """Store a take and return the prediction of each learner as an `Answer`; nothing is learned from it yet."""
        heard = self._heard(take)
        self._replayed()
        identity = self._admit(heard)
        self.events.append({"do": "say", "take": identity})
        return self._answer(identity)

    def hear(self, take: Take) -> Answer:
        """Return the `Answer` to a take, such as the beginning of a word, without storing anything; its id is empty."""
        began = time.perf_counter()
        heard = self._heard(take)
        return self._vote("", heard, self.voice.transform([heard])[0], began)

    def _heard(self, take: Take) -> Take:
        """Take through the simulated fault, if there is one; a `DataError` if a word has no take yet."""
        if lacking := self.missing():
            raise DataError(lacking)
        for fault in in_force(self.events, "fault")[:1]:
            return heard_through(take, fault["effect"], fault["strength"], self.number, self.seed)
        return take

    def pending(self) -> Answer | None:
        """Return the `Answer` to the last take if it is not judged yet, such as in a reopened session; else None."""
        said = next((event["take"] for event in reversed(self.events) if event["do"] == "say"), None)
        return None if said is None or said in self.labels() or self.missing() else self._answer(said)

    def _answer(self, identity: str) -> Answer:
        self._replayed()
        began = time.perf_counter()
        return self._vote(identity, self.takes[identity], self._features(identity), began)

    def _vote(self, identity: str, take: Take, x: NDArray[np.float32], began: float) -> Answer:
        live_learners = self._replayed()
        stored = sorted({take for live_learner in live_learners.values() for take in live_learner.stored()})
        near = np.linalg.norm(np.stack([self._X[take] for take in stored]) - x, axis=1)
        distances = dict(zip(stored, near.tolist(), strict=True))
        known, noise = self._known_word(x)
        ballots = {name: live_learner.vote(x, distances, known) for name, live_learner in live_learners.items()}
        return Answer(identity, take, ballots, known, time.perf_counter() - began, noise)

    def judge(self, answer: str, word: str) -> Outcome:
        """Give the correct word of an answer: each learner is tested on it, then trained; return the `Outcome`."""
        self._known(word)
        done = {event["do"] for event in self._of(answer)}
        if "say" not in done:
            raise DataError(f"take {answer} was taught, not answered: relabel it instead")
        if "judge" in done:
            raise DataError(f"answer {answer} is judged already: undo or relabel it")
        if lacking := self.missing():
            raise DataError(lacking)
        self._replayed()
        event = {"do": "judge", "take": answer, "word": word}
        self.events.append(event)
        return self._apply(event)

    def judge_again(self, answer: str, word: str) -> Outcome:
        """Correct the word of a judged answer and replay the log; return the new `Outcome`."""
        self.relabel(answer, word)
        self._replayed()
        return self._outcomes[answer]

    def undo(self) -> str | None:
        """Undo the last judgement; return the id of its answer, or None if there is none."""
        for i in reversed(range(len(self.events))):
            if self.events[i]["do"] == "judge":
                self._live_learners = None
                return self.events.pop(i)["take"]
        return None

    def begin_drift(self, kind: str, **what: Any) -> Guide:
        """Start a drift; return the `Guide` with instructions and the measured time of the alarm.

        Kinds and their arguments: `swap` (first, second) and `rotate` (first, second, third): words change places, the
        next one is said for each. `class-change` (old, new): `new` is said instead of `old`. `new-word` (word): a word
        is added. `cover`: a hand covers the microphone. `speaker`: another person speaks. `fault` (effect, strength):
        the session applies an effect to every later take. `end`: ends the drift.
        """
        if sum(event["do"] == "drift" for event in self.events) >= MOST_DRIFTS:
            raise DataError(f"a session has at most {MOST_DRIFTS} drifts: save it and start a new one")
        event, guide = describe_drift(self, kind, what)
        if kind == "new-word":
            self._name(event["word"])
        self.events.append(event)
        return guide

    def drift_under_way(self) -> tuple[int, Guide | None]:
        """Return the number of judged answers at the last drift event, and its `Guide` (None after an "end")."""
        at = next((i for i in reversed(range(len(self.events))) if self.events[i]["do"] == "drift"), None)
        if at is None:
            return 0, None
        past = copy.copy(self)
        past.events, past._live_learners = self.events[:at], None
        later = {event["word"] for event in self.events[at:] if event["do"] in ("word", "drift") and "word" in event}
        past.words = [word for word in self.words if word not in later]
        what = {key: value for key, value in self.events[at].items() if key != "do"}
        kind = what.pop("kind")
        with suppress(TmlcdError):  # its takes have been dropped: no guide
            return past.judged, None if kind == "end" else describe_drift(past, kind, what)[1]
        return past.judged, None

    def curves(self) -> dict[str, LiveCurve]:
        """Return the curves of each learner over the judged answers, by name."""
        drifts, judged = [], 0
        for event in self.events:
            judged += event["do"] == "judge"
            if event["do"] == "drift":
                drifts.append(judged)
        if self.missing() and not self.started:
            return {}
        h = self.settings.h
        return {name: live_learner.curve(h, tuple(drifts)) for name, live_learner in self._replayed().items()}

    def model(self, learner: str) -> StreamLearner:
        """Return a copy of a learner in its current state."""
        if learner not in self.learners:
            raise ConfigError(f"the session has no learner {learner!r}; it has {', '.join(self.learners)}")
        if lacking := self.missing():
            raise DataError(lacking)
        return copy.deepcopy(self._replayed()[learner].learner)

    def stored(self, learner: str) -> list[str]:
        """Return the ids of the takes in the training set T of a learner, oldest first."""
        self.model(learner)
        return self._replayed()[learner].stored()

    def through(
        self, X: Mapping[str, NDArray[np.float32]], learners: Sequence[str], settings: LiveSettings
    ) -> LiveSession:
        """Return a session with the same log and other features: X has a vector (d,) for every take with a word."""
        other = copy.copy(self)
        other.change(learners=learners, settings=settings)
        other.events = [event for event in self.events if event["do"] != "say" or event["take"] in X]
        other._X = dict(X)
        return other

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """Return the bytes of the session file."""
        from tmlcd_core.live.file import write_session

        return write_session(self)

    @staticmethod
    def open(data: bytes) -> LiveSession:
        """Return the session of a file's bytes; an invalid file raises a `DataError`."""
        from tmlcd_core.live.file import read_session

        return read_session(data)

    def wav_folder(self) -> bytes:
        """Return a zip with a folder of WAV files for each word: taught takes and judged answers."""
        from tmlcd_core.live.file import zip_takes

        return zip_takes(self)

    # -- internals ---------------------------------------------------------------------------------------------------

    @property
    def voice(self) -> VoiceExtractor:
        """Voice extractor of the session."""
        return VOICE_EXTRACTORS[self.extractor]

    def _name(self, word: str) -> str:
        name = clean_name(word)
        if name.casefold() in (known.casefold() for known in self.words):
            raise ConfigError(f"the word {name!r} already exists: choose another")
        if len(self.words) >= MOST_WORDS:
            raise ConfigError(f"a session has at most {MOST_WORDS} words: leave {name!r} out")
        self.words.append(name)
        return name

    def _known(self, word: str) -> None:
        if word not in self.words:
            raise DataError(f"there is no word {word!r}; there are {', '.join(self.words)}")

    def _of(self, take: str) -> list[Event]:
        if take not in self.takes:
            raise DataError(f"there is no take {take!r}: it may have been dropped")
        return [event for event in self.events if event.get("take") == take]

    def _lasting(self, take: str, event: Event, word: str | None) -> None:
        """Refuse to remove the last initial take of a word once answers are judged: the learners were fitted on it."""
        if not self.started or event["do"] != "teach" or event["word"] == word:
            return
        fitted = itertools.takewhile(lambda past: past["do"] != "judge", self.events)
        same = [past["take"] for past in fitted if past["do"] == "teach" and past["word"] == event["word"]]
        if same == [take]:
            raise DataError(
                f"take {take} is the last of {event['word']!r} from before the first judgement: keep it, or undo the "
                "judgements first"
            )

    def _admit(self, take: Take) -> str:
        for identity, other in self.takes.items():
            if other.digest == take.digest:
                raise DataError(f"this recording exists already as take {identity}: record the word again")
        if len(self.takes) >= MOST_TAKES:
            raise DataError(f"a session has at most {MOST_TAKES} takes: save it and start a new one")
        self.number += 1
        identity = f"t{self.number}"
        self.takes[identity] = take
        return identity

    def _features(self, take: str) -> NDArray[np.float32]:
        if take not in self._X:
            self._X[take] = self.voice.transform([self.takes[take]])[0]
        return self._X[take]

    def _replayed(self) -> dict[str, LiveLearner]:
        if self._live_learners is None:
            self._outcomes = {}
            initial: list[Event] = []
            rest: list[Event] = []
            for event in self.events:
                if event["do"] == "teach" and not rest:
                    initial.append(event)
                elif event["do"] == "judge" or (event["do"] == "teach" and rest):
                    rest.append(event)
            self._extract([event["take"] for event in (*initial, *rest)])
            ids = [event["take"] for event in initial]
            X = np.stack([self._X[take] for take in ids])
            words = [event["word"] for event in initial]
            self._live_learners = {
                name: LiveLearner(self.settings.learner(name, self.seed), ids, X, words, self.settings.warmup)
                for name in self.learners
            }
            for event in rest:
                self._apply(event)
        return self._live_learners

    def farthest_known(self) -> float:
        """Return the distance to the nearest take with a word beyond which a take is an unknown word."""
        taught = {event["take"]: event["word"] for event in self.events if event["do"] == "teach"}
        self._extract(list(taught))
        X = np.stack([self._X[take] for take in taught])
        return largest_distance(self.extractor, X, list(taught.values()))

    def _known_word(self, x: NDArray[np.float32], ignored: str = "") -> tuple[float, bool]:
        """Probability that x (d,) is a known word, and whether it is noise: nearer to the room than to every word.

        A known word is near to a take with a word, also to one that no learner stores. The take `ignored` is left out.
        """
        others = [take for take in self.labels() if take != ignored]
        self._extract(others)
        named = np.array([self._X[take] for take in others]).reshape(-1, len(x))
        limit = self.farthest_known()
        word = float(np.linalg.norm(named - x, axis=1).min(initial=np.inf))
        room = self.background.distance(self.voice, x, named, limit)
        return probability_known(word, min(limit, room)), room < min(word, limit)

    def _extract(self, takes: list[str]) -> None:
        new = [take for take in takes if take not in self._X]
        if new:
            self._X |= dict(zip(new, self.voice.transform([self.takes[take] for take in new]), strict=True))

    def _apply(self, event: Mapping[str, Any]) -> Outcome:
        """Update the learners with one new event of the stream."""
        take, word, x = event["take"], event["word"], self._features(event["take"])
        live_learners = self._replayed()
        if event["do"] == "teach":
            for live_learner in live_learners.values():
                live_learner.take_in(take, x, word)
            return Outcome(take, word, {})
        verdicts = {name: live_learner.judge(take, x, word) for name, live_learner in live_learners.items()}
        self._outcomes[take] = Outcome(take, word, verdicts)
        return self._outcomes[take]


def clean_name(word: str) -> str:
    """Return the name of a word, with normalised Unicode and spaces; markup is kept as plain text.

    >>> clean_name("  <b>yes</b> ")
    '<b>yes</b>'
    """
    if not isinstance(word, str):
        raise ConfigError(f"the word {word!r} is not a string: give its name as text")
    name = " ".join(unicodedata.normalize("NFC", word).split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ConfigError(f"the word has {len(name)} characters: use 1 to {LONGEST_NAME}")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") for c in name):
        raise ConfigError(f"the word {name!r} has characters that cannot be displayed: type it again")
    return name


def warm_up() -> None:
    """Import and compile everything before the first take, by running a tiny session."""
    rng = np.random.default_rng(0)
    session = LiveSession(["a", "b"])
    for i in range(4):
        samples = rng.normal(0, 0.1, (44_100, 1)) * (np.arange(44_100) > 20_000)[:, None]
        take = open_take((samples + rng.normal(0, 1e-4, (44_100, 1)), 44_100))
        if i < 2:
            session.teach("ab"[i], take)
        else:
            session.judge(session.say(open_take(take.wav()[:-2])).id, "a")
