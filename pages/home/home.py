"""Home: what this is in three sentences and one living picture, and the ways in."""

import streamlit as st

from pages.menu import ways_in
from pages.player import player
from tmlcd_core.viz import showcase
from tmlcd_core.viz.player import PlayerRun


@st.cache_data(max_entries=1, show_spinner=False)
def shipped_run() -> PlayerRun:
    return showcase.load()


st.title("Tiny machine learning for concept drift")
st.markdown(
    "A microcontroller that learned yesterday's world makes mistakes when the world changes. "
    "Three tiny nearest-neighbour learners adapt on the device: one **condenses** every mistake into its "
    "memory, one **tests** its own accuracy and starts afresh at an alarm, one does **both**. "
    "Watch them meet a change, look inside, make a change of your own, and put them on an STM32."
)
player(shipped_run(), "home", start="begin", autoplay=True)
ways_in()
