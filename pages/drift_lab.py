"""Drift lab page: choose data, a drift and learners, and watch their accuracy fall and recover."""

import streamlit as st

from pages.views.lessons.own import make_lesson, show_lesson

st.title("Drift lab")
show_lesson()
# Importing scikit-learn and numba takes seconds on a fresh server: show the title first.
with st.spinner("Loading the learners …"):
    from pages.views.drift_lab.page import show
show()
make_lesson("drift-lab")
