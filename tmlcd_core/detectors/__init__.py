"""Change detection: generalized CUSUM test, river's detectors, known changes, and calibration of the threshold."""

from tmlcd_core.detectors.calibration import ThresholdRow, calibrate_threshold, threshold_table
from tmlcd_core.detectors.cusum import GeneralizedCusum, candidate_accuracies, log_likelihood_ratio
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.detectors.known_change import KnownChange
from tmlcd_core.detectors.river_detector import RiverDetector

__all__ = [
    "ChangeDetector",
    "GeneralizedCusum",
    "KnownChange",
    "RiverDetector",
    "ThresholdRow",
    "calibrate_threshold",
    "candidate_accuracies",
    "log_likelihood_ratio",
    "threshold_table",
]
