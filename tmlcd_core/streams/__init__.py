"""Data streams with concept drift: scenarios, drifts, feature pools, stream composition, synthetic streams."""

from tmlcd_core.streams.drifts import DRIFTS, DriftDetails, DriftKind, add_drift, make_scenario, register_drift
from tmlcd_core.streams.feature_pools import DatasetPool, FeaturePool, SourcePool
from tmlcd_core.streams.recordings import FolderRecording, Recording
from tmlcd_core.streams.scenario import (
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
from tmlcd_core.streams.stream import Stream, compose
from tmlcd_core.streams.synthetic import SyntheticStream, gaussian_stream, hyperplane_stream, sea_stream
from tmlcd_core.streams.tables import TableRecording

__all__ = [
    "DRIFTS",
    "ClassAdded",
    "ClassChange",
    "ClassRemoved",
    "Concept",
    "DatasetPool",
    "Drift",
    "DriftDetails",
    "DriftKind",
    "FeaturePool",
    "FolderRecording",
    "LabelsSwapped",
    "Noise",
    "Origin",
    "Recording",
    "Return",
    "Scenario",
    "SourcePool",
    "Stream",
    "SyntheticStream",
    "TableRecording",
    "add_drift",
    "compose",
    "gaussian_stream",
    "hyperplane_stream",
    "make_scenario",
    "register_drift",
    "sea_stream",
]
