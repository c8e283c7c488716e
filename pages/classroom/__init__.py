"""Classroom mode: address and QR code for students on the Home page."""

import os
import sys

from tmlcd_core.interrupts import leave_on_interrupt

if sys.argv[0] == "-m":  # `python -m pages.classroom` imports this file before __main__
    leave_on_interrupt()

import streamlit as st

ADDRESSES = "TMLCD_CLASSROOM"  # environment variable set by `make classroom`: addresses of the app, main one first


def qr_code(text: str) -> str:
    """Return the text as a QR code (SVG), black on white in both themes."""
    import segno

    return str(segno.make(text, error="m", micro=False).svg_inline(scale=5, border=4, dark="#000", light="#fff"))


def invitation() -> None:
    """Show QR code and address for students if `make classroom` started this server."""
    addresses = os.environ.get(ADDRESSES, "").split()
    if not addresses:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="medium", key="invitation"):
        st.image(qr_code(addresses[0]), width=260, alt=f"QR code of {addresses[0]}")
        with st.container(gap="small"):
            st.subheader("Join", anchor=False)
            st.code("\n".join(addresses), language=None)
            st.markdown(
                "Connect to the same network and open this address or scan the code. Your browser warns about an "
                "unknown certificate: this server created it itself, because microphones need https. Choose "
                "**Advanced**, then **Proceed** (Chrome, Edge), **Accept the Risk** (Firefox) or "
                "**visit this website** (Safari)."
            )
