"""Presenter's view: large type for a projector, on every page."""

from pathlib import Path

import streamlit as st

from pages.shell.url_widgets import checked

PRESENTER = "presenter"
STYLE = Path(__file__).parent / "presenter.css"


def presenter_style() -> str:
    """Large type and no room for a sidebar from the first moment on, until the switch is turned off."""
    style = f"{STYLE.read_text(encoding='utf-8')} .stAppViewContainer {{ padding-left: 0 !important; }}"
    return f"@scope (:root:not(:has(.st-key-{PRESENTER} input:not(:checked)))) {{ {style} }}"


def presenter_view() -> None:
    """Large type and no sidebar, before the page is drawn, if the address or an earlier page has asked for it."""
    if st.session_state.get(PRESENTER, st.query_params.get(PRESENTER) == "true"):
        st.set_page_config(initial_sidebar_state="collapsed")
        st.html(STYLE)


def presenter_switch() -> None:
    """The switch at the end of the sidebar; it stands in the address and holds for every page."""
    with st.sidebar:
        checked(st.toggle, "Presenter's view", False, key=PRESENTER, help="Large type, for a projector.")
