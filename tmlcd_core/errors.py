"""Exceptions of tmlcd_core; every message names the invalid value and a remedy."""

from collections.abc import Mapping
from typing import Any


class TmlcdError(Exception):
    """Base class of all errors raised by tmlcd_core.

    `remedy` maps settings to values that would solve the problem; a page can offer them as a button.

    >>> ConfigError("classes=2: at least 3 are needed", remedy={"classes": 3}).remedy
    {'classes': 3}
    """

    def __init__(self, *args: object, remedy: Mapping[str, Any] | None = None, **named: Any) -> None:
        super().__init__(*args, **named)  # an ImportError accepts `name`
        self.remedy = dict(remedy or {})


class ConfigError(TmlcdError, ValueError):
    """A setting is out of range or has the wrong type."""


class DataError(TmlcdError, ValueError):
    """Features, labels, an image or a folder cannot be used."""


class AudioError(DataError):
    """A clip cannot be decoded or contains no usable sound."""


class ExportError(TmlcdError, ValueError):
    """The C export does not support a model or setting, or the board's memory is too small."""


class BoardError(TmlcdError, RuntimeError):
    """A connected or emulated board does not answer as it should."""


class MissingPackageError(TmlcdError, ImportError):
    """An optional package is not installed; the message names the install command."""
