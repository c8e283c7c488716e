"""The one list of pages: it drives the menu, the ways in on Home, and the tests that open each page.

Scripts stand one level down (pages/SECTION/NAME.py): a script directly in pages/ would be run without app.py
by the first deep link to a fresh server.
"""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from pages.classroom import PRESENTER, presenter_style

SHELL = Path(__file__).parent / "shell.css"


@dataclass(frozen=True)
class Page:
    """One entry of the menu: what it is called, where its script stands, and what it is for in one line."""

    title: str
    icon: str
    file: str
    url: str
    section: str
    about: str


HOME = Page("Home", ":material/home:", "pages/home/home.py", "", "", "What this is, and a run to watch.")

CARDS = 3  # a row

PAGES = (
    HOME,
    Page(
        "Drift lab",
        ":material/science:",
        "pages/explore/drift_lab.py",
        "drift-lab",
        "Explore",
        "Choose data, a drift and learners, and watch them fall and recover.",
    ),
    Page(
        "Inside CUSUM",
        ":material/query_stats:",
        "pages/explore/inside_cusum.py",
        "inside-cusum",
        "Explore",
        "The change-detection test at any moment of a run, with every number it compares.",
    ),
    Page(
        "From sound to features",
        ":material/graphic_eq:",
        "pages/explore/features.py",
        "features",
        "Explore",
        "A clip or picture on its way to 715 numbers, and what a drift does to them.",
    ),
    Page(
        "Microphone",
        ":material/mic:",
        "pages/live/microphone.py",
        "microphone",
        "Live",
        "Teach it words by voice, change what they mean, and see it notice and adapt.",
    ),
    Page(
        "Lessons",
        ":material/school:",
        "pages/learn/lessons.py",
        "lessons",
        "Learn",
        "Five guided ones of five minutes, and how to make your own.",
    ),
    Page(
        "STM32",
        ":material/memory:",
        "pages/device/stm32.py",
        "stm32",
        "Device",
        "What fits on a microcontroller, to the byte, and a fitted model as C.",
    ),
    Page(
        "Paper",
        ":material/article:",
        "pages/read/paper.py",
        "paper",
        "Read",
        "Table 1, both figures and every claim of the paper beside what is measured here.",
    ),
)


def index_html() -> str:
    """Streamlit's own HTML with the shell's style and script in it: a run would send them late, and the page jump."""
    head, end, body = Path(get_static_dir(), "index.html").read_text(encoding="utf-8").partition("</head>")
    style, script = (SHELL.with_suffix(kind).read_text(encoding="utf-8") for kind in (".css", ".js"))
    return f'{head}<style>{style}</style><script type="module">{script}</script>{end}{body}'


def front_door(html: str) -> list[Route]:
    """Routes that answer the address of each page with `html`."""
    head, end, body = html.partition("</head>")
    base = st.get_option("server.baseUrlPath").strip("/")

    def answer(request: Request) -> HTMLResponse:
        large = f"<style>{presenter_style()}</style>" if request.query_params.get(PRESENTER) == "true" else ""
        return HTMLResponse(head + large + end + body, headers={"Cache-Control": "no-cache"})

    return [Route(f"/{base}/{page.url}".replace("//", "/"), answer) for page in PAGES]


def navigation() -> st.Page:
    """Register every page with Streamlit and return the one that the address asks for."""
    sections: dict[str, list[st.Page]] = {}
    for page in PAGES:
        entry = st.Page(page.file, title=page.title, icon=page.icon, url_path=page.url or None, default=page is HOME)
        sections.setdefault(page.section, []).append(entry)
    return st.navigation(sections)


def ways_in() -> None:
    """A card for every other page: its link and its line."""
    others = [page for page in PAGES if page is not HOME]
    for start in range(0, len(others), CARDS):
        for cell, page in zip(st.columns(CARDS), others[start : start + CARDS], strict=False):
            with cell.container(border=True, height="stretch"):
                st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.about)
