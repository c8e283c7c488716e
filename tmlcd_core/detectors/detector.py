"""What a change detector must offer to drive Active and Hybrid."""

from __future__ import annotations

import inspect
from typing import Protocol, Self, runtime_checkable

FEWEST_SAMPLES = 5  # an alarm that would leave fewer is recorded but does not touch T (authors' experiments)


@runtime_checkable
class ChangeDetector(Protocol):
    """Watches whether predictions are correct; one's own detector needs no more than this.

    After `update` has returned True, `change_time` holds the time of the first sample that is thought to belong to the
    new concept; the next `update` starts the watch again. Times count from 1. Where a learner has fewer than 5 samples
    of the new concept, it records the alarm and leaves T alone: Active then does not learn that concept.

    Examples
    --------
    Ten errors in a row are a change that began with the first of them:

    >>> class TenInARow:
    ...     statistic, change_time = 0.0, 0
    ...
    ...     def update(self, correct, time):
    ...         if correct or self.statistic == 10:
    ...             self.statistic = 0.0
    ...         if not correct:
    ...             self.statistic += 1
    ...             self.change_time = time if self.statistic == 1 else self.change_time
    ...         return self.statistic == 10
    >>> detector = TenInARow()
    >>> isinstance(detector, ChangeDetector)
    True
    >>> [t for t in range(100) if detector.update(t < 70, t)], detector.change_time
    ([79, 89, 99], 90)
    """

    statistic: float
    change_time: int

    def update(self, correct: bool, time: int) -> bool:
        """Take in one supervised sample; True raises the alarm."""
        ...


class Cloneable:
    """Cloning by parameters, as river and scikit-learn do it: a fresh detector that has seen nothing.

    The parameters are those of `__init__`, each kept under its name. `copy.deepcopy` and `pickle` keep the state.
    """

    def clone(self) -> Self:
        """A fresh detector with the same parameters."""
        return type(self)(**{name: getattr(self, name) for name in inspect.signature(type(self)).parameters})

    def __sklearn_clone__(self) -> Self:
        return self.clone()
