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
    flash_bytes,
    largest_store,
    ram_bars,
    what_fits,
)
from tmlcd_core.mcu.export import CANNOT_EXPORT, Firmware, export_firmware

__all__ = [
    "BOARDS",
    "CANNOT_EXPORT",
    "FULL_RATE_F401",
    "LAYOUTS",
    "PAPER_CONFIGURATIONS",
    "PAPER_TIMES",
    "Bar",
    "Board",
    "Budget",
    "Configuration",
    "Firmware",
    "Fit",
    "PaperTimes",
    "Row",
    "board",
    "budget",
    "export_firmware",
    "find_board",
    "flash_bytes",
    "largest_store",
    "ram_bars",
    "what_fits",
]
