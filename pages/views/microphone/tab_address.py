"""The tab and its address: which session `?session=` names, and where the state of the tab is kept."""

import streamlit as st

from pages.views.microphone.session_store import StoredSession, session_store
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import TmlcdError

STATE, STEP = "mic:tab", "mic:step"  # keys of st.session_state
ADDRESS = "session"  # query parameter


def current_tab() -> TabState:
    """Return the state of this tab, with the session that the address names."""
    tab: TabState = st.session_state.setdefault(STATE, TabState())
    tab.handle.load_newer()
    if tab.handle.stored is not None and tab.handle.stored.removed:
        tab = start_over()
    stored, token = tab.handle.stored, st.query_params.get(ADDRESS)
    if stored is not None and token in (None, stored.former_token):
        st.query_params[ADDRESS] = stored.token  # back from another page, or the session has a new token
    elif token is not None and (stored is None or stored.token != token):
        tab = st.session_state[STATE] = open_address(tab, token)
    return tab


def open_address(tab: TabState, token: str) -> TabState:
    """Return a new tab state for the session of a token, or `tab` with a warning if it cannot be opened."""
    reason = "sessions are kept for a day after the last take"
    try:
        if (found := session_store().find(token)) is not None:
            other = TabState.open(found)
            if not found.removed:
                return other
    except TmlcdError as error:
        reason = str(error)
    tab.messages.warn(f"The session of this address cannot be opened ({reason}). This tab shows another session.")
    del st.query_params[ADDRESS]
    return tab


def open_stored(stored: StoredSession) -> None:
    """Show a stored session in this tab, at the step where it was left."""
    show_tab(TabState.open(stored), stored.token)


def open_newer(tab: TabState) -> None:
    """Show the newer version that another server has written; the version of this tab keeps its own address."""
    assert tab.handle.stored is not None
    token = tab.handle.stored.former_token
    if (newer := open_address(tab, token)) is not tab:
        show_tab(newer, token)


def show_tab(tab: TabState, token: str) -> None:
    """Replace the state of this tab, with its address; the page then chooses the step."""
    st.session_state[STATE] = tab
    st.query_params[ADDRESS] = token
    st.session_state.pop(STEP, None)


def start_over() -> TabState:
    """Return a new state for this tab, with a draft and the first step, after its recordings were removed."""
    tab = st.session_state[STATE] = TabState()
    tab.messages.info("All recordings of this session have been removed.")
    st.query_params.pop(ADDRESS, None)
    st.session_state.pop(STEP, None)
    return tab


def remove_session(tab: TabState) -> None:
    """Remove the session of this tab from the server, and start over."""
    if tab.handle.stored is not None:
        session_store().remove(tab.handle.stored)
    start_over()


def save_tab(tab: TabState) -> None:
    """Save the session and put its token into the address; call it when the whole page is drawn."""
    new_token = False
    try:
        new_token = tab.handle.save()
    except OSError as error:
        st.warning(f"The session cannot be saved on the server ({error.strerror}). Download it to keep it.")
    stored = tab.handle.stored
    if stored is not None and st.query_params.get(ADDRESS) != stored.token:
        st.query_params[ADDRESS] = stored.token
    if new_token:
        st.rerun()  # shows the warning about the newer version
