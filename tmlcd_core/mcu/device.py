"""Run an exported model: as a host library, or on an emulated Cortex-M with the board's memory.

The cross compiler (PyPI `ziglang`), the emulator (`unicorn`) and `pyelftools` are development requirements;
GNU's `arm-none-eabi-gcc` can be used instead of zig.
"""

from __future__ import annotations

import ctypes
import importlib.util
import io
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, ExportError
from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.budget import STACK
from tmlcd_core.mcu.front_ends import HeardWord

ZIG = (sys.executable, "-m", "ziglang", "cc")
ZIG_CPU = {
    "cortex-m4": "cortex_m4+vfp4d16sp",
    "cortex-m7": "cortex_m7+fp_armv8d16",
}  # with their floating point
PAGE = 4096  # the emulator maps whole pages
SYSTEM = 0xE000E000  # the core's own registers: one page of them
STRICT = (
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
)  # warnings are errors here, but not for users of the project
BKPT_AB = b"\xab\xbe"
SYS_OPEN, SYS_WRITE0, SYS_READ, SYS_EXIT = 0x01, 0x04, 0x06, 0x18


@dataclass(frozen=True)
class DeviceStep:
    """Return value of the C function tml_observe; times count from 1."""

    prediction: int
    time: int
    size: int
    alarm: int
    change: int
    unknown: int = 0


class _CStep(ctypes.Structure):
    _fields_ = (
        ("prediction", ctypes.c_int32),
        ("time", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("alarm", ctypes.c_uint32),
        ("change", ctypes.c_uint32),
        ("unknown", ctypes.c_uint32),
    )


class _CSettings(ctypes.Structure):
    _fields_ = (
        ("threshold", ctypes.c_double),
        ("learner", ctypes.c_uint32),
        ("max_size", ctypes.c_uint32),
        ("k", ctypes.c_uint32),
        ("by_distance", ctypes.c_uint32),
        ("batch", ctypes.c_uint32),
        ("warmup", ctypes.c_uint32),
        ("down", ctypes.c_uint32),
        ("condense", ctypes.c_uint32),
    )


class _CWord(ctypes.Structure):
    _fields_ = (
        ("x", ctypes.POINTER(ctypes.c_float)),
        ("start", ctypes.c_uint32),
        ("stop", ctypes.c_uint32),
        ("decibels", ctypes.c_float),
    )


def _compile(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExportError(f"{' '.join(command[:3])} … failed in {folder}:\n{done.stderr[-2000:]}")


def host_compiler() -> list[str]:
    """Return the command of the host's C compiler, or of zig's if there is none."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    return [found] if found else list(ZIG)


def make(folder: str | Path, target: str, *variables: str) -> None:
    """Run `make target` in an exported project, with the host's C compiler."""
    always = f"CC={' '.join(host_compiler())}", f"WARNINGS={' '.join(STRICT)}"
    _compile(["make", "-s", target, *always, *variables], Path(folder))


def zig_is_installed() -> bool:
    """Return True if zig's C compiler can be imported."""
    return importlib.util.find_spec("ziglang") is not None


def build_firmware(
    folder: str | Path,
    board: Board,
    compiler: str = "zig",
    whole: bool = False,
    serial: bool = False,
    microphone: bool = False,
) -> Path:
    """Build the board's ELF with the project's Makefile and return its path.

    `whole` keeps unused functions; `serial` builds the firmware of the serial line, `microphone` the one with
    a microphone.
    """
    variables = [f"BOARD={board.name}"] + ["MICROPHONE=1"] * microphone
    if compiler == "zig":
        variables += [
            f"DEVICE_CC={' '.join(ZIG)}",
            f"CPU=-target thumb-freestanding-eabihf -mcpu={ZIG_CPU[board.core]}",
        ]
    elif compiler != "gnu":
        raise ConfigError(f"compiler={compiler!r}; choose 'zig' or 'gnu'")
    if whole:
        variables.append("LDFLAGS=-Wl,--no-gc-sections")
    kind = "microphone" if microphone else "serial" if serial else "firmware"
    elf = Path(folder) / f"{kind}-{board.name}.elf"
    elf.unlink(missing_ok=True)
    make(folder, elf.name, *variables)
    return elf


class HostLibrary:
    """Exported C code, compiled as a shared library for the host.

    Parameters
    ----------
    folder
        An exported project (`Firmware.write`).
    flags
        More compiler flags.
    sources
        More source files of the folder.
    """

    def __init__(self, folder: str | Path, flags: tuple[str, ...] = (), sources: tuple[str, ...] = ()):
        root = Path(folder)
        sources = (*_makefile_list(root, "CORE"), *sources)
        library = root / "libtmlcd.so"
        options = ["-std=c99", "-O2", *STRICT, "-ffp-contract=off", "-shared", "-fPIC", *flags]
        _compile([*host_compiler(), *options, *sources, "-o", library.name], root)
        self._c = ctypes.CDLL(str(library.resolve()))
        self._c.tml_observe.restype = _CStep
        self._c.tml_predict.restype = ctypes.c_int32
        self._c.tml_get_settings.restype = ctypes.POINTER(_CSettings)
        self._heard = 0  # samples since tml_listen
        if hasattr(self._c, "tml_extract"):
            self._c.tml_extract.restype = ctypes.POINTER(ctypes.c_float)
        if hasattr(self._c, "tml_statistic"):
            self._c.tml_statistic.restype = ctypes.c_double
        self.reset()

    def reset(self) -> None:
        """Call tml_reset."""
        self._c.tml_reset()

    def settings(self) -> dict[str, float]:
        """Return the settings in use, the fields of tml_settings by name."""
        found = self._c.tml_get_settings().contents
        return {name: getattr(found, name) for name, _ in _CSettings._fields_}

    def configure(self, **changes: float) -> None:
        """Call tml_configure with the settings in use and these changes; a ConfigError if one is out of range."""
        wanted = _CSettings(**(self.settings() | changes))
        if not self._c.tml_configure(ctypes.byref(wanted)):
            raise ConfigError(f"the C code refuses the settings {changes}: see tmlcd.h for their ranges")

    def teach(self, x: NDArray[np.float32], label: int) -> bool:
        """Store x (n_features,) with the code of its label by tml_teach; return False if it is refused."""
        return bool(self._c.tml_teach(_pointer(np.ascontiguousarray(x, np.float32)), ctypes.c_int32(label)))

    def observe(self, x: NDArray[np.float32], label: int = -1) -> DeviceStep:
        """Return the result of tml_observe for x (n_features,) and the code of a label; -1 if unknown."""
        step = self._c.tml_observe(_pointer(np.ascontiguousarray(x, np.float32)), ctypes.c_int32(label))
        return DeviceStep(*(getattr(step, name) for name, _ in _CStep._fields_))

    def predict(self, x: NDArray[np.float32]) -> int:
        """Return the predicted class code of x (n_features,), by tml_predict."""
        return int(self._c.tml_predict(_pointer(np.ascontiguousarray(x, np.float32))))

    def statistic(self) -> float:
        """Return the statistic g, by tml_statistic."""
        return float(self._c.tml_statistic())

    def features(self, clip: NDArray[np.int16], n_features: int, chunk: int = 0) -> NDArray[np.float32]:
        """Return the features of a clip, shape (n_features,), pushed `chunk` samples at a time (0: all at once)."""
        clip = np.ascontiguousarray(clip, np.int16)
        self._c.tml_audio_start()
        size = chunk or max(len(clip), 1)
        for start in range(0, len(clip), size):
            part = np.ascontiguousarray(clip[start : start + size])
            self._c.tml_audio_push(_pointer(part), ctypes.c_uint32(len(part)))
        return np.ctypeslib.as_array(self._c.tml_extract(), (n_features,)).copy()

    def listen(self) -> None:
        """Call tml_listen: the stream of sound begins anew."""
        self._c.tml_listen()
        self._heard = 0

    def hear(self, samples: NDArray[np.int16], n_features: int, block: int = 0) -> list[HeardWord]:
        """Return the words that end in the next samples (n,), pushed `block` samples at a time (0: all at once)."""
        samples = np.ascontiguousarray(samples, np.int16)
        found, word, size = [], _CWord(), block or max(len(samples), 1)
        for start in range(0, len(samples), size):
            part = samples[start : start + size]
            while len(part):
                taken = self._c.tml_hear(_pointer(part), ctypes.c_uint32(len(part)), ctypes.byref(word))
                part = part[taken:]
                self._heard += taken
                if word.x:
                    x = np.ctypeslib.as_array(word.x, (n_features,)).copy()
                    found.append(HeardWord(x, word.start, word.stop, self._heard, word.decibels))
        return found


def _pointer(array: NDArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _makefile_list(folder: Path, name: str) -> list[str]:
    for line in (folder / "Makefile").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name} = "):
            return line.split()[2:]
    raise ExportError(f"{folder} has no Makefile with {name}: give the folder of an exported project")


class EmulatedBoard:
    """Emulated Cortex-M with the flash and RAM of a board; any other memory access is an error.

    Functions are called by name, or the whole program is run from reset with its debugger calls answered
    here. Instructions are counted exactly where asked for; that takes ten times as long.

    Parameters
    ----------
    elf
        The linked firmware.
    board
        The board it was linked for.
    count
        Count instructions.
    """

    def __init__(self, elf: str | Path, board: Board, count: bool = False):
        import unicorn
        from elftools.elf.elffile import ELFFile
        from unicorn import arm_const

        self._uc = unicorn
        self._arm = arm_const
        self.board = board
        self.instructions = 0
        self._blocks: dict[tuple[int, int], int] = {}
        with open(elf, "rb") as file:
            image = ELFFile(file)
            self.sections = {s.name: s["sh_size"] for s in image.iter_sections()}
            table: Any = image.get_section_by_name(".symtab")
            self.symbols: dict[str, int] = {s.name: s["st_value"] for s in table.iter_symbols()}
            segments = [(s["p_paddr"], s.data()) for s in image.iter_segments() if s["p_type"] == "PT_LOAD"]
        # Not UC_MODE_MCLASS: that is a Cortex-M33, whatever model is set after it.
        machine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        model = arm_const.UC_CPU_ARM_CORTEX_M7 if board.core == "cortex-m7" else arm_const.UC_CPU_ARM_CORTEX_M4
        machine.ctl_set_cpu_model(model)
        machine.mem_map(board.flash_origin, _pages(board.flash), unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        machine.mem_map(board.ram_origin, _pages(board.ram), unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        machine.mem_map(SYSTEM, PAGE, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        for address, data in segments:
            if data:
                machine.mem_write(address, data)
        # Fill pattern of unused memory: the deepest use of the stack is where it ends.
        self._stack_bottom = board.ram_origin + board.ram - STACK
        machine.mem_write(self._stack_bottom, b"\xa5" * STACK)
        if count:
            machine.hook_add(unicorn.UC_HOOK_BLOCK, self._count)
        machine.hook_add(unicorn.UC_HOOK_INTR, self._debugger)
        self.machine = machine
        self._input = io.BytesIO()
        self._output: list[bytes] = []
        self._running = False
        self._paused = self._may_pause = False

    def static_bytes(self) -> int:
        """Return the bytes of the sections .data and .bss."""
        return self.sections.get(".data", 0) + self.sections.get(".bss", 0)

    def stack_bytes(self) -> int:
        """Return the maximum stack use so far, in bytes."""
        stack = bytes(self.machine.mem_read(self._stack_bottom, STACK))
        return len(stack.lstrip(b"\xa5"))

    def _count(self, machine: Any, address: int, size: int, _: Any) -> None:
        number = self._blocks.get((address, size))
        if number is None:
            code = bytes(machine.mem_read(address, size))
            number = self._blocks[address, size] = _thumb_instructions(code)
        self.instructions += number

    # -- the whole program ------------------------------------------------------------------------

    def run(self, stream: bytes) -> str:
        """Run the program from reset to its end with `stream` as stream.bin; return its output."""
        self._input, self._output, self._running = io.BytesIO(stream), [], True
        self._paused = self._may_pause = False
        self._reset(0)
        if self._running:
            raise ExportError("the program stopped early: check stream.bin and the board")
        return b"".join(self._output).decode()

    def run_part(self, part: bytes) -> str:
        """Run the program until it has read `part`, the next whole records of stream.bin; return its output."""
        self._input, self._output, self._running, self._may_pause = io.BytesIO(part), [], True, True
        if self._paused:
            self._paused = False
            self.machine.emu_start(self.machine.reg_read(self._arm.UC_ARM_REG_PC) | 1, 0)
        else:
            self._reset(0)
        if not self._paused:
            raise ExportError("the program stopped early: check the records and the board")
        return b"".join(self._output).decode()

    def _registers(self) -> list[int]:
        arm = self._arm
        names = [*(f"R{i}" for i in range(13)), "SP", "LR", "PC", "CPSR", "FPSCR", *(f"D{i}" for i in range(16))]
        return [getattr(arm, f"UC_ARM_REG_{name}") for name in names]

    def save(self) -> tuple[list[int], bytes]:
        """Return the state of a program between two parts: registers, and RAM with the core's own page behind it."""
        values = [int(self.machine.reg_read(register)) for register in self._registers()]
        ram = self.machine.mem_read(self.board.ram_origin, _pages(self.board.ram))
        return values, bytes(ram) + bytes(self.machine.mem_read(SYSTEM, PAGE))

    def restore(self, values: list[int], memory: bytes) -> None:
        """Set the state that `save` has returned; `run_part` goes on from there."""
        self.machine.mem_write(self.board.ram_origin, memory[:-PAGE])
        self.machine.mem_write(SYSTEM, memory[-PAGE:])
        for register, value in zip(self._registers(), values, strict=True):
            self.machine.reg_write(register, value)
        self._paused = True

    def _reset(self, until: int) -> None:
        """Reset the core: stack pointer and first instruction come from the vector table."""
        vectors = bytes(self.machine.mem_read(self.board.flash_origin, 8))
        stack, start = (int.from_bytes(vectors[i : i + 4], "little") for i in (0, 4))
        self.machine.reg_write(self._arm.UC_ARM_REG_SP, stack)
        self.machine.emu_start(start | 1, until)

    def _debugger(self, machine: Any, number: int, _: Any) -> None:
        arm = self._arm
        pc = machine.reg_read(arm.UC_ARM_REG_PC)
        if bytes(machine.mem_read(pc, 2)) != BKPT_AB:
            self._running = True
            machine.emu_stop()
            raise ExportError(f"exception {number} at 0x{pc:08x}")
        what, where = machine.reg_read(arm.UC_ARM_REG_R0), machine.reg_read(arm.UC_ARM_REG_R1)
        answer = 0
        if what == SYS_OPEN:
            answer = 1
        elif what == SYS_READ:
            request = bytes(machine.mem_read(where, 12))
            to, count = (int.from_bytes(request[i : i + 4], "little") for i in (4, 8))
            part = self._input.read(count)
            if not part and self._may_pause:
                self._paused = True
                machine.reg_write(arm.UC_ARM_REG_PC, pc | 1)  # the call is made again with the next part
                machine.emu_stop()
                return
            machine.mem_write(to, part)
            answer = count - len(part)
        elif what == SYS_WRITE0:
            while (byte := bytes(machine.mem_read(where, 1))) != b"\0":
                self._output.append(byte)
                where += 1
        elif what == SYS_EXIT:
            self._running = False
            machine.emu_stop()
            return
        machine.reg_write(arm.UC_ARM_REG_R0, answer)
        machine.reg_write(arm.UC_ARM_REG_PC, (pc + 2) | 1)

    # -- single functions -------------------------------------------------------------------------

    def boot(self) -> None:
        """Run from reset to the entry of main: variables initialised, floating point enabled."""
        self._reset(self.symbols["main"] & ~1)

    def call(self, function: str, *arguments: int) -> int:
        """Call a C function with up to four integers or addresses; return r0."""
        arm, back = self._arm, self.symbols["main"] & ~1
        self.machine.reg_write(arm.UC_ARM_REG_SP, self.board.ram_origin + self.board.ram)
        self.machine.reg_write(arm.UC_ARM_REG_LR, back | 1)
        for register, value in zip(("R0", "R1", "R2", "R3"), arguments, strict=False):
            self.machine.reg_write(getattr(arm, f"UC_ARM_REG_{register}"), value)
        self.machine.emu_start(self.symbols[function] | 1, back)
        return int(self.machine.reg_read(arm.UC_ARM_REG_R0))

    def push_audio(self, clip: NDArray[np.int16]) -> None:
        """Call tml_audio_push for a clip, int16 (samples,), in pieces that fit the free memory behind the variables."""
        free = (self.symbols["_ebss"] + 7) & ~7
        data = np.ascontiguousarray(clip, "<i2").tobytes()
        size = min(1024, (self._stack_bottom - free) & ~1)
        for start in range(0, len(data), size):
            part = data[start : start + size]
            self.machine.mem_write(free, part)
            self.call("tml_audio_push", free, len(part) // 2)

    def hear_instructions(self, samples: NDArray[np.int16], block: int) -> list[tuple[int, bool]]:
        """Return the instructions of tml_hear for each block of a stream, int16 (n,), and whether a word ended in it.

        The stream begins with tml_listen and is pushed `block` samples at a time.
        """
        self.boot()
        self.call("tml_listen")
        free = (self.symbols["_ebss"] + 7) & ~7
        result, audio, counts = free, free + 16, []
        for start in range(0, len(samples), block):
            part = np.ascontiguousarray(samples[start : start + block], "<i2")
            self.machine.mem_write(audio, part.tobytes())
            before, taken, ended = self.instructions, 0, False
            while taken < len(part):
                taken += self.call("tml_hear", audio + 2 * taken, len(part) - taken, result)
                ended |= bytes(self.machine.mem_read(result, 4)) != bytes(4)
            counts.append((self.instructions - before, ended))
        return counts

    def stage_instructions(self, clip: NDArray[np.int16], streamed: bool) -> dict[str, int]:
        """Return the number of instructions of each stage from a clip, int16 (samples,), to its prediction.

        A streamed spectrogram is made while the clip is recorded: that part is counted to it. Where the clip
        is stored first, storing it is not counted, as in the paper.
        """
        self.boot()
        self.call("tml_reset")
        self.call("tml_audio_start")
        before = self.instructions
        self.push_audio(clip)
        if not streamed:
            before = self.instructions
        counts = {}
        self.call("tml_spectrogram")
        counts["spectrogram"] = self.instructions - before
        before = self.instructions
        self.call("tml_stem")
        counts["features"] = self.instructions - before
        before = self.instructions
        self.call("tml_predict", self.symbols["features"])
        counts["knn"] = self.instructions - before
        return counts


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _thumb_instructions(code: bytes) -> int:
    """Number of Thumb-2 instructions; they have 4 bytes if the first five bits are 11101, 11110 or 11111."""
    count = at = 0
    while at < len(code):
        at += 4 if code[at + 1] >> 3 >= 0b11101 else 2
        count += 1
    return count
