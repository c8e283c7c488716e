"""The folder of the shipped data: a wheel holds it inside the package, the repository beside it."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
PLACE = _PACKAGE / "data" if (_PACKAGE / "data").is_dir() else _PACKAGE.parent / "data"
