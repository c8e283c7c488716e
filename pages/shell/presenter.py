"""Presenter view: large type for a projector, on every page."""

from pathlib import Path

import streamlit as st

from pages.shell.url_widgets import checked

PRESENTER = "presenter"
STYLE = Path(__file__).parent / "presenter.css"


def presenter_style() -> str:
    """Return CSS for large type without a sidebar, active until the switch is turned off."""
    style = f"{STYLE.read_text(encoding='utf-8')} .stAppViewContainer {{ padding-left: 0 !important; }}"
    return f"@scope (:root:not(:has(.st-key-{PRESENTER} input:not(:checked)))) {{ {style} }}"


def presenting() -> bool:
    """Return whether the address or session asks for the presenter view."""
    return bool(st.session_state.get(PRESENTER, st.query_params.get(PRESENTER) == "true"))


def presenter_view() -> None:
    """Apply large type and hide the sidebar if the address or session asks for it; call before drawing the page."""
    if presenting():
        st.set_page_config(initial_sidebar_state="collapsed")
        st.html(STYLE)


def presenter_switch() -> None:
    """Draw the switch at the end of the sidebar; it applies to every page and is part of the address."""
    with st.sidebar:
        checked(st.toggle, "Presenter's view", False, key=PRESENTER, help="Large type, for a projector.")
