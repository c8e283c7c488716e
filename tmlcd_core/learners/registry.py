"""Registry of learners by name, with their settings in the paper's experiments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.optional_packages import require
from tmlcd_core.validation import one_of

if TYPE_CHECKING:
    from tmlcd_core.learners import Trace
    from tmlcd_core.learners.nn_fc1 import BestOfGrid

Settings = dict[str, Any]

FEWEST_TANDEM = 50  # samples: budget of Tandem where the initial samples are fewer


TEST_GRID = (
    "spacing",
    "gap",
    "likelihood",
)  # CUSUM settings that a learner accepts only through its `detector`


@lru_cache(maxsize=256)  # experiments look up the same defaults repeatedly
def _defaults(factory: Callable[..., Any]) -> Mapping[str, Any]:
    found = inspect.signature(factory).parameters.values()
    return {one.name: one.default for one in found if one.default is not inspect.Parameter.empty}


def _no_settings(size: int, seed: int) -> Settings:
    return {}


@dataclass(frozen=True)
class LearnerEntry:
    """Registry entry of a learner, used by the command line, the app and experiments.

    Parameters
    ----------
    name : str
        Name in links and on the command line.
    about : str
        Description in one line.
    factory : callable or str
        Class of the learner, or a function that creates it from settings; a string is a name in `tmlcd_core.learners`,
        imported on first use. One that accepts `max_bytes` gets the memory in bytes of an experiment at equal memory
        and says in `Trace.memory` what it uses.
    settings : callable
        Function of the number of initial samples (100·λ) and the seed that returns the settings of the paper's
        experiments.
    in_lab : bool
        True if the Drift lab offers the learner; it must have the method `neighbours`.
    """

    name: str
    about: str
    factory: Callable[..., Any] | str
    settings: Callable[[int, int], Settings] = _no_settings
    in_lab: bool = False

    def load(self) -> Callable[..., Any]:
        """Return the class or function that creates the learner."""
        if isinstance(self.factory, str):
            return getattr(importlib.import_module("tmlcd_core.learners"), self.factory)
        return self.factory

    def defaults(self) -> Settings:
        """Return all settings of the learner with their defaults, including the CUSUM grid if it has a detector."""
        found = dict(_defaults(self.load()))
        if "detector" in found:
            from tmlcd_core.detectors import GeneralizedCusum

            found |= {name: value for name, value in _defaults(GeneralizedCusum).items() if name in TEST_GRID}
        return found


class BestNNFC1:
    """NN-FC1 with the learning rates that are best for the given stream, as in the paper, or with given rates.

    No other learner has this advantage, and on a device the rates could not be chosen afterwards.

    Parameters
    ----------
    learn
        Take a back-propagation step on each sample of the stream; False: no learning after `fit`.
    optimizer
        "sgd" (the paper) or "adam" (the authors' published code), as in `NNFC1`.
    rate, stream_rate
        Learning rates of `fit` and of the stream; None tries all of the paper's rates on the stream and takes the best.
    random_state
        Seed of the initial weights and of the sample orders.
    """

    needs_whole_stream = True  # `run` starts again at each call

    def __init__(
        self,
        learn: bool = True,
        optimizer: str = "sgd",
        rate: float | None = None,
        stream_rate: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.learn = learn
        self.optimizer = optimizer
        self.rate = rate
        self.stream_rate = stream_rate
        self.random_state = random_state

    def fit(self, X: NDArray[np.float32], y: NDArray) -> BestNNFC1:
        """Store the initial samples, features (n, d) and labels (n,), for `run`; return the learner."""
        self._start = X, y
        return self

    def search(self, X: NDArray[np.float32], y: NDArray) -> BestOfGrid:
        """Return the result of the grid search on the stream, features (n, d) and labels (n,)."""
        from tmlcd_core.learners.nn_fc1 import NNFC1, RATES, STREAM_RATES

        rates = RATES if self.rate is None else (self.rate,)
        stream_rates = STREAM_RATES if self.stream_rate is None else (self.stream_rate,)
        model = NNFC1(optimizer=self.optimizer, random_state=self.random_state)
        return model.best_of_grid(*self._start, X, y, rates, stream_rates if self.learn else (0.0,))

    def run(self, X: NDArray[np.float32], y: NDArray) -> Trace:
        """Return the trace of the most accurate pair of learning rates on the stream, features (n, d), labels (n,)."""
        return self.search(X, y).trace


def knn_adwin(k: int = 5, window: int = 200, weights: str = "distance") -> Any:
    """Return river's kNN with `k` neighbours over a window, reset when ADWIN detects a change of its errors."""
    one_of("weights", weights, ("uniform", "distance"))
    require("river")
    from river import drift, neighbors

    from tmlcd_core.learners import RiverLearner

    engine = neighbors.LazySearch(window_size=window)
    knn = neighbors.KNNClassifier(n_neighbors=k, engine=engine, weighted=weights == "distance")
    model = drift.DriftRetrainingClassifier(knn, drift.ADWIN(), train_in_background=False)
    return RiverLearner(model, stored=_in_window)


def river_softmax() -> Any:
    """Return river's softmax regression on standardised features, learned sample by sample."""
    require("river")
    from river import linear_model, preprocessing

    from tmlcd_core.learners import RiverLearner

    return RiverLearner(preprocessing.StandardScaler() | linear_model.SoftmaxRegression())


def river_tree(random_state: int = 0) -> Any:
    """Return river's Hoeffding adaptive tree."""
    require("river")
    from river import tree

    from tmlcd_core.learners import RiverLearner

    return RiverLearner(tree.HoeffdingAdaptiveTreeClassifier(seed=random_state))


def river_forest(random_state: int = 0) -> Any:
    """Return river's adaptive random forest."""
    require("river")
    from river import forest

    from tmlcd_core.learners import RiverLearner

    return RiverLearner(forest.ARFClassifier(seed=random_state))


def hybrid_told(
    max_size: int | None = 200,
    change: int | None = None,
    delay: int = 50,
    k: int | str = "sqrt",
    weights: str = "uniform",
    condense: bool = True,
    random_state: int = 0,
) -> Any:
    """Return a Hybrid whose alarm is perfect (`KnownChange`): it is raised `delay` samples after the true change.

    `change` is the time of the first sample of the new concept, counted from 1; an experiment fills in the first
    change of its stream. Without a change, None, the learner is Condensing-in-Time.
    """
    from tmlcd_core.detectors import KnownChange
    from tmlcd_core.learners import CondensingInTime, HybridTinyKNN

    shared: Settings = {"max_size": max_size, "k": k, "weights": weights, "condense": condense}
    if change is None:
        return CondensingInTime(**shared, random_state=random_state)
    return HybridTinyKNN(**shared, detector=KnownChange(change, delay), random_state=random_state)


def _in_window(fitted: Any) -> int:
    return len(fitted.model._nn.window)


# ϖ = 100·λ (paper, Sec. 7.5); h, n, ξ are the classes' own defaults (the authors' experiments).
LEARNERS: dict[str, LearnerEntry] = {
    one.name: one
    for one in (
        LearnerEntry(
            "cit",
            "Condensing-in-Time: adds errors to T",
            "CondensingInTime",
            lambda size, seed: {"random_state": seed},
            in_lab=True,
        ),
        LearnerEntry(
            "active",
            "Active Tiny kNN: rebuilds T at an alarm",
            "ActiveTinyKNN",
            lambda size, seed: {"window": size, "random_state": seed},
            in_lab=True,
        ),
        LearnerEntry(
            "hybrid",
            "Hybrid Tiny kNN: adds errors to T, removes old samples at an alarm",
            "HybridTinyKNN",
            lambda size, seed: {"max_size": size, "random_state": seed},
            in_lab=True,
        ),
        LearnerEntry(
            "tandem",
            "Tandem: two linear layers and a ring of byte samples in the same bytes",
            "Tandem",
            lambda size, seed: {"max_size": max(size, FEWEST_TANDEM)},
            in_lab=True,
        ),
        LearnerEntry(
            "cit-bounded",
            "CIT with the bound of Hybrid, without its test",
            "CondensingInTime",
            lambda size, seed: {"max_size": size, "random_state": seed},
        ),
        LearnerEntry(
            "hybrid-unbounded",
            "Hybrid without a bound on T",
            "HybridTinyKNN",
            lambda size, seed: {"max_size": None, "random_state": seed},
        ),
        LearnerEntry(
            "known-change",
            "Hybrid with a perfect alarm instead of its test",
            hybrid_told,
            lambda size, seed: {"max_size": size, "random_state": seed},
        ),
        LearnerEntry("static", "kNN that never learns", "StaticKNN", in_lab=True),
        LearnerEntry("condensed", "kNN condensed once", "StaticKNN", lambda size, seed: {"condense": True}),
        LearnerEntry("incremental", "kNN that stores everything", "IncrementalKNN", in_lab=True),
        LearnerEntry("svm", "SVM, trained once", "SupportVectorMachine"),
        LearnerEntry(
            "nn-fc1",
            "one layer, best of the paper's 49 pairs of rates",
            BestNNFC1,
            lambda size, seed: {"random_state": seed},
        ),
        LearnerEntry(
            "nn-fc1-static",
            "one layer, trained once, best of 7 rates",
            BestNNFC1,
            lambda size, seed: {"learn": False, "random_state": seed},
        ),
        LearnerEntry("sam-knn", "kNN with self-adjusting memory", "SAMKNN", lambda size, seed: {"random_state": seed}),
        LearnerEntry("knn-adwin", "river's kNN with ADWIN", knn_adwin, lambda size, seed: {"window": size}),
        LearnerEntry("river-softmax", "river's online softmax regression", river_softmax),
        LearnerEntry(
            "river-tree", "river's Hoeffding adaptive tree", river_tree, lambda size, seed: {"random_state": seed}
        ),
        LearnerEntry(
            "river-forest", "river's adaptive random forest", river_forest, lambda size, seed: {"random_state": seed}
        ),
        LearnerEntry("window", "kNN over the newest samples", "IncrementalKNN", lambda size, seed: {"max_size": size}),
    )
}
PAPER = ("cit", "active", "hybrid")
CHANGE = "change"  # setting of a learner that an experiment fills in: time of the first change, counted from 1


def register_learner(entry: LearnerEntry) -> LearnerEntry:
    """Register a learner for the command line and experiments, and for the lab if `in_lab`; return the entry.

    Examples
    --------
    >>> from tmlcd_core.learners import IncrementalKNN
    >>> entry = register_learner(LearnerEntry("newest", "kNN over the newest 60", lambda: IncrementalKNN(max_size=60)))
    >>> "newest" in LEARNERS
    True
    >>> del LEARNERS["newest"]
    """
    LEARNERS[entry.name] = entry
    return entry


def learner_entry(name: str) -> LearnerEntry:
    """Return the registry entry of this name; an unknown name is a `ConfigError` that lists all names."""
    if name not in LEARNERS:
        raise ConfigError(f"there is no learner {name!r}; choose one of {', '.join(LEARNERS)}")
    return LEARNERS[name]


def settings_of(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Settings:
    """Return all settings of a learner: defaults, the paper's settings for `size` initial samples, then `changed`.

    >>> settings = settings_of("hybrid", 200, changed={"threshold": 30.0})
    >>> settings["max_size"], settings["threshold"], settings["batch"]
    (200, 30.0, 50)
    """
    entry = learner_entry(name)
    defaults = entry.defaults()
    changed = changed or {}
    for key in changed:
        if key not in defaults:
            raise ConfigError(f"{name} has no setting {key!r}; use one of {', '.join(defaults)}")
    return {**defaults, **entry.settings(size, seed), **changed}


def make_learner(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Any:
    """Return a learner with the settings of `settings_of`, not yet fitted."""
    settings = settings_of(name, size, seed, changed)
    grid = {key: settings.pop(key) for key in TEST_GRID if key in settings}
    if changed and any(key in changed for key in grid):
        from tmlcd_core.detectors import GeneralizedCusum

        shared = {key: settings[key] for key in ("threshold", "batch", "warmup")}
        direction = "both" if name == "active" else "down"
        settings["detector"] = GeneralizedCusum(**shared, direction=direction, **grid)
    return learner_entry(name).load()(**settings)
