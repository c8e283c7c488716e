"""Microphone page: teach words by voice, let the learner predict, change their meaning and watch it adapt."""

import streamlit as st

st.title("Microphone")
st.markdown("Teach it a few words, let it listen, then change what they mean: it notices, forgets and adapts.")
with st.spinner("Getting ready; the first time takes some seconds …", show_time=False):
    from pages.views.microphone.page import show  # imports scikit-learn and numba, so after the text
show()
