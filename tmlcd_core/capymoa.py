"""CapyMOA adapter: the learners as classifiers for CapyMOA's streams and evaluations.

CapyMOA needs Java and pandas 2, so it is tested in a separate environment: `make capymoa-test` creates it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.learners import HybridTinyKNN, StreamLearner, Tandem
from tmlcd_core.learners.online_start import OnlineStart
from tmlcd_core.optional_packages import require

require("capymoa")
from capymoa.base import Classifier  # noqa: E402

__all__ = ["TinyKNNClassifier"]


class TinyKNNClassifier(Classifier):
    """CapyMOA classifier that wraps a learner of `tmlcd_core`.

    It gives the same predictions as the learner fitted to the first `initial` instances. Classes are CapyMOA's label
    indices.

    Parameters
    ----------
    schema
        CapyMOA's schema of the stream, `stream.get_schema()`.
    learner
        Any learner of `tmlcd_core`, such as `ActiveTinyKNN()` or `Tandem()`; None means `HybridTinyKNN()`.
    initial
        Number of instances of the configuration stage: all are stored, then condensed.

    Examples
    --------
    >>> from capymoa.evaluation import prequential_evaluation
    >>> from capymoa.stream.generator import SEA
    >>> stream = SEA(instance_random_seed=1)
    >>> model = TinyKNNClassifier(stream.get_schema())
    >>> results = prequential_evaluation(stream, model, max_instances=2000)
    >>> round(results.accuracy(), 1)
    74.6
    """

    def __init__(self, schema: Any, learner: StreamLearner | Tandem | None = None, initial: int = 100):
        learner = HybridTinyKNN() if learner is None else learner
        super().__init__(schema, random_seed=getattr(learner, "random_state", 0))
        self._name = type(learner).__name__
        self._online = OnlineStart(learner, initial)

    def __str__(self) -> str:
        return self._name

    @property
    def learner(self) -> StreamLearner | Tandem | None:
        """The wrapped learner with its T, statistic and alarm; None before the first instance."""
        return self._online.learner

    def train(self, instance: Any) -> None:
        """Learn one labelled instance."""
        self._online.learn(instance.x, int(instance.y_index))

    def predict(self, instance: Any) -> int | None:
        """Return the predicted label index; None before the first instance."""
        return self._online.predict(instance.x)

    def predict_proba(self, instance: Any) -> NDArray[np.float64] | None:
        """Return the share of the votes for each label index, shape (classes,); None before the first instance."""
        shares = self._online.predict_proba(instance.x)
        return np.array([shares.get(i, 0.0) for i in range(self.schema.get_num_classes())]) if shares else None
