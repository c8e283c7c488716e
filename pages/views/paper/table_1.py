"""Tab “Table 1” of the Paper page: the paper's results beside ours, and the settings of both columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.shell.url_widgets import as_text, checked, table

TAB = "Table 1"
MEASURES = ("accuracy", "stored samples")
DECIMALS = {"accuracy": (2, 3), "stored samples": (0, 0)}  # of the paper's values and ours
COLUMNS = {  # of reproduction.json: the paper's, ours as printed, ours as the code runs
    "accuracy": ("paper", "accuracy", "code accuracy"),
    "stored samples": ("paper's samples", "samples", "code samples"),
}
NUMBERS = ("paper", "as printed", "difference", "as the code runs", "difference ")


def show_table_1(found: Mapping[str, Any]) -> None:
    """Show Table 1, the meaning of its rows, and what differs between the two columns."""
    measure = checked(st.segmented_control, "Measure", MEASURES, key="measure", default=MEASURES[0], required=True)
    table(table_1(found["table1"], measure if measure in MEASURES else MEASURES[0]), *NUMBERS)
    st.caption(
        f"Mean ± standard deviation over {found['runs']} runs; difference to the paper's mean. λ is the number of "
        "classes. kNN + C is a kNN on a condensed training set, the SVM stores its support vectors, and NN-FC1 is one "
        "fully connected layer whose weights need the memory of λ samples. The paper's images are ImageNet; ours are "
        f"{as_text(found['images']['about'])}."
    )
    show_variants(found["variants"])


def table_1(rows: Sequence[Mapping[str, Any]], measure: str) -> pd.DataFrame:
    """Return Table 1 as DataFrame: the paper's values, ours in both columns, and the differences."""
    found = pd.DataFrame(rows)
    paper, printed, code = COLUMNS[measure]
    digits, ours = DECIMALS[measure]
    shown = pd.DataFrame({"data": found["data"], "λ": found["classes"], "classifier": found["classifier"]})
    shown["paper"] = _with_std(found, paper, digits)
    for title, difference, column in (
        ("as printed", "difference", printed),
        ("as the code runs", "difference ", code),  # a column's name is unique
    ):
        shown[title] = _with_std(found, column, ours)
        shown[difference] = (found[column] - found[paper]).map(lambda value: signed(value, ours))
    return shown.sort_values(["data", "λ"], ascending=[False, True], kind="stable")


def signed(value: float, digits: int) -> str:
    """Return a number with sign; zero has none.

    >>> signed(-0.0123, 3), signed(0.0001, 3)
    ('−0.012', '0.000')
    """
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def _with_std(found: pd.DataFrame, column: str, digits: int) -> pd.Series:
    form = f"{{:.{digits}f}}".format
    return found[column].map(form) + " ± " + found[f"{column} std"].map(form)


def show_variants(variants: Sequence[Mapping[str, Any]]) -> None:
    """Show the settings of both columns with their sources, in an expander."""
    with st.expander("What differs between the two columns", icon=":material/compare_arrows:"):
        by_topic: dict[str, list[str]] = {}
        for variant in variants:
            for one in variant["choices"]:
                by_topic.setdefault(one["topic"], []).append(
                    f"*{as_text(variant['title'])}*: {as_text(one['value'])} ({as_text(one['source'])})."
                )
        for topic, settings in by_topic.items():
            st.markdown(f"**{as_text(topic)}**  \n" + "  \n".join(settings))
