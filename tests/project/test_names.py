"""One name, one thing: public definitions of tmlcd_core have names of their own."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "tmlcd_core"
SAME_ON_PURPOSE = {"river.py", "reference.py"}  # the learners for river, and the paper's algorithms in plain NumPy
CONVENTIONS = {"register", "main"}  # one for each command, one for each program


def definitions(path: Path) -> Iterator[tuple[str, bool]]:
    """Name of every public definition of a module, and whether it is a constant."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        for name in names:
            if not name.startswith("_") and name not in CONVENTIONS:
                yield name, name.isupper()


def exported(path: Path) -> set[str]:
    """Names in `__all__` of a module."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def shared_names(folder: Path) -> dict[str, list[str]]:
    """Public names that two modules of a package define, with the modules.

    Constants count if a package exports them. The compiled loops in `kernels` modules are always written with the
    name of their module.
    """
    files = [p for p in folder.rglob("*.py") if p.name not in SAME_ON_PURPOSE and not p.stem.endswith("kernels")]
    public = set().union(*map(exported, files))
    found = defaultdict(list)
    for path in sorted(files):
        for name, constant in definitions(path):
            if not constant or name in public:
                found[name].append(str(path.relative_to(folder)))
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_two_public_things_have_one_name():
    assert shared_names(CORE) == {}


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("class Fit: pass", "def Fit(): pass", True),
        ("Kind = int", "Kind = str", True),
        ("SIZE = 1", "SIZE = 2", False),
        ("__all__ = ['SIZE']\nSIZE = 1", "SIZE: int = 2", True),
        ("def _part(): pass", "def _part(): pass", False),
        ("def register(): pass", "def register(): pass", False),
    ],
)
def test_the_check_finds_a_shared_name(one, other, shared, tmp_path):
    (tmp_path / "one.py").write_text(one, encoding="utf-8")
    (tmp_path / "other.py").write_text(other, encoding="utf-8")
    assert bool(shared_names(tmp_path)) == shared
