"""The project itself: layers, imports, the package."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tmlcd_core"
# Higher layers may import lower ones (design, "The layers"); what is not listed is below them all.
LAYERS = ["cli", "viz", "experiments", "mcu", "datasets", "features", "learners", "drift", "knn"]
HEAVY = {
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
        assert not (at_load and root in HEAVY), f"{module} imports {root} when it is loaded: do it inside a function"


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


def test_installed_package_works_on_its_own(tmp_path):
    """`pip install .` into an empty folder; the library then runs from there, without the repository."""
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    code = """
import numpy as np, tmlcd_core
from tmlcd_core import HybridTinyKNN
X = np.eye(4); model = HybridTinyKNN().fit(X, list("abab"))
print(tmlcd_core.__file__, model.predict(X[:1])[0])
"""
    env = {**os.environ, "PYTHONPATH": str(target)}
    where, label = python(code, cwd=tmp_path, env=env).split()
    assert where.startswith(str(target))
    assert label in "ab"
