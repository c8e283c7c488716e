"""The CapyMOA classifier in CapyMOA's own prequential evaluation, against the core.

CapyMOA needs Java and pandas 2: `make capymoa-test` makes an environment for it and names its Python in
TMLCD_CAPYMOA_PYTHON.
"""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tmlcd_core
from tests.conftest import gaussian_stream
from tmlcd_core.errors import MissingPackageError

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


STREAMS = """
import json, numpy as np
from capymoa.stream.generator import SEA
from tmlcd_core import ConfigError, DataError, Experiment, CondensingInTime, prequential
from tmlcd_core.streams.foreign import foreign_recording
def whole(recording):
    blocks = list(recording.blocks())
    return np.concatenate([X for X, _ in blocks]).tolist(), np.concatenate([y for _, y in blocks]).tolist()
def refused(name):
    try:
        foreign_recording(name)
    except (ConfigError, DataError) as error:
        return str(error)
named = whole(foreign_recording("capymoa:SEA", samples=400, seed=3, scale="none"))
given = whole(foreign_recording(SEA(instance_random_seed=3), samples=400, scale="none"))
generator = SEA(instance_random_seed=3)
own = [generator.next_instance() for _ in range(400)]
run = prequential(CondensingInTime(), foreign_recording("capymoa:SEA", samples=400, seed=3))
experiment = Experiment("capymoa:SEA", samples=400, seed=3, learners=["cit"])
print(json.dumps({
    "same": named == given,
    "own": np.allclose(named[0], [one.x for one in own]) and named[1] == [str(one.y_label) for one in own],
    "run": [run.metrics.accuracy, float(experiment.run().learners["cit"].metrics.accuracy)],
    "random": experiment.is_random,
    "refused": [refused("capymoa:Nothing"), refused("capymoa:FriedTiny"), refused("capymoa:path")],
}))
"""


@needs_capymoa
def test_streams_of_capymoa_run_by_name_and_as_objects(tmp_path):
    found = json.loads(capymoa("-c", STREAMS).splitlines()[-1])
    assert found["same"] and found["own"] and found["random"]
    assert found["run"][0] == found["run"][1] > 0.5
    unknown, missing, bare = found["refused"]
    assert "capymoa has no stream 'Nothing'; there are" in unknown and "SEA" in unknown
    assert "download it once" in missing or "regression" in missing
    assert "capymoa has no stream 'path'" in bare and "MOAStream" not in bare


def test_a_name_of_capymoa_says_what_is_missing():
    if importlib.util.find_spec("capymoa"):
        pytest.skip("capymoa is installed")
    with pytest.raises(MissingPackageError, match="capymoa is not installed: pip install"):
        tmlcd_core.Experiment("capymoa:SEA", learners=["cit"]).run()
