"""Docstrings of the public functions, methods and classes of tmlcd_core and pages: result and array shapes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "tmlcd_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"])
Function = ast.FunctionDef | ast.AsyncFunctionDef
ARRAY = re.compile(r"NDArray|ArrayLike|DataFrame|\bndarray\b")
SHAPE = re.compile(r"\((?!X)[\w .…*/+-]*,[\w ,.…*/+-]*\)|\d-D\b|DataFrame|\bshape of\b")  # (n,), (n, d), 2-D, …
NOTHING = {"None", "NoReturn", "Never", "Iterator[None]", "AsyncIterator[None]", "Generator[None]"}
RESULT = re.compile(r"\b(return|yield)(s|ed)?\b|^(A|An|The|This|True|Number)\b", re.IGNORECASE)  # verb or noun phrase


class Public(NamedTuple):
    """A public definition: its place, its node, its docstring, and for a method the docstring of its class."""

    place: str
    node: Function | ast.ClassDef
    text: str
    around: str = ""


def definitions(path: Path) -> Iterator[Public]:
    """Public functions and classes of a file and their public methods; an override inherits the docstring."""
    tree = ast.parse(path.read_text("utf-8"))
    methods: dict[tuple[str, str], str] = {}  # docstrings by class and method
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        place, text = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", ast.get_docstring(node) or ""
        yield Public(place, node, text)
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, Function) and not method.name.startswith("_"):
                inherited = (methods.get((ast.unparse(base), method.name)) for base in node.bases)
                own = ast.get_docstring(method) or next(filter(None, inherited), "")
                methods[node.name, method.name] = own
                if not own and is_stub(method) and re.search(rf"\b{method.name}\b", text):
                    own = text  # a protocol describes its members in the docstring of the class
                yield Public(f"{place}.{method.name}", method, own, text)


def is_stub(method: Function) -> bool:
    """True if the body is only `...`."""
    return [ast.unparse(statement) for statement in method.body] == ["..."]


def lacks(public: Public) -> str:
    """The first thing that a docstring does not say, or an empty text."""
    node, text = public.node, public.text
    if not text:
        return "has no docstring"
    if isinstance(node, ast.ClassDef):
        return ""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    arrays = [a.arg for a in arguments if a.annotation and ARRAY.search(ast.unparse(a.annotation))]
    for array in arrays:
        known = text if re.search(rf"\b{array}\b", text) else f"{text}\n{public.around}"
        named = re.search(rf"\b{array}\b", known) or len(arrays) == 1
        if not (named and SHAPE.search(known)) and len(SHAPE.findall(text)) < len(arrays):
            return f"does not say the shape of {array}"
    result = ast.unparse(node.returns).strip("'\"") if node.returns else "None"
    said = result in NOTHING or RESULT.search(text) or re.search(rf"`{re.escape(result)}`", text)
    is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    shapes = ARRAY.search(result) and len(SHAPE.findall(text)) > len(arrays)
    return "" if said or is_property or shapes else f"does not say what it returns ({result})"


def complaints(path: Path) -> list[str]:
    """What the docstrings of a file do not say."""
    return [f"{public.place} {lack}" for public in definitions(path) if (lack := lacks(public))]


@pytest.mark.parametrize("name", [str(path.relative_to(ROOT)) for path in FILES])
def test_public_docstrings_say_what_is_returned_and_the_shape_of_arrays(name):
    assert complaints(ROOT / name) == []


@pytest.mark.parametrize(
    ("code", "lack"),
    [
        ("def f(): pass", "no docstring"),
        ("class C:\n  '''A class.'''\n  def f(self): pass", "no docstring"),
        ("def f() -> int:\n  '''Do it.'''", "what it returns (int)"),
        ("def f(X: NDArray) -> None:\n  '''Show X.'''", "shape of X"),
        ("def f(X: NDArray, y: NDArray) -> None:\n  '''Show X (n, d).'''", "shape of y"),
        ("def f(X: NDArray) -> NDArray:\n  '''Scale X (n, d).'''", "what it returns (NDArray)"),
        ("def f(X: NDArray, y: ArrayLike) -> int:\n  '''Return the sum of X (n, d) and y (n,).'''", ""),
        ("def f(X: NDArray) -> NDArray:\n  '''Scale X (n, d) to float32 (n, d).'''", ""),
        (
            "class B:\n  '''A base.'''\n  def f(self):\n    '''Do it.'''\nclass C(B):\n  '''C.'''\n  def f(self): pass",
            "",
        ),
        ("def _f(): pass\nclass _C: pass", ""),
    ],
)
def test_the_check_finds_what_is_missing(code, lack, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (path := tmp_path / "code.py").write_text(code, encoding="utf-8")
    found = complaints(path)
    assert len(found) == bool(lack) and lack in "".join(found)
