"""One root exception; every message names the offending value and says what to do."""

from collections.abc import Mapping
from typing import Any


class TmlcdError(Exception):
    """Root of every error that tmlcd_core raises on purpose.

    `remedy` are settings that would help, if there are any: a page can offer them as a button.

    >>> ConfigError("classes=2: at least 3 are needed", remedy={"classes": 3}).remedy
    {'classes': 3}
    """

    def __init__(self, *args: object, remedy: Mapping[str, Any] | None = None, **named: Any) -> None:
        super().__init__(*args, **named)  # an ImportError has a name
        self.remedy = dict(remedy or {})


class ConfigError(TmlcdError, ValueError):
    """A setting is out of its range or of the wrong kind."""


class DataError(TmlcdError, ValueError):
    """Features, labels, an image or a folder cannot be used as given."""


class AudioError(DataError):
    """A clip cannot be decoded, or what it holds is not one usable second of sound."""


class ExportError(TmlcdError, ValueError):
    """A model or a configuration that the C export cannot express, or that a board cannot hold."""


class MissingPackageError(TmlcdError, ImportError):
    """An optional package is not installed; the message names the install command."""
