"""Change-detector interface of the Active and Hybrid learners."""

from __future__ import annotations

import inspect
from typing import Protocol, Self, runtime_checkable


@runtime_checkable
class ChangeDetector(Protocol):
    """Protocol of a change detector on correct and incorrect predictions; implement it to use your own detector.

    After `update` has returned True, `change_time` is the estimated time of the first sample of the new concept; the
    next `update` restarts the detector. Times count from 1. If a learner has fewer than 5 samples of the new concept,
    it records the alarm and does not change T: Active then does not learn that concept.

    Examples
    --------
    A detector that reports ten errors in a row as a change that began with the first of them:

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
        """Add one supervised sample, `correct` if it was predicted right; return True to raise an alarm."""
        ...


class Cloneable:
    """Mixin that clones by parameters, as in river and scikit-learn: the clone has seen no samples.

    The parameters of `__init__` must be attributes of the same names. `copy.deepcopy` and `pickle` keep the state.
    """

    def clone(self) -> Self:
        """Return a new detector with the same parameters."""
        return type(self)(**{name: getattr(self, name) for name in inspect.signature(type(self)).parameters})

    def __sklearn_clone__(self) -> Self:
        return self.clone()
