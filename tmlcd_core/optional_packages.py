"""Optional packages: the extra that installs each, and an error with the install command if one is missing."""

from __future__ import annotations

import importlib.util
import sys

from tmlcd_core.errors import MissingPackageError

# module: (name on PyPI, extra of tmlcd-core that installs it); pyproject.toml has the versions
PACKAGES = {
    "PIL": ("pillow", "data"),
    "anywidget": ("anywidget", "notebook"),
    "capymoa": ("capymoa", "capymoa"),
    "distributed": ("distributed", "cluster"),
    "espeakng_loader": ("espeakng-loader", "data"),
    "librosa": ("librosa", "torch"),
    "matplotlib": ("matplotlib", "figures"),
    "pandas": ("pandas", "tables"),
    "plotly": ("plotly", "figures"),
    "pyarrow": ("pyarrow", "tables"),
    "river": ("river", "river"),
    "serial": ("pyserial", "board"),
    "sounddevice": ("sounddevice", "app"),
    "soundfile": ("soundfile", "data"),
    "soxr": ("soxr", "data"),
    "torch": ("torch", "torch"),
    "torchvision": ("torchvision", "torch"),
}


def missing_package(module: str) -> str | None:
    """Return a message with the install command for `module`; None if it is installed.

    Examples
    --------
    >>> missing_package("river") is None
    True
    """
    if sys.modules.get(module) or importlib.util.find_spec(module):
        return None
    package, extra = PACKAGES[module]
    return f'the package {package} is not installed: pip install "tmlcd-core[{extra}]" (or: pip install {package})'


def require(module: str) -> None:
    """Raise a MissingPackageError with the install command if `module` is not installed; call it before the import."""
    if message := missing_package(module):
        raise MissingPackageError(message, name=module)
