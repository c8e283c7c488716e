"""Python twin of an exported learner, and the expected output of a stream of samples."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.storage import quantise
from tmlcd_core.learners.baselines import StaticKNN
from tmlcd_core.mcu.budget import FirmwareConfiguration
from tmlcd_core.mcu.check import Check, Unknown, choose, make_check, make_word_check
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.sound import Tables, as_int16, board_features


def quantised(X: NDArray[np.float32], c: FirmwareConfiguration, offset: float, scale: float) -> NDArray[np.float32]:
    """Return X (n, d) as the device stores it, float32 (n, d); of Tandem, as it is."""
    return np.asarray(X, np.float32) if c.learner == "tandem" else quantise(X, c.store, offset, scale)


def initial_samples(model: Any, c: FirmwareConfiguration, offset: float, scale: float) -> NDArray[np.float32]:
    """Return T as the device stores it, float32 (|T|, d)."""
    return model.stored_ if model.storage != "float32" else quantise(model.samples_, c.store, offset, scale)


def twin_of(model: Any, c: FirmwareConfiguration, size: int, offset: float, scale: float) -> Any:
    """Return a Python learner with the device's decisions on quantised samples: T as stored there, all with time 0.

    `size` is the bound of |T|; `offset` and `scale` are those of `Firmware`.
    """
    if c.learner == "tandem":
        return copy.deepcopy(model)
    bound = {"window" if c.learner == "active" else "max_size": size, "max_bytes": None}
    settings = model.get_params(deep=False) | bound | {"storage": "float32", "condense": False}
    twin: Any
    twin = StaticKNN(model.k, model.weights) if c.learner == "static" else type(model)(**settings)
    twin.fit(initial_samples(model, c, offset, scale), model.labels_)
    twin.condense = model.condense  # Active condenses at its alarms
    return twin


def expected_output(
    model: Any, c: FirmwareConfiguration, size: int, known: NDArray, tables: Tables, offset: float, scale: float,
    unknown: Unknown, keep: int, clips_or_vectors: Any, labels: ArrayLike,
) -> Check:  # fmt: skip
    """Return the `Check` of samples and their labels (n,), as in `export_firmware`; `known` (n,) are the classes."""
    if c.front_end != "clip":
        return _check_words(model, c, size, known, offset, scale, unknown, keep, clips_or_vectors, np.asarray(labels))
    samples, given = np.asarray(clips_or_vectors), np.asarray(labels)
    length = c.features if c.vector is not None else c.sample_rate
    if samples.ndim != 2 or samples.shape[1] != length or given.shape != samples.shape[:1] or not len(given):
        raise ConfigError(f"check has samples of shape {samples.shape} and {given.shape} labels: give (n, {length})")
    _known_labels(given, known)
    rows = choose(given, length * (4 if c.vector is not None else 2))
    samples, given = samples[rows], given[rows]
    if c.vector is not None:
        samples = X = samples.astype(np.float32)
    else:
        samples = samples if samples.dtype == np.int16 else as_int16(samples)
        X = board_features(samples, c, tables)
    stored = quantised(X, c, offset, scale)
    return make_check(twin_of(model, c, size, offset, scale), known, samples, stored, given, unknown, keep)


def _check_words(
    model: Any, c: FirmwareConfiguration, size: int, known: NDArray, offset: float, scale: float, unknown: Unknown,
    keep: int, sounds: Sequence[NDArray[np.int16]], labels: NDArray,
) -> Check:  # fmt: skip
    if not len(labels) or len(sounds) != len(labels) or any(np.asarray(s).dtype != np.int16 for s in sounds):
        raise ConfigError(f"check has {len(sounds)} recordings and {len(labels)} labels: give int16 arrays, one each")
    _known_labels(labels, known)
    rows = choose(labels, 2 * max(len(sound) for sound in sounds))
    parts = lay_out([sounds[row] for row in rows])
    words = FRONT_ENDS[c.front_end].hear(np.concatenate(parts))
    stored = [(word.end, quantised(word.x[None], c, offset, scale)[0]) for word in words]
    return make_word_check(twin_of(model, c, size, offset, scale), known, parts, labels[rows], stored, unknown, keep)


def _known_labels(given: NDArray, known: NDArray) -> None:
    if strange := sorted(set(given.tolist()) - set(known.tolist())):
        raise ConfigError(f"check has the label {strange[0]!r}, which is not a class of the model: add it to classes")
