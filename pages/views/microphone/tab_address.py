"""The tab and its address: which session `?session=` names, and where the state of the tab is kept."""

import streamlit as st

from pages.views.microphone.session_store import StoredSession, session_store
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import TmlcdError

STATE = "mic:tab"  # key of st.session_state
ADDRESS = "session"  # query parameter


def current_tab() -> TabState:
    """Return the state of this tab, with the session that the address names."""
    tab: TabState = st.session_state.setdefault(STATE, TabState())
    tab.handle.load_newer()
    if tab.handle.stored is not None and tab.handle.stored.removed:
        tab = start_over()
    stored, token = tab.handle.stored, st.query_params.get(ADDRESS, "")
    if token == ("" if stored is None else stored.token):
        tab.address_runs += 1
        if tab.address_runs > 1:  # the browser shows it: from here on a former address is the user's wish
            tab.former_address = ""
    elif not token or token == tab.former_address or (stored is not None and token == stored.former_token):
        write_token(tab)  # back from another page, the session has a new token, or the click came before its address
    else:
        newer = open_address(tab, token)
        tab = tab if newer is tab else show_tab(newer)
    return tab


def write_token(tab: TabState) -> None:
    """Put the token of the session into the address if it is another one; a draft has none."""
    if tab.handle.stored is not None:
        if st.query_params.get(ADDRESS) != tab.handle.stored.token:
            st.query_params[ADDRESS] = tab.handle.stored.token
    else:
        st.query_params.pop(ADDRESS, None)


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


def open_stored(stored: StoredSession) -> TabState:
    """Show a stored session in this tab, at the step where it was left; return the new state of the tab."""
    return show_tab(TabState.open(stored))


def open_newer(tab: TabState) -> None:
    """Show the newer version that another server has written; the version of this tab keeps its own address."""
    assert tab.handle.stored is not None
    token = tab.handle.stored.former_token
    if (newer := open_address(tab, token)) is not tab:
        show_tab(newer)


def show_tab(tab: TabState) -> TabState:
    """Replace the state of this tab, with its address, and return it.

    A click may interrupt any call of Streamlit here. Before the state is replaced nothing has changed, and afterwards
    the next run completes the address.
    """
    tab.former_address = st.query_params.get(ADDRESS, "")
    old: TabState = st.session_state[STATE]
    tab.uploads, tab.moves = old.uploads + 1, old.moves + (tab.step != old.step)
    st.session_state[STATE] = tab
    write_token(tab)
    return tab


def start_over() -> TabState:
    """Return a new state for this tab, with a draft and the first step, after its recordings were removed."""
    tab = TabState()
    tab.messages.info("All recordings of this session have been removed.")
    return show_tab(tab)


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
    if tab.handle.stored is not None:
        write_token(tab)
    if new_token:
        st.rerun()  # shows the warning about the newer version
