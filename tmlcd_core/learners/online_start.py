"""Start of a learner without initial samples, for libraries that pass one sample at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tmlcd_core.learners.stream_learner import StreamLearner
from tmlcd_core.learners.tandem import Tandem
from tmlcd_core.validation import whole_number


class OnlineStart:
    """Configuration stage on the first samples of a stream.

    The first `initial` samples are stored one by one, so predictions are available from the second sample on. Then the
    learner is fitted to all of them and learns sample by sample.

    Parameters
    ----------
    learner
        The learner; it is cloned and not changed.
    initial
        Number of samples of the configuration stage.

    Attributes
    ----------
    learner : StreamLearner, Tandem or None
        The current learner; None before the first sample.

    Examples
    --------
    >>> from tmlcd_core import CondensingInTime
    >>> start = OnlineStart(CondensingInTime(), initial=4)
    >>> start.predict([0.0])
    >>> for x, y in zip([0, 9, 1, 8, 2, 7], "abababab"):
    ...     start.learn([x], y)
    >>> start.predict([3.0]), len(start.learner)
    ('a', 3)
    """

    def __init__(self, learner: StreamLearner | Tandem, initial: int):
        self._given = learner
        self._initial = whole_number("initial", initial, 1)
        self._first: list[tuple[NDArray[np.float64], Any]] | None = []  # None after the configuration stage
        self.learner: StreamLearner | Tandem | None = None

    def learn(self, x: ArrayLike, y: Any) -> None:
        """Learn one sample, features (d,) and label; an invalid sample raises an error and changes nothing."""
        if self._first is None:
            assert self.learner is not None
            self.learner.observe(x, y)
            return
        row = np.asarray(x, np.float64)
        first = [*self._first, (row, y)]
        complete = len(first) == self._initial
        if self.learner is None or complete:
            X = np.array([np.pad(older, (0, len(row) - len(older))) for older, _ in first])
            self.learner = clone(self._given).fit(X, [label for _, label in first])
        else:
            self.learner.take_in(row[None], [y])
        self._first = None if complete else first

    def predict(self, x: ArrayLike) -> Any:
        """Return the label predicted for features (d,) as a Python object; None before the first sample."""
        return None if self.learner is None else self.learner.predict(np.asarray(x)[None])[0].item()

    def predict_proba(self, x: ArrayLike) -> dict[Any, float]:
        """Return the share of the votes for each known label, given features (d,); empty before the first sample."""
        if self.learner is None:
            return {}
        shares = self.learner.predict_proba(np.asarray(x)[None])[0]
        return dict(zip(self.learner.classes_.tolist(), shares.tolist(), strict=True))

    def widen(self, n_features: int) -> None:
        """Increase the number of features to `n_features`; the new features are 0 in all older samples."""
        if self.learner is not None:
            self.learner.widen(n_features)
