"""Many runs of a trial, one step at a time: for a page that shows progress and can be told to stop."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets import FeatureCache
from tmlcd_core.experiments.evaluation import Spread, summarise
from tmlcd_core.experiments.experiment import LearnerRun, timed_run
from tmlcd_core.experiments.results import Curve
from tmlcd_core.experiments.stream import Stream
from tmlcd_core.experiments.trial import Trial
from tmlcd_core.learners import Trace
from tmlcd_core.progress import Progress, silent


@dataclass
class Repetition:
    """A trial with the seeds `trial.seed`, `trial.seed + 1`, …

    Each `step` lets one learner run over one stream, so that whoever calls decides in between whether to go on.

    Parameters
    ----------
    trial
        What is repeated.
    runs
        How often.
    cache
        Of features; the user's unless given.

    Examples
    --------
    >>> repetition = Repetition(Trial("points", per_class=100, train=20, learners=("cit",)), runs=3)
    >>> while not repetition.finished:
    ...     repetition.step()
    >>> summary = repetition.summary()["cit"]["accuracy"]
    >>> round(summary.mean, 2), summary.n
    (0.87, 3)
    """

    trial: Trial
    runs: int = 20
    cache: FeatureCache | None = None
    changes: tuple[int, ...] = ()
    done: dict[str, list[tuple[Trace, LearnerRun]]] = field(default_factory=dict)
    _stream: Stream | None = None

    @property
    def steps(self) -> int:
        """Steps done."""
        return sum(map(len, self.done.values()))

    @property
    def share(self) -> float:
        """Of all steps, how many are done: 0 to 1."""
        return self.steps / (self.runs * len(self.trial.learners))

    @property
    def finished_runs(self) -> int:
        return self.steps // len(self.trial.learners)

    @property
    def finished(self) -> bool:
        return self.finished_runs >= self.runs

    def step(self, progress: Progress = silent) -> None:
        """The next learner of a run; with the first one the run's stream is made."""
        names = self.trial.learners
        number, turn = divmod(self.steps, len(names))
        trial = replace(self.trial, seed=self.trial.seed + number)
        if turn == 0 or self._stream is None:
            self._stream = trial.stream(trial.material(self.cache), progress)
            self.changes = self._stream.changes
        self.done.setdefault(names[turn], []).append(timed_run(trial.learner(names[turn]), self._stream))

    @property
    def length(self) -> int:
        """Samples that all runs have: where data are few, streams differ a little in length."""
        return min(len(trace) for runs in self.done.values() for trace, _ in runs)

    def curve(self, learner: str, line: Callable[[Trace, LearnerRun], NDArray]) -> Curve:
        """Mean and deviation over runs of any line of one, where it is not nan."""
        array = np.array([line(*run)[: self.length] for run in self.done[learner]], np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # where every run is warming up, the mean is nan
            return Curve(np.nanmean(array, axis=0), np.nanstd(array, axis=0))

    def summary(self) -> dict[str, dict[str, Spread]]:
        """Mean and standard deviation of every metric, by learner."""
        return {name: summarise([one.metrics for _, one in self.done[name]]) for name in self.trial.learners}
