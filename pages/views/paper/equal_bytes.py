"""Tab “At equal bytes” of the Paper page: Tandem and the other learners with the same memory."""

import json

import pandas as pd
import streamlit as st

from pages.shell.url_widgets import as_text, checked, table
from tmlcd_core.paper.equal_bytes import (
    HEAD,
    LOSS_HEAD,
    EqualBytes,
    loss_rows,
    river_streams,
    rows,
    sentence,
)
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz.equal_bytes import figure, in_words

TAB = "At equal bytes"
SHIPPED = PLACE / "equal_bytes.json"
BUDGET_TITLES = {"50 samples": "50", "100 samples per class": "100·λ"}
SHOWN_LOSSES = 10
ABOUT = {
    "voices": "“voices” is a folder with the digits 0 to 9, said by 12 people: 1,200 recordings of AudioMNIST, which "
    "are not shipped. Nothing about Tandem was chosen on them."
}  # data -> what the caption adds


def show_equal_bytes() -> None:
    """Show the shipped study: finding, chart and table of one data and budget, and where Tandem loses."""
    study, said, lost = read(SHIPPED.stat().st_mtime_ns)
    st.markdown(f"**Every learner has the same bytes.** {as_text(said)}")
    left, right = st.columns(2)
    with left:
        data = checked(st.segmented_control, "Data", study.data, key="bytes_of", default=study.data[0], required=True)
    with right:
        titles = tuple(BUDGET_TITLES)
        title = checked(st.segmented_control, "Memory", titles, key="budget", default=titles[0], required=True)
    budget = BUDGET_TITLES[title]
    chart = figure(study, data, budget)
    st.plotly_chart(chart, key="equal bytes", alt=in_words(study, data, budget), config={"displaylogo": False})
    table(pd.DataFrame(rows(study, data, budget), columns=list(HEAD)), *HEAD[1:])
    st.caption(
        f"Memory: the bytes of so many float32 samples. Mean over λ = 2, 3 and 5, {study.runs} draws of the classes "
        f"each, and {scenarios(study, data)}. “Bytes, k = 5” stores one byte per feature and votes by distance. "
        "“Tandem − it” is a mean over paired draws with its 95 % bootstrap interval; p is Wilcoxon's signed-rank test "
        "with Holm's correction. River's learners cannot be limited. They saw fewer streams "
        f"({river_streams(study)}), so compare only their difference to Tandem; the bytes are river's own count of "
        f"its Python objects. {ABOUT.get(data, '')}"
    )
    st.subheader("Where Tandem loses")
    if lost:
        table(pd.DataFrame(lost[:SHOWN_LOSSES], columns=list(LOSS_HEAD)), LOSS_HEAD[-1])
        more = f" The {SHOWN_LOSSES} largest of {len(lost)}." if len(lost) > SHOWN_LOSSES else ""
        st.caption(f"Single scenarios in which the 95 % interval of the difference lies below 0.{more}")
    else:
        st.markdown("Tandem clearly loses in no scenario.")
    st.code("python -m tmlcd_core equal-bytes", language="sh")


def scenarios(study: EqualBytes, data: str) -> str:
    """Return the scenarios of the data, as a list in words."""
    names = list(dict.fromkeys(case.scenario for case in study.cases if case.data == data))
    return f"{len(names)} scenarios ({', '.join(names)})"


@st.cache_resource(max_entries=2, show_spinner=False)
def read(modified: int) -> tuple[EqualBytes, str, list[list[str]]]:
    """Return the shipped study, its finding and its losses; read again if the file was modified."""
    study = EqualBytes.from_json(json.loads(SHIPPED.read_text(encoding="utf-8")))
    return study, sentence(study), loss_rows(study)
