"""Check of an exported model: a short stream, and the expected output of the host program and the board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.learners import StreamLearner
from tmlcd_core.mcu.keeping import KeepingLearner

MAX_STREAM = 300_000  # bytes of stream.bin, unless one sample of each class needs more
UNLABELLED = -1
UNKNOWN = "(unknown)"  # the answer to a sample that is no class of T
NAME_END = 128 - 48  # bytes of time and name in a line: TML_LINE of report.h minus the bytes of the numbers


@dataclass(frozen=True)
class Check:
    """`stream.bin`, `expected.txt` and the number of samples in them."""

    stream: bytes
    expected: bytes
    samples: int


def choose(labels: NDArray, sample_bytes: int) -> NDArray[np.intp]:
    """Return indices of samples with labels (n,) for a stream: classes in turns, in MAX_STREAM bytes if possible."""
    most = max(len(np.unique(labels)), MAX_STREAM // (4 + sample_bytes))
    return in_turns(labels)[-most:]


Unknown = Callable[[StreamLearner, NDArray[np.float32]], bool]


def make_check(
    twin: StreamLearner,
    classes: NDArray,
    samples: NDArray,
    X: NDArray[np.float32],
    labels: NDArray,
    unknown: Unknown,
    keep: int = 0,
) -> Check:
    """Run the Python twin over a stream and return the `Check` with its predictions.

    The first sample has no label. The last is labelled with another class than the predicted one, so that at least one
    sample is an error and is learned.

    Parameters
    ----------
    twin
        Fitted learner with the same decisions as the device; it learns the stream.
    classes
        All classes of the device; a class's code is its index.
    samples
        Clips (n, sample_rate) of int16, or vectors (n, features) of float32: the stream's records.
    X
        Features as the device computes and stores them, shape (n, features).
    labels
        Their labels, shape (n,), all among `classes`.
    unknown
        Whether the answer of the twin to a row of X is "unknown".
    keep
        As in `export_firmware`.
    """
    codes = np.searchsorted(classes, labels).astype("<i4")
    codes[0] = UNLABELLED
    device = KeepingLearner(twin, keep)
    lines = []
    for i, x in enumerate(X):
        if i == len(X) - 1:
            predicted = int(np.searchsorted(classes, twin.predict(x[None])[0]))
            codes[i] = (predicted + 1) % len(classes)
        label = None if codes[i] == UNLABELLED else classes[codes[i]].item()
        lines.append(_line(device, x, label, unknown))
    kind = "<i2" if samples.dtype == np.int16 else "<f4"
    records = (code.tobytes() + sample.astype(kind).tobytes() for code, sample in zip(codes, samples, strict=True))
    return Check(b"".join(records), b"".join(lines), len(lines))


def make_word_check(
    twin: StreamLearner,
    classes: NDArray,
    parts: Sequence[NDArray[np.int16]],
    labels: NDArray,
    words: Sequence[tuple[int, NDArray[np.float32]]],
    unknown: Unknown,
    keep: int = 0,
) -> Check:
    """Run the Python twin over a stream of sound and return the `Check` with its predictions.

    As in `make_check`, the first word has no label, and the last has another one than predicted.

    Parameters
    ----------
    twin, classes
        As in `make_check`.
    parts
        Consecutive parts of the stream, each int16 (n,): its records.
    labels
        Label of each part, shape (parts,), all among `classes`.
    words
        Words of the stream: number of samples heard when it ended, and features as the device stores them (features,).
    unknown, keep
        As in `make_check`.
    """
    codes = np.searchsorted(classes, labels).astype("<i4")
    ends = np.cumsum([len(part) for part in parts])
    places = [int(np.searchsorted(ends, end)) for end, _ in words]  # the record in which each word ends
    codes[0] = UNLABELLED
    device = KeepingLearner(twin, keep)
    lines = []
    for i, ((_, x), place) in enumerate(zip(words, places, strict=True)):
        if i == len(words) - 1:
            predicted = int(np.searchsorted(classes, twin.predict(x[None])[0]))
            codes[place] = (predicted + 1) % len(classes) if place not in places[:-1] else codes[place]
        label = None if codes[place] == UNLABELLED else classes[codes[place]].item()
        lines.append(_line(device, x, label, unknown))
    records = (
        code.tobytes() + np.uint32(len(part)).astype("<u4").tobytes() + part.astype("<i2").tobytes()
        for code, part in zip(codes, parts, strict=True)
    )
    return Check(b"".join(records), b"".join(lines), len(lines))


def _line(device: KeepingLearner, x: NDArray[np.float32], label: Any, unknown: Unknown) -> bytes:
    """Let the twin observe x (d,); return the output line of the step, as printed by report.c."""
    twin = device.learner
    far = unknown(twin, x)  # before it is learned
    prediction = device.observe(x, label)
    alarm = twin.alarm_
    head = f"{twin.time_} {UNKNOWN if far else prediction}".encode()[:NAME_END]
    tail = f" {len(twin)}" + (f" alarm {alarm.change_time}" if alarm else "")
    return head + tail.encode() + b"\n"
