"""Start-up and navigation. A page is a script in pages/SECTION/; the list of pages is pages/menu."""

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.pages_manager import PagesManager

from pages.classroom import presenter_switch, presenter_view
from pages.menu import SHELL, front_door, index_html, navigation
from pages.microphone.expiry import start_pruning
from pages.shell.housekeeping import housekeeping
from pages.shell.preload import start_preloading
from pages.shell.request_guard import RequestGuard
from pages.shell.security_headers import SecurityHeaders, security_headers
from pages.shell.start_options import load_plugins, start_options
from pages.turns import turn
from pages.widgets import note_arrival

load_plugins()

if __name__ == "__main__":  # a visitor's run of this script
    # Before the navigation, or the browser fetches the menu entry's Material icon from another host.
    st.set_page_config(page_icon=str(SHELL.with_name("favicon.svg")), layout="wide")
    st.html(SHELL)  # again, for who came in by an address that no page has
    presenter_view()
    page = navigation()
    st.set_page_config(page_title=f"{page.title} · TML-CD Lab")
    note_arrival(page.title)
    with turn():
        page.run()
    presenter_switch()
else:  # the server imports this script once, at its start, for `app`
    # A folder named pages/ makes Streamlit look for scripts in it until a run has called st.navigation:
    # a deep link to a fresh server would be greeted with "Page not found".
    PagesManager.uses_pages_directory = False
    st.secrets.load_if_toml_exists()  # hosting services set environment variables there
    start_pruning()
    start_preloading()
    options, html = start_options(), index_html()
    middleware = [
        Middleware(SecurityHeaders, headers=security_headers(html, options.frame_ancestors)),
        Middleware(RequestGuard, hosts=options.hosts),
    ]
    app = st.App(__file__, routes=front_door(html), middleware=middleware, lifespan=housekeeping)
