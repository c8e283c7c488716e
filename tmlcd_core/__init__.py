"""TML-CD: tiny machine learning for concept drift (Disabato & Roveri)."""

from tmlcd_core.drift import GeneralizedCusum, calibrate_threshold
from tmlcd_core.errors import AudioError, ConfigError, DataError, ExportError, TmlcdError
from tmlcd_core.knn import TinyKNN, condense
from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Trace

__version__ = "0.1.0"

__all__ = [
    "ActiveTinyKNN",
    "AudioError",
    "CondensingInTime",
    "ConfigError",
    "DataError",
    "ExportError",
    "GeneralizedCusum",
    "HybridTinyKNN",
    "TinyKNN",
    "TmlcdError",
    "Trace",
    "calibrate_threshold",
    "condense",
]
