"""Host side of the serial protocol (`c/protocol.h`): frames with checksum, requests and answers of a board."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import BoardError
from tmlcd_core.optional_packages import require

VERSION = 2
BAUD = 115_200
PAYLOAD = 240  # bytes
OVERHEAD = 4  # type, sequence number, checksum
SILENCE = 2.0  # seconds without an answer before a request is repeated
TRIES = 4
LEARNER_CODES = ("static", "incremental", "cit", "hybrid", "active", "tandem")
STORE_NAMES = ("float32", "int16", "uint8")
SETTINGS = ("threshold", "learner", "max_size", "k", "by_distance", "batch", "warmup", "down", "condense")
REASONS = {1: "it does not know this request", 2: "the request has a wrong length", 3: "it has no sample yet"}
_SETTINGS, _HELLO, _ANSWER = struct.Struct("<d8I"), struct.Struct("<4B4H4I"), struct.Struct("<i7Id")
_HEARD = struct.Struct("<IIfi")


class BoardSilent(BoardError):
    """The board did not answer, or the connection broke: it may come back."""


class Line(Protocol):
    """Serial line: pyserial's object, or a substitute in tests."""

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes; fewer, or none, after the line's own timeout."""

    def write(self, data: bytes) -> Any:
        """Send all bytes; what it returns is not used."""

    def close(self) -> None:
        """Close the line."""


def checksum(data: bytes) -> int:
    """Return CRC-16/CCITT-FALSE.

    >>> hex(checksum(b"123456789"))
    '0x29b1'
    """
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def encode(kind: str, sequence: int, payload: bytes = b"") -> bytes:
    """Return a frame: COBS of type, sequence number, payload and checksum, and a zero byte.

    >>> encode("i", 0).hex(" ")
    '02 69 03 bd ac 00'
    """
    if len(payload) > PAYLOAD:
        raise ValueError(f"{len(payload)} bytes do not fit a frame of {PAYLOAD}")
    data = bytes([ord(kind), sequence]) + payload
    data += checksum(data).to_bytes(2, "little")
    return b"".join(bytes([len(part) + 1]) + part for part in data.split(b"\0")) + b"\0"


def decode(frame: bytes) -> tuple[str, int, bytes] | None:
    """Return type, sequence number and payload of a frame without its zero byte; None if it is damaged.

    >>> decode(encode("o", 7, b"a\\0b")[:-1])
    ('o', 7, b'a\\x00b')
    """
    parts, at = [], 0
    while at < len(frame):
        length = frame[at]
        parts.append(frame[at + 1 : at + length])
        at += length
    data = b"\0".join(parts)
    if at != len(frame) or len(data) < OVERHEAD or checksum(data[:-2]) != int.from_bytes(data[-2:], "little"):
        return None
    return chr(data[0]), data[1], data[2:-2]


@dataclass(frozen=True)
class BoardInfo:
    """Answer to a hello: firmware, model and board. `front_end` is 0 for vectors; `clock` in Hz."""

    version: int
    learner: str
    store: str
    front_end: int
    features: int
    n_classes: int
    capacity: int
    payload: int
    sample_rate: int
    model: int
    clock: int
    time: int
    board: str


@dataclass(frozen=True)
class Decision:
    """Answer to a sample: the step of tml_observe, cycles, deepest stack in bytes, and the statistic g."""

    prediction: int
    time: int
    size: int
    alarm: int
    change: int
    unknown: int  # 1 if the sample is too far from T for any class
    cycles: int
    stack: int
    statistic: float


@dataclass(frozen=True)
class Heard:
    """Word that the board's front end found: first sample, first sample after it, level in dB, prediction."""

    start: int
    stop: int
    decibels: float
    prediction: int


def open_line(port: str, baud: int = BAUD) -> Line:
    """Open a serial port by its name, or `socket://HOST:PORT`, and return it; a BoardSilent if that fails."""
    require("serial")
    import serial

    try:
        return serial.serial_for_url(port, baudrate=baud, timeout=0.05, write_timeout=5)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BoardSilent(f"{port} cannot be opened ({reason}): check the cable and the name of the port") from error


class BoardLink:
    """Connection to a board: requests are repeated until they are answered.

    Parameters
    ----------
    line
        The serial line.
    name
        Name of the port, for messages.
    silence, tries
        Seconds to wait for an answer, and how often a request is sent.
    """

    def __init__(self, line: Line, name: str = "the port", silence: float = SILENCE, tries: int = TRIES):
        self._line = line
        self.name = name
        self._silence = silence
        self._tries = tries
        self._sequence = 0
        self._received = b""
        self.repeated = 0  # requests that were sent again
        self.info = self.hello()

    def close(self) -> None:
        """Close the line."""
        with contextlib.suppress(OSError):
            self._line.close()

    # -- frames ------------------------------------------------------------------------------------------------------

    def _frames(self, until: float) -> Iterator[tuple[str, int, bytes]]:
        """Valid frames, until the time is over."""
        while True:
            *whole, self._received = self._received.split(b"\0")
            for one in whole:
                if found := decode(one):
                    yield found
            if time.monotonic() > until:
                return
            waiting = getattr(self._line, "in_waiting", 0)
            self._received = self._received[-4 * PAYLOAD :] + self._line.read(max(1, waiting))

    def request(self, kind: str, payload: bytes = b"") -> bytes:
        """Send a request and return the payload of its answer; a BoardSilent if none comes."""
        self._sequence = 0 if kind == "i" else self._sequence % 255 + 1
        for attempt in range(self._tries):
            self.repeated += attempt > 0
            try:
                self._line.write(b"\0" + encode(kind, self._sequence, payload))  # the zero ends what noise began
                for what, sequence, found in self._frames(time.monotonic() + self._silence):
                    if sequence == self._sequence and what == kind.upper():
                        return found
                    if sequence == self._sequence and what == "E" and found[:1] == kind.encode():
                        raise BoardError(f"The board refuses the request {kind!r}: {REASONS.get(found[1], found[1])}")
            except OSError as error:
                raise BoardSilent(f"The connection to {self.name} broke ({error}): connect the board again") from error
        raise BoardSilent(
            f"The board at {self.name} does not answer: check cable and power, and that the firmware is "
            "`make serial` of an exported project"
        )

    # -- requests ----------------------------------------------------------------------------------------------------

    def hello(self) -> BoardInfo:
        """Return who is there; a BoardError if it is not our firmware."""
        found = self.request("i")
        if found[:1] != bytes([VERSION]) or len(found) < _HELLO.size:
            raise BoardError(
                f"The firmware at {self.name} has version {found[:1].hex() or 'none'} of the serial protocol, not "
                f"{VERSION:02x}: export and flash it again"
            )
        version, learner, store, front_end, *numbers = _HELLO.unpack(found[: _HELLO.size])
        d, n_classes, capacity, payload, rate, model, clock, now = numbers
        name = found[_HELLO.size :].decode("ascii", "replace")
        self.info = BoardInfo(
            version, LEARNER_CODES[learner], STORE_NAMES[store], front_end, d, n_classes, capacity, payload, rate,
            model, clock, now, name,
        )  # fmt: skip
        return self.info

    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes; a class's code is its index."""
        codes = range(self.info.n_classes)
        return tuple(self.request("n", code.to_bytes(2, "little")).decode("utf-8", "replace") for code in codes)

    def settings(self) -> dict[str, float]:
        """Return the settings in use: the fields of tml_settings."""
        return dict(zip(SETTINGS, _SETTINGS.unpack(self.request("s")), strict=True))

    def configure(self, **changes: float) -> None:
        """Change settings; a BoardError if the board refuses them."""
        wanted = self.settings() | changes
        values = [wanted[name] for name in SETTINGS]
        if self.request("c", _SETTINGS.pack(values[0], *(int(v) for v in values[1:]))) != b"\1":
            raise BoardError(f"The board refuses the settings {changes}: see tmlcd.h for their ranges")

    def reset(self) -> None:
        """Start again with the exported T at time 0."""
        self.request("r")

    def send_features(self, x: NDArray[np.float32]) -> None:
        """Send the features of the next sample, shape (features,)."""
        x = np.ascontiguousarray(x, "<f4")
        if x.shape != (self.info.features,):
            raise BoardError(f"The sample has the shape {x.shape}, the board's model {self.info.features} features")
        part = (PAYLOAD - 2) // 4
        for at in range(0, len(x), part):
            self.request("x", at.to_bytes(2, "little") + x[at : at + part].tobytes())

    def features(self) -> NDArray[np.float32]:
        """Return the features of the current sample, float32 (features,)."""
        found = b""
        while len(found) < 4 * self.info.features:
            found += self.request("f", (len(found) // 4).to_bytes(2, "little"))[2:]
        return np.frombuffer(found, "<f4")

    def hear(self, samples: NDArray[np.int16]) -> Iterator[Heard]:
        """Send sound, int16 (n,), and yield each word as it ends; judge it before asking for the next."""
        samples = np.ascontiguousarray(samples, "<i2")
        at = 0
        while at < len(samples):
            found = self.request("a", samples[at : at + PAYLOAD // 2].tobytes())
            at += int.from_bytes(found[:2], "little")
            if found[2]:
                yield Heard(*_HEARD.unpack(found[3:19]))

    def listen(self, seconds: float) -> Iterator[Heard]:
        """Yield each word that the board's microphone hears within some seconds; judge it before asking for the next.

        A word that ends while a request is answered is not reported.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            frames = self._frames(min(until, time.monotonic() + 1.0))
            try:
                found = next((payload for what, _, payload in frames if what == "W"), b"")
            except OSError as error:
                raise BoardSilent(f"The connection to {self.name} broke ({error}): connect the board again") from error
            if len(found) == _HEARD.size:
                yield Heard(*_HEARD.unpack(found))

    def predict(self) -> int:
        """Return the class code predicted for the current sample."""
        return int.from_bytes(self.request("p"), "little", signed=True)

    def observe(self, label: int = -1) -> Decision:
        """Predict the current sample and, unless the label is -1, learn it; return the `Decision`."""
        return Decision(*_ANSWER.unpack(self.request("o", label.to_bytes(4, "little", signed=True))))

    def teach(self, label: int) -> bool:
        """Store the current sample without testing it; return False if it is refused."""
        return self.request("t", label.to_bytes(4, "little", signed=True)) == b"\1"

    def memory(self, part: int) -> bytes:
        """Return a part of the learner's memory: see tml_memory in tmlcd.h."""
        found, size = b"", 1
        while len(found) < size:
            got = self.request("m", bytes([part]) + len(found).to_bytes(4, "little"))
            size = int.from_bytes(got[:4], "little")
            if size and not got[8:]:
                raise BoardError(f"The board sends {len(found)} of {size} bytes of its memory: flash it again")
            found += got[8:]
            if not size:
                break
        return found
