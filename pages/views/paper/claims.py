"""Tab “Claims” of the Paper page: every claim with its rule, values and verdicts in both columns."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.shell.url_widgets import as_text, checked, table

TAB = "Claims"
ICONS = {
    "holds": ":material/check_circle:",
    "too close to call": ":material/help:",
    "does not hold": ":material/cancel:",
}
COLUMNS = {"printed": "As printed", "code": "As the authors' code runs"}
# Configurations and learners in the names of cases, in words.
CASE_WORDS = (
    (r"^(speech|images)(?:-class-change)?-(\d+)", r"\1, λ = \2"),
    (r"^speech-noise-(\d+)", r"speech with noise, λ = \1"),
    (r"^small-(\d+)", r"|T| = 50, λ = \1"),
    (r"^slow-(\d+)", r"|T| = 50 at 4,410 Hz, λ = \1"),
    (r"\bnn-fc1(-static)?", "NN-FC1"),
    (r"\bstatic$", "kNN"),
    (r"\bcondensed$", "kNN + C"),
    (r"\bsvm$", "SVM"),
    (r"\bcit$", "CIT"),
    (r"\bactive$", "Active"),
    (r"\bhybrid$", "Hybrid"),
)


def show_claims(found: Mapping[str, Any]) -> None:
    """Show the claims, all or those with a verdict in at least one column."""
    wanted = checked(st.segmented_control, "Show", ("all", *ICONS), key="show", default="all", required=True)
    st.caption(
        f"Mean ± standard deviation over {found['runs']} runs. λ is the number of classes. A claim holds if its rule "
        "is true in at least 95 % of resampled runs, and does not hold if it is true in at most 5 %. The filter shows "
        "claims with this verdict in at least one column. The links open the first run with the same settings and "
        "learners."
    )
    for claim in found["claims"]:
        if wanted not in ICONS or wanted in {claim[column]["verdict"] for column in COLUMNS}:
            show_claim(claim, found["configurations"])


def show_claim(claim: Mapping[str, Any], configurations: Mapping[str, Any]) -> None:
    """Show statement and rule of a claim, and below them verdict, values and links of both columns."""
    with st.container(border=True):
        st.markdown(
            f"**{as_text(claim['statement'])}** (Sec. {claim['section']})  \n"
            f"Rule: {as_text(claim['rule'].replace(' -', ' −'))}."
        )
        for place, (name, title) in zip(st.columns(2), COLUMNS.items(), strict=True):
            column = claim[name]
            with place:
                st.markdown(f"{title}: {verdict_in_words(column['verdict'])}")
                st.caption("  \n".join(as_text(line) for line in measured_in_words(column["measured"])))
                st.caption(f"Open in the Drift lab: {links(claim, configurations, name)}")
        by_level = claim["code"]["by_threshold"]
        if len({str(one["measured"]) for one in by_level.values()}) > 1:  # Hybrid is part of the claim
            with st.expander("As the code runs, at each alarm level h of Hybrid"):
                rows = [
                    {"h": level, "verdict": one["verdict"].capitalize(), "rule true in": f"{100 * one['share']:.0f} %"}
                    for level, one in by_level.items()
                ]
                table(rows, "h", "rule true in")


def verdict_in_words(verdict: str) -> str:
    """Return icon and text of a verdict, as Markdown."""
    return f"{ICONS[verdict]} **{verdict.capitalize()}**"


def links(claim: Mapping[str, Any], configurations: Mapping[str, Any], column: str) -> str:
    """Return links to the experiments of a claim in one column, as Markdown."""
    return " · ".join(
        f"[{as_text(configurations[name]['title'])}]({configurations[name][column].lstrip('/')})"
        for name in claim["configurations"]
    )


def measured_in_words(measured: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the values of a claim, one line for each configuration.

    >>> measured_in_words({"speech-2, over cit": {"mean": 0.5, "std": 0.1}})
    ['speech, λ = 2: over CIT 0.500\\xa0±\\xa00.100']
    """
    lines: dict[str, list[str]] = {}
    for case, value in measured.items():
        configuration, _, detail = case.partition(", ")
        shown = f"{_in_words(detail)} {spread(value['mean'], value['std'])}".strip()
        lines.setdefault(_in_words(configuration), []).append(shown)
    return [f"{name}: {', '.join(values)}" for name, values in lines.items()]


def _in_words(case: str) -> str:
    for pattern, words in CASE_WORDS:
        case = re.sub(pattern, words, case)
    return case


def spread(mean: float, std: float) -> str:
    """Return mean ± standard deviation with equal digits and no line break."""
    digits = 1 if max(abs(mean), std) >= 1 else 3
    return f"{mean:.{digits}f}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{std:.{digits}f}".replace("-", "−")
