"""Drift lab page: choose data, a drift and learners, and watch their accuracy fall and recover."""

import streamlit as st

from pages.views.lessons.own import make_lesson
from pages.views.lessons.panel import lesson_panel

st.title("Drift lab")
if lesson_panel("drift-lab"):
    # Importing scikit-learn and numba takes seconds on a fresh server: show the title first.
    with st.spinner("Loading the learners …"):
        from pages.views.drift_lab.page import show
    show()
    make_lesson("drift-lab")
