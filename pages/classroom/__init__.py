"""In a classroom: the way in for students on the Home page."""

import os
import sys

from tmlcd_core.interrupts import leave_on_interrupt

if sys.argv[0] == "-m":  # `python -m pages.classroom`: Python imports this before its __main__
    leave_on_interrupt()

import streamlit as st

ADDRESSES = "TMLCD_CLASSROOM"  # set by `make classroom` for its server: addresses of the app, the usual one first


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
