"""What a device does as a live session does: named takes are known, and the first correct answers are stored, too."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.learners import StreamLearner


class SessionTakes(NamedTuple):
    """Takes of a live session that the device treats as the session does."""

    named: ArrayLike | None = None
    """Features (n, d) of samples whose class is known, whether in T or not: a sample near to one is not "unknown".
    They are stored in flash. Not with Tandem."""
    keep: int = 0
    """Of so many samples with a label, the first ones on the device, those that are predicted correctly are stored in T
    too. Only with CIT, Active and Hybrid."""


OF_NO_SESSION = SessionTakes()


class KeepingLearner:
    """Learner that observes samples as tml_observe does.

    Parameters
    ----------
    learner : StreamLearner
        Fitted learner.
    keep : int
        Number of labelled samples, as in `SessionTakes`.

    Examples
    --------
    >>> from tmlcd_core import CondensingInTime
    >>> learner = CondensingInTime().fit(np.eye(2), [0, 1])
    >>> device = KeepingLearner(learner, keep=1)
    >>> [(int(device.observe(np.array([0.9, 0.1]), 0)), len(learner)) for _ in range(2)]
    [(0, 3), (0, 3)]
    """

    def __init__(self, learner: StreamLearner, keep: int) -> None:
        self.learner = learner
        self._left = keep

    def observe(self, x: NDArray[np.float32], label: Any) -> Any:
        """Predict x (d,), learn its label unless it is None, and return the prediction."""
        prediction = self.learner.observe(x, label)
        if label is not None:
            if prediction == label and self._left > 0:
                self.learner.take_in(x[None], [label])
            self._left -= 1
        return prediction
