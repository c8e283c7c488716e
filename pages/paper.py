"""Paper page: numbers, figures and claims of the paper's Section 7 compared with our results."""

import json

import streamlit as st

from pages.shell.background_command import BackgroundCommand
from pages.shell.start_options import start_options
from pages.shell.url_widgets import as_text, checked, faults_as_messages
from pages.shell.visitor import is_local_visitor
from pages.views.paper import claims, equal_bytes, forgetting, table_1
from pages.views.paper.findings import show_findings
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz.paper import chart, from_json, panel_in_words

SHIPPED = PLACE / "paper" / "reproduction.json"
TABS = [claims.TAB, table_1.TAB, "Figures", forgetting.TAB, equal_bytes.TAB, "Run it"]
COLUMNS = {"As printed": "", "As the authors' code runs": "_code"}  # of the curves
FIGURES = {"The three learners and NN-FC1": "algorithms", "What a small memory and a low rate cost": "approximation"}


@st.cache_resource(max_entries=4, show_spinner=False)
def read(text: str) -> dict:
    """Return the values of a JSON text."""
    return json.loads(text)


@st.cache_data(max_entries=8, show_spinner="Drawing the figures …")
def show_figures(text: str, which: str) -> None:
    """Show accuracy and memory of each configuration, one row each; stacked on a narrow screen."""
    for row, pair in enumerate(from_json(read(text)["curves"][which])):
        for cell, panel in zip(st.columns(2), pair, strict=True):
            key = f"{which} {row} {panel.unit}"
            cell.plotly_chart(chart(panel), key=key, alt=panel_in_words(panel), config={"displaylogo": False})


st.title("The paper, measured again")
work = BackgroundCommand.of_visitor("the paper's experiments")
text = work.result() or SHIPPED.read_text(encoding="utf-8")
found = read(text)
source = "computed on this server" if work.result() else "shipped with the app"
runs = f"{found['runs']} run{'s' * (found['runs'] > 1)}"
st.caption(
    "Table 1, both figures and every testable claim of Section 7 of *Tiny Machine Learning for Concept Drift* "
    "(S. Disabato and M. Roveri), in two columns: with the settings as printed in the paper, and as the authors' "
    f"published code runs. {runs} of each experiment, {source}. The speech is synthesised; the images are "
    f"{as_text(found['images']['about'])}. No rule was tuned to make a claim pass."
)
show_findings(found)

# Only the open tab is drawn; the address names it.
of_claims, of_table, of_figures, of_forgetting, of_bytes, again = st.tabs(TABS, key="tab", bind="query-params")
if of_claims.open:
    with of_claims:
        claims.show_claims(found)
if of_table.open:
    with of_table:
        table_1.show_table_1(found)
if of_figures.open:
    with of_figures:
        which = FIGURES[checked(st.selectbox, "Figure", tuple(FIGURES), key="figure")]
        titles = tuple(COLUMNS)
        title = checked(st.segmented_control, "Settings", titles, key="column", default=titles[0], required=True)
        show_figures(text, which + COLUMNS.get(title, ""))
        st.caption("Mean and standard deviation over runs against samples seen. The dotted line marks the change.")
if of_forgetting.open:
    with of_forgetting, faults_as_messages():
        forgetting.show_forgetting()
if of_bytes.open:
    with of_bytes, faults_as_messages():
        equal_bytes.show_equal_bytes()
if again.open:
    with again, faults_as_messages():
        if is_local_visitor() or start_options().reproduce:
            runs = checked(st.slider, "Runs", 1, 50, 2, key="runs", help="Repetitions of each experiment (paper: 20).")
            st.caption("Fifty runs take about ten minutes on two cores. They stop soon after you close your last tab.")
            work.controls(["reproduce", "all", "--runs", str(runs)])
        else:
            st.info("This server does not run the experiments for visitors. Run them on your own computer:")
            st.code("python -m tmlcd_core reproduce all", language="sh")
