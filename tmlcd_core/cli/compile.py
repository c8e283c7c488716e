"""The `compile` command: compile the numba functions ahead of the first run."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from tmlcd_core.cli.command import Report, add_command


def register(commands: Any) -> None:
    """Add the command `compile`."""
    add_command(commands, "compile", "compile the inner loops ahead of the first run", compile_loops)


def compile_loops(options: argparse.Namespace) -> Report:
    """Call every numba function once, so that numba caches its machine code; return a `Report` with the seconds."""
    from tmlcd_core.features import Extractor
    from tmlcd_core.learners import HybridTinyKNN, Tandem

    start = time.monotonic()
    X = np.eye(4, dtype=np.float32)
    for model in (HybridTinyKNN().fit(X, [0, 1, 0, 1]), Tandem().fit(X, [0, 1, 0, 1])):
        model.run(X, [0, 1, 0, 1])
        model.observe(X[0], 0)
        model.predict(X)
        model.neighbours(X)
    extractor = Extractor()
    extractor.transform(np.random.default_rng(0).normal(size=(1, extractor.samples)).astype(np.float32))
    seconds = round(time.monotonic() - start, 1)
    return Report({"seconds": seconds}, f"compiled in {seconds} s")
