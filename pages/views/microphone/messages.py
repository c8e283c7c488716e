"""Messages about the last event of a tab, shown below the recorder."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tmlcd_core.errors import TmlcdError

UPLOAD = re.compile(r"the upload of \d+ bytes")  # how errors of tmlcd_core name bytes without a file name


class Message(NamedTuple):
    """One message: its kind and its text (plain text, not Markdown)."""

    kind: Literal["info", "warning"]
    text: str


@dataclass
class Messages:
    """List of messages without repetitions: ten clips may fail for the same reason."""

    shown: list[Message] = field(default_factory=list)

    def info(self, text: str) -> None:
        """Add an information message."""
        self._add(Message("info", text))

    def warn(self, text: str) -> None:
        """Add a warning."""
        self._add(Message("warning", text))

    def clear(self) -> None:
        """Remove all messages."""
        self.shown.clear()

    @contextmanager
    def catch_errors(self, name: str = "") -> Iterator[None]:
        """Context manager that turns a TmlcdError into a warning; `name` is the file that the error is about."""
        try:
            yield
        except TmlcdError as error:
            text = UPLOAD.sub(name or "the recording", str(error))
            if not name:
                text = text[:1].upper() + text[1:]
            self.warn(text if name in text else f"{name}: {text}")

    def _add(self, message: Message) -> None:
        if message not in self.shown:
            self.shown.append(message)
