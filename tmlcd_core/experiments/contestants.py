"""Learners by name, with the settings that the paper's experiments give them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.optional_packages import require

if TYPE_CHECKING:
    from tmlcd_core.learners import Trace

Settings = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A learner that `run` and the app offer: where its class is, and its settings given 100·λ and the seed."""

    name: str
    about: str
    place: str  # class in tmlcd_core.learners, or here
    settings: Callable[[int, int], Settings]
    in_lab: bool = False  # offered by the Drift lab, which asks a learner for the neighbours that voted

    @property
    def module(self) -> str:
        """From where a program imports it."""
        return __name__ if self.place in globals() else "tmlcd_core.learners"

    @property
    def factory(self) -> Callable[..., Any]:
        return getattr(importlib.import_module(self.module), self.place)

    def parameters(self) -> list[str]:
        """Settings that can be given."""
        return list(inspect.signature(self.factory).parameters)


class BestNNFC1:
    """NN-FC1 with the learning rates that turn out best for this very stream, as the paper shows it.

    An advantage that no other learner has; on a device nobody could choose them.

    Parameters
    ----------
    learn
        Take a step of back-propagation on each sample of the stream, or stay as trained.
    centre
        Subtract the mean of the initial samples from all features, which the paper does not say it does.
    random_state
        Seed of the initial weights and orders.
    """

    def __init__(self, learn: bool = True, centre: bool = False, random_state: int = 0) -> None:
        self.learn = learn
        self.centre = centre
        self.random_state = random_state

    def fit(self, X: NDArray[np.float32], y: NDArray) -> BestNNFC1:
        self._offset = X.mean(axis=0) if self.centre else np.float32(0)
        self._start = X - self._offset, y
        return self

    def run(self, X: NDArray[np.float32], y: NDArray) -> Trace:
        from tmlcd_core.learners.nn_fc1 import NNFC1, STREAM_RATES

        rates = STREAM_RATES if self.learn else (0.0,)
        return (
            NNFC1(random_state=self.random_state)
            .best_of_grid(*self._start, X - self._offset, y, stream_rates=rates)
            .trace
        )


def knn_adwin(k: int = 5, window: int = 200) -> Any:
    """river's kNN over a window, which starts again when ADWIN finds that its errors have changed."""
    require("river")
    from river import drift, neighbors

    from tmlcd_core.learners import RiverLearner

    knn = neighbors.KNNClassifier(n_neighbors=k, engine=neighbors.LazySearch(window_size=window))
    model = drift.DriftRetrainingClassifier(knn, drift.ADWIN(), train_in_background=False)
    return RiverLearner(model, stored=_in_window)


def _in_window(fitted: Any) -> int:
    return len(fitted.model._nn.window)


CONTESTANTS: dict[str, Contestant] = {
    c.name: c
    for c in (
        # ϖ = 100·λ (paper, Sec. 7.5); h, n, ξ are the classes' own defaults (design: the authors' experiments).
        Contestant(
            "cit",
            "Condensing-in-Time: errors join T",
            "CondensingInTime",
            lambda size, seed: {"random_state": seed},
            in_lab=True,
        ),
        Contestant(
            "active",
            "Active Tiny kNN: T rebuilt after an alarm",
            "ActiveTinyKNN",
            lambda size, seed: {"window": size, "random_state": seed},
            in_lab=True,
        ),
        Contestant(
            "hybrid",
            "Hybrid Tiny kNN: errors join T, alarms drop the old",
            "HybridTinyKNN",
            lambda size, seed: {"max_size": size, "random_state": seed},
            in_lab=True,
        ),
        Contestant("static", "kNN that never learns", "StaticKNN", lambda size, seed: {}, in_lab=True),
        Contestant("condensed", "kNN condensed once", "StaticKNN", lambda size, seed: {"condense": True}),
        Contestant("incremental", "kNN that stores everything", "IncrementalKNN", lambda size, seed: {}, in_lab=True),
        Contestant("svm", "SVM, trained once", "SupportVectorMachine", lambda size, seed: {}),
        Contestant(
            "nn-fc1", "one layer, the paper's best of 49 rates", "BestNNFC1", lambda size, seed: {"random_state": seed}
        ),
        Contestant(
            "nn-fc1-static",
            "one layer, trained once, the best of 7 rates",
            "BestNNFC1",
            lambda size, seed: {"learn": False, "random_state": seed},
        ),
        Contestant(
            "nn-fc1-centred",
            "the same on features minus their mean",
            "BestNNFC1",
            lambda size, seed: {"learn": False, "centre": True, "random_state": seed},
        ),
        Contestant("sam-knn", "kNN with self-adjusting memory", "SAMKNN", lambda size, seed: {"random_state": seed}),
        Contestant("knn-adwin", "river's kNN with ADWIN", "knn_adwin", lambda size, seed: {"window": size}),
        Contestant("window", "kNN over the newest samples", "IncrementalKNN", lambda size, seed: {"max_size": size}),
    )
}
PAPER = ("cit", "active", "hybrid")


def contestant(name: str) -> Contestant:
    if name not in CONTESTANTS:
        raise ConfigError(f"there is no learner {name!r}; there are {', '.join(CONTESTANTS)}")
    return CONTESTANTS[name]


def settings_of(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Settings:
    """All settings of a learner: its class's defaults, the paper's for |T| = `size`, and what is `changed`.

    >>> settings = settings_of("hybrid", 200, changed={"threshold": 30.0})
    >>> settings["max_size"], settings["threshold"], settings["batch"]
    (200, 30.0, 50)
    """
    found = contestant(name)
    defaults = {
        p.name: p.default
        for p in inspect.signature(found.factory).parameters.values()
        if p.default is not inspect.Parameter.empty
    }
    changed = changed or {}
    for key in changed:
        if key not in defaults:
            raise ConfigError(f"{name} has no setting {key!r}; it has {', '.join(defaults)}")
    return {**defaults, **found.settings(size, seed), **changed}


def make_learner(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Any:
    """A learner ready to `fit`."""
    return contestant(name).factory(**settings_of(name, size, seed, changed))
