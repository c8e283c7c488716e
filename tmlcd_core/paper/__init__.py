"""Reproduction of the paper's experiments: Table 1, figures and claims, as printed and as the authors' code runs."""

from tmlcd_core.paper.claims import CLAIMS, MAIN_THRESHOLD, Claim, Judged, judge_claims
from tmlcd_core.paper.configurations import (
    CODE_HYBRID_THRESHOLDS,
    PaperConfiguration,
    approximation_configurations,
    at_threshold,
    crossed_configurations,
    describe_images,
    figure_configurations,
    image_data,
    in_variant,
    paper_experiment,
    table_configurations,
)
from tmlcd_core.paper.evidence import Evidence
from tmlcd_core.paper.published import TABLE_1, Published
from tmlcd_core.paper.rates import with_common_rates
from tmlcd_core.paper.verdicts import Finding

__all__ = [
    "CLAIMS",
    "CODE_HYBRID_THRESHOLDS",
    "MAIN_THRESHOLD",
    "TABLE_1",
    "Claim",
    "Evidence",
    "Finding",
    "Judged",
    "PaperConfiguration",
    "Published",
    "approximation_configurations",
    "at_threshold",
    "crossed_configurations",
    "describe_images",
    "figure_configurations",
    "image_data",
    "in_variant",
    "judge_claims",
    "paper_experiment",
    "table_configurations",
    "with_common_rates",
]
