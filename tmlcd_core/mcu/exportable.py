"""Conditions of an export: learner, classes, detector, sound and memory of a model, checked against a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.errors import ConfigError, DataError, ExportError
from tmlcd_core.features import Extractor
from tmlcd_core.knn import TinyKNN
from tmlcd_core.knn.storage import grid_of
from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.learners.tandem_kernels import LEVELS
from tmlcd_core.mcu import board_tandem
from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.budget import (
    LINKER_SLACK,
    STORE_BYTES,
    FirmwareConfiguration,
    board_bytes,
    budget,
    flash_bytes,
    largest_store,
)
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.mcu.generated_c import GRID_SPACING
from tmlcd_core.validation import one_of

LEARNER_NAMES: dict[type, str] = {
    HybridTinyKNN: "hybrid",
    ActiveTinyKNN: "active",
    CondensingInTime: "cit",
    IncrementalKNN: "incremental",
    StaticKNN: "static",
    Tandem: "tandem",
    TinyKNN: "static",
}

KEEPING = ("hybrid", "active", "cit")  # learners with a number of first samples to keep

MAX_CLASSES = 255  # a label is one byte
MAX_CLASSES_BY_DISTANCE = 127  # votes are on the stack: 127 doubles need as many bytes as 255 integers of 32 bits
MAX_COUNT = 65_535  # batch and warm-up are counted in 16 bits
MAX_UINT8_FEATURES = (2**32 - 1) // 255**2  # a squared distance between uint8 vectors must fit 32 bits

# Reasons why a model cannot be exported, with the error message.
CANNOT_EXPORT: dict[str, str] = {
    "kind": "A {value} has no C counterpart: export " + ", ".join(t.__name__ for t in LEARNER_NAMES),
    "not fitted": "This {value} is not fitted: call fit with the initial samples first",
    "named": "The learner {value} has no named samples beside T: leave out named",
    "keep": "The learner {value} has no first samples to keep: use keep=0",
    "unbounded": "This {value} has no bound on |T|, and a device has no heap: give max_size",
    "too large": "T holds {value:,} samples, more than the {bound:,} to reserve: raise max_size",
    "detector": "The detector {value} is not supported by the C code: leave it out to use the CUSUM test",
    "grid": "Candidate accuracies with spacing {value} are not supported by the C code: use spacing=0.01",
    "probability": "add_probability={value!r} is not supported by the C code: use 1.0",
    "count": "A batch or warm-up of {value:,} samples does not fit 16 bits: use at most 65,535",
    "one class": "The model has only the class {value!r}: a classifier needs at least two",
    "classes": "{value:,} classes do not fit one byte: use at most 255",
    "votes": "Votes by distance of {value:,} classes do not fit the stack: use weights='uniform' or at most {bound}",
    "n_fft": "n_fft={value} is not a power of two from 16 to 8192: choose 128, 256 or 512",
    "extractor": "The extractor gives {value:,} features, the model has {bound:,}: pass its own extractor",
    "overflow": "A distance of {value:,} uint8 features may overflow 32 bits: use store='int16'",
    "storage": "The model stores {value}, not {store}: leave out store, or fit it with storage='float32'",
    "range": "Features from {value:g} to {bound:g} cannot be scaled to {store}: use store='float32'",
    "fused": "The fused colour table needs sound in the layout 'compact' or 'streamed': use fused=False",
    "memory": "{value} needs {needed:,} bytes of RAM and the {board} has {bound:,}: {advice}",
    "flash": "{value} needs {needed:,} bytes of flash, the {board} has {bound:,}: use fused=False or less T",
}  # fmt: skip


def refuse(what: str, **values: Any) -> ExportError:
    """Return the error with the message CANNOT_EXPORT[what]."""
    return ExportError(CANNOT_EXPORT[what].format(**values))


def learner_name(model: Any) -> str:
    """Return the name of the model's learner in C; an `ExportError` if it has no counterpart or is not fitted."""
    name = LEARNER_NAMES.get(type(model))
    if name is None:
        raise refuse("kind", value=type(model).__name__)
    if not model.__sklearn_is_fitted__():
        raise refuse("not fitted", value=type(model).__name__)
    if getattr(model, "add_probability", 1.0) != 1.0:
        raise refuse("probability", value=model.add_probability)
    return name


def bound_of(model: Any, max_size: int | None) -> int:
    """Return the bound of |T| on the device: `max_size`, or the model's own."""
    if isinstance(model, board_tandem.BoardTandem):
        return FirmwareConfiguration(samples=model.ring_rows).samples
    bound = len(model) if LEARNER_NAMES[type(model)] == "static" else model.bound_
    if max_size is None:
        max_size = bound
    elif bound is not None and max_size != bound:
        raise ConfigError(f"max_size={max_size!r} differs from the model's bound {bound}: omit it")
    if max_size is None:
        raise refuse("unbounded", value=type(model).__name__)
    size = FirmwareConfiguration(samples=max_size).samples
    if len(model) > size:
        raise refuse("too large", value=len(model), bound=size)
    return size


def classes_of(model: Any, more: Sequence[Any]) -> NDArray:
    """Return the sorted classes of the model and the additional ones, shape (n,); an index is a code on the device."""
    try:
        _, every = model._encode(more)
    except DataError as error:
        raise ConfigError(f"classes={more!r} cannot be added to the model's classes: {error}") from error
    if len(every) < 2:
        raise refuse("one class", value=every[0].item())
    if len(every) > MAX_CLASSES:
        raise refuse("classes", value=len(every))
    if getattr(model, "weights", "uniform") == "distance" and len(every) > MAX_CLASSES_BY_DISTANCE:
        raise refuse("votes", value=len(every), bound=MAX_CLASSES_BY_DISTANCE)
    return every


def detector_of(model: Any, learner: str) -> GeneralizedCusum | None:
    """Return the CUSUM test of the model; None for a learner without one."""
    if learner not in ("hybrid", "active", "tandem"):
        return None
    detector = model.detector_
    if type(detector) is not GeneralizedCusum:
        raise refuse("detector", value=type(detector).__name__)
    if detector.spacing != GRID_SPACING:
        raise refuse("grid", value=detector.spacing)
    largest = max(detector.batch, detector.warmup)
    if largest > MAX_COUNT:
        raise refuse("count", value=largest)
    return detector


def sound_settings(model: Any, extractor: Extractor | str) -> dict[str, Any]:
    """Return the fields of `FirmwareConfiguration` of an extractor, or of a front end by name."""
    if isinstance(extractor, str):
        features = FRONT_ENDS[one_of("extractor", extractor, FRONT_ENDS)].n_features
        if features != model.n_features_in_:
            raise refuse("extractor", value=features, bound=model.n_features_in_)
        return {"front_end": extractor}
    if extractor.n_fft not in {2**i for i in range(4, 14)}:
        raise refuse("n_fft", value=extractor.n_fft)
    if extractor.n_features != model.n_features_in_:
        raise refuse("extractor", value=extractor.n_features, bound=model.n_features_in_)
    names = ("sample_rate", "n_fft", "hop")
    return {name: getattr(extractor, name) for name in names} | {"filters": len(extractor.filters)}


def store_of(model: Any, store: str) -> str:
    """Return the data type of T: the model's own if it stores integers, so that the device decides as the model."""
    if isinstance(model, Tandem):
        return "uint8"
    if model.storage == "float32":
        return store
    if store not in ("auto", model.storage):
        raise refuse("storage", value=model.storage, store=store)
    return model.storage


def choose_store(wanted: FirmwareConfiguration, store: str, board: Board) -> FirmwareConfiguration:
    """Return `wanted` with the data type of T; "auto" is the most precise one that fits, or else the smallest.

    Beside it, the serial line and a microphone have to fit.
    """
    choices = list(STORE_BYTES) if store == "auto" else [store]
    for name in choices:
        configuration = replace(wanted, store=name)
        if budget(configuration).fits(replace(board, ram=max(board.ram - board_bytes(configuration, board), 1))):
            break
    if configuration.store == "uint8" and configuration.features > MAX_UINT8_FEATURES:
        raise refuse("overflow", value=configuration.features)
    return configuration


def choose_fused(configuration: FirmwareConfiguration, fused: bool | None, board: Board) -> bool:
    """Return whether colours and filter are multiplied beforehand: as asked, or if half of the flash remains free."""
    possible = configuration.clips and configuration.layout != "paper"
    if fused is None:
        return possible and flash_bytes(configuration, True) <= board.flash // 2
    if fused and not possible:
        raise refuse("fused")
    return fused


def check_memory(configuration: FirmwareConfiguration, fused: bool, board: Board, more: int) -> None:
    """Raise an `ExportError` if the configuration, with `more` bytes of flash, does not fit the RAM or flash."""
    what = f"|T| = {configuration.samples:,} in {configuration.store}, laid out {configuration.layout},"
    if not budget(configuration).fits(board):
        largest = largest_store(configuration, board)
        advice = f"|T| = {largest:,} would fit" if largest else "lower the sampling rate or use a larger board"
        needed = budget(configuration).needed + LINKER_SLACK
        raise refuse("memory", value=what, needed=needed, board=board.title, bound=board.ram, advice=advice)
    needed = flash_bytes(configuration, fused) + more
    if needed > board.flash:
        raise refuse("flash", value=what, needed=needed, board=board.title, bound=board.flash)


def grid_of_model(model: Any, c: FirmwareConfiguration) -> tuple[float, float]:
    """Return offset and scale of the features in T, as in `Firmware`."""
    """Offset and scale of the stored integers: the model's own, or from the range of T."""
    if isinstance(model, Tandem):
        return 0.0, 1.0
    if model.storage != "float32":
        return model.grid_
    try:
        return grid_of(model.samples_, c.store, nonnegative=c.clips)
    except ConfigError:
        raise refuse("range", value=model.samples_.min(), bound=model.samples_.max(), store=c.store) from None


def steps_per_unit(model: Any, scale: float) -> float:
    """Return the steps of T per unit of a feature."""
    return float(model._state.scale[LEVELS]) if isinstance(model, Tandem) else scale
