"""The paper's experiments: its table, its figures and its claims."""

from tmlcd_core.experiments.paper.claims import CLAIMS, Claim, Evidence, Finding, judge
from tmlcd_core.experiments.paper.configurations import (
    Configuration,
    approximation_configurations,
    figure_configurations,
    table_configurations,
)
from tmlcd_core.experiments.paper.published import TABLE_1, Published

__all__ = [
    "CLAIMS",
    "TABLE_1",
    "Claim",
    "Configuration",
    "Evidence",
    "Finding",
    "Published",
    "approximation_configurations",
    "figure_configurations",
    "judge",
    "table_configurations",
]
