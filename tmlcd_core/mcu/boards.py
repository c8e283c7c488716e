"""Microcontroller boards: those of the paper, and custom boards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Real

from tmlcd_core.errors import ConfigError
from tmlcd_core.validation import whole_number

KB = 1024  # bytes, as in the boards' data sheets
CORES = ("cortex-m4", "cortex-m7")


@dataclass(frozen=True)
class Board:
    """Microcontroller board: memory sizes and addresses, core and clock.

    `cpi` converts measured instructions to milliseconds: with so many cycles per instruction this project's code would
    take the times of the paper's Table 3. It has not been measured on a board; code that runs from cache is closer to
    one cycle per instruction. `ram` is the memory available to the budget; on the STM32H743 it is the largest block of
    fast memory, not the whole RAM.

    Parameters
    ----------
    name : str
        Letters, digits and dashes; the name of the linker script.
    core : str
        `cortex-m4` (single precision) or `cortex-m7` (double precision on the paper's boards; custom boards are built
        for single precision, since some M7 have no more).
    mhz : float
        Clock in MHz.
    ram, flash : int
        Size in bytes.
    ram_origin, flash_origin : int
        Start addresses.
    cpi : float
        Cycles per instruction, derived from the paper's times.

    Examples
    --------
    >>> BOARDS["stm32f401"].ram
    98304
    >>> board("stm32g474", core="cortex-m4", mhz=170, ram=128 * KB, flash=512 * KB).ram
    131072
    """

    name: str
    core: str
    mhz: float
    ram: int
    flash: int
    ram_origin: int = 0x20000000
    flash_origin: int = 0x08000000
    cpi: float = 4.01
    note: str = ""

    @property
    def title(self) -> str:
        """Name in capitals."""
        return self.name.upper()


# From the paper, "Porting the Hybrid Tiny kNN on the STM32 MCUs". CPI: (t_p + t_features of Table 3) x MHz
# over the instructions of these two stages at -O2, as `benchmarks/bench_mcu.py` measures them.
BOARDS: dict[str, Board] = {
    b.name: b
    for b in (
        Board("stm32h743", "cortex-m7", 480, 512 * KB, 2048 * KB, ram_origin=0x24000000, cpi=3.88,
              note="512 of its 1,024 KB: the largest block of fast RAM, as in the paper"),
        Board("stm32f767", "cortex-m7", 216, 512 * KB, 2048 * KB, cpi=4.01),
        Board("stm32f401", "cortex-m4", 84, 96 * KB, 512 * KB, cpi=6.19),
    )
}  # fmt: skip


@dataclass(frozen=True)
class PaperTimes:
    """Row of the paper's Table 3, in milliseconds."""

    board: str
    sample_rate: int
    spectrogram: float
    features: float
    knn_10: float
    knn_50: float
    knn_50_worst: float


PAPER_TIMES = (
    PaperTimes("stm32h743", 22050, 22.9, 18.6, 2.0, 2.9, 6.2),
    PaperTimes("stm32f767", 22050, 53.8, 41.5, 2.2, 4.0, 12.1),
    PaperTimes("stm32f401", 4410, 34.6, 43.1, 2.2, 4.6, 136.0),
)


def board(name: str, *, core: str, mhz: float, ram: int, flash: int) -> Board:
    """Return a custom `Board` after validation; RAM and flash in bytes."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", str(name)):
        raise ConfigError(f"name={name!r} of a board; use 1 to 32 lower-case letters, digits and dashes")
    if core not in CORES:
        raise ConfigError(f"core={core!r}; choose {' or '.join(CORES)}")
    if not isinstance(mhz, Real) or not 0 < float(mhz) <= 10_000:
        raise ConfigError(f"mhz={mhz!r}; choose a number above 0 and up to 10,000")
    return Board(
        name,
        core,
        float(mhz),
        whole_number("ram", ram, 1, 1 << 30),
        whole_number("flash", flash, 1, 1 << 30),
        cpi=BOARDS["stm32f401" if core == "cortex-m4" else "stm32f767"].cpi,
    )


def find_board(name: str) -> Board:
    """Return a board of the paper by its name, in upper or lower case."""
    try:
        return BOARDS[name.lower()]
    except (KeyError, AttributeError):
        raise ConfigError(f"There is no board {name!r}; choose {', '.join(BOARDS)}") from None
