"""Microcontrollers: memory (`budget`), C export (`export_firmware`) and instruction counts (`time_rows`).

The export is imported on first use, since the budget alone needs no learner.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tmlcd_core.mcu.accuracy import Accuracy, accuracy_of, recorded
from tmlcd_core.mcu.boards import BOARDS, PAPER_TIMES, Board, PaperTimes, board, find_board
from tmlcd_core.mcu.budget import (
    FULL_RATE_F401,
    LAYOUTS,
    PAPER_CONFIGURATIONS,
    Bar,
    Budget,
    FirmwareConfiguration,
    Fit,
    Row,
    budget,
    flash_bytes,
    largest_store,
    ram_bars,
    what_fits,
)
from tmlcd_core.mcu.timing import CASES, MEASURED, Case, Instructions, TimeRow, count_instructions, time_rows

if TYPE_CHECKING:
    from tmlcd_core.mcu.export import export_firmware
    from tmlcd_core.mcu.exportable import CANNOT_EXPORT
    from tmlcd_core.mcu.firmware import Firmware

__all__ = [
    "BOARDS",
    "CANNOT_EXPORT",
    "CASES",
    "FULL_RATE_F401",
    "LAYOUTS",
    "MEASURED",
    "PAPER_CONFIGURATIONS",
    "PAPER_TIMES",
    "Accuracy",
    "Bar",
    "Board",
    "Budget",
    "Case",
    "Firmware",
    "FirmwareConfiguration",
    "Fit",
    "Instructions",
    "PaperTimes",
    "Row",
    "TimeRow",
    "accuracy_of",
    "board",
    "budget",
    "count_instructions",
    "export_firmware",
    "find_board",
    "flash_bytes",
    "largest_store",
    "ram_bars",
    "recorded",
    "time_rows",
    "what_fits",
]


def __getattr__(name: str) -> Any:
    modules = {"CANNOT_EXPORT": "exportable", "Firmware": "firmware", "export_firmware": "export"}
    if name not in modules:
        raise AttributeError(f"module 'tmlcd_core.mcu' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tmlcd_core.mcu.{modules[name]}"), name)
