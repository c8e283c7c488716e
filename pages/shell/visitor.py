"""Who the visitor is."""

import streamlit as st

LOCAL = {"127.0.0.1", "localhost", "::1"}


def is_local_visitor() -> bool:
    """True if the server is bound to localhost."""
    return st.get_option("server.address") in LOCAL
