"""Board in the loop: the serial firmware on QEMU's STM32F405, taught and watched beside its Python twin."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tests.mcu.test_firmware import F401, F767, H743, SLOW, clips, drifting, sound_model
from tests.mcu.test_front_ends import firmware_of
from tmlcd_core import BoardError, HybridTinyKNN, Tandem
from tmlcd_core.cli import main
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.board_twin import BoardLoop
from tmlcd_core.mcu.budget import STACK, serial_bytes
from tmlcd_core.mcu.device import EmulatedBoard, build_firmware
from tmlcd_core.mcu.link import BoardLink, open_line
from tmlcd_core.mcu.qemu import EmulatedSerialBoard, instructions, missing_tools

needs_qemu = pytest.mark.skipif(
    not shutil.which("qemu-system-arm"), reason="qemu-system-arm is not installed: make emulator"
)
X, Y = drifting()
START = 60
TEST = {"threshold": 8, "batch": 20, "warmup": 40}


def follow(board: EmulatedSerialBoard, said: list[str]) -> BoardLoop:
    return BoardLoop(lambda: BoardLink(open_line(board.port), board.port, silence=10), said.append)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    firmware = export_firmware(HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START]), store="uint8")
    return firmware.write(tmp_path_factory.mktemp("project"))


@needs_qemu
def test_the_emulated_board_decides_as_its_twin_and_survives_a_pulled_plug(project):
    """Prediction, |T|, g, alarm and change point over a drift; then the power is cut, and both begin again."""
    said: list[str] = []
    with EmulatedSerialBoard(project) as board:
        loop = follow(board, said)
        assert loop.link.info.board == "stm32f401" and loop.names == ("0", "1", "2")
        found = [one for x, y in zip(X[START:360], Y[START:360], strict=True) for one in loop.step(x, int(y))]
        assert len(found) == 300 and all(one.equal for one in found)
        assert any(one.board.alarm for one in found)
        assert 0 < max(one.board.stack for one in found) < STACK
        counted = np.array([instructions(one.board.cycles) for one in found])
        assert (counted > 0).all()
        board.stop()
        board.start()
        (one,) = loop.step(X[400], int(Y[400]))
        assert one.equal and one.board.time == 1 and loop.restarts == 1
        assert any("restarted" in text for text in said)
        loop.link.close()


@needs_qemu
def test_instructions_under_qemu_are_those_of_the_other_emulator(project):
    """QEMU's timer divided by its ticks per instruction, against unicorn's count of the same call."""
    with EmulatedSerialBoard(project) as board:
        one = BoardLink(open_line(board.port), board.port, silence=10)
        one.send_features(X[100])
        timed = instructions(one.observe(-1).cycles)
        one.close()
    device = EmulatedBoard(project / "serial-stm32f401.elf", F401, count=True)
    device.boot()
    device.call("tml_reset")
    x, result = device.symbols["sample"], (device.symbols["_ebss"] + 7) & ~7
    device.machine.mem_write(x, X[100].astype("<f4").tobytes())
    before = device.instructions
    device.call("tml_observe", result, x, 0xFFFFFFFF)
    counted = device.instructions - before
    assert timed == pytest.approx(counted, rel=0.03, abs=200)


@needs_qemu
@pytest.mark.slow
def test_tandem_and_sound_on_the_emulated_board(tmp_path):
    tandem = export_firmware(Tandem(max_bytes=3_000, **TEST).fit(X[:START], Y[:START]))
    with EmulatedSerialBoard(tandem.write(tmp_path / "tandem")) as board:
        loop = follow(board, [])
        found = [one for x, y in zip(X[START:400], Y[START:400], strict=True) for one in loop.step(x, int(y))]
        assert all(one.equal for one in found) and any(one.board.alarm for one in found)
        loop.link.close()
    sound = export_firmware(sound_model(SLOW), SLOW, store="uint8")
    with EmulatedSerialBoard(sound.write(tmp_path / "sound")) as board:
        loop = follow(board, [])
        heard, y = clips(4410, 6, seed=1)
        found = [one for clip, label in zip(heard, y, strict=True) for one in loop.step(clip, 1 - int(label))]
        assert len(found) == 6 and all(one.equal for one in found) and found[-1].board.size > 16
        loop.link.close()


@needs_qemu
def test_the_command_runs_a_drift_on_the_emulated_board(project, capsys):
    arguments = f"board --emulate --project {project} --samples 240 --swap --json".split()
    assert main(arguments) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["board"], found["samples"], found["different"]) == ("stm32f401", 240, 0)
    assert found["emulated"] and "emulation" in found["cost_unit"] and found["cost"]["most"] > 1000
    assert captured.err.count("(equal)") == 240
    assert captured.err.count("ALARM: change at") == len(found["alarms"])


# -- the command without a board -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "Give --port PORT, or --emulate"),
        ("--port COM9 --emulate", "Give --port PORT, or --emulate"),
        ("--port /dev/none --patience 0", "cannot be opened"),
        ("--port socket://127.0.0.1:1 --patience 0 --samples 5", "cannot be opened"),
        ("--port COM9 --samples 0", "--samples is 0"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, message, capsys):
    assert main(["board", *arguments.split()]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and message in error


def test_without_qemu_the_command_names_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("tmlcd_core.mcu.qemu.shutil.which", lambda name: None)
    assert main(["board", "--emulate"]) == 2
    assert "apt-get install qemu-system-arm" in capsys.readouterr().err
    monkeypatch.setattr("tmlcd_core.mcu.qemu.shutil.which", lambda name: "/qemu" if "qemu" in name else None)
    monkeypatch.setattr("tmlcd_core.mcu.qemu.zig_is_installed", lambda: False)
    assert "compiler" in missing_tools()
    with pytest.raises(BoardError):
        EmulatedSerialBoard("x")


# -- registers -------------------------------------------------------------------------------------


class Peripherals:
    """Registers of a chip whose flags follow its enable bits, recorded: what a real clock would answer."""

    def __init__(self, device: EmulatedBoard, rules: dict[int, tuple[int, int, int]], works: bool = True):
        import unicorn

        self.values: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.sent = b""
        self.ready: dict[int, int] = {}  # further flags
        self.on_write = lambda address, value: None
        self._rules, self._works = rules, works
        machine = device.machine
        for base, size in ((0x40000000, 0x30000), (0x52002000, 0x1000), (0x58020000, 0x5000), (0xE0000000, 0xE000)):
            machine.mmio_map(base, size, self._read, base, self._write, base)
        assert unicorn

    def _read(self, machine, offset, size, base):
        address = base + offset
        value = self.values.get(address, 0)
        if self._works:
            for flag, (source, mask, result) in self._rules.items():
                if flag == address and self.values.get(source, 0) & mask == mask:
                    value |= result
        if address in (0x40004400, 0x4000481C):
            value |= 1 << 7  # the serial line can send
        return value | self.ready.get(address, 0)

    def _write(self, machine, offset, size, value, base):
        self.values[base + offset] = value
        self.writes.append((base + offset, value))
        self.on_write(base + offset, value)
        if base + offset in (0x40004404, 0x40004828):
            self.sent += bytes([value])


RCC4, RCC7 = 0x40023800, 0x58024400
CLOCKS = {  # flag: (register that causes it, its bits, bits that appear)
    "stm32f401": {
        RCC4: (RCC4, 1 << 24, 1 << 25),
        RCC4 + 8: (RCC4 + 8, 2, 2 << 2),
    },
    "stm32f767": {
        RCC4: (RCC4, 1 << 24, 1 << 25),
        RCC4 + 8: (RCC4 + 8, 2, 2 << 2),
        0x40007004: (0x40007000, 1 << 16, 3 << 16),
    },
    "stm32h743": {
        RCC7: (RCC7, 1 << 24, 1 << 25),
        RCC7 + 0x10: (RCC7 + 0x10, 3, 3 << 3),
        0x58024804: (0, 0, 1 << 13),
        0x58024818: (0x58024818, 3 << 14, 1 << 13),
    },
}


@pytest.mark.parametrize("works", [True, False], ids=["clock starts", "clock fails"])
@pytest.mark.parametrize("board", [F401, F767, H743], ids=lambda b: b.name)
def test_clock_and_serial_line_are_set_up(board, works, project, tmp_path):
    """Register values after the reference manuals; without the fast clock, the oscillator and a right baud rate."""
    folder = tmp_path / "project"
    shutil.copytree(project, folder)
    device = EmulatedBoard(build_firmware(folder, board, serial=True), board)
    chip = Peripherals(device, CLOCKS[board.name], works)
    device.boot()
    device.call("nucleo_start")
    clock = device.call("board_clock")
    f4 = board.name == "stm32f401"
    divider = chip.values[0x40004408 if f4 else 0x4000480C]
    fast = {"stm32f401": (84e6, 42e6), "stm32f767": (216e6, 54e6), "stm32h743": (400e6, 100e6)}[board.name]
    slow = (64e6, 64e6) if board is H743 else (16e6, 16e6)
    core, bus = fast if works else slow
    assert clock == core
    assert bus / divider == pytest.approx(115_200, rel=0.01)
    ports = {F401.name: 0b101, F767.name: 0b1110, H743.name: 0b1110}[board.name]
    assert chip.values[RCC7 + 0xE0 if board is H743 else RCC4 + 0x30] == ports
    if works and board is not H743:
        pll = chip.values[RCC4 + 4]
        m, n, p = pll & 63, pll >> 6 & 511, 2 * (1 + (pll >> 16 & 3))
        assert 16e6 / m * n / p == core and 1e6 <= 16e6 / m <= 2e6 and 100e6 <= 16e6 / m * n <= 432e6
        waits = chip.values[0x40023C00] & 15
        assert waits == {F401.name: 2, F767.name: 7}[board.name]
        order = [address for address, _ in chip.writes]
        assert order.index(0x40023C00) < len(order) - 1 - order[::-1].index(
            RCC4 + 8
        )  # wait states before the fast clock
    if works and board is H743:
        n, p = (chip.values[RCC7 + 0x30] & 511) + 1, (chip.values[RCC7 + 0x30] >> 9 & 127) + 1
        assert 64e6 / (chip.values[RCC7 + 0x28] >> 4 & 63) * n / p == core
        assert chip.values[0x52002000] == 0x22
    device.call("tml_link_start")
    assert chip.sent.endswith(b"\0") and board.name.encode() in chip.sent


# Registers after microphone_start, by board: address, bits that count, value. From the reference manuals RM0368, RM0410
# and RM0433, the sections on RCC, GPIO, DMA, DMAMUX and SPI/I2S; see the comments of microphone.c for their meaning.
DMA4, DMA7, I2S2 = 0x40026000, 0x40020000, 0x40003800
STREAM_3 = 0x10 + 0x18 * 3
DMA_ON = (2 << 16) | (1 << 13) | (1 << 11) | (1 << 10) | (1 << 8) | (1 << 4) | (1 << 3) | 1
OLD_I2S = {  # of the F4 and F7
    "PLLI2S on": (RCC4, 1 << 26, 1 << 26),
    "I2S takes PLLI2S": (RCC4 + 0x08, 1 << 23, 0),
    "DMA 1 on": (RCC4 + 0x30, 1 << 21, 1 << 21),
    "SPI 2 on": (RCC4 + 0x40, 1 << 14, 1 << 14),
    "DMA control": (DMA4 + STREAM_3, 0xFFFFFFFF, DMA_ON),
    "DMA count": (DMA4 + STREAM_3 + 4, 0xFFFF, 256),
    "DMA from": (DMA4 + STREAM_3 + 8, 0xFFFFFFFF, I2S2 + 0x0C),
    "divider 25, even, no master clock": (I2S2 + 0x20, 0x3FF, 25),
    "receive by DMA": (I2S2 + 0x04, 3, 1),
    "I2S on, master receives, Philips, 16 of 32 bits": (I2S2 + 0x1C, 0xFFF, (1 << 11) | (1 << 10) | (3 << 8) | 1),
    "pins: function 5": (0x40020400 + 0x24, 0xF0FF0000, 0x50550000),
    "pins: alternate": (0x40020400, 0xCF000000, 0x8A000000),
    "data pulled down": (0x40020400 + 0x0C, 0xCF000000, 0x80000000),
}
MICROPHONE = {
    "stm32f401": OLD_I2S | {"PLLI2S: 256 / 5": (RCC4 + 0x84, 0x70007FC0, (256 << 6) | (5 << 28))},
    "stm32f767": OLD_I2S | {"PLLI2S: 128 / 5": (RCC4 + 0x84, 0x70007FC0, (128 << 6) | (5 << 28))},
    "stm32h743": {
        "PLL 2 on": (RCC7, 1 << 26, 1 << 26),
        "PLL 2: oscillator / 32": (RCC7 + 0x28, (63 << 12) | 3, 32 << 12),
        "PLL 2: 2 to 4 MHz, wide, output P": (RCC7 + 0x2C, (15 << 4) | (7 << 19), (1 << 6) | (1 << 19)),
        "PLL 2: 128 / 5": (RCC7 + 0x38, 0xFFFF, 127 | (4 << 9)),
        "SPI 2 takes PLL 2": (RCC7 + 0x50, 7 << 12, 1 << 12),
        "DMA 1 on": (RCC7 + 0xD8, 1, 1),
        "SPI 2 on": (RCC7 + 0xE8, 1 << 14, 1 << 14),
        "request of SPI 2": (0x40020800 + 4 * 3, 0x7F, 39),
        "DMA control": (DMA7 + STREAM_3, 0xFFFFFFFF, DMA_ON),
        "DMA count": (DMA7 + STREAM_3 + 4, 0xFFFF, 256),
        "DMA from": (DMA7 + STREAM_3 + 8, 0xFFFFFFFF, I2S2 + 0x30),
        "16 bits, receive by DMA": (I2S2 + 0x08, (1 << 14) | 31, (1 << 14) | 15),
        "data in on the other pin": (I2S2 + 0x0C, 1 << 15, 1 << 15),
        "master receives, Philips, 16 of 32 bits, divider 25": (I2S2 + 0x50, 0x3FFFFFF, (25 << 16) | (1 << 10) | 7),
        "on, started": (I2S2, (1 << 9) | 1, (1 << 9) | 1),
        "pins: function 5": (0x58020400 + 0x24, 0xF0FF0000, 0x50550000),
        "pins: alternate": (0x58020400, 0xCF000000, 0x8A000000),
        "data pulled down": (0x58020400 + 0x0C, 0xCF000000, 0x80000000),
    },
}


@pytest.mark.parametrize("board", [F401, F767, H743], ids=lambda b: b.name)
def test_a_microphone_is_set_up_and_its_sound_arrives(board, tmp_path):
    """I2S and DMA registers after the manuals; then the left channel goes from the DMA's buffer to the reader."""
    folder = firmware_of("word").write(tmp_path)
    device = EmulatedBoard(build_firmware(folder, board, serial=True, microphone=True), board)
    chip = Peripherals(device, CLOCKS[board.name])
    device.boot()
    device.call("nucleo_start")
    assert device.call("microphone_start") == 0  # the clock of the sound does not start: the rest is left alone
    rcc, dma = (RCC7, DMA7) if board is H743 else (RCC4, DMA4)
    assert dma + STREAM_3 not in chip.values
    chip.ready = {rcc: 1 << 27}
    assert device.call("microphone_start") == 1
    table = MICROPHONE[board.name]
    found = {name: chip.values.get(address, 0) & mask for name, (address, mask, _) in table.items()}
    assert found == {name: value for name, (_, _, value) in table.items()}
    pll = chip.values[rcc + (0x38 if board is H743 else 0x84)]
    n, r = ((pll & 511) + 1, (pll >> 9 & 127) + 1) if board is H743 else (pll >> 6 & 511, pll >> 28)
    reference = {"stm32f401": 16e6 / 16, "stm32f767": 16e6 / 8, "stm32h743": 64e6 / 32}[board.name]
    assert reference * n / r / (64 * 2 * 25) == 16_000
    assert 100e6 <= reference * n <= 432e6
    order = [address for address, _ in chip.writes]
    started = I2S2 if board is H743 else I2S2 + 0x1C
    assert order.index(dma + STREAM_3) < len(order) - 1 - order[::-1].index(
        started
    )  # the DMA waits when the sound begins
    enabled = int.from_bytes(device.machine.mem_read(0xE000E100, 4), "little")
    vector = int.from_bytes(device.machine.mem_read(board.flash_origin + 4 * (16 + 14), 4), "little")
    assert enabled == 1 << 14 and vector & ~1 == device.symbols["microphone_interrupt"] & ~1

    ring = 4_096 if board is F401 else 16_384
    rng, free = np.random.default_rng(0), (device.symbols["_ebss"] + 7) & ~7
    sound = rng.integers(-32_768, 32_768, ring + 64).astype("<i2")
    for number, left in enumerate(sound.reshape(-1, 64)):
        half = number % 2
        frames = np.stack([left, rng.integers(-9, 9, 64).astype("<i2")], axis=1)
        device.machine.mem_write(chip.values[dma + STREAM_3 + 0x0C] + 256 * half, frames.tobytes())
        chip.values[dma] = 1 << (26 + half)
        device.call("microphone_interrupt")
        assert chip.values[dma + 8] == 0x3D << 22  # the flags are cleared
    heard = b""
    while count := device.call("microphone_read", free, 50):
        heard += bytes(device.machine.mem_read(free, 2 * count))
    assert np.array_equal(np.frombuffer(heard, "<i2"), sound[:ring])  # what came when the ring was full is lost


FLASH = {  # sector's number and address, offset of the flash's registers of its bank
    "stm32f401": (6, 0x08040000, 0x20000),
    "stm32f767": (10, 0x08180000, 0x40000),
    "stm32h743": (6, 0x081C0000, 0x20000),
}


class FlashController:
    """Flash of a chip behind its registers: locked, erased by sectors, written by units; counts what is not allowed."""

    def __init__(self, device: EmulatedBoard, chip: Peripherals, board):
        import unicorn

        self.h7 = board is H743
        self.number, self.address, self.size = FLASH[board.name]
        self.keys: list[int] = []
        self.locked, self.command, self.faults, self.erased = True, 0, [], []
        self.machine = device.machine
        self.machine.mem_protect(self.address, 2 * self.size, unicorn.UC_PROT_ALL)
        self.machine.hook_add(
            unicorn.UC_HOOK_MEM_WRITE, self._programmed, begin=self.address, end=self.address + 2 * self.size - 1
        )
        self.key, self.control = (0x52002104, 0x5200210C) if self.h7 else (0x40023C04, 0x40023C10)
        chip.on_write = self._register
        chip.values[self.control] = 1 if self.h7 else 1 << 31
        self.chip = chip

    def _register(self, address, value):
        lock, start = (1, 1 << 7) if self.h7 else (1 << 31, 1 << 16)
        if address == self.key:
            self.keys.append(value)
            if self.keys[-2:] == [0x45670123, 0xCDEF89AB]:
                self.locked = False
                self.chip.values[self.control] = 0
        if address == self.control:
            if self.locked:
                self.chip.values[self.control] = lock
                return
            self.command, self.locked = value, bool(value & lock)
            erases, sector = (value >> 2 & 1, value >> 8 & 7) if self.h7 else (value >> 1 & 1, value >> 3 & 31)
            if erases and value & start:
                self.erased.append(sector)
                place = self.address + (sector - self.number) * self.size
                self.machine.mem_write(place, b"\xff" * self.size)

    def _programmed(self, machine, access, address, size, value, _):
        programs = self.command >> 1 & 1 if self.h7 else self.command & 1
        before = int.from_bytes(machine.mem_read(address, size), "little")
        if self.locked or not programs or size != 4 or before != 0xFFFFFFFF:
            self.faults.append((hex(address), size, hex(self.command), hex(before)))


@pytest.mark.parametrize("board", [F401, F767, H743], ids=lambda b: b.name)
def test_the_state_is_saved_to_the_boards_flash(board, project, tmp_path):
    """Unlocked by its keys, erased by sector, each unit written once, locked again: the state comes back."""
    folder = tmp_path / "project"
    shutil.copytree(project, folder)
    device = EmulatedBoard(build_firmware(folder, board, serial=True), board)
    chip = Peripherals(device, CLOCKS[board.name])
    flash = FlashController(device, chip, board)
    device.boot()
    device.call("nucleo_start")
    assert device.call("flash_size") == flash.size
    assert device.call("tml_restore") == 0  # nothing there yet
    assert device.call("tml_save_all") == 1
    assert (flash.erased, flash.faults, flash.locked) == ([flash.number], [], True)
    sample = (device.symbols["_ebss"] + 7) & ~7
    for x, label in zip(X[START : START + 12].astype("<f4"), Y[START : START + 12], strict=True):
        device.machine.mem_write(sample, x.tobytes())
        device.call("tml_teach", sample, int(label))
        assert device.call("tml_save", sample, int(label), 1) == 1
    variables = device.symbols["_sdata"], device.symbols["_ebss"] - device.symbols["_sdata"]
    taught = bytes(device.machine.mem_read(*variables))
    device.call("tml_reset")
    assert bytes(device.machine.mem_read(*variables)) != taught
    assert device.call("tml_restore") == 1  # the snapshot and the twelve records
    assert bytes(device.machine.mem_read(*variables)) == taught
    assert device.call("tml_save_all") == 1 and flash.erased == [flash.number, flash.number + 1]
    assert not flash.faults and flash.locked


@pytest.mark.parametrize("kind", ["vectors", "sound"])
def test_the_serial_firmware_needs_what_is_counted(kind, project, tmp_path):
    if kind == "sound":
        firmware = export_firmware(sound_model(SLOW), SLOW, store="uint8")
    else:
        firmware = export_firmware(HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START]), store="uint8")
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), F401, serial=True), F401)
    counted = firmware.budget.static + serial_bytes(firmware.configuration)
    assert 0 <= device.static_bytes() - counted <= 24


def test_a_board_of_ones_own_needs_its_own_driver(tmp_path):
    from tmlcd_core import ExportError
    from tmlcd_core.mcu import Board

    mine = Board("mine", "cortex-m4", 84, 100_000, 512 * 1024)
    folder = export_firmware(HybridTinyKNN(max_size=50).fit(X[:START], Y[:START]), board=mine).write(tmp_path)
    with pytest.raises(ExportError, match=r"no nucleo\.c for mine"):
        build_firmware(folder, mine, serial=True)


@needs_qemu
def test_the_command_writes_its_steps_and_changes_settings(project, tmp_path, capsys):
    out = tmp_path / "steps.json"
    settings = "--threshold 3 --batch 5 --warmup 10 --samples 12"
    assert main(f"board --emulate --project {project} {settings} --out {out} --json".split()) == 0
    capsys.readouterr()
    found = json.loads(out.read_text())
    assert [step["board"]["time"] for step in found["steps"]] == list(range(1, 13))
    assert all(step["equal"] for step in found["steps"])
    assert main(f"board --emulate --project {project} --batch 0".split()) == 2
    assert "refuses the settings" in capsys.readouterr().err


@needs_qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", ["word", "filter", "speech"])
def test_words_of_a_stream_through_the_command(name, tmp_path, capsys):
    """Sound over the serial line: the emulated board's decisions are the lines of the Python twin, from sound on."""
    firmware = firmware_of(name)
    assert firmware.check is not None
    out = tmp_path / "steps.json"
    project = firmware.write(tmp_path / "project")
    assert main(f"board --emulate --project {project} --out {out} --json".split()) == 0
    error = capsys.readouterr().err
    steps = [step["board"] for step in json.loads(out.read_text())["steps"]]
    lines = []
    for step in steps:
        answer = "(unknown)" if step["unknown"] else firmware.classes[step["prediction"]]
        alarm = f" alarm {step['change']}" if step["alarm"] else ""
        lines.append(f"{step['time']} {answer} {step['size']}{alarm}")
    assert lines == firmware.check.expected.decode().splitlines()
    assert error.count("(equal)") == len(steps) == firmware.check.samples
    assert ("unknown (nearest: " in error) == ("(unknown)" in firmware.check.expected.decode())
