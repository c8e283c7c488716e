"""The WebAssembly module: built from the C sources that are here, byte for byte."""

import json
from importlib import resources

from tmlcd_core.mcu.wasm import build, module

ABOUT = json.loads(resources.files("tmlcd_core.mcu.wasm").joinpath("learners.json").read_text("utf-8"))


def test_module_is_of_these_sources():
    message = "the C code has changed: run `python -m tmlcd_core.mcu.wasm.build` and commit learners.wasm and .json"
    assert ABOUT["sources"] == build.digest_of_sources(), message


def test_build_gives_the_same_bytes():
    assert ABOUT["compiler"] == f"ziglang {build.compiler_version()}", "build it again with the pinned compiler"
    assert build.build() == module()


def test_module_imports_nothing_and_exports_what_the_page_calls():
    content = module()
    assert content[:8] == b"\0asm\1\0\0\0" and len(content) < 20_000
    sections = {}
    place = 8
    while place < len(content):  # a section is its id, its length (LEB128) and its content
        kind, place = content[place], place + 1
        size = shift = 0
        while True:
            byte, place = content[place], place + 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        sections[kind] = content[place : place + size]
        place += size
    assert 2 not in sections, "it imports something"
    script = resources.files("tmlcd_core.web").joinpath("learners.js").read_text("utf-8")
    for name in ("tml_open", "tml_set", "tml_hold", "tml_fit", "tml_run", "tml_rows", "tml_labels"):
        assert name.encode() in sections[7] and f"core.{name}(" in script
