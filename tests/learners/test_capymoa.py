"""The CapyMOA classifier in CapyMOA's own prequential evaluation, against the core.

CapyMOA needs Java and pandas 2: `make capymoa-test` makes an environment for it and names its Python in
TMLCD_CAPYMOA_PYTHON.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tmlcd_core
from tests.conftest import gaussian_stream

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("TMLCD_CAPYMOA_PYTHON")
needs_capymoa = pytest.mark.skipif(
    not (PYTHON and shutil.which("java")),
    reason="*** NO CAPYMOA: TMLCD_CAPYMOA_PYTHON is not set or there is no Java; run make capymoa-test ***",
)


def capymoa(*arguments: str) -> str:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([str(PYTHON), *arguments], env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_capymoa
@pytest.mark.parametrize("name", ["CondensingInTime", "ActiveTinyKNN", "HybridTinyKNN"])
def test_prequential_evaluation_of_capymoa_equals_the_core(name, tmp_path):
    X0, y0, X, y = gaussian_stream(n0=100, n=900, change=400)
    path = tmp_path / "stream.npz"
    np.savez(path, X=np.r_[X0, X], y=np.r_[y0, y], initial=100)
    found = json.loads(capymoa("tests/learners/capymoa_run.py", str(path), name).splitlines()[-1])
    core = getattr(tmlcd_core, name)().fit(X0, y0)
    trace = core.run(X, y)
    assert found["name"] == name and found["given_is_untouched"]
    assert found["predictions"][0] is None and found["predictions"][100:] == trace.predictions.tolist()
    assert found["size"] == len(core)
    np.testing.assert_array_equal(found["shares"], core.predict_proba(X[-1:])[0])
    right = sum(p == t for p, t in zip(found["predictions"], np.r_[y0, y].tolist(), strict=True))
    assert found["accuracy"] == pytest.approx(100 * right / 1000, abs=0.2)  # the first instance has no prediction


@needs_capymoa
def test_the_example_in_the_docstring_runs():
    told = capymoa("-c", "import doctest, tmlcd_core.capymoa as c; print(doctest.testmod(c, raise_on_error=True))")
    assert "failed=0, attempted=6" in told
