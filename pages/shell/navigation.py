"""The one list of pages: it drives the menu, the cards on Home, and the tests that open each page."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

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


HOME = Page("Home", ":material/home:", "pages/home.py", "", "", "What this is, and a run to watch.")

CARDS = 3  # a row

PAGES = (
    HOME,
    Page(
        "Drift lab",
        ":material/science:",
        "pages/drift_lab.py",
        "drift-lab",
        "Explore",
        "Choose data, a drift and learners, and watch them fall and recover.",
    ),
    Page(
        "Inside CUSUM",
        ":material/query_stats:",
        "pages/inside_cusum.py",
        "inside-cusum",
        "Explore",
        "The change-detection test at any moment of a run, with every number it compares.",
    ),
    Page(
        "From sound to features",
        ":material/graphic_eq:",
        "pages/features.py",
        "features",
        "Explore",
        "A clip or picture on its way to 715 numbers, and what a drift does to them.",
    ),
    Page(
        "Microphone",
        ":material/mic:",
        "pages/microphone.py",
        "microphone",
        "Live",
        "Teach it words by voice, change what they mean, and see it notice and adapt.",
    ),
    Page(
        "Lessons",
        ":material/school:",
        "pages/lessons.py",
        "lessons",
        "Learn",
        "Five guided ones of five minutes, and how to make your own.",
    ),
    Page(
        "STM32",
        ":material/memory:",
        "pages/stm32.py",
        "stm32",
        "Device",
        "What fits on a microcontroller, to the byte, and a fitted model as C.",
    ),
    Page(
        "Paper",
        ":material/article:",
        "pages/paper.py",
        "paper",
        "Read",
        "Table 1, both figures and every claim of the paper beside what is measured here.",
    ),
)


def navigation() -> st.Page:
    """Register every page with Streamlit and return the one that the address asks for."""
    sections: dict[str, list[st.Page]] = {}
    for page in PAGES:
        entry = st.Page(page.file, title=page.title, icon=page.icon, url_path=page.url or None, default=page is HOME)
        sections.setdefault(page.section, []).append(entry)
    return st.navigation(sections)


def page_cards() -> None:
    """A card for every other page: its link and its line."""
    others = [page for page in PAGES if page is not HOME]
    for start in range(0, len(others), CARDS):
        for cell, page in zip(st.columns(CARDS), others[start : start + CARDS], strict=False):
            with cell.container(border=True, height="stretch"):
                st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.about)
