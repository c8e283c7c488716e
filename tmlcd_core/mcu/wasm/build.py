"""Build of the WebAssembly module from the C core: `python -m tmlcd_core.mcu.wasm.build` writes learners.wasm.

The compiler is Zig's, from PyPI (requirements-dev.txt); the same version gives the same bytes. `learners.json` holds
the compiler's version and a digest of the sources, so that a test notices a change of the C code without a new build.
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

from tmlcd_core.mcu.export import GAP_TOLERANCE, LAYOUT_CODES, STORE_CODES, _candidates
from tmlcd_core.mcu.link import LEARNER_CODES

HERE = Path(__file__).parent
MODULE = "learners"
MOST_SAMPLES = 65_535  # in T: counted in 16 bits
MOST_CLASSES = 64
C_FILES = ("tmlcd.h", "model.h", "mathfn.h", "mathfn.c", "knn.h", "knn.c", "cusum.h", "cusum.c", "learner.c")
FLAGS = (
    "--target=wasm32-freestanding", "-std=c99", "-O3", "-msimd128", "-ffp-contract=off", "-nostdlib",
    "-fno-sanitize=all", "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=16384",
)  # fmt: skip


def configuration() -> str:
    """Return the text of config.h: sizes are variables, all learners are included."""
    defines: dict[str, Any] = {
        code: i for codes in (LAYOUT_CODES, STORE_CODES) for i, code in enumerate(codes.values())
    }
    defines |= {f"TML_{name.upper()}": i for i, name in enumerate(LEARNER_CODES)}
    defines |= {
        "TML_SIZED_LATER": 1,
        "TML_FEATURES": "tml_features",
        "TML_CAPACITY": "tml_capacity",
        "TML_ROOM": MOST_SAMPLES,
        "TML_MAX_SIZE": MOST_SAMPLES,
        "TML_CLASSES": MOST_CLASSES,
        "TML_INITIAL": 0,
        "TML_AUDIO": 0,
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
        "TML_CANDIDATES": len(_candidates()),
        "TML_GAP": (0.03 - GAP_TOLERANCE).hex(),
        "TML_MARGIN": (1e-3).hex(),
        "TML_DOWN": 1,
        "TML_BINOMIAL": 0,
        "TML_LOGARITHM": 0.5,
        "TML_CONDENSE": 1,
    }
    lines = [f"#define {name} {value}" for name, value in defines.items()]
    return "\n".join(["#include <stdint.h>", *lines, "extern uint32_t tml_features, tml_capacity;", ""])


def constants() -> str:
    """Return the text of model.c: the candidate accuracies."""
    grid = ",\n".join(float(value).hex() for value in _candidates())
    return f'#include "model.h"\nconst double tml_candidates[TML_CANDIDATES] = {{\n{grid}\n}};\n'


def sources() -> dict[str, str]:
    """Return all files that the module is compiled from, by name."""
    core = resources.files("tmlcd_core.mcu").joinpath("c")
    found = {name: core.joinpath(name).read_text(encoding="utf-8") for name in C_FILES}
    found |= {f"{MODULE}.c": (HERE / f"{MODULE}.c").read_text(encoding="utf-8")}
    return found | {"config.h": configuration(), "model.c": constants()}


def digest_of_sources() -> str:
    """Return the digest of the sources and of the compiler's options."""
    text = json.dumps([sources(), FLAGS], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def compiler_version() -> str:
    """Return the version of the installed Zig."""
    return subprocess.run(
        [sys.executable, "-m", "ziglang", "version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def build() -> bytes:
    """Compile the module; return its bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources().items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, f"{MODULE}.c", "model.c", "-o", "out.wasm"]
        subprocess.run(command, cwd=folder, check=True)
        return (Path(folder) / "out.wasm").read_bytes()


if __name__ == "__main__":
    made = build()
    (HERE / f"{MODULE}.wasm").write_bytes(made)
    about = {"compiler": f"ziglang {compiler_version()}", "sources": digest_of_sources()}
    (HERE / f"{MODULE}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(f"{MODULE}.wasm: {len(made):,} bytes")
