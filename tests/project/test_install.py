"""The wheel, installed where only the declared dependencies are: command, data, licences, optional packages."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tmlcd_core
from tmlcd_core.errors import MissingPackageError
from tmlcd_core.optional_packages import PACKAGES, missing_package, require

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES = [Requirement(text).name for text in PROJECT["dependencies"]]
EXTRAS = {
    extra: {canonicalize_name(Requirement(text).name) for text in texts}
    for extra, texts in PROJECT["optional-dependencies"].items()
}


def with_what_they_need(names: list[str]) -> set[str]:
    """Distributions of this environment that an installer would bring for `names`."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = canonicalize_name(left.pop())
        if name in found:
            continue
        found.add(name)
        needs = [Requirement(text) for text in metadata.requires(name) or []]
        left += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder of the commands of an environment with the wheel and what it declares, and nothing else."""
    place = tmp_path_factory.mktemp("installed")
    source = place / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "wheel", *offline, "--no-build-isolation", "-w", str(place), str(source)], check=True)
    venv.create(place / "venv", with_pip=False)
    commands = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    wheel = next(place.glob("*.whl"))
    subprocess.run([*pip, "--python", str(commands / "python"), "install", *offline, str(wheel)], check=True)
    packages = next(place.glob("venv/**/site-packages"))
    for name in with_what_they_need(DEPENDENCIES):
        distribution = metadata.distribution(name)
        for top in {Path(str(file)).parts[0] for file in distribution.files or []} - {".."}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))).resolve())
    return commands


def run(command: list[str], installed: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["TMLCD_CACHE"] = str(installed.parent / "cache")
    program = [str(installed / command[0]), *command[1:]]
    done = subprocess.run(program, cwd=installed, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def python(code: str, installed: Path) -> str:
    return run(["python", "-c", code], installed).stdout.strip()


# ---------------------------------------------------------------- what is declared


def test_version_stands_in_one_place():
    assert PROJECT["dynamic"] == ["version"] and "version" not in PROJECT
    assert not re.search(rf'"{re.escape(tmlcd_core.__version__)}"', (ROOT / "pyproject.toml").read_text("utf-8"))


def test_extras_have_bounds_but_no_exact_pins():
    for texts in PROJECT["optional-dependencies"].values():
        for requirement in map(Requirement, texts):
            if requirement.name != "tmlcd-core":
                assert [bound.operator for bound in requirement.specifier] == [">="], str(requirement)


def test_every_optional_package_is_in_the_extra_that_its_error_names():
    for module, (package, extra) in PACKAGES.items():
        assert package in EXTRAS[extra], module


def test_every_import_of_an_optional_package_asks_for_it_first():
    """A module that imports one calls `require` with its name, so that the error names the install command."""
    for path in (ROOT / "tmlcd_core").rglob("*.py"):
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        typing_only = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            if id(node) in typing_only or not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            module = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
            if (root := module.partition(".")[0]) in PACKAGES and path.name != "rebuild_stem.py":
                assert f'require("{root}")' in text or f"require_{root}()" in text, f"{path}: {root}"


def test_a_missing_package_is_an_import_error_that_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "soxr", None)
    with pytest.raises(
        MissingPackageError, match=r'pip install "tmlcd-core\[data\]" \(or: pip install soxr\)'
    ) as found:
        require("soxr")
    assert isinstance(found.value, ImportError) and found.value.name == "soxr"
    assert missing_package("numba") is None


# ---------------------------------------------------------------- what the wheel holds


def test_only_the_declared_dependencies_are_there(installed):
    found = json.loads(python(
        "import importlib.util, json; from tmlcd_core.optional_packages import PACKAGES; "
        "print(json.dumps([m for m in [*PACKAGES, 'pandas', 'librosa', 'streamlit'] if importlib.util.find_spec(m)]))",
        installed,
    ))  # fmt: skip
    assert found == []


def test_command_and_module_say_the_same(installed):
    helped = run(["tmlcd", "--help"], installed).stdout
    assert helped.startswith("usage: tmlcd ")
    asked = run(["python", "-m", "tmlcd_core", "--help"], installed).stdout
    assert re.findall(r"^    (\w[\w-]*)", helped, re.M) == re.findall(r"^    (\w[\w-]*)", asked, re.M)
    error = run(["tmlcd", "run", "--data"], installed, code=2).stderr
    assert error.count("\n") == 1 and "see tmlcd run --help" in error


def test_wheel_holds_version_data_and_licences(installed):
    found = json.loads(python(
        "import hashlib, json, tmlcd_core; from importlib.metadata import files, version; "
        "from tmlcd_core.shipped_data import PLACE; from tmlcd_core.datasets.pack import load_pack; "
        "digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest(); "
        "print(json.dumps({'file': tmlcd_core.__file__, 'version': version('tmlcd-core'), 'words': load_pack().words, "
        "'data': {str(p.relative_to(PLACE)): digest(p) for p in PLACE.rglob('*') if p.is_file()}, "
        "'licences': {p.name: p.read_text() for p in files('tmlcd-core') if 'licenses' in p.parts}}))",
        installed,
    ))  # fmt: skip
    assert Path(found["file"]).is_relative_to(installed.parent)
    assert found["version"] == tmlcd_core.__version__
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {f"data/{name}" for name in found["data"]} == set(tracked.split())
    assert found["words"] == ["yes", "no", "up"]
    assert found["licences"] == {name: (ROOT / name).read_text("utf-8") for name in ("LICENSE", "NOTICE")}


# ---------------------------------------------------------------- what it does there


def test_an_experiment_runs_with_the_declared_dependencies(installed):
    asked = "run --data points --learners cit,active,hybrid --runs 1 --per-class 100 --jobs 1 --json"
    found = json.loads(run(["tmlcd", *asked.split()], installed).stdout)
    assert set(found["learners"]) == {"cit", "active", "hybrid"}


@pytest.mark.parametrize(
    ("asked", "extra"),
    [
        ("run --data digits --runs 1", "data"),
        ("run --data speech --runs 1", "data"),
        ("run --data points --learners knn-adwin --runs 1 --jobs 1", "river"),
        ("run --data points --learners nn-fc1 --runs 1 --jobs 1", "torch"),
        ("run --data points --dask tcp://127.0.0.1:9 --runs 1", "cluster"),
        ("data make cifar10 --download", "torch"),
        ("export --board stm32f401 --out firmware", "data"),
        ("reproduce table1", "data"),
    ],
)
def test_a_command_names_the_extra_that_it_lacks(asked, extra, installed):
    error = run(["tmlcd", *asked.split()], installed, code=2).stderr.rpartition("error: ")[2]
    assert error.count("\n") == 1 and f'pip install "tmlcd-core[{extra}]"' in error


LIBRARY = {
    "tmlcd_core.river": "import tmlcd_core.river",
    "tmlcd_core.capymoa": "import tmlcd_core.capymoa",
    "river": "from tmlcd_core.streams.synthetic import sea_stream; sea_stream(10)",
    "torch": "from tmlcd_core.features.stem import torch_stem; torch_stem((1,))",
    "soxr": "from tmlcd_core.features.audio import make_clip; make_clip([0.0, 0.5] * 4000, 8000)",
    "soundfile": "from tmlcd_core.features.audio import load_clip; load_clip(b'RIFF')",
    "pillow": "from tmlcd_core.features.images import load_image; load_image(b'png')",
    "plotly": "from tmlcd_core.viz.plotly_json import plotly_figure; plotly_figure([], {})",
    "matplotlib": "from tmlcd_core.viz.matplotlib_figures import _figure; _figure(1.0)",
    "sounddevice": "from tmlcd_core.features.server_microphone import record; record(1.0)",
}


def test_a_function_names_the_extra_that_it_lacks(installed):
    script = "import json, sys\nfound = {}\n" + "".join(
        f"try:\n    {code}\nexcept Exception as error:\n    found[{name!r}] = [type(error).__name__, str(error)]\n"
        for name, code in LIBRARY.items()
    )
    found = json.loads(python(f"{script}print(json.dumps(found))", installed))
    assert set(found) == set(LIBRARY)
    for name, (kind, message) in found.items():
        assert kind == ("AudioError" if name == "sounddevice" else "MissingPackageError")
        assert re.search(
            rf'the package {name.removeprefix("tmlcd_core.")} is not installed: pip install "tmlcd-core\[\w+\]"',
            message,
        ), message


def test_an_export_of_the_installed_package_has_its_licences(installed):
    code = """
import numpy as np
from tmlcd_core import HybridTinyKNN
from tmlcd_core.mcu import export_firmware
files = export_firmware(HybridTinyKNN().fit(np.eye(4), list("abab"))).files
print(files["LICENSE"].split()[0], files["NOTICE"].split()[0])
"""
    assert python(code, installed).split() == ["BSD", "TML-CD"]
