"""Experiments: streams with a drift, test-then-train runs of learners over them, and sweeps of runs."""

from tmlcd_core.curve import accuracy_curve
from tmlcd_core.experiments.contestants import (
    LEARNERS,
    PAPER,
    LearnerEntry,
    make_learner,
    register_learner,
    settings_of,
)
from tmlcd_core.experiments.drifts import DRIFTS, DriftDetails, DriftKind, make_scenario, register_drift
from tmlcd_core.experiments.evaluation import Metrics, Spread, describe, evaluate, spread, summarise
from tmlcd_core.experiments.experiment import Experiment, grid
from tmlcd_core.experiments.material import DatasetMaterial, Material, SourceMaterial
from tmlcd_core.experiments.results import Asked, Curve, Results
from tmlcd_core.experiments.runs import LearnerRun, Run, prequential
from tmlcd_core.experiments.scenario import (
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
)
from tmlcd_core.experiments.stream import Stream, compose
from tmlcd_core.experiments.sweep import sweep

__all__ = [
    "DRIFTS",
    "LEARNERS",
    "PAPER",
    "Asked",
    "ClassAdded",
    "ClassChange",
    "ClassRemoved",
    "Concept",
    "Curve",
    "DatasetMaterial",
    "Drift",
    "DriftDetails",
    "DriftKind",
    "Experiment",
    "LabelsSwapped",
    "LearnerEntry",
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
    "grid",
    "make_learner",
    "make_scenario",
    "prequential",
    "register_drift",
    "register_learner",
    "settings_of",
    "spread",
    "summarise",
    "sweep",
]
