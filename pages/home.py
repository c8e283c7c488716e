"""Home page: a short introduction, an animated run, and links to all pages."""

import streamlit as st

from pages.classroom import invitation
from pages.components.player import player
from pages.shell.navigation import page_cards
from pages.shell.url_widgets import faults_as_messages
from pages.views.home.tour import show_tour, start_button, tour_step
from tmlcd_core.start import START
from tmlcd_core.viz import showcase
from tmlcd_core.viz.player import PlayerRun


@st.cache_resource(max_entries=1, show_spinner=False)
def shipped_run() -> PlayerRun:
    """Return the stored run of the page."""
    return showcase.load_showcase()


def introduction() -> None:
    """Show what this is about, the animated run, and the way into the Drift lab."""
    text, tour = st.columns([4, 1], vertical_alignment="center")
    text.markdown(
        "When the world changes, a model on a microcontroller makes mistakes: this is concept drift. "
        "Three tiny nearest-neighbour learners adapt on the device: one **condenses** every mistake into its "
        "memory, one **tests** its own accuracy and starts again after an alarm, one does **both**. "
        "Here two spoken words swap their meanings half-way: watch the accuracy fall and recover, but not that of the "
        "static kNN, which never learns."
    )
    with tour:
        start_button()
    invitation()
    with faults_as_messages():
        player(shipped_run(), "home", start="change", autoplay=True)
    st.page_link(
        "pages/drift_lab.py",
        label="Open this run in the Drift lab and change it",
        icon=":material/arrow_forward:",
        query_params=START,
    )
    page_cards()


st.title("Tiny machine learning for concept drift")
if step := tour_step():
    with faults_as_messages():
        show_tour(shipped_run(), step)
else:
    introduction()
