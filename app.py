"""Streamlit entry point: server start-up, middleware and navigation. pages/shell/navigation.py lists the pages."""

import streamlit as st
from starlette.middleware import Middleware

from pages.shell.housekeeping import housekeeping
from pages.shell.index_html import index_html, index_routes
from pages.shell.navigation import SHELL, navigation
from pages.shell.preload import page_shown, start_preloading
from pages.shell.presenter import presenter_switch, presenter_view
from pages.shell.request_guard import RequestGuard
from pages.shell.run_limiter import run_slot
from pages.shell.security_headers import SecurityHeaders, security_headers
from pages.shell.start_options import load_plugins, start_options
from pages.shell.streamlit_internals import ignore_pages_folder
from pages.shell.url_widgets import note_arrival
from pages.views.microphone.expiry import start_pruning
from pages.views.microphone.hearing import hearing_route

load_plugins()

if __name__ == "__main__":  # Streamlit runs this script for a visitor
    # Before st.navigation: otherwise the browser fetches the page's Material icon from another host as favicon.
    st.set_page_config(page_icon=str(SHELL.with_name("favicon.svg")), layout="wide")
    st.html(SHELL)  # again: an unknown address gets Streamlit's own HTML, without the shell's style
    presenter_view()
    page = navigation()
    st.set_page_config(page_title=f"{page.title} · TML-CD Lab")
    note_arrival(page.title)
    with run_slot():
        page.run()
    presenter_switch()
    page_shown.set()
else:  # the server imports this script once at start-up to get `app`
    ignore_pages_folder()
    st.secrets.load_if_toml_exists()  # hosting services set environment variables in secrets.toml
    start_pruning()
    start_preloading()
    options, html = start_options(), index_html()
    middleware = [
        Middleware(SecurityHeaders, headers=security_headers(html, options.frame_ancestors)),
        Middleware(RequestGuard, hosts=options.hosts),
    ]
    app = st.App(__file__, routes=[*index_routes(html), hearing_route()], middleware=middleware, lifespan=housekeeping)
