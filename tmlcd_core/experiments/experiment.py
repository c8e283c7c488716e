"""One experiment: data, a scenario and learners; and one run of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.contestants import PAPER, contestant, make_learner, settings_of
from tmlcd_core.experiments.evaluation import Metrics, evaluate
from tmlcd_core.experiments.material import Material, SourceMaterial
from tmlcd_core.experiments.scenario import Scenario
from tmlcd_core.experiments.stream import Stream, compose
from tmlcd_core.features import Extractor

if TYPE_CHECKING:
    from tmlcd_core.learners import Trace

EXTRACTOR_SETTINGS = ("filters", "sample_rate", "n_fft", "hop")


@dataclass(frozen=True)
class Experiment:
    """Data, a scenario and learners; a seed makes a run of it.

    Parameters
    ----------
    data
        A name of `tmlcd_core.datasets.SOURCES`, or a folder.
    scenario
        What the stream is.
    learners
        Names of `CONTESTANTS`.
    settings
        Settings that differ from the paper's, for each learner.
    extractor
        Settings of `Extractor` that differ from the paper's.

    Examples
    --------
    >>> from tmlcd_core.experiments import make_scenario
    >>> experiment = Experiment("digits", make_scenario("class-change", ("3", "5"), 60, 30, new="8"), ("hybrid",))
    >>> round(experiment.run(seed=0).learners["hybrid"].metrics.accuracy, 2)
    0.95
    """

    data: str
    scenario: Scenario
    learners: tuple[str, ...] = PAPER
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extractor: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", str(self.data))  # a folder may come as a Path
        object.__setattr__(self, "learners", tuple(self.learners))
        # As JSON would give them back, so that an experiment that was read from a file equals the one that was written.
        object.__setattr__(self, "settings", {name: _plain(changed) for name, changed in self.settings.items()})
        object.__setattr__(self, "extractor", _plain(self.extractor))
        if not self.learners or len(set(self.learners)) != len(self.learners):
            raise ConfigError(f"learners={list(self.learners)}; name at least one, and none twice")
        for name in self.learners:
            contestant(name)
        for name, changed in self.settings.items():
            if name not in self.learners:
                raise ConfigError(f"settings for {name!r}, which is not among the learners {', '.join(self.learners)}")
            settings_of(name, self.size, changed=changed)
        for name in self.extractor:
            if name not in EXTRACTOR_SETTINGS:
                raise ConfigError(f"the extractor has no setting {name!r}; it has {', '.join(EXTRACTOR_SETTINGS)}")
        self._extractor()

    @property
    def size(self) -> int:
        """100·λ: initial samples, and the bound of T and W unless set otherwise."""
        return self.scenario.train * self.scenario.start.size

    def material(self) -> SourceMaterial:
        return SourceMaterial(self.data, self.scenario.names, self._extractor())

    def _extractor(self) -> Extractor | None:
        return Extractor(**self.extractor) if self.extractor else None

    def all_settings(self, seed: int = 0) -> dict[str, dict[str, Any]]:
        return {name: settings_of(name, self.size, seed, self.settings.get(name)) for name in self.learners}

    def run(self, seed: int = 0, material: Material | None = None) -> Run:
        """One run: every learner over the same samples."""
        return self.run_stream(compose(self.scenario, material or self.material(), seed), seed)

    def run_stream(self, stream: Stream, seed: int = 0) -> Run:
        """The same over a stream that is there already."""
        found = {}
        # The first learner pays for the distances that all share: each is the first in its turn.
        turn = seed % len(self.learners)
        for name in self.learners[turn:] + self.learners[:turn]:
            _, found[name] = timed_run(make_learner(name, self.size, seed, self.settings.get(name)), stream)
        ordered = {name: found[name] for name in self.learners}
        return Run(seed, stream.scenario.names, stream.changes, stream.ends, ordered)

    def to_json(self) -> dict[str, Any]:
        found = {
            "data": self.data,
            "scenario": self.scenario.to_json(),
            "learners": list(self.learners),
            "settings": {name: dict(changed) for name, changed in self.settings.items()},
            "extractor": dict(self.extractor),
        }
        try:
            return json.loads(json.dumps(found))
        except TypeError as error:
            raise ConfigError(
                f"settings={self.settings} cannot be written down ({error}): name such a learner in CONTESTANTS, "
                "or call run(seed)"
            ) from error

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Experiment:
        return cls(
            found["data"],
            Scenario.from_json(found["scenario"]),
            tuple(found["learners"]),
            found["settings"],
            found["extractor"],
        )

    def key(self, seed: int, data_key: str = "") -> str:
        """Names the run of this seed, on data of this key, among all runs."""
        text = json.dumps([self.to_json(), seed, data_key], sort_keys=True)
        return blake2b(text.encode(), digest_size=10).hexdigest()

    def data_key(self) -> str:
        """Changes whenever the same scenario would give other samples: other files, another recipe or extractor."""
        material = self.material()
        stem = material.extractor.key if material.extractor is not None else ""
        return f"{material.source.key} {stem}".strip()


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with lists for tuples and Python's numbers for numpy's."""
    return {
        name: list(value) if isinstance(value, tuple) else value.tolist() if hasattr(value, "tolist") else value
        for name, value in settings.items()
    }


@dataclass(frozen=True)
class LearnerRun:
    """What one learner did in one run."""

    correct: NDArray[np.bool_]
    sizes: NDArray[np.int32]
    detections: NDArray[np.int64]
    change_points: NDArray[np.int64]
    metrics: Metrics
    window: int
    n_features: int
    seconds: float
    has_test: bool

    @classmethod
    def of(cls, trace: Any, stream: Stream, window: int, seconds: float, has_test: bool) -> LearnerRun:
        correct = np.asarray(trace.predictions == stream.y)
        return cls.measured(
            correct,
            np.asarray(trace.sizes, np.int32),
            trace.detections,
            trace.change_points,
            stream.changes,
            stream.ends,
            window,
            stream.X.shape[1],
            seconds,
            has_test,
        )

    @classmethod
    def measured(
        cls,
        correct: NDArray[np.bool_],
        sizes: NDArray[np.int32],
        detections: NDArray[np.int64],
        change_points: NDArray[np.int64],
        changes: Sequence[int],
        ends: Sequence[int],
        window: int,
        n_features: int,
        seconds: float,
        has_test: bool,
    ) -> LearnerRun:
        metrics = evaluate(
            correct, sizes, detections, change_points, changes, ends, n_features, window, seconds, has_test
        )
        return cls(correct, sizes, detections, change_points, metrics, window, n_features, seconds, has_test)


@dataclass(frozen=True)
class Run:
    """One run of an experiment: the classes that were drawn, the changes, and what each learner did."""

    seed: int
    names: tuple[str, ...]
    changes: tuple[int, ...]
    ends: tuple[int, ...]
    learners: dict[str, LearnerRun]


def timed_run(model: Any, stream: Stream) -> tuple[Trace, LearnerRun]:
    """Fit a learner, let it run over the stream, and measure; the time is that of the run alone."""
    model.fit(stream.X0, stream.y0)
    started = time.perf_counter()
    trace = model.run(stream.X, stream.y)
    seconds = time.perf_counter() - started
    has_test = getattr(model, "detector_", None) is not None
    return trace, LearnerRun.of(trace, stream, int(getattr(model, "window", 0)), seconds, has_test)


def grid(base: Experiment, axes: Mapping[str, Sequence[Any]]) -> list[Experiment]:
    """Every combination of settings: `threshold` is set for all learners that have it, `hybrid.threshold` for one,
    `extractor.sample_rate` for the extractor, `train` for the scenario.

    Examples
    --------
    >>> from tmlcd_core.experiments import make_scenario
    >>> base = Experiment("digits", make_scenario("none", 2, 60, 30))
    >>> found = grid(base, {"threshold": [10.0, 25.0], "hybrid.max_size": [50, 100]})
    >>> len(found), found[-1].settings["hybrid"]
    (4, {'threshold': 25.0, 'max_size': 100})
    """
    for name, values in axes.items():
        if isinstance(values, str) or not len(values):
            raise ConfigError(f"{name}={values!r}; give a list of at least one value")
    return [_with(base, zip(axes, values, strict=True)) for values in product(*axes.values())]


def _with(base: Experiment, chosen: Iterator[tuple[str, Any]]) -> Experiment:
    settings = {name: dict(base.settings.get(name, {})) for name in base.learners}
    extractor = dict(base.extractor)
    scenario = base.scenario
    for name, value in chosen:
        owner, _, key = name.rpartition(".")
        if owner == "extractor":
            extractor[key] = value
        elif name == "train":
            scenario = replace(scenario, train=value)
        else:
            owners = [owner] if owner else [c for c in base.learners if key in contestant(c).parameters()]
            if not owners or not set(owners) <= set(base.learners):
                raise ConfigError(f"no learner of {', '.join(base.learners)} has a setting {name!r}")
            for one in owners:
                settings[one][key] = value
    kept = {name: changed for name, changed in settings.items() if changed}
    return replace(base, scenario=scenario, settings=kept, extractor=extractor)
