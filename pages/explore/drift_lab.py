"""Drift lab: choose data, a drift and learners, and watch them fall and recover."""

import streamlit as st

st.title("Drift lab")
# The first visitor of a server waits for scikit-learn and numba: not before an empty page.
with st.spinner("Loading the learners …"):
    from pages.lab.page import show
show()
