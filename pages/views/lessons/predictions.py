"""Predictions of all visitors: in memory of the server, bounded, without names.

A visitor is a browser (`pages.shell.computation.visitor`), so a prediction survives a reload and a change of the page.
"""

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace

MOST_VISITORS = 1000  # the one not seen for the longest time is forgotten first
MOST_PREDICTIONS = 100  # per visitor


@dataclass(frozen=True)
class Prediction:
    """Chosen option, whether it has been checked against the run, and whether it was right (None: no right answer)."""

    option: str
    checked: bool = False
    right: bool | None = None


class Predictions:
    """Predictions by visitor and part of a lesson.

    Examples
    --------
    >>> found = Predictions()
    >>> found.predict("somebody", "passive-1", "cit")
    >>> found.predict("another", "passive-1", "cit")
    >>> found.counts("passive-1")["cit"]
    2
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._visitors: OrderedDict[str, dict[str, Prediction]] = OrderedDict()

    def of(self, visitor: str) -> dict[str, Prediction]:
        """Return a copy of the visitor's predictions by key."""
        with self._lock:
            return dict(self._visitors.get(visitor, {}))

    def predict(self, visitor: str, key: str, option: str) -> None:
        """Store a prediction; one that has been made stays."""
        with self._lock:
            mine = self._visitors.setdefault(visitor, {})
            self._visitors.move_to_end(visitor)
            mine.setdefault(key, Prediction(option))
            while len(mine) > MOST_PREDICTIONS:
                mine.pop(next(iter(mine)))
            while len(self._visitors) > MOST_VISITORS:
                self._visitors.popitem(last=False)

    def check(self, visitor: str, key: str, right: bool | None) -> None:
        """Mark a prediction as checked."""
        with self._lock:
            mine = self._visitors.get(visitor, {})
            if key in mine:
                mine[key] = replace(mine[key], checked=True, right=right)

    def forget(self, visitor: str) -> None:
        """Remove the predictions of a visitor."""
        with self._lock:
            self._visitors.pop(visitor, None)

    def counts(self, key: str, without: str = "") -> Counter[str]:
        """Return how many visitors predicted each option; `without` leaves one visitor out, the teacher."""
        with self._lock:
            return Counter(mine[key].option for one, mine in self._visitors.items() if key in mine and one != without)


PREDICTIONS = Predictions()  # shared by all visitors of this server
