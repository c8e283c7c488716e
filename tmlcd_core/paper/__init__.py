"""Reproduction of the paper's experiments: Table 1, figures and claims."""

from tmlcd_core.paper.claims import CLAIMS, Claim, Evidence, Finding, judge
from tmlcd_core.paper.configurations import (
    PaperConfiguration,
    approximation_configurations,
    figure_configurations,
    table_configurations,
)
from tmlcd_core.paper.published import TABLE_1, Published

__all__ = [
    "CLAIMS",
    "TABLE_1",
    "Claim",
    "Evidence",
    "Finding",
    "PaperConfiguration",
    "Published",
    "approximation_configurations",
    "figure_configurations",
    "judge",
    "table_configurations",
]
