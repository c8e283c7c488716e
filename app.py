"""Start-up and navigation. A page is a script in pages/SECTION/; the list of pages is pages/menu."""

from pathlib import Path

import streamlit as st

from pages.menu import navigation

MENU = Path(__file__).parent / "pages" / "menu"

# A Material icon would be fetched from another host when it is the page's icon; this file is not.
st.set_page_config(page_title="TML-CD Lab", page_icon=str(MENU / "favicon.svg"), layout="wide")
st.html(MENU / "shell.css")
navigation().run()
