"""The project itself: layers, imports, the package."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tmlcd_core.cli import command as command_line

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tmlcd_core"
# Higher layers may import lower ones (design, "The layers"); what is not listed is below them all.
LAYERS = [
    "cli",
    "web",
    "capymoa",
    "river",
    "viz",
    "paper",
    "live",
    "experiments",
    "streams",
    "mcu",
    "datasets",
    "features",
    "learners",
    "detectors",
    "knn",
]
HEAVY = {
    "capymoa",
    "torch",
    "torchvision",
    "librosa",
    "river",
    "streamlit",
    "plotly",
    "pandas",
    "sounddevice",
    "espeakng_loader",
    "matplotlib",
}


def layer_of(module: str) -> int:
    part = module.split(".")[1] if "." in module else ""
    return LAYERS.index(part) if part in LAYERS else len(LAYERS)


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports, and whether it does so when it is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for parent in ast.walk(tree)
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(parent, ast.If) and "TYPE_CHECKING" in ast.unparse(parent.test))
        for node in ast.walk(parent)
    }
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found += [(name, id(node) not in inside) for name in names]
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_layers_import_downwards_only(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    own = layer_of(module)
    entry = module in ("tmlcd_core.__init__", "tmlcd_core.__main__")
    for name, at_load in imports(path):
        if name.startswith("tmlcd_core.") and not entry:
            assert layer_of(name) >= own, f"{module} imports {name}, a higher layer"
        root = name.split(".")[0]
        assert root not in ("streamlit", "pages", "app"), f"{module} imports {root}"
        if module != f"tmlcd_core.{root}":  # tmlcd_core.river subclasses river's classes, tmlcd_core.capymoa CapyMOA's
            assert not (at_load and root in HEAVY), f"{module} imports {root} when it is loaded: do so in a function"


def test_messages_of_errors_end_without_a_full_stop():
    ends = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
        for text in [node.exc.args[0]]
        if str(getattr(text.values[-1] if isinstance(text, ast.JoinedStr) else text, "value", "")).endswith(".")
    ]
    assert not ends


def test_no_function_takes_more_than_twelve_parameters():
    long = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                if len(names) - (names[:1] in (["self"], ["cls"])) > 12:
                    long.append(f"{path.name}:{node.lineno} {node.name}")
    assert not long, "pass a named structure instead"


def python(code: str, **kwargs) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **kwargs).stdout


def test_import_loads_nothing_heavy():
    code = "import sys, tmlcd_core; print(' '.join(sorted(m.split('.')[0] for m in sys.modules)))"
    assert not set(python(code, cwd=ROOT).split()) & (HEAVY | {"sklearn", "scipy", "numba"})
    code = "import sys; from tmlcd_core import HybridTinyKNN; print(' '.join(m.split('.')[0] for m in sys.modules))"
    assert not set(python(code, cwd=ROOT).split()) & (HEAVY - {"pandas"})  # scikit-learn itself looks for pandas


def test_public_names_resolve():
    import tmlcd_core

    for name in tmlcd_core.__all__:
        assert getattr(tmlcd_core, name).__module__.startswith("tmlcd_core.")
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tmlcd_core.nonsense


# ---------------------------------------------------------------- the lock

PYTHONS = ("3.11", "3.12", "3.13")  # that the pinned versions support


def locked() -> dict[str, tuple[Requirement, int]]:
    """Requirement and number of hashes of every package in the lock, by its name."""
    text = (ROOT / "requirements.lock").read_text("utf-8").replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            stated, *hashes = re.split(r"\s+--hash=sha256:", line)
            assert all(re.fullmatch(r"[0-9a-f]{64}", digest.strip()) for digest in hashes)
            requirement = Requirement(stated)
            assert canonicalize_name(requirement.name) not in found, "one version for every Python"
            found[canonicalize_name(requirement.name)] = requirement, len(hashes)
    return found


def requirements() -> list[Requirement]:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_lock_has_every_requirement_but_torch_with_its_version_and_hashes():
    lock = locked()
    assert not {"torch", "torchvision"} & set(lock), "their builds differ by index"
    for wanted in requirements():
        if wanted.name not in ("torch", "torchvision"):
            found, hashes = lock[canonicalize_name(wanted.name)]
            assert found.specifier == wanted.specifier and hashes
    assert all(hashes for _, hashes in lock.values())


@pytest.mark.parametrize("python_version", PYTHONS)
def test_lock_is_closed_for_every_python(python_version):
    """What a locked package needs, or torch without CUDA, is locked in a version that it accepts."""
    lock = locked()
    place = {"python_version": python_version, "python_full_version": f"{python_version}.0", "extra": ""}
    for name in [*lock, "torch", "torchvision"]:
        if name in lock and (marker := lock[name][0].marker) and not marker.evaluate(place):
            continue
        try:
            needed = [Requirement(text) for text in metadata.requires(name) or []]
        except metadata.PackageNotFoundError:  # of another Python or system than this one
            assert lock[name][0].marker
            continue
        for need in needed:
            if re.match("nvidia|cuda|triton|torch$", need.name) or (need.marker and not need.marker.evaluate(place)):
                continue
            found = lock[canonicalize_name(need.name)][0]
            assert found.marker is None or found.marker.evaluate(place), f"{name} needs {need}"
            version = str(found.specifier).removeprefix("==")
            assert need.specifier.contains(version, prereleases=True), f"{name} needs {need}, locked is {version}"


def test_lock_and_requirements_name_no_index():
    for name in ("requirements.lock", "requirements.txt", "requirements-dev.txt"):
        assert not re.search(r"https?:|--(extra-)?index|--find-links", (ROOT / name).read_text("utf-8"))


# ---------------------------------------------------------------- around the code

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_runs_what_exists_on_supported_pythons(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"} and job["timeout-minutes"]
    assert job["strategy"]["matrix"]["python"] == [PYTHONS[0], PYTHONS[-1]]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert set(words) <= targets
        elif "/" in program:
            assert (ROOT / program).stat().st_mode & 0o100, f"{program} is not executable"
        elif program == "tmlcd":
            command_line.parser_of_commands().parse_args(words)


def test_there_are_workflows_to_check_document_test_and_build():
    assert [path.stem for path in WORKFLOWS] == ["check", "docs", "test", "wheel"]


def test_fast_tests_of_make_check_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    names = re.search(r"^FAST := (.+)$", makefile, re.M)[1].split()
    assert len(names) > 5 and all((ROOT / name).exists() for name in names)


def test_pre_commit_runs_the_tools_of_make_lint():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert repository["repo"] == "local", "no second list of versions"
    entries = {hook["entry"].removesuffix(" --fix") for hook in repository["hooks"]}
    assert entries == {".venv/bin/ruff check", ".venv/bin/ruff format", ".venv/bin/mypy"}


def test_devcontainer_makes_the_environment_of_the_tests():
    made = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert made["postCreateCommand"].endswith("make .venv/.dev")
    assert any(f":{version}-" in made["image"] for version in PYTHONS)


def test_citation_names_the_paper_and_no_second_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" not in citation, "it stands in tmlcd_core/__init__.py"
    assert citation["authors"] == project["authors"] and citation["license"] == project["license"]
    paper = citation["preferred-citation"]
    assert paper["title"] == "Tiny Machine Learning for Concept Drift"
    assert [author["family-names"] for author in paper["authors"]] == ["Disabato", "Roveri"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_issue_form_has_what_github_wants(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    assert all(part["type"] in ("textarea", "input") and part["attributes"]["label"] for part in form["body"])
    assert len({part["id"] for part in form["body"]}) == len(form["body"])
