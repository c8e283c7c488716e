"""PlatformIO and Arduino files of an exported project: parsed, and their sources built with their flags."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mcu.test_firmware import F401, SLOW, drifting, sound_model
from tests.mcu.test_front_ends import firmware_of
from tmlcd_core import HybridTinyKNN, Tandem, __version__
from tmlcd_core.mcu import BOARDS, Board, export_firmware
from tmlcd_core.mcu.device import ZIG, ZIG_CPU, EmulatedBoard, _makefile_list, make
from tmlcd_core.mcu.link import decode, encode

STUB = Path(__file__).parent / "arduino_stub.h"
X, Y = drifting(n=100)


def project(name, folder, board="stm32f401"):
    if name == "sound":
        return export_firmware(sound_model(SLOW), SLOW, board=board, store="uint8").write(folder)
    if name == "tandem":
        return export_firmware(Tandem(max_bytes=2_000).fit(X, Y), board=board).write(folder)
    return export_firmware(HybridTinyKNN(max_size=30).fit(X, Y), board=board).write(folder)


def platformio(folder):
    parser = configparser.ConfigParser(interpolation=None)
    assert parser.read(folder / "platformio.ini")
    name = "env:" + parser["platformio"]["default_envs"]  # `pio run --target upload` flashes this one alone
    assert all(section.startswith(("platformio", name)) for section in parser.sections())
    return parser["platformio"], parser[name]


@pytest.mark.parametrize("board", BOARDS)
def test_platformio_names_board_linker_script_and_sources(board, tmp_path):
    folder = project("vectors", tmp_path, board)
    general, env = platformio(folder)
    assert (general["src_dir"], env["platform"]) == (".", "ststm32")
    assert env["board"] == {"stm32f401": "nucleo_f401re", "stm32f767": "nucleo_f767zi"}.get(board, "nucleo_h743zi")
    assert (folder / env["board_build.ldscript"]).is_file() and (folder / env["extra_scripts"]).is_file()
    compile((folder / env["extra_scripts"]).read_text(), "link_flags.py", "exec")
    sources = re.findall(r"\+<(\S+)>", env["build_src_filter"])
    own = ["protocol.c", "flash_store.c", "nucleo.c", "serial.c", "startup.c"]
    assert sources == [*_makefile_list(folder, "CORE"), *own]


@pytest.mark.parametrize("name", ["vectors", "sound", "tandem"])
def test_the_sources_and_flags_of_platformio_build_the_serial_firmware(name, tmp_path):
    """With GNU's compiler, or zig's and its names of the processor: as large as the program of `make serial`."""
    folder = project(name, tmp_path)
    _, env = platformio(folder)
    flags = shlex.split(env["build_flags"])
    sources = re.findall(r"\+<(\S+)>", env["build_src_filter"])
    gnu = shutil.which("arm-none-eabi-gcc")
    if gnu:
        compiler, cpu = [gnu], [f for f in flags if f.startswith("-m")]
        make(folder, "serial")
    else:
        compiler, cpu = list(ZIG), ["-target", "thumb-freestanding-eabihf", f"-mcpu={ZIG_CPU['cortex-m4']}"]
        make(folder, "serial", f"DEVICE_CC={' '.join(ZIG)}", f"CPU={' '.join(cpu)}")
    rest = [f for f in flags if not f.startswith("-m")]
    link = ["-nostdlib", "-Wl,--gc-sections", "-T", env["board_build.ldscript"], "-lgcc"]
    command = [*compiler, *cpu, *rest, "-Wconversion", "-Wshadow", "-Werror", *sources, *link, "-o", "pio.elf"]
    subprocess.run(command, cwd=folder, check=True)
    mine, theirs = (EmulatedBoard(folder / elf, F401) for elf in ("serial-stm32f401.elf", "pio.elf"))
    assert mine.sections[".text"] == theirs.sections[".text"] and mine.static_bytes() == theirs.static_bytes()


def test_the_microphone_is_an_environment_of_its_own(tmp_path):
    firmware_of("word").write(tmp_path)
    platformio(tmp_path)
    text = (tmp_path / "platformio.ini").read_text()
    assert text.count("[env:") == 2 and "[env:nucleo_f401re_microphone]\nextends = env:nucleo_f401re\n" in text


def test_library_files_name_what_is_there(tmp_path):
    folder = project("vectors", tmp_path)
    library = json.loads((folder / "library.json").read_text())
    assert library["version"] == __version__ and library["license"] == "BSD-3-Clause"
    assert all((folder / name).is_file() for name in library["headers"])
    assert all((folder / name[2:-1]).is_file() for name in library["build"]["srcFilter"])
    text = (folder / "arduino/TmlcdBoard/library.properties").read_text()
    properties = dict(line.split("=", 1) for line in text.splitlines())
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert required <= set(properties) and properties["category"] == "Data Processing"


MAIN = """
#include "Board.ino"
#include <cstdio>
Stream Serial;
int main(int, char **arguments)
{
    for (int c; (c = getchar()) != EOF;) Serial.in += static_cast<char>(c);
    setup();
    loop();
    fwrite(Serial.out.data(), 1, Serial.out.size(), stdout);
    return arguments == nullptr;
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
@pytest.mark.parametrize("name", ["vectors", "tandem"])
def test_the_arduino_sketch_answers(name, tmp_path):
    """`make arduino` completes the library; with a stand-in for Arduino the sketch answers a hello and a sample."""
    folder = project(name, tmp_path)
    make(folder, "arduino")
    source = folder / "arduino/TmlcdBoard/src"
    shutil.copy(STUB, source / "Arduino.h")
    (source / "main.cpp").write_text(MAIN)
    shutil.copy(source.parent / "examples/Board/Board.ino", source)
    c_files, strict = sorted(p.name for p in source.glob("*.c")), ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
    subprocess.run(["gcc", "-c", "-std=c99", "-O1", *strict, "-ffp-contract=off", *c_files], cwd=source, check=True)
    objects = [f"{Path(f).stem}.o" for f in c_files]
    program = ["g++", "-O1", *strict, "-I.", "TmlcdBoard.cpp", "main.cpp", *objects, "-o", "sketch"]
    subprocess.run(program, cwd=source, check=True)
    sample = (0).to_bytes(2, "little") + X[0].astype("<f4").tobytes()
    asked = encode("i", 0) + encode("x", 1, sample) + encode("o", 2, (-1).to_bytes(4, "little", signed=True))
    done = subprocess.run(["./sketch"], cwd=source, input=asked, capture_output=True, check=True)
    found = [decode(frame) for frame in done.stdout.split(b"\0")[:-1]]
    assert [(kind, sequence) for kind, sequence, _ in found] == [("I", 0), ("I", 0), ("X", 1), ("O", 2)]
    assert found[1][2].endswith(b"arduino")


def test_a_board_of_ones_own_has_no_platformio_file(tmp_path):
    mine = Board("mine", "cortex-m4", 84, 100_000, 512 * 1024)
    folder = project("vectors", tmp_path, mine)
    assert not (folder / "platformio.ini").exists() and (folder / "library.json").is_file()


def test_the_readme_says_what_was_tried_and_what_was_not(tmp_path):
    text = (project("vectors", tmp_path) / "README.md").read_text()
    assert "From this folder to a talking board" in text and "| not tried |" in text
    assert text.count("a real board") >= 2 and "tmlcd board --port PORT" in text
    assert [int(n) for n in re.findall(r"^(\d)\. ", text, re.MULTILINE)] == [1, 2, 3, 4, 5, 6, 7]
