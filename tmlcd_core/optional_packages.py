"""Optional packages: the extra that brings each, and an error that names the install command where one is missing."""

from __future__ import annotations

import importlib.util
import sys

from tmlcd_core.errors import MissingPackageError

# module: (its name on PyPI, the extra of tmlcd-core that brings it); pyproject.toml holds the versions
PACKAGES = {
    "PIL": ("pillow", "data"),
    "capymoa": ("capymoa", "capymoa"),
    "distributed": ("distributed", "cluster"),
    "espeakng_loader": ("espeakng-loader", "data"),
    "matplotlib": ("matplotlib", "figures"),
    "plotly": ("plotly", "figures"),
    "river": ("river", "river"),
    "sounddevice": ("sounddevice", "app"),
    "soundfile": ("soundfile", "data"),
    "soxr": ("soxr", "data"),
    "torch": ("torch", "torch"),
    "torchvision": ("torchvision", "torch"),
}


def missing_package(module: str) -> str | None:
    """What to install before `module` can be imported; None where it is installed.

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
    """Raise a MissingPackageError with the install command unless `module` is installed; stands before its import."""
    if message := missing_package(module):
        raise MissingPackageError(message, name=module)
