"""List of pages: used by the menu, the cards on Home, and the tests that open each page."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

SHELL = Path(__file__).parent / "shell.css"


@dataclass(frozen=True)
class Page:
    """Menu entry: title, icon, script, address, section, and a description in one line."""

    title: str
    icon: str
    file: str
    url: str
    section: str
    about: str


HOME = Page("Home", ":material/home:", "pages/home.py", "", "", "Introduction and an animated run.")

CARDS = 3  # per row

PAGES = (
    HOME,
    Page(
        "Drift lab",
        ":material/science:",
        "pages/drift_lab.py",
        "drift-lab",
        "Explore",
        "Choose data, a drift and learners, and watch their accuracy fall and recover.",
    ),
    Page(
        "Inside CUSUM",
        ":material/query_stats:",
        "pages/inside_cusum.py",
        "inside-cusum",
        "Explore",
        "Step through the CUSUM test and see every number it compares.",
    ),
    Page(
        "From sound to features",
        ":material/graphic_eq:",
        "pages/features.py",
        "features",
        "Explore",
        "See how a clip or picture becomes 715 numbers, and how a drift changes them.",
    ),
    Page(
        "Microphone",
        ":material/mic:",
        "pages/microphone.py",
        "microphone",
        "Live",
        "Teach it words with your voice, change their meaning, and watch it adapt.",
    ),
    Page(
        "Lessons",
        ":material/school:",
        "pages/lessons.py",
        "lessons",
        "Learn",
        "Nine guided lessons: predict what will happen, watch, and check. Make your own.",
    ),
    Page(
        "STM32",
        ":material/memory:",
        "pages/stm32.py",
        "stm32",
        "Device",
        "Check what fits on a microcontroller, to the byte, and export a model as C.",
    ),
    Page(
        "Paper",
        ":material/article:",
        "pages/paper.py",
        "paper",
        "Read",
        "Compare Table 1, both figures and every claim of the paper with our results.",
    ),
)


def navigation() -> st.Page:
    """Register every page with Streamlit and return the requested one."""
    sections: dict[str, list[st.Page]] = {}
    for page in PAGES:
        entry = st.Page(page.file, title=page.title, icon=page.icon, url_path=page.url or None, default=page is HOME)
        sections.setdefault(page.section, []).append(entry)
    return st.navigation(sections)


def page_cards() -> None:
    """Show a card with link and description for every page except Home."""
    others = [page for page in PAGES if page is not HOME]
    for start in range(0, len(others), CARDS):
        for cell, page in zip(st.columns(CARDS), others[start : start + CARDS], strict=False):
            with cell.container(border=True, height="stretch"):
                st.page_link(page.file, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.about)
