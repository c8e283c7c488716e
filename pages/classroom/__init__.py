"""In a classroom: the way in for students on the Home page, and large type for a projector on every page."""

import os
import sys
from pathlib import Path

from tmlcd_core.interrupts import leave_on_interrupt

if sys.argv[0] == "-m":  # `python -m pages.classroom`: Python imports this before its __main__
    leave_on_interrupt()

import streamlit as st

from pages.widgets import checked

ADDRESSES = "TMLCD_CLASSROOM"  # set by `make classroom` for its server: addresses of the app, the usual one first
PRESENTER = "presenter"
STYLE = Path(__file__).parent / "presenter.css"


def qr_code(text: str) -> str:
    """The text as a QR code, dark on white in either theme (SVG)."""
    import segno

    return str(segno.make(text, error="m", micro=False).svg_inline(scale=5, border=4, dark="#000", light="#fff"))


def invitation() -> None:
    """How students get here, if `make classroom` has started this server."""
    addresses = os.environ.get(ADDRESSES, "").split()
    if not addresses:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="medium", key="invitation"):
        st.image(qr_code(addresses[0]), width=260, alt=f"QR code of {addresses[0]}")
        with st.container(gap="small"):
            st.subheader("Join in", anchor=False)
            st.code("\n".join(addresses), language=None)
            st.markdown(
                "Same network, this address or the code. Your browser will warn that it does not know the certificate, "
                "which this server made for itself so that microphones work: choose **Advanced**, then **Proceed** "
                "(Chrome, Edge), **Accept the Risk** (Firefox) or **visit this website** (Safari)."
            )


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
