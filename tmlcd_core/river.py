"""river adapter: the learners and the CUSUM test as river estimators with the same names.

Import it with `from tmlcd_core import river` and use the estimators in pipelines, in
`river.evaluate.progressive_val_score` and in `river.drift.DriftRetrainingClassifier`. A classifier gives the same
predictions as the `tmlcd_core` learner of the same name fitted to the first `initial` samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core import learners
from tmlcd_core.detectors import ChangeDetector, RiverDetector, cusum
from tmlcd_core.errors import DataError
from tmlcd_core.learners.online_start import OnlineStart
from tmlcd_core.optional_packages import require

require("river")
from river import base  # noqa: E402

__all__ = ["ActiveTinyKNN", "CondensingInTime", "GeneralizedCusum", "HybridTinyKNN", "Tandem"]


class StreamClassifier(base.Classifier):
    """Base class of the river classifiers; a subclass creates the `tmlcd_core` learner in `_new_learner`.

    Features are a mapping from names to numbers. A missing feature counts as 0, as in river's own kNN; new features
    may appear at any time. Labels are ints, strings or bools.
    """

    def __init__(self, initial: int):
        self.initial = initial
        self._columns: dict[Any, int] = {}
        self._online = OnlineStart(self._new_learner(), initial)

    def _new_learner(self) -> learners.StreamLearner | learners.Tandem:
        raise NotImplementedError

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def learner(self) -> learners.StreamLearner | learners.Tandem | None:
        """The wrapped learner with its T, statistic and alarm; None before the first sample."""
        return self._online.learner

    def memory_bytes(self) -> int:
        """Return the size of the stored samples on the device in bytes, 32 bits per number."""
        return 0 if self.learner is None else self.learner.memory_bytes()

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one sample with its label."""
        numbers = {name: _number(name, value) for name, value in x.items()}
        if new := sorted(numbers.keys() - self._columns.keys(), key=repr):  # independent of the mapping's order
            self._columns.update(zip(new, range(len(self._columns), len(self._columns) + len(new)), strict=True))
            self._online.widen(len(self._columns))
        self._online.learn(self._row(numbers), y)

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Return the predicted label; None before the first sample."""
        return self._online.predict(self._row(x))

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the share of the votes for each known label; empty before the first sample."""
        return self._online.predict_proba(self._row(x))

    def _row(self, x: Mapping[Any, Any]) -> NDArray[np.float64]:
        """Features (d,) in the order of the known columns; unknown features are ignored."""
        row = np.zeros(len(self._columns))
        for name, value in x.items():
            if (column := self._columns.get(name)) is not None:
                row[column] = _number(name, value)
        return row


class CondensingInTime(StreamClassifier):
    """Condensing-in-Time (CIT): adds every misclassified sample to the training set T.

    Parameters
    ----------
    max_size, add_probability, k, weights, condense
        As in `tmlcd_core.CondensingInTime`.
    initial
        Samples of the configuration stage: all are stored, then condensed.
    seed
        Seed of the draws for `add_probability`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | CondensingInTime()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.91%
    """

    def __init__(
        self,
        max_size: int | None = None,
        add_probability: float | str = 1.0,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        initial: int = 100,
        seed: int = 0,
    ):
        self.max_size = max_size
        self.add_probability = add_probability
        self.k = k
        self.weights = weights
        self.condense = condense
        self.seed = seed
        super().__init__(initial)

    def _new_learner(self) -> learners.StreamLearner:
        return learners.CondensingInTime(
            self.max_size, self.add_probability, self.k, self.weights, self.condense, self.seed
        )


class ActiveTinyKNN(StreamClassifier):
    """Active Tiny kNN: rebuilds the training set T from a window of the newest samples at a detected change.

    Parameters
    ----------
    window, threshold, batch, warmup, k, weights, condense
        As in `tmlcd_core.ActiveTinyKNN`.
    detector
        A detector in the place of CUSUM: one of river's, such as `river.drift.ADWIN()`, or a `ChangeDetector`.
    initial
        Samples of the configuration stage: all are stored, then condensed.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | ActiveTinyKNN()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 78.62%
    """

    def __init__(
        self,
        window: int = 200,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        detector: Any = None,
        initial: int = 100,
    ):
        self.window = window
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.k = k
        self.weights = weights
        self.condense = condense
        self.detector = detector
        super().__init__(initial)

    def _new_learner(self) -> learners.StreamLearner:
        return learners.ActiveTinyKNN(
            self.window, self.threshold, self.batch, self.warmup, self.k, self.weights, self.condense,
            _change_detector(self.detector, "both"),
        )  # fmt: skip


class HybridTinyKNN(StreamClassifier):
    """Hybrid Tiny kNN: adds errors to the training set T and removes samples older than a detected change.

    Parameters
    ----------
    max_size, threshold, batch, warmup, k, weights, condense, add_probability
        As in `tmlcd_core.HybridTinyKNN`.
    detector
        A detector in the place of CUSUM: one of river's, such as `river.drift.ADWIN()`, or a `ChangeDetector`.
    initial
        Samples of the configuration stage: all are stored, then condensed.
    seed
        Seed of the draws for `add_probability`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | HybridTinyKNN()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 83.51%
    """

    def __init__(
        self,
        max_size: int | None = 200,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        add_probability: float | str = 1.0,
        detector: Any = None,
        initial: int = 100,
        seed: int = 0,
    ):
        self.max_size = max_size
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.k = k
        self.weights = weights
        self.condense = condense
        self.add_probability = add_probability
        self.detector = detector
        self.seed = seed
        super().__init__(initial)

    def _new_learner(self) -> learners.StreamLearner:
        return learners.HybridTinyKNN(
            self.max_size, self.threshold, self.batch, self.warmup, self.k, self.weights, self.condense,
            self.add_probability, _change_detector(self.detector, "down"), self.seed,
        )  # fmt: skip


class Tandem(StreamClassifier):
    """Tandem: two linear layers and a ring of byte samples share a fixed number of bytes.

    Parameters
    ----------
    max_size, max_bytes, threshold, batch, warmup
        As in `tmlcd_core.Tandem`.
    detector
        A detector in the place of CUSUM: one of river's, such as `river.drift.ADWIN()`, or a `ChangeDetector`.
    initial
        Samples of the configuration stage, which sets the mean and the range of the features.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | Tandem()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.19%
    """

    def __init__(
        self,
        max_size: int | None = 200,
        max_bytes: int | None = None,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        detector: Any = None,
        initial: int = 100,
    ):
        self.max_size = max_size
        self.max_bytes = max_bytes
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.detector = detector
        super().__init__(initial)

    def _new_learner(self) -> learners.Tandem:
        return learners.Tandem(
            self.max_size, self.max_bytes, self.threshold, self.batch, self.warmup,
            _change_detector(self.detector, "down"),
        )  # fmt: skip


class GeneralizedCusum(base.BinaryDriftAndWarningDetector):
    """Generalized CUSUM test on the errors of a classifier: 1 is an error, 0 a correct prediction.

    After an alarm the test restarts with the next value.

    Parameters
    ----------
    threshold, batch, warmup, direction, likelihood, spacing, gap, margin
        As in `tmlcd_core.GeneralizedCusum`.
    warning_threshold
        Statistic at which a warning is raised, below `threshold`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> errors = np.r_[rng.random(1000) < 0.1, rng.random(1000) < 0.4]
    >>> test = GeneralizedCusum()
    >>> for i, error in enumerate(errors):
    ...     test.update(error)
    ...     if test.drift_detected:
    ...         print(i, test.change_time)
    ...         break
    1049 1000
    """

    def __init__(
        self,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        direction: str = "both",
        likelihood: str = "normal",
        spacing: float = 0.01,
        gap: float = 0.03,
        margin: float = cusum.V0_MARGIN,
        warning_threshold: float = 12.5,
    ):
        super().__init__()
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.direction = direction
        self.likelihood = likelihood
        self.spacing = spacing
        self.gap = gap
        self.margin = margin
        self.warning_threshold = warning_threshold
        self._test = cusum.GeneralizedCusum(threshold, batch, warmup, direction, likelihood, spacing, gap, margin)

    def update(self, x: bool) -> None:
        """Add one prediction: wrong (1) or correct (0)."""
        self._drift_detected = self._test.update(not x)
        self._warning_detected = not self._drift_detected and self._test.statistic >= self.warning_threshold

    @property
    def statistic(self) -> float:
        """Current statistic g_t; nan during the warm-up."""
        return self._test.statistic

    @property
    def change_time(self) -> int:
        """After an alarm, the estimated start of the change: index of its first value, counted from 0."""
        return self._test.change_time


def _change_detector(detector: Any, direction: str) -> Any:
    """Convert a river detector to a `ChangeDetector`; return a `ChangeDetector` or None unchanged."""
    if detector is None or (isinstance(detector, ChangeDetector) and not isinstance(detector, base.Base)):
        return detector
    return RiverDetector(detector, direction)


def _number(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(
            f"feature {name!r} is {value!r}, not a number: encode it first, for example with river's OneHotEncoder"
        ) from None
