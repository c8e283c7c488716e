"""Voice classes of this server: a code, the words, and the results of each phone as numbers; never a recording."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tmlcd_core.errors import ConfigError

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # without I, L and O, which look like other characters
CODE_LENGTH = 5
MOST_CLASSES, MOST_PHONES = 50, 100
KEPT = 6 * 3600.0  # s after the last use


@dataclass(frozen=True)
class PhoneResult:
    """Report of a phone: its number of judged answers, accuracy over the last ones (0..1), and alarms."""

    judged: int = 0
    accuracy: float | None = None  # None before the first judged answer
    alarmed: bool = False  # an alarm since the teacher began the drift


@dataclass(frozen=True)
class ClassSummary:
    """Results of all phones, without names, in the order in which they joined."""

    phones: tuple[PhoneResult, ...]
    swapped: tuple[str, str] | None  # the words that change places now

    @property
    def alarms(self) -> int:
        """Number of phones with an alarm."""
        return sum(phone.alarmed for phone in self.phones)

    @property
    def answers(self) -> int:
        """Number of judged answers of all phones."""
        return sum(phone.judged for phone in self.phones)

    @property
    def accuracy(self) -> float | None:
        """Mean accuracy of the phones with an answer; None without one."""
        known = [phone.accuracy for phone in self.phones if phone.accuracy is not None]
        return sum(known) / len(known) if known else None


@dataclass
class VoiceClass:
    """One class: phones join it by its code; only who has the key leads it."""

    code: str
    key: str
    words: tuple[str, ...]
    used: float
    swapped: tuple[str, str] | None = None
    turns: int = 0  # how often a drift began or ended
    _phones: dict[str, PhoneResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, phone: str, result: PhoneResult) -> None:
        """Store the result of a phone; ConfigError if the class is full."""
        with self._lock:
            if phone not in self._phones and len(self._phones) >= MOST_PHONES:
                raise ConfigError(f"this class has {MOST_PHONES} phones already: ask the teacher to start another one")
            self._phones[phone] = result
            self.used = time.monotonic()

    def leave(self, phone: str) -> None:
        """Remove a phone."""
        with self._lock:
            self._phones.pop(phone, None)

    def swap(self, first: str, second: str) -> None:
        """Let two words change places on every phone; ConfigError unless they are two words of the class."""
        if first == second or not {first, second} <= set(self.words):
            raise ConfigError(f"{first!r} and {second!r} are not two different words of the class")
        self._turn((first, second))

    def end(self) -> None:
        """End the swap on every phone."""
        self._turn(None)

    def summary(self) -> ClassSummary:
        """Return the results of all phones."""
        with self._lock:
            return ClassSummary(tuple(self._phones.values()), self.swapped)

    def _turn(self, swapped: tuple[str, str] | None) -> None:
        with self._lock:
            self.swapped, self.turns = swapped, self.turns + 1
            self._phones = {phone: replace(result, alarmed=False) for phone, result in self._phones.items()}
            self.used = time.monotonic()


class VoiceClasses:
    """All classes of a server, in memory.

    Examples
    --------
    >>> classes = VoiceClasses()
    >>> lesson = classes.open(["yes", "no"])
    >>> lesson.report("one", PhoneResult(12, 0.75)), classes.find(lesson.code.lower()) is lesson
    (None, True)
    >>> lesson.summary().accuracy
    0.75
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._classes: dict[str, VoiceClass] = {}
        self._lock = threading.Lock()

    def open(self, words: Sequence[str]) -> VoiceClass:
        """Open and return a class with a new code; ConfigError if there are too many."""
        with self._lock:
            now = self._clock()
            self._classes = {code: one for code, one in self._classes.items() if now - one.used < KEPT}
            if len(self._classes) >= MOST_CLASSES:
                raise ConfigError(f"this server has {MOST_CLASSES} classes already: try again later")
            code = ""
            while not code or code in self._classes:
                code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
            self._classes[code] = VoiceClass(code, secrets.token_urlsafe(16), tuple(words), now)
            return self._classes[code]

    def find(self, code: str) -> VoiceClass | None:
        """Return the class of a code, in any case of letters; None if there is none."""
        with self._lock:
            return self._classes.get(code.strip().upper())

    def led_by(self, key: str) -> VoiceClass | None:
        """Return the class of a teacher's key; None if there is none."""
        with self._lock:
            return next(
                (one for one in self._classes.values() if secrets.compare_digest(one.key.encode(), key.encode())), None
            )

    def close(self, one: VoiceClass) -> None:
        """Close a class; its phones continue without it."""
        with self._lock:
            self._classes.pop(one.code, None)
