"""Inside CUSUM page: the state of the test at one sample, and detectors compared at one false-alarm rate."""

import streamlit as st

from pages.views.inside_cusum import compare_detectors, inside_test
from pages.views.lessons.own import make_lesson
from pages.views.lessons.panel import lesson_panel

TABS = ["Inside the test", "Compare detectors"]

st.title("Inside CUSUM")
if lesson_panel("inside-cusum"):
    # Only the open tab is drawn; the address names it.
    inside, compared = st.tabs(TABS, key="part", bind="query-params")
    if inside.open:
        with inside:
            inside_test.show()
    if compared.open:
        with compared:
            compare_detectors.show()
    make_lesson("inside-cusum")
