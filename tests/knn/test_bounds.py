"""The compiled loops do not check indices; under numba's bounds checking the core's tests must pass all the same."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1800)  # everything is compiled again
def test_no_index_is_out_of_bounds(tmp_path):
    tests = [f"tests/knn/test_{name}.py" for name in ("knn", "condense")]
    tests += [f"tests/learners/test_{name}.py" for name in ("learners", "state_machine", "bad_input")]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
