"""The same numbers on every processor: a small reproduction with all vector instructions, and with none but SSE2."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {  # what each library is told to take the processor for
    "NUMBA_CPU_NAME": "x86-64",
    "NUMBA_CPU_FEATURES": "",
    "NPY_DISABLE_CPU_FEATURES": " ".join(np._core._multiarray_umath.__cpu_dispatch__),
    "OPENBLAS_CORETYPE": "Prescott",
    "ATEN_CPU_CAPABILITY": "default",  # torch
    "MKL_CBWR": "COMPATIBLE",
    "DNNL_MAX_CPU_ISA": "SSE41",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-FMA,-FMA4",  # exp, log, pow, sin and cos
}


def started(folder: Path, processor: dict[str, str]) -> subprocess.Popen:
    """The small reproduction in a process with its own caches."""
    own = {"TMLCD_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    environment = {key: value for key, value in os.environ.items() if key not in PLAIN} | own | processor
    command = [sys.executable, "-W", "ignore", "-m", "tests.paper.digests_of_stages"]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.timeout(900)  # both processes compile everything anew
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the settings are those of x86-64 processors")
def test_every_stage_is_bit_for_bit_the_same_on_a_plain_processor(tmp_path):
    processes = [started(tmp_path / "own", {}), started(tmp_path / "plain", PLAIN)]
    own, plain = (json.loads(process.communicate()[0]) for process in processes)
    assert plain["processor"]["numba"] == "x86-64"
    assert not set(PLAIN["NPY_DISABLE_CPU_FEATURES"].split()) & set(plain["processor"]["numpy"])
    assert len(own["digests"]) > 50
    different = [stage for stage, digest in own["digests"].items() if plain["digests"][stage] != digest]
    assert different == []
