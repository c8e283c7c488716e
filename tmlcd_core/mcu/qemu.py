"""Emulated board: the serial firmware of a project under QEMU, with its serial line on a socket."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from tmlcd_core.errors import BoardError
from tmlcd_core.mcu.boards import BOARDS
from tmlcd_core.mcu.budget import FirmwareConfiguration
from tmlcd_core.mcu.device import build_firmware, zig_is_installed

MACHINE = "netduinoplus2"  # an STM32F405: the F401's memory and serial line lie within its own
BOARD = BOARDS["stm32f401"]
EXAMPLE = FirmwareConfiguration(4_410, 128, 128, layout="streamed", store="uint8")  # a model to try
SHIFT = 3  # an instruction takes 2^SHIFT ns of the emulated time
TICKS_PER_INSTRUCTION = 168e6 * 2**SHIFT * 1e-9  # of the system timer, which runs with the machine's 168 MHz
START = 30.0  # seconds


def missing_tools() -> str | None:
    """Return what has to be installed for the emulated board; None if nothing is missing."""
    if not shutil.which("qemu-system-arm"):
        return "QEMU is not installed: apt-get install qemu-system-arm"
    if not shutil.which("arm-none-eabi-gcc") and not zig_is_installed():
        return "There is no compiler for ARM: apt-get install gcc-arm-none-eabi, or pip install ziglang"
    return None


def free_port() -> int:
    """Return a TCP port on localhost that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def instructions(ticks: int) -> int:
    """Return the number of instructions in `ticks` of the emulated system timer."""
    return round(ticks / TICKS_PER_INSTRUCTION)


class EmulatedSerialBoard:
    """QEMU process with a project's serial firmware; a context manager that ends it.

    Parameters
    ----------
    folder
        Exported project; the firmware is built in it.
    port
        TCP port of the serial line on localhost; a free one if None.
    """

    def __init__(self, folder: str | Path, port: int | None = None):
        if missing := missing_tools():
            raise BoardError(missing)
        compiler = "gnu" if shutil.which("arm-none-eabi-gcc") else "zig"
        self._elf = build_firmware(folder, BOARD, compiler, serial=True)
        self._number = free_port() if port is None else port
        self.port = f"socket://127.0.0.1:{self._number}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Switch the board on."""
        self._process = subprocess.Popen(
            ["qemu-system-arm", "-M", MACHINE, "-nographic", "-monitor", "none", "-icount", f"shift={SHIFT}",
             "-serial", "null", "-serial", f"tcp:127.0.0.1:{self._number},server=on,wait=off,nodelay=on",
             "-kernel", str(self._elf)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        until = time.monotonic() + START
        while time.monotonic() < until:
            if self._process.poll() is not None:
                assert self._process.stderr is not None
                raise BoardError(f"QEMU ended: {self._process.stderr.read().decode(errors='replace')[-300:]}")
            try:
                socket.create_connection(("127.0.0.1", self._number), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise BoardError(f"QEMU does not listen at {self.port} after {START:.0f} seconds: try again")

    def stop(self) -> None:
        """Switch the board off, as if its plug were pulled."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
