"""Scenarios, streams made from them, runs of learners over streams, and sweeps of runs."""

from tmlcd_core.curve import accuracy_curve
from tmlcd_core.experiments.contestants import CONTESTANTS, PAPER, Contestant, make_learner, settings_of
from tmlcd_core.experiments.evaluation import Metrics, Spread, describe, evaluate, spread, summarise
from tmlcd_core.experiments.experiment import Experiment, LearnerRun, Run, grid
from tmlcd_core.experiments.material import DatasetMaterial, Material, SourceMaterial
from tmlcd_core.experiments.results import Asked, Curve, Results
from tmlcd_core.experiments.scenario import (
    DRIFTS,
    ClassAdded,
    ClassChange,
    ClassRemoved,
    Concept,
    Drift,
    LabelsSwapped,
    Noise,
    Origin,
    Return,
    Scenario,
    make_scenario,
)
from tmlcd_core.experiments.stream import Stream, compose, fitting_sizes
from tmlcd_core.experiments.sweep import sweep

__all__ = [
    "CONTESTANTS",
    "DRIFTS",
    "PAPER",
    "Asked",
    "ClassAdded",
    "ClassChange",
    "ClassRemoved",
    "Concept",
    "Contestant",
    "Curve",
    "DatasetMaterial",
    "Drift",
    "Experiment",
    "LabelsSwapped",
    "LearnerRun",
    "Material",
    "Metrics",
    "Noise",
    "Origin",
    "Results",
    "Return",
    "Run",
    "Scenario",
    "SourceMaterial",
    "Spread",
    "Stream",
    "accuracy_curve",
    "compose",
    "describe",
    "evaluate",
    "fitting_sizes",
    "grid",
    "make_learner",
    "make_scenario",
    "settings_of",
    "spread",
    "summarise",
    "sweep",
]
