"""Files of the C project beside config.h and model.c: sources, licences, board files and README."""

from __future__ import annotations

import shlex
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from tmlcd_core.errors import ExportError
from tmlcd_core.mcu.boards import BOARDS, Board
from tmlcd_core.mcu.budget import STACK, FirmwareConfiguration, serial_bytes
from tmlcd_core.mcu.firmware import Firmware
from tmlcd_core.mcu.front_ends import FRONT_ENDS, SHARED_SOURCES
from tmlcd_core.mcu.packaging import FAMILY

# The README's paragraph on stream.bin, with and without one.
STREAM = """\
`stream.bin` holds @COUNT@ samples of the data that the model was fitted on, in the format of `stream.h`: all classes in
turns, the first without a label, the last with a wrong one, so that it is learned. `expected.txt` has the predictions
of the Python model, one per line."""
NO_STREAM = """\
This project has no samples: create `stream.bin` in the format of `stream.h`, and `expected.txt`, yourself.
Without them `make check` and `make run` stop with exit code 2."""

PACKAGE = "tmlcd-core"  # its name in pyproject.toml
LICENCES = ("LICENSE", "NOTICE")  # in the wheel's metadata folder, and at the top of the repository
CORE_FLAGS = {
    "cortex-m4": "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    "cortex-m7": "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16",
}
# Some M7 (STM32F746) have single precision only; software doubles run on all of them.
ANY_M7 = CORE_FLAGS["cortex-m7"].replace("fpv5-d16", "fpv5-sp-d16")
SERIAL_SOURCES = ("protocol.c", "flash_store.c", "nucleo.c", "serial.c", "microphone.c")
ALWAYS = ("tmlcd.h", "model.h", "mathfn.h", "mathfn.c", "report.h", "report.c", "stream.h", "stream.c", "host.c",
          "firmware.c", "board_io.h", "board_io.c", "startup.c", "protocol.h", "flash_store.h",
          "nucleo.h", "stm32.h", "microphone.h", *SERIAL_SOURCES)  # fmt: skip
FOR_KNN = ("knn.h", "knn.c", "learner.c")
FOR_TANDEM = ("tandem.c",)
FOR_CLIPS = ("frontend.h", "fft.h", "audio.h", "spectrogram.c", "stem.c", "clip.c")
FOR_TESTS = ("cusum.h", "cusum.c")


def sound_sources(c: FirmwareConfiguration) -> tuple[str, ...]:
    """Return the C files of the front end; none for vectors."""
    if c.vector is not None:
        return ()
    return FOR_CLIPS if c.front_end == "clip" else (*SHARED_SOURCES, *FRONT_ENDS[c.front_end].sources)


def licence_text(name: str) -> str:
    """Return the text of LICENSE or NOTICE, from the repository or the installed package."""
    root = Path(__file__).resolve().parents[2]
    if (root / "app.py").is_file():  # the repository, not site-packages
        return (root / name).read_text(encoding="utf-8")
    try:
        text = distribution(PACKAGE).read_text(f"licenses/{name}")
    except PackageNotFoundError:
        text = None
    if text is None:
        raise ExportError(f"{name} is missing in this installation, but the project must include it: install {PACKAGE}")
    return text


def source(name: str) -> str:
    """Return the text of a file of the folder c."""
    return resources.files(__package__).joinpath("c", name).read_text(encoding="utf-8")


def fill(template: str, **values: Any) -> str:
    """Return a template with @NAME@ replaced by the value of each name."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def linker_script(board: Board) -> str:
    """Return the linker script of a board."""
    return fill(
        source("board.ld"),
        BOARD=board.title,
        FLASH_ORIGIN=f"0x{board.flash_origin:08X}",
        FLASH=board.flash,
        RAM_ORIGIN=f"0x{board.ram_origin:08X}",
        RAM=board.ram,
        STACK=STACK,
    )


def board_flags(board: Board) -> str:
    """Return the variables of the Makefile for a board."""
    machine = {"stm32f401": "netduinoplus2"}.get(board.name, "none")
    origin = f"FLASH_ORIGIN = 0x{board.flash_origin:08X}"
    flags = ANY_M7 if board.core == "cortex-m7" and board.name not in BOARDS else CORE_FLAGS[board.core]
    family = FAMILY.get(board.name)
    nucleo = f"-DTML_STM32{family} -DTML_BOARD='\"{board.name}\"'" if family else ""
    return f"CPU = {flags}\n{origin}\nQEMU_MACHINE = {machine}\nNUCLEO = {nucleo}\n"


def _weights_licence(c: FirmwareConfiguration) -> str:
    if c.front_end == "speech":
        return "; `SPEECH_NETWORK.md` is the licence of the network's weights"
    return "; `STEM.md` is the licence of the filter's weights" if c.clips or c.front_end == "filter" else ""


def readme(firmware: Firmware) -> str:
    """Return the text of README.md."""
    board, c, labels = firmware.board, firmware.configuration, firmware.classes
    table = firmware.budget
    rows = "\n".join(f"| {r.name} | {r.size} | {r.bytes:,} | {r.note} |" for r in table.rows)
    if c.front_end != "clip":
        feed = (
            "mono sound that never ends, samples of 16 bits at 16,000 Hz: `tml_hear` (`frontend.h`) takes them in "
            "blocks of any length, as DMA brings them, from the main loop and not from an interrupt, and says when a "
            "word has ended"
        )
    elif c.vector is None:
        feed = (
            f"one second of mono sound, {c.sample_rate:,} samples of 16 bits at {c.sample_rate:,} Hz: "
            "`tml_audio_push` takes them in pieces of any length, as DMA brings them, from the main loop and not from "
            "an interrupt"
        )
    else:
        feed = f"a vector of {c.features:,} floats"
    return fill(
        source("README.in.md"),
        BOARD=board.title,
        BOARD_NAME=board.name,
        LEARNER=c.learner,
        CLASSES=", ".join(labels),
        SAMPLES=firmware.in_words(),
        STREAM=NO_STREAM if firmware.check is None else fill(STREAM, COUNT=f"{firmware.check.samples:,}"),
        FEED=feed,
        ROWS=rows,
        NEEDED=f"{table.needed:,}",
        RAM=f"{board.ram:,}",
        FLASH=f"{board.flash:,}",
        STATIC=f"{table.static:,}",
        SERIAL=f"{serial_bytes(c):,}",
        SAMPLE="clip.wav" if c.vector is None else "vector.txt",
        LABEL=shlex.quote(labels[0]),
        STEM=_weights_licence(c),
    )
