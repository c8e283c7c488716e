"""TML-CD: tiny machine learning for concept drift (Disabato & Roveri).

The names below are imported on first use, so `import tmlcd_core` itself is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tmlcd_core.detectors import GeneralizedCusum, calibrate_threshold
    from tmlcd_core.errors import (
        AudioError,
        BoardError,
        ConfigError,
        DataError,
        ExportError,
        MissingPackageError,
        TmlcdError,
    )
    from tmlcd_core.experiments import Experiment, prequential
    from tmlcd_core.knn import TinyKNN, condense
    from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem, Trace

__version__ = "0.1.0"

_HOMES = {
    "detectors": ("GeneralizedCusum", "calibrate_threshold"),
    "errors": (
        "AudioError",
        "BoardError",
        "ConfigError",
        "DataError",
        "ExportError",
        "MissingPackageError",
        "TmlcdError",
    ),
    "experiments": ("Experiment", "prequential"),
    "knn": ("TinyKNN", "condense"),
    "learners": ("ActiveTinyKNN", "CondensingInTime", "HybridTinyKNN", "Tandem", "Trace"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ActiveTinyKNN",
    "AudioError",
    "BoardError",
    "CondensingInTime",
    "ConfigError",
    "DataError",
    "Experiment",
    "ExportError",
    "GeneralizedCusum",
    "HybridTinyKNN",
    "MissingPackageError",
    "Tandem",
    "TinyKNN",
    "TmlcdError",
    "Trace",
    "calibrate_threshold",
    "condense",
    "prequential",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tmlcd_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tmlcd_core.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
