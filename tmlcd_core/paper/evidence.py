"""Evidence for the claims: values per run, read from the results of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments.results import Results
from tmlcd_core.experiments.runs import LearnerRun, Run
from tmlcd_core.paper.configurations import PaperConfiguration
from tmlcd_core.streams.scenario import Scenario

LATE = 500  # samples at "the end of a concept"; half of the concept if it is shorter
IMAGES = "images-"  # first part of the name of a configuration with images


class Evidence:
    """Runs of the table and the figures, by name of configuration.

    Parameters
    ----------
    results
        Results of a sweep over the configurations.
    configurations
        Configurations of Table 1 and both figures, in one variant.
    hybrid
        Configurations that replace Hybrid's runs, at another alarm level; none if empty.
    """

    def __init__(
        self,
        results: Results,
        configurations: Sequence[PaperConfiguration],
        hybrid: Sequence[PaperConfiguration] = (),
    ) -> None:
        self.experiments = {one.name: one.experiment for one in configurations}
        self._found = {one.name: results.runs(one.experiment) for one in configurations}
        self._hybrid = {one.name: results.runs(one.experiment) for one in hybrid}
        self.used: dict[str, None] = {}  # names of configurations, in the order of their first use

    @cached_property
    def n_runs(self) -> int:
        """Number of runs of each configuration."""
        return min((len(runs) for runs in self._found.values()), default=0)

    @property
    def image_tables(self) -> list[str]:
        """Configurations of Table 1 with images."""
        return [name for name, one in self.experiments.items() if name.startswith(IMAGES) and one.drift == "none"]

    @property
    def class_changes(self) -> list[str]:
        """Configurations of the algorithm figure in which a class changes."""
        return [name for name in self.experiments if "class-change" in name]

    @property
    def drifts(self) -> list[str]:
        """Configurations of the algorithm figure."""
        return [name for name in self.experiments if "class-change" in name or "noise" in name]

    def _of(self, name: str, learner: str = "") -> list[Run]:
        self.used[name] = None
        runs = self._hybrid[name] if learner == "hybrid" and name in self._hybrid else self._found[name]
        return runs[: self.n_runs]

    def runs(self, name: str, learner: str) -> list[LearnerRun]:
        """Return the runs of a learner in a configuration, in the order of their seeds."""
        return [run.learners[learner] for run in self._of(name, learner)]

    def metric(self, name: str, learner: str, key: str) -> NDArray[np.float64]:
        """Return a metric of each run, shape (runs,)."""
        return np.array([getattr(run.metrics, key) for run in self.runs(name, learner)], np.float64)

    def scenario(self, name: str) -> Scenario:
        """Return the scenario of the first run; all runs of an experiment have the same length."""
        return self._of(name)[0].scenario

    def initial(self, name: str) -> int:
        """Return the number of initial samples, 100·λ, the maximum size of T and W."""
        return self.scenario(name).train * self.scenario(name).start.size

    def change(self, name: str) -> int:
        """Return the first sample after the change."""
        return self.scenario(name).changes[0]

    def late(self, name: str) -> int:
        """Return the number of samples at "the end" of a concept of this configuration."""
        return min(LATE, self.change(name) // 2)

    def accuracy(self, name: str, learner: str, begin: int, end: int) -> NDArray[np.float64]:
        """Return the accuracy of each run over the samples begin to end, shape (runs,)."""
        return np.array([run.correct[begin:end].mean() for run in self.runs(name, learner)])
