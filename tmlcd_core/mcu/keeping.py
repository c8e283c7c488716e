"""First samples of a device: of TML_KEEP labelled ones, those that are predicted correctly are stored, too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.learners import StreamLearner


class KeepingLearner:
    """Learner that observes samples as tml_observe does.

    Parameters
    ----------
    learner : StreamLearner
        Fitted learner.
    keep : int
        Number of labelled samples, as in `export_firmware`.

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
