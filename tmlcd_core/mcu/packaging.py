"""Files that make an exported C project a project for PlatformIO and a library for PlatformIO and Arduino."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from tmlcd_core import __version__
from tmlcd_core.mcu.boards import Board

NUCLEO = {"stm32f401": "nucleo_f401re", "stm32f767": "nucleo_f767zi", "stm32h743": "nucleo_h743zi"}
FAMILY = {"stm32f401": "F4", "stm32f767": "F7", "stm32h743": "H7"}
LIBRARY = "arduino/TmlcdBoard"  # folder of the Arduino library
ABOUT = "A classifier that keeps learning on the device and detects concept drift, exported from TML-CD Lab"
# SCons gives build_flags to the compiler only; the linker needs the processor's flags too.
LINK_FLAGS = """\
Import("env")
flags = [f for f in env.get("CCFLAGS", []) if str(f).startswith("-m")]
env.Append(LINKFLAGS=[*flags, "-nostdlib", "-Wl,--gc-sections"], LIBS=["gcc"])
"""

# For front ends that hear words; microphone.h has the wires.
MICROPHONE = """
[env:{env}_microphone]
extends = env:{env}
build_src_filter = ${{env:{env}.build_src_filter}} +<microphone.c>
build_flags = ${{env:{env}.build_flags}} -DTML_MICROPHONE
"""


def packaging(board: Board, core: Sequence[str], core_flags: str) -> dict[str, str]:
    """Return the packaging files by path.

    Parameters
    ----------
    board : Board
        The project's default board.
    core : sequence of str
        Sources of the learner and the front end.
    core_flags : str
        The compiler's flags for the board's processor.
    """
    files = {
        "library.json": _library_json(core),
        f"{LIBRARY}/library.properties": _properties(),
        f"{LIBRARY}/src/TmlcdBoard.h": _text("TmlcdBoard.h"),
        f"{LIBRARY}/src/TmlcdBoard.cpp": _text("TmlcdBoard.cpp"),
        f"{LIBRARY}/examples/Board/Board.ino": _text("Board.ino"),
    }
    if board.name in NUCLEO:
        files |= {"platformio.ini": _platformio(board, core, core_flags), "link_flags.py": LINK_FLAGS}
    return files


def _platformio(board: Board, core: Sequence[str], core_flags: str) -> str:
    sources = [*core, "protocol.c", "flash_store.c", "nucleo.c", "serial.c", "startup.c"]
    microphone = MICROPHONE.format(env=NUCLEO[board.name]) if "listen.c" in core else ""
    return f"""\
; pio run, then pio run --target upload. Not tried with PlatformIO itself: its compilers could not be fetched.
[platformio]
src_dir = .
include_dir = .
default_envs = {NUCLEO[board.name]}

[env:{NUCLEO[board.name]}]
platform = ststm32
board = {NUCLEO[board.name]}
board_build.ldscript = boards/{board.name}.ld
upload_protocol = stlink
monitor_speed = 115200
extra_scripts = link_flags.py
build_src_filter = {" ".join(f"+<{name}>" for name in sources)}
build_unflags = -Os
build_flags =
    -std=c99 -O2 -Wall -Wextra -ffp-contract=off
    -ffreestanding -fno-builtin -ffunction-sections -fdata-sections
    {core_flags}
    -DTML_STM32{FAMILY[board.name]}
    '-DTML_BOARD="{board.name}"'
{microphone}"""


def _library_json(core: Sequence[str]) -> str:
    found = {
        "name": "tmlcd-model",
        "version": __version__,
        "description": ABOUT,
        "license": "BSD-3-Clause",
        "frameworks": "*",
        "platforms": "*",
        "headers": ["tmlcd.h", "protocol.h"],
        "build": {
            "srcDir": ".",
            "includeDir": ".",
            "srcFilter": [f"+<{name}>" for name in (*core, "protocol.c")],
            "flags": ["-ffp-contract=off"],
        },
    }
    return json.dumps(found, indent=2) + "\n"


def _properties() -> str:
    return f"""\
name=TmlcdBoard
version={__version__}
author=TML-CD Lab
maintainer=TML-CD Lab
sentence={ABOUT}.
paragraph=The board answers the command tmlcd board over its serial line. Run "make arduino" first.
category=Data Processing
url=
architectures=*
includes=TmlcdBoard.h
"""


def _text(name: str) -> str:
    return resources.files(__package__).joinpath("c", "arduino", name).read_text(encoding="utf-8")
