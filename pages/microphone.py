"""Microphone page: teach words by voice, let the learner predict, change their meaning and watch it adapt."""

import streamlit as st

from pages.views.lessons.panel import lesson_panel

st.title("Microphone")
if lesson_panel("microphone"):
    with st.spinner("Loading; the first time takes a few seconds …", show_time=False):
        from pages.views.microphone.page import show  # imports scikit-learn and numba, so after the text
    show()
