"""Tab “When forgetting pays” of the Paper page: picture, finding and split of Hybrid's difference to CIT."""

import json

import pandas as pd
import streamlit as st

from pages.shell.url_widgets import as_text, checked, table
from tmlcd_core.paper.forgetting import SPLIT_HEAD, Forgetting, forgetting_sentence, named_change, split_rows, title
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz.forgetting import interactive_study, study_in_words

TAB = "When forgetting pays"
SHIPPED = PLACE / "paper" / "forgetting.json"
CHANGES = ("one class changed", "all classes changed", "two labels swapped")
NUMBERS = SPLIT_HEAD[3:]


def show_forgetting() -> None:
    """Show the shipped study: finding, picture, table of the split, and links to its experiments."""
    study = shipped_study()
    st.markdown(f"**{as_text(title(study))}.** {as_text(forgetting_sentence(study))}")
    figure = draw(SHIPPED.stat().st_mtime_ns)
    st.plotly_chart(figure, key="forgetting", alt=study_in_words(study), config={"displaylogo": False})
    st.caption(
        "Accuracy gained in up to 500 samples after the change by removing the samples older than the change, compared "
        "with CIT at the same bound on |T|; mean and 95 % bootstrap interval over runs. The perfect alarm knows the "
        "change and comes 50 samples after it. At 0 % nothing changes: forgetting then is a false alarm. h is "
        "calibrated to 5 % false alarms within 1,000 samples."
    )
    st.subheader("What Hybrid gains over CIT, in parts")
    which = checked(st.segmented_control, "Change", CHANGES, key="change", default=CHANGES[0], required=True)
    cases = [case for case in study.cases if named_change(case) == which]
    rows = pd.DataFrame(split_rows(Forgetting(study.runs, tuple(cases))), columns=list(SPLIT_HEAD))
    rows["experiment"] = [f"[Open in Drift lab]({case.link.lstrip('/')})" for case in cases]
    table(rows.drop(columns="change"), *NUMBERS)
    st.caption(
        "Difference in accuracy and its 95 % interval. Bound: CIT with Hybrid's bound 100·λ and no test, minus CIT. "
        "Alarm: Hybrid minus CIT with the bound. Bound and alarm add up to Hybrid − CIT. Alarm without bound: Hybrid "
        "without the bound, minus CIT. Perfect alarm: minus CIT with the bound. The links open the first run."
    )
    st.code("python -m tmlcd_core forgetting --runs 20", language="sh")


def shipped_study() -> Forgetting:
    """Return the study of forgetting in data/paper."""
    return read(SHIPPED.stat().st_mtime_ns)


@st.cache_resource(max_entries=2, show_spinner=False)
def read(modified: int) -> Forgetting:
    """Return the study of the shipped file, read again if it was modified."""
    return Forgetting.from_json(json.loads(SHIPPED.read_text(encoding="utf-8")))


@st.cache_resource(max_entries=2, show_spinner="Drawing the picture …")
def draw(modified: int):
    """Return the study's Plotly figure."""
    return interactive_study(read(modified))
