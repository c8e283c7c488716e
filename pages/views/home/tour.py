"""A tour of 60 seconds on Home: what changes, who notices, does it fit the chip. The address names the step."""

import streamlit as st

from pages.shell.url_widgets import faults_as_messages
from tmlcd_core.viz.player import PlayerRun

TOUR = "tour"  # parameter of the address: the step, from 1


def tour_step() -> int:
    """Return the step of the tour that the address names; 0 without a tour."""
    asked = st.query_params.get(TOUR, "")
    return int(asked[:2]) if asked.isdecimal() else 0


def go_to(step: int) -> None:
    """Go to a step of the tour; 0 ends it."""
    if step:
        st.query_params[TOUR] = str(step)
    else:
        st.query_params.pop(TOUR, None)


def start_button() -> None:
    """Draw the button that starts the tour."""
    st.button("60-second tour", icon=":material/explore:", type="primary", on_click=go_to, args=(1,))


def show_tour(run: PlayerRun, step: int) -> None:
    """Draw a step of the tour of a run, and the buttons to move on, back, and out."""
    from tmlcd_core.viz.tour import tour_stops  # loads the memory budget

    with st.container(border=True, key="tour"), faults_as_messages():
        stops = tour_stops(run)
        step = min(max(step, 1), len(stops))
        stop = stops[step - 1]
        st.subheader(f"{step} of {len(stops)} · {stop.heading}", anchor=False)
        st.markdown(stop.text)
        if stop.picture is not None:
            st.plotly_chart(stop.picture, key=f"tour {step}", config={"displayModeBar": False}, alt=stop.alt)
        else:
            st.page_link("pages/drift_lab.py", label="Open the Drift lab", icon=":material/science:")
            st.page_link("pages/lessons.py", label="Take a lesson", icon=":material/school:")
            st.page_link("pages/microphone.py", label="Use your own voice", icon=":material/mic:")
        with st.container(horizontal=True):
            if step > 1:
                st.button("Back", icon=":material/arrow_back:", on_click=go_to, args=(step - 1,), key="tour back")
            last = step == len(stops)
            st.button(
                "Finish" if last else "Next", icon=":material/check:" if last else ":material/arrow_forward:",
                type="primary", on_click=go_to, args=(0 if last else step + 1,), key="tour next",
            )  # fmt: skip
            if not last:
                st.button("Skip the tour", type="tertiary", on_click=go_to, args=(0,), key="tour skip")
