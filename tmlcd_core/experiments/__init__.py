"""Experiments: streams with a drift, test-then-train runs of learners over them, and sweeps of runs."""

from tmlcd_core.experiments.evaluation import Metrics, Spread, describe, evaluate, spread, summarise
from tmlcd_core.experiments.experiment import Experiment, grid
from tmlcd_core.experiments.labels import Supervision
from tmlcd_core.experiments.results import Asked, Curve, Results
from tmlcd_core.experiments.runs import LearnerRun, Run, prequential
from tmlcd_core.experiments.sweep import sweep
from tmlcd_core.experiments.variants import VARIANTS, Choice, Variant, variant_of
from tmlcd_core.metrics import accuracy_curve

__all__ = [
    "VARIANTS",
    "Asked",
    "Choice",
    "Curve",
    "Experiment",
    "LearnerRun",
    "Metrics",
    "Results",
    "Run",
    "Spread",
    "Supervision",
    "Variant",
    "accuracy_curve",
    "describe",
    "evaluate",
    "grid",
    "prequential",
    "spread",
    "summarise",
    "sweep",
    "variant_of",
]
