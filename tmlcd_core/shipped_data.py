"""Folder of the shipped data: inside the package in a wheel, next to the package in the repository."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
PLACE = _PACKAGE / "data" if (_PACKAGE / "data").is_dir() else _PACKAGE.parent / "data"
