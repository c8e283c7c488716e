"""The WebAssembly modules: built from the C sources that are here, byte for byte."""

import json
from importlib import resources

import pytest

from tmlcd_core.mcu.wasm import build, module

LARGEST = {"learners": 20_000, "tandem": 20_000, "word": 30_000, "speech": 400_000, "filter": 100_000}  # bytes
CALLED = {
    "learners": (
        "tml_open",
        "tml_set",
        "tml_hold",
        "tml_fit",
        "tml_run",
        "tml_rows",
        "tml_labels",
        "tml_stored",
        "tml_stored_row",
        "tml_stored_label",
        "tml_stored_time",
    ),
    "tandem": ("tml_open", "tml_set", "tml_hold", "tml_fit", "tml_learn", "tml_run", "tml_needed", "tml_failed"),
    "word_core": (
        "words_set",
        "words_grid",
        "words_hold",
        "words_name",
        "words_hear",
        "words_predict",
        "words_observe",
    ),
}


def about(name):
    return json.loads(resources.files("tmlcd_core.mcu.wasm").joinpath(f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", build.MODULES)
def test_module_is_of_these_sources(name):
    message = f"the C code has changed: run `python -m tmlcd_core.mcu.wasm.build` and commit {name}.wasm and .json"
    assert about(name)["sources"] == build.digest_of_sources(name), message


@pytest.mark.parametrize("name", build.MODULES)
def test_build_gives_the_same_bytes(name):
    assert about(name)["compiler"] == f"ziglang {build.compiler_version()}", "build it again with the pinned compiler"
    assert build.build(name) == module(name)


@pytest.mark.parametrize("name", build.MODULES)
def test_module_imports_nothing_and_exports_what_the_page_calls(name):
    content = module(name)
    assert content[:8] == b"\0asm\1\0\0\0" and len(content) < LARGEST[name]
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
    called = name if name in build.STREAMS else "word_core"
    script = "learners" if name in build.STREAMS else "word_core"
    text = resources.files("tmlcd_core.web").joinpath(f"{script}.js").read_text("utf-8")
    for function in CALLED[called]:
        assert function.encode() in sections[7] and f"core.{function}(" in text
