"""Build of the WebAssembly modules from the C core: `python -m tmlcd_core.mcu.wasm.build` writes NAME.wasm.

The compiler is Zig's, from PyPI (requirements-dev.txt); the same version gives the same bytes. `NAME.json` holds the
compiler's version and a digest of the sources, so that a test notices a change of the C code without a new build.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from tmlcd_core.learners.tandem_kernels import EXPERTS
from tmlcd_core.mcu.c_literals import c_array
from tmlcd_core.mcu.front_ends import FRONT_ENDS, LISTENING, SHARED_SOURCES
from tmlcd_core.mcu.generated_c import FRONT_END_CODES, GAP_TOLERANCE, LAYOUT_CODES, STORE_CODES, candidates
from tmlcd_core.mcu.link import LEARNER_CODES

HERE = Path(__file__).parent
STREAMS = {"learners": "learners.c", "tandem": "tandem_stream.c"}  # modules that take feature vectors
MODULES = (*STREAMS, *FRONT_ENDS)
MOST_SAMPLES = 65_535  # in T of a module that takes feature vectors: counted in 16 bits
MOST_CLASSES = 64
ROOM_FOR_TAKES = 300  # in T of a front end's module: those of a live session
COMMON_FILES = ("tmlcd.h", "model.h", "mathfn.h", "mathfn.c", "cusum.h", "cusum.c")
LEARNER_FILES = (*COMMON_FILES, "knn.h", "knn.c", "learner.c")
TANDEM_FILES = (*COMMON_FILES, "tandem.c")
FLAGS = (
    "--target=wasm32-freestanding", "-std=c99", "-O3", "-msimd128", "-ffp-contract=off", "-nostdlib",
    "-fno-sanitize=all", "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=16384",
)  # fmt: skip


def configuration(name: str) -> str:
    """Return the text of config.h of a module: all learners are included, sizes and settings are set by the page."""
    defines: dict[str, Any] = {
        code: i for codes in (LAYOUT_CODES, STORE_CODES) for i, code in enumerate(codes.values())
    }
    defines |= {f"TML_{learner.upper()}": i for i, learner in enumerate(LEARNER_CODES)}
    defines |= {
        "TML_CLASSES": MOST_CLASSES,
        "TML_INITIAL": 0,
        "TML_KEEP": 0,
        "TML_LAYOUT": "TML_STREAMED",
        "TML_STORE": "TML_FLOAT32",
        "TML_LEARNER": "TML_HYBRID",
        "TML_TESTS": 1,
        "TML_HISTORY": 1,
        "TML_K": 0,
        "TML_BY_DISTANCE": 0,
        "TML_THRESHOLD": "25.0",
        "TML_BATCH": 50,
        "TML_WARMUP": 100,
        "TML_CANDIDATES": len(candidates()),
        "TML_GAP": (0.03 - GAP_TOLERANCE).hex(),
        "TML_DOWN": 1,
        "TML_LOGARITHM": 0.5,
        "TML_CONDENSE": 1,
    }
    later = "extern uint32_t tml_features, tml_capacity;"
    if name in STREAMS:
        defines |= {
            "TML_SIZED_LATER": 1,
            "TML_FEATURES": "tml_features",
            "TML_CAPACITY": "tml_capacity",
            "TML_ROOM": MOST_SAMPLES,
            "TML_MAX_SIZE": MOST_SAMPLES,
            "TML_AUDIO": 0,
            "TML_MARGIN": (1e-3).hex(),
            "TML_BINOMIAL": 0,
        }
        if name == "tandem":
            defines |= {"TML_LEARNER": "TML_TANDEM", "TML_EXPERTS": EXPERTS, "TML_SEEN": 0, "TML_LEARNED": 0}
            defines |= {"TML_LOW": "tml_low", "TML_LEVELS": "tml_levels"}
    else:
        later = "extern double tml_margin, tml_farthest;\nextern uint32_t tml_keep, tml_named_count;"
        defines |= {code: i for i, code in enumerate(FRONT_END_CODES.values())}
        defines |= {
            "TML_FEATURES": FRONT_ENDS[name].n_features,
            "TML_CAPACITY": ROOM_FOR_TAKES,
            "TML_MAX_SIZE": ROOM_FOR_TAKES,
            "TML_AUDIO": 1,
            "TML_MARGIN": "tml_margin",
            "TML_KEEP": "tml_keep",
            "TML_SIMD": 1,  # same bits; the first word, before the browser has optimised the code, takes half the time
            "TML_LIMITED": 1,
            "TML_FARTHEST": "tml_farthest",
            "TML_NAMED": ROOM_FOR_TAKES,
            "TML_NAMED_COUNT": "tml_named_count",
            "TML_NAMED_TYPE": "tml_value",
            "TML_BINOMIAL": 1,  # as in a live session
            "TML_FRONT_END": FRONT_END_CODES[name],
        }
        defines |= {f"TML_{key.upper()}": value for key, value in LISTENING.items()}
        defines |= dict(FRONT_ENDS[name].defines())
    lines = [f"#define {key} {value}" for key, value in defines.items()]
    return "\n".join(["#include <stdint.h>", *lines, later, ""])


def constants(name: str) -> str:
    """Return the text of model.c of a module: the candidate accuracies, and the tables of its front end."""
    grid = ",\n".join(float(value).hex() for value in candidates())
    parts = [f'#include "model.h"\nconst double tml_candidates[TML_CANDIDATES] = {{\n{grid}\n}};\n']
    if name in FRONT_ENDS:
        parts += [c_array(t.declaration, t.values, t.floating) for t in FRONT_ENDS[name].tables()]
    return "\n".join(parts)


def sources(name: str) -> dict[str, str]:
    """Return all files that a module is compiled from, by file name."""
    core = resources.files("tmlcd_core.mcu").joinpath("c")
    own = [STREAMS[name], "blocks.h"] if name in STREAMS else ["words.c"]
    files = [*(TANDEM_FILES if name == "tandem" else LEARNER_FILES)]
    if name in FRONT_ENDS:
        files += [*SHARED_SOURCES, *FRONT_ENDS[name].sources]
    found = {file: core.joinpath(file).read_text(encoding="utf-8") for file in files}
    found |= {file: (HERE / file).read_text(encoding="utf-8") for file in own}
    return found | {"config.h": configuration(name), "model.c": constants(name)}


def digest_of_sources(name: str) -> str:
    """Return the digest of a module's sources and of the compiler's options."""
    text = json.dumps([sources(name), FLAGS], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def compiler_version() -> str:
    """Return the version of the installed Zig."""
    return subprocess.run(
        [sys.executable, "-m", "ziglang", "version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def build(name: str) -> bytes:
    """Compile a module; return its bytes."""
    texts = sources(name)
    # A stream's file includes the core, to read its state; a front end's files have names in common and stay apart.
    files = [STREAMS[name], "model.c"] if name in STREAMS else sorted(file for file in texts if file.endswith(".c"))
    with tempfile.TemporaryDirectory() as folder:
        for file, text in texts.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *files, "-o", "out.wasm"]
        subprocess.run(command, cwd=folder, check=True)
        return (Path(folder) / "out.wasm").read_bytes()


if __name__ == "__main__":
    for module_name in MODULES:
        made = build(module_name)
        (HERE / f"{module_name}.wasm").write_bytes(made)
        about = {"compiler": f"ziglang {compiler_version()}", "sources": digest_of_sources(module_name)}
        (HERE / f"{module_name}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        print(f"{module_name}.wasm: {len(made):,} bytes")
