"""The tab Compare detectors: delay and missed changes at one false-alarm rate, shipped or computed here."""

import json
from typing import Any

import streamlit as st

from pages.shell.background_command import BackgroundCommand
from pages.shell.start_options import start_options
from pages.shell.url_widgets import as_text, checked, faults_as_messages
from pages.shell.visitor import is_local_visitor
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz import detectors

SHIPPED = PLACE / "detectors.json"
SHAPES = ("Abrupt", "Gradual")
COMMAND = "python -m tmlcd_core detectors"
FILE = "detectors.json"


@st.cache_resource(max_entries=4, show_spinner=False)
def read(text: str) -> dict[str, Any]:
    """Return the content of a file written by `tmlcd detectors`."""
    return json.loads(text)


def show() -> None:
    """Draw the comparison and the controls to repeat it."""
    work = BackgroundCommand.of_visitor("the comparison of detectors", FILE, FILE)
    text = work.result() or SHIPPED.read_text(encoding="utf-8")
    found = read(text)
    st.markdown(
        "A detector with fewer false alarms finds changes later. So each one first gets the setting at which "
        f"{100 * found['rate']:g} % of the streams without a change raise an alarm. Then all see the same changes."
    )
    kinds = {kind["name"]: kind for kind in found["errors"]}
    left, right = st.columns(2)
    with left:
        kind = kinds[checked(st.selectbox, "Errors", tuple(kinds), key="errors", help="Whose errors they read.")]
    with right:
        shape = checked(st.segmented_control, "Change", SHAPES, key="shape", default=SHAPES[0], required=True)
    gradual = shape == SHAPES[1]
    st.markdown(f"**{as_text(detectors.comparison_in_words(kind, gradual, found['rate']))}**")
    figure = detectors.detector_figure(kind, gradual)
    st.plotly_chart(figure, key="comparison", config={"displaylogo": False}, alt=detectors.described(kind, gradual))
    source = "computed on this server" if work.result() else "shipped with the app"
    st.caption(
        "Mean delay in samples; a missed change counts with all samples after it. Bars are 95 % confidence intervals. "
        f"{kind['streams']:,} streams of {kind['samples']:,} samples calibrate each detector and as many others "
        f"verify the rate; alarms in the first {found['warmup']} samples do not count. Made by `{COMMAND}`, {source}."
    )
    st.dataframe(detectors.table(kind, gradual), hide_index=True)
    for note in detectors.notes(kind):
        st.caption(as_text(note))
    with st.expander("Run it here", icon=":material/play_arrow:"), faults_as_messages():
        repeat(work)


def repeat(work: BackgroundCommand) -> None:
    """Draw the controls of the command, or the command itself for visitors who may not run it."""
    if not (is_local_visitor() or start_options().reproduce):
        st.info("This server does not run the comparison for visitors. Run it on your own computer:")
        st.code(COMMAND, language="sh")
        return
    rate = checked(
        st.select_slider, "False-alarm rate", (0.01, 0.02, 0.05, 0.1), key="rate", help="Of streams without a change."
    )
    streams = checked(
        st.select_slider, "Streams", (500, 1000, 2000, 10_000), key="streams", help="Simulated streams to calibrate on."
    )
    st.caption("1,000 simulated streams take about a minute on two cores, with 100 runs of each learner.")
    work.controls(["detectors", "--rate", str(rate), "--streams", str(streams), "--learner-streams", "100"])
