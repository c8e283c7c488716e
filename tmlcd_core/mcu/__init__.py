"""Microcontrollers: what fits (`budget`), what runs there (`export`), and what it costs."""

from tmlcd_core.mcu.boards import BOARDS, PAPER_TIMES, Board, PaperTimes, board, find_board
from tmlcd_core.mcu.budget import (
    FULL_RATE_F401,
    LAYOUTS,
    PAPER_CONFIGURATIONS,
    Bar,
    Budget,
    Configuration,
    Fit,
    Row,
    budget,
    largest_store,
    ram_bars,
    what_fits,
)

__all__ = [
    "BOARDS",
    "FULL_RATE_F401",
    "LAYOUTS",
    "PAPER_CONFIGURATIONS",
    "PAPER_TIMES",
    "Bar",
    "Board",
    "Budget",
    "Configuration",
    "Fit",
    "PaperTimes",
    "Row",
    "board",
    "budget",
    "find_board",
    "largest_store",
    "ram_bars",
    "what_fits",
]
