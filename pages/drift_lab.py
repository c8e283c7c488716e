"""Drift lab: choose data, a drift and learners, and watch them fall and recover."""

import streamlit as st

from pages.views.lessons.own import make_lesson, show_lesson

st.title("Drift lab")
show_lesson()
# The first visitor of a server waits for scikit-learn and numba: not before an empty page.
with st.spinner("Loading the learners …"):
    from pages.views.drift_lab.page import show
show()
make_lesson("drift-lab")
