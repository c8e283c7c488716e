"""Export of a fitted learner as a C project for a microcontroller: sources, constants and board files."""

from __future__ import annotations

import copy
import io
import math
import shlex
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.detectors.cusum import LOGARITHM
from tmlcd_core.errors import ConfigError, DataError, ExportError
from tmlcd_core.features import Extractor
from tmlcd_core.knn import TinyKNN
from tmlcd_core.knn.storage import VALUE_RANGE, grid_of, quantise
from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.learners.tandem_kernels import LEVELS
from tmlcd_core.mcu import board_tandem
from tmlcd_core.mcu.boards import BOARDS, Board, find_board
from tmlcd_core.mcu.budget import (
    LINKER_SLACK,
    STACK,
    STORE_BYTES,
    Budget,
    FirmwareConfiguration,
    budget,
    flash_bytes,
    largest_store,
    serial_bytes,
)
from tmlcd_core.mcu.check import Check, Unknown, choose, make_check, make_word_check
from tmlcd_core.mcu.front_ends import FRONT_ENDS, SHARED_SOURCES, lay_out
from tmlcd_core.mcu.link import LEARNER_CODES
from tmlcd_core.mcu.packaging import FAMILY, packaging
from tmlcd_core.mcu.sound import Tables, as_int16, board_features, sound_tables
from tmlcd_core.mcu.unknown import farthest_squared, is_unknown
from tmlcd_core.validation import one_of, real_number

LEARNER_NAMES: dict[type, str] = {
    HybridTinyKNN: "hybrid",
    ActiveTinyKNN: "active",
    CondensingInTime: "cit",
    IncrementalKNN: "incremental",
    StaticKNN: "static",
    Tandem: "tandem",
    TinyKNN: "static",
}
LAYOUT_CODES = {"paper": "TML_PAPER", "compact": "TML_COMPACT", "streamed": "TML_STREAMED"}
STORE_CODES = {"float32": "TML_FLOAT32", "int16": "TML_INT16", "uint8": "TML_UINT8"}
C_TYPES = {"float32": "float", "int16": "int16_t", "uint8": "uint8_t"}

# The README's paragraph on stream.bin, with and without one.
STREAM = """\
`stream.bin` holds @COUNT@ samples of the data that the model was fitted on, in the format of `stream.h`: all classes in
turns, the first without a label, the last with a wrong one, so that it is learned. `expected.txt` has the predictions
of the Python model, one per line."""
NO_STREAM = """\
This project has no samples: create `stream.bin` in the format of `stream.h`, and `expected.txt`, yourself.
Without them `make check` and `make run` stop with exit code 2."""

MODEL_ID = "0x00000000u"  # replaced by the CRC-32 of config.h with this and model.c
PACKAGE = "tmlcd-core"  # its name in pyproject.toml
LICENCES = ("LICENSE", "NOTICE")  # in the wheel's metadata folder, and at the top of the repository

MAX_CLASSES = 255  # a label is one byte
MAX_CLASSES_BY_DISTANCE = 127  # votes are on the stack: 127 doubles need as many bytes as 255 integers of 32 bits
MAX_COUNT = 65_535  # batch and warm-up are counted in 16 bits
MAX_UINT8_FEATURES = (2**32 - 1) // 255**2  # a squared distance between uint8 vectors must fit 32 bits
GRID_SPACING = 0.01  # of the candidate accuracies: 100 of them
GAP_TOLERANCE = 1e-12  # as in candidate_accuracies

CORE_FLAGS = {
    "cortex-m4": "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    "cortex-m7": "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16",
}
# Some M7 (STM32F746) have single precision only; software doubles run on all of them.
ANY_M7 = CORE_FLAGS["cortex-m7"].replace("fpv5-d16", "fpv5-sp-d16")
SERIAL_SOURCES = ("protocol.c", "flash_store.c", "nucleo.c", "serial.c")
ALWAYS = ("tmlcd.h", "model.h", "mathfn.h", "mathfn.c", "report.h", "report.c", "stream.h", "stream.c", "host.c",
          "firmware.c", "board_io.h", "board_io.c", "startup.c", "protocol.h", "flash_store.h",
          "nucleo.h", *SERIAL_SOURCES)  # fmt: skip
FOR_KNN = ("knn.h", "knn.c", "learner.c")
FOR_TANDEM = ("tandem.c",)
SOUND_TABLES = {
    "window": "[TML_WINDOW]",
    "twiddle": "[TML_N_FFT / 2][2]",
    "bias": "[TML_FILTERS]",
    "fused": "[TML_FILTERS][49][256]",
    "viridis": "[256][3]",
    "filter": "[TML_FILTERS][49][3]",
}
FRONT_END_CODES = {"clip": "TML_CLIP", "word": "TML_WORD", "speech": "TML_SPEECH", "filter": "TML_FILTER"}
FOR_CLIPS = ("frontend.h", "fft.h", "audio.h", "spectrogram.c", "stem.c", "clip.c")
FOR_TESTS = ("cusum.h", "cusum.c")

# Reasons why a model cannot be exported, with the error message.
CANNOT_EXPORT: dict[str, str] = {
    "kind": "A {value} has no C counterpart: export " + ", ".join(t.__name__ for t in LEARNER_NAMES),
    "not fitted": "This {value} is not fitted: call fit with the initial samples first",
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


def _refuse(what: str, **values: Any) -> ExportError:
    return ExportError(CANNOT_EXPORT[what].format(**values))


@dataclass(frozen=True)
class Firmware:
    """Exported C project: text files by path, check, and configuration.

    `offset` and `scale` map a feature x to its stored value round((x - offset) * scale); float32 stores x.
    `farthest` is the squared distance from T, in stored steps, beyond which an answer is "unknown", or None.
    `samples_per_class` counts the exported T: 0 for a class that was forgotten or has not appeared yet.
    """

    board: Board
    configuration: FirmwareConfiguration
    classes: tuple[str, ...]
    samples_per_class: Mapping[str, int]
    fused: bool
    offset: float
    scale: float
    farthest: float | None
    files: Mapping[str, str]
    check: Check | None

    @property
    def budget(self) -> Budget:
        """Memory budget of the configuration."""
        return budget(self.configuration)

    def quantise(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return X (n, d) as the device stores it, in float32; a Python model of these makes the device's decisions.

        Tandem's layers see the features as they are: X is returned.
        """
        return _quantised(X, self.configuration, self.offset, self.scale)

    def contents(self) -> dict[str, bytes]:
        """Return all files of the project by path, including the check if there is one."""
        found = {name: text.encode() for name, text in self.files.items()}
        if self.check is not None:
            found |= {"stream.bin": self.check.stream, "expected.txt": self.check.expected}
        return found

    def zip(self) -> bytes:
        """Return the project as the bytes of a zip; deterministic."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(self.contents().items()):
                info = zipfile.ZipInfo(f"tmlcd-firmware/{name}", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, content)
        return out.getvalue()

    def write(self, folder: str | Path) -> Path:
        """Write the project to `folder`, which is created if needed, and return its path.

        All files are written to a temporary folder on the same disk and then renamed, so that a failed write (full
        disk) leaves `folder` unchanged.
        """
        root = Path(folder)
        exists = root.is_dir()
        beside = root if exists else root.parent
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tmlcd-", dir=beside) as temporary:
            made = Path(temporary) / "project"
            for name, content in self.contents().items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            if not exists:
                made.rename(root)
                return root
            for name in self.contents():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
            for name in self.contents():
                (made / name).replace(root / name)
        return root

    def in_words(self) -> str:
        """Return a sentence on the samples per class in the exported T, and the classes without samples.

        Examples
        --------
        >>> model = HybridTinyKNN(max_size=50).fit([[0.0], [1.0], [1.1]], ["no", "yes", "yes"])
        >>> export_firmware(model, classes=["up"]).in_words()
        'T holds 1 “no”, 2 “yes”; no “up” (forgotten, or not met yet: the device learns it from labelled samples)'
        """
        held = [f"{count} “{name}”" for name, count in self.samples_per_class.items() if count]
        absent = [f"“{name}”" for name, count in self.samples_per_class.items() if not count]
        text = f"T holds {', '.join(held)}"
        if absent:
            reason = "forgotten, or not met yet: the device learns it from labelled samples"
            text += f"; no {', '.join(absent)} ({reason})"
        return text


def export_firmware(
    model: Any,
    extractor: Extractor | str | None = None,
    *,
    board: str | Board = "stm32f401",
    layout: str = "streamed",
    store: str = "auto",
    max_size: int | None = None,
    capacity: int | None = None,
    classes: Sequence[Any] = (),
    fused: bool | None = None,
    limit: float = math.inf,
    check: tuple[Any, ArrayLike] | None = None,
) -> Firmware:
    """Export a fitted learner as a C project; return a `Firmware`.

    Parameters
    ----------
    model
        A fitted HybridTinyKNN, ActiveTinyKNN, CondensingInTime, TinyKNN, kNN baseline or Tandem. Its current T is
        exported, of Tandem also its layers; on the device the clock and the warm-up of the CUSUM test start again.
    extractor
        Extractor of the model's features: an `Extractor` for clips of one second, the name of a front end that hears
        words in a stream (`FRONT_ENDS`), or None if the input is vectors.
    board
        One of `BOARDS` by name, or a `Board`. The zip has the files of all boards; this one is the default.
    layout
        `streamed`, `compact` or `paper`; see `LAYOUTS`.
    store
        Data type of T: `float32`, `int16`, `uint8`, or `auto` for the first of them that fits the board.
    max_size
        Bound of |T| on the device; the model's bound if None.
    capacity
        Samples for which T has room: the bound may be raised up to it at run time. None for the bound.
    classes
        Additional classes that may appear on the device.
    fused
        Precompute the products of colours and filter: 50 KB of flash per filter, about half of the instructions.
        If None, used where possible and if half of the flash remains free.
    limit
        Largest distance to the nearest sample of T; the answer to a sample beyond it is "unknown". It is learned like
        any other if it has a label. Infinite: every answer is a class.
    check
        Samples and their labels for `stream.bin` and `expected.txt`, which `make check` compares: clips
        (n, sample_rate) of int16 or in -1..1, vectors (n, features), or for a front end that hears words a list of
        recordings of int16 at 16 kHz. A model of vectors uses those of T by default; a model of sound without samples
        has no such files.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> model = HybridTinyKNN(max_size=50).fit(rng.normal(size=(60, 8)) + 2 * y[:, None], y)
    >>> firmware = export_firmware(model, board="stm32f401")
    >>> firmware.configuration.store, firmware.budget.total
    ('float32', 1882)
    """
    device = board if isinstance(board, Board) else find_board(board)
    learner = _learner(model)
    known = _classes(model, classes)
    if learner == "tandem":
        model = board_tandem.on_board(model, len(known))
    size = _bound(model, max_size)
    labels = tuple(str(label) for label in known.tolist())
    detector = _detector(model, learner)
    sound: dict[str, Any] = {"vector": model.n_features_in_}
    if extractor is not None:
        sound = _sound(model, extractor)
    if capacity is not None and capacity < size:
        raise ConfigError(f"capacity={capacity!r} is below the bound {size:,} of |T|: give at least {size}")
    room = size if capacity is None or learner == "tandem" else capacity
    wanted = FirmwareConfiguration(samples=room, layout=layout, learner=learner, classes=len(known), **sound)
    configuration = _choose_store(wanted, _stored_as(model, store), device)
    fused = _choose_fused(configuration, fused, device)
    _check_memory(configuration, fused, device)
    offset, scale = _grid(model, configuration)
    farthest = farthest_squared(real_number("limit", limit, 0), configuration.store, _steps(model, scale))
    files = {name: _source(name) for name in (*ALWAYS, *(FOR_TANDEM if learner == "tandem" else FOR_KNN))}
    files |= {name: _source(name) for name in _sound_sources(configuration)}
    files |= {name: _source(name) for name in FOR_TESTS if detector is not None}
    files["config.h"] = _config(model, configuration, size, fused, len(labels), detector, offset, scale, farthest)
    tables = sound_tables(configuration, extractor, fused) if isinstance(extractor, Extractor) else {}
    files["model.c"] = _constants(model, configuration, known, tables, offset, scale)
    model_id = zlib.crc32((files["config.h"] + files["model.c"]).encode())
    files["config.h"] = files["config.h"].replace(MODEL_ID, f"0x{model_id:08X}u")
    boards = dict(BOARDS) | {device.name: device}
    for b in boards.values():
        files[f"boards/{b.name}.ld"] = _linker_script(b)
        files[f"boards/{b.name}.mk"] = _board_flags(b)
    core = sorted(f for f in files if f.endswith(".c") and f not in _NOT_CORE)
    files |= packaging(device, core, CORE_FLAGS[device.core])
    files["Makefile"] = _fill(_source("Makefile.in"), BOARD=device.name, BOARDS=" ".join(boards), CORE=" ".join(core))
    files |= {name: _licence(name) for name in LICENCES}
    if isinstance(extractor, Extractor) or extractor == "filter":
        files["STEM.md"] = resources.files("tmlcd_core.features").joinpath("STEM.md").read_text(encoding="utf-8")
    if configuration.front_end == "speech":
        licence = resources.files("tmlcd_core.features.voice").joinpath("SPEECH_NETWORK.md")
        files["SPEECH_NETWORK.md"] = licence.read_text(encoding="utf-8")
    if check is None and extractor is None:
        check = model.samples_, model.labels_
    unknown = partial(is_unknown, farthest=farthest)
    made = None
    if check is not None:
        made = _check(model, configuration, size, known, tables, offset, scale, unknown, *check)
    counts = Counter(model.labels_.tolist())
    firmware = Firmware(
        board=device,
        configuration=configuration,
        classes=labels,
        samples_per_class={str(label): counts[label] for label in known.tolist()},
        fused=fused,
        offset=offset,
        scale=scale,
        farthest=farthest,
        files=files,
        check=made,
    )
    files["README.md"] = _readme(firmware)
    return firmware


_NOT_CORE = {"stream.c", "report.c", "host.c", "firmware.c", "board_io.c", "startup.c", *SERIAL_SOURCES}


# -- the model -----------------------------------------------------------------------------------


def _learner(model: Any) -> str:
    name = LEARNER_NAMES.get(type(model))
    if name is None:
        raise _refuse("kind", value=type(model).__name__)
    if not model.__sklearn_is_fitted__():
        raise _refuse("not fitted", value=type(model).__name__)
    if getattr(model, "add_probability", 1.0) != 1.0:
        raise _refuse("probability", value=model.add_probability)
    return name


def _bound(model: Any, max_size: int | None) -> int:
    if isinstance(model, board_tandem.BoardTandem):
        return FirmwareConfiguration(samples=model.ring_rows).samples
    bound = len(model) if LEARNER_NAMES[type(model)] == "static" else model.bound_
    if max_size is None:
        max_size = bound
    elif bound is not None and max_size != bound:
        raise ConfigError(f"max_size={max_size!r} differs from the model's bound {bound}: omit it")
    if max_size is None:
        raise _refuse("unbounded", value=type(model).__name__)
    size = FirmwareConfiguration(samples=max_size).samples
    if len(model) > size:
        raise _refuse("too large", value=len(model), bound=size)
    return size


def _classes(model: Any, more: Sequence[Any]) -> NDArray:
    """Sorted classes of the model and the additional ones; a class's index is its code on the device."""
    try:
        _, every = model._encode(more)
    except DataError as error:
        raise ConfigError(f"classes={more!r} cannot be added to the model's classes: {error}") from error
    if len(every) < 2:
        raise _refuse("one class", value=every[0].item())
    if len(every) > MAX_CLASSES:
        raise _refuse("classes", value=len(every))
    if getattr(model, "weights", "uniform") == "distance" and len(every) > MAX_CLASSES_BY_DISTANCE:
        raise _refuse("votes", value=len(every), bound=MAX_CLASSES_BY_DISTANCE)
    return every


def _detector(model: Any, learner: str) -> GeneralizedCusum | None:
    if learner not in ("hybrid", "active", "tandem"):
        return None
    detector = model.detector_
    if type(detector) is not GeneralizedCusum:
        raise _refuse("detector", value=type(detector).__name__)
    if detector.spacing != GRID_SPACING:
        raise _refuse("grid", value=detector.spacing)
    largest = max(detector.batch, detector.warmup)
    if largest > MAX_COUNT:
        raise _refuse("count", value=largest)
    return detector


def _sound_sources(c: FirmwareConfiguration) -> tuple[str, ...]:
    if c.vector is not None:
        return ()
    return FOR_CLIPS if c.front_end == "clip" else (*SHARED_SOURCES, *FRONT_ENDS[c.front_end].sources)


def _sound(model: Any, extractor: Extractor | str) -> dict[str, Any]:
    if isinstance(extractor, str):
        features = FRONT_ENDS[one_of("extractor", extractor, FRONT_ENDS)].n_features
        if features != model.n_features_in_:
            raise _refuse("extractor", value=features, bound=model.n_features_in_)
        return {"front_end": extractor}
    if extractor.n_fft not in {2**i for i in range(4, 14)}:
        raise _refuse("n_fft", value=extractor.n_fft)
    if extractor.n_features != model.n_features_in_:
        raise _refuse("extractor", value=extractor.n_features, bound=model.n_features_in_)
    names = ("sample_rate", "n_fft", "hop")
    return {name: getattr(extractor, name) for name in names} | {"filters": len(extractor.filters)}


def _stored_as(model: Any, store: str) -> str:
    """The data type of T: the model's own if it stores integers, so that the device makes the model's decisions."""
    if isinstance(model, Tandem):
        return "uint8"
    if model.storage == "float32":
        return store
    if store not in ("auto", model.storage):
        raise _refuse("storage", value=model.storage, store=store)
    return model.storage


def _choose_store(wanted: FirmwareConfiguration, store: str, board: Board) -> FirmwareConfiguration:
    """`wanted` with the data type of T; "auto" is the most precise one that fits, or the smallest if none does."""
    choices = list(STORE_BYTES) if store == "auto" else [store]
    for name in choices:
        configuration = replace(wanted, store=name)
        if budget(configuration).fits(board):
            break
    if configuration.store == "uint8" and configuration.features > MAX_UINT8_FEATURES:
        raise _refuse("overflow", value=configuration.features)
    return configuration


def _choose_fused(configuration: FirmwareConfiguration, fused: bool | None, board: Board) -> bool:
    possible = configuration.clips and configuration.layout != "paper"
    if fused is None:
        return possible and flash_bytes(configuration, True) <= board.flash // 2
    if fused and not possible:
        raise _refuse("fused")
    return fused


def _check_memory(configuration: FirmwareConfiguration, fused: bool, board: Board) -> None:
    what = f"|T| = {configuration.samples:,} in {configuration.store}, laid out {configuration.layout},"
    if not budget(configuration).fits(board):
        largest = largest_store(configuration, board)
        advice = f"|T| = {largest:,} would fit" if largest else "lower the sampling rate or use a larger board"
        needed = budget(configuration).needed + LINKER_SLACK
        raise _refuse("memory", value=what, needed=needed, board=board.title, bound=board.ram, advice=advice)
    needed = flash_bytes(configuration, fused)
    if needed > board.flash:
        raise _refuse("flash", value=what, needed=needed, board=board.title, bound=board.flash)


def _grid(model: Any, c: FirmwareConfiguration) -> tuple[float, float]:
    """Offset and scale of the stored integers: the model's own, or from the range of T."""
    if isinstance(model, Tandem):
        return 0.0, 1.0
    if model.storage != "float32":
        return model.grid_
    try:
        return grid_of(model.samples_, c.store, nonnegative=c.clips)
    except ConfigError:
        raise _refuse("range", value=model.samples_.min(), bound=model.samples_.max(), store=c.store) from None


def _steps(model: Any, scale: float) -> float:
    """Steps of T per unit of a feature."""
    return float(model._state.scale[LEVELS]) if isinstance(model, Tandem) else scale


# -- expected output ----------------------------------------------------------------------------


def _quantised(X: NDArray[np.float32], c: FirmwareConfiguration, offset: float, scale: float) -> NDArray[np.float32]:
    return np.asarray(X, np.float32) if c.learner == "tandem" else quantise(X, c.store, offset, scale)


def _stored(model: Any, c: FirmwareConfiguration, offset: float, scale: float) -> NDArray[np.float32]:
    """T as the device stores it, float32 (|T|, d)."""
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
    twin.fit(_stored(model, c, offset, scale), model.labels_)
    twin.condense = model.condense  # Active condenses at its alarms
    return twin


def _check(
    model: Any, c: FirmwareConfiguration, size: int, known: NDArray, tables: Tables, offset: float, scale: float,
    unknown: Unknown, clips_or_vectors: Any, labels: ArrayLike,
) -> Check:  # fmt: skip
    if c.front_end != "clip":
        return _check_words(model, c, size, known, offset, scale, unknown, clips_or_vectors, np.asarray(labels))
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
    stored = _quantised(X, c, offset, scale)
    return make_check(twin_of(model, c, size, offset, scale), known, samples, stored, given, unknown)


def _check_words(
    model: Any, c: FirmwareConfiguration, size: int, known: NDArray, offset: float, scale: float, unknown: Unknown,
    sounds: Sequence[NDArray[np.int16]], labels: NDArray,
) -> Check:  # fmt: skip
    if not len(labels) or len(sounds) != len(labels) or any(np.asarray(s).dtype != np.int16 for s in sounds):
        raise ConfigError(f"check has {len(sounds)} recordings and {len(labels)} labels: give int16 arrays, one each")
    _known_labels(labels, known)
    rows = choose(labels, 2 * max(len(sound) for sound in sounds))
    parts = lay_out([sounds[row] for row in rows])
    words = FRONT_ENDS[c.front_end].hear(np.concatenate(parts))
    stored = [(word.end, _quantised(word.x[None], c, offset, scale)[0]) for word in words]
    return make_word_check(twin_of(model, c, size, offset, scale), known, parts, labels[rows], stored, unknown)


def _known_labels(given: NDArray, known: NDArray) -> None:
    if strange := sorted(set(given.tolist()) - set(known.tolist())):
        raise ConfigError(f"check has the label {strange[0]!r}, which is not a class of the model: add it to classes")


# -- the files -----------------------------------------------------------------------------------


def _licence(name: str) -> str:
    """Text of LICENSE or NOTICE, from the repository or the installed package."""
    root = Path(__file__).resolve().parents[2]
    if (root / "app.py").is_file():  # the repository, not site-packages
        return (root / name).read_text(encoding="utf-8")
    try:
        text = distribution(PACKAGE).read_text(f"licenses/{name}")
    except PackageNotFoundError:
        text = None
    if text is None:
        raise ExportError(f"{name} is missing in this installation, but the project must include it: install {PACKAGE}")
    return text


def _source(name: str) -> str:
    return resources.files(__package__).joinpath("c", name).read_text(encoding="utf-8")


def _fill(template: str, **values: Any) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def _config(
    model: Any, c: FirmwareConfiguration, bound: int, fused: bool, n_classes: int, detector: GeneralizedCusum | None,
    offset: float, scale: float, farthest: float | None,
) -> str:  # fmt: skip
    rows, columns = c.map_shape
    defines: list[tuple[str, Any]] = []
    kinds = (("front ends", FRONT_END_CODES), ("layouts", LAYOUT_CODES), ("types of T", STORE_CODES))
    for kind, codes in kinds:
        defines += [("", kind), *((code, i) for i, code in enumerate(codes.values()))]
    defines += [("", "learners"), *((f"TML_{name.upper()}", i) for i, name in enumerate(LEARNER_CODES))]
    defines += [
        ("", "this model"),
        ("TML_AUDIO", int(c.vector is None)),
        ("TML_LAYOUT", LAYOUT_CODES[c.layout]),
        ("TML_STORE", STORE_CODES[c.store]),
        ("TML_LEARNER", f"TML_{c.learner.upper()}"),
        ("TML_TESTS", int(detector is not None)),
        ("TML_HISTORY", int(c.learner == "active")),
        ("TML_FEATURES", c.features),
        ("TML_CLASSES", n_classes),
        ("TML_CAPACITY", c.samples),
        ("TML_INITIAL", len(model)),
        ("TML_MODEL_ID", MODEL_ID),
    ]
    if farthest is not None:
        value = farthest.hex() if c.store == "float32" else f"{int(farthest)}{'ull' if c.store == 'int16' else 'u'}"
        defines += [
            ("", "unknown: squared distance from T, in its steps, beyond which an answer is no class"),
            ("TML_LIMITED", 1),
            ("TML_FARTHEST", value),
        ]
    votes = ("sqrt", "uniform", False) if c.learner == "tandem" else (model.k, model.weights, model.condense)
    test = detector or GeneralizedCusum()  # without a test: settings that are in range
    defines += [
        ("", "settings, which may change at run time: see tmlcd.h"),
        ("TML_MAX_SIZE", bound),
        ("TML_K", 0 if votes[0] == "sqrt" else min(votes[0], c.samples)),
        ("TML_BY_DISTANCE", int(votes[1] == "distance")),
        ("TML_THRESHOLD", min(test.threshold, sys.float_info.max).hex()),  # C99 has no constant for infinity
        ("TML_BATCH", test.batch),
        ("TML_WARMUP", test.warmup),
        ("TML_DOWN", int(test.direction == "down")),
        ("TML_CONDENSE", int(bool(votes[2]))),
    ]
    if c.vector is None:
        defines += [
            ("", "sound"),
            ("TML_FRONT_END", FRONT_END_CODES[c.front_end]),
            ("TML_SAMPLE_RATE", c.sample_rate),
            ("TML_N_FFT", c.n_fft),
            ("TML_HOP", c.hop),
        ]
    if c.front_end != "clip":
        defines += FRONT_ENDS[c.front_end].defines()
    if c.clips:
        defines += [
            ("TML_WINDOW", c.n_fft),
            ("TML_BINS", c.bins),
            ("TML_FRAMES", c.frames),
            ("TML_FILTERS", c.filters),
            ("TML_MAP_ROWS", rows),
            ("TML_MAP_COLUMNS", columns),
            ("TML_FUSED", int(fused)),
        ]
    if c.learner == "tandem":
        own = board_tandem.definitions(model)
        defines += [(name, _float(float(v)) if isinstance(v, np.floating) else v) for name, v in own]
    elif c.store != "float32":
        lowest, highest = VALUE_RANGE[c.store]
        defines += [
            ("", "features in T: round((x - offset) * scale), within lowest .. highest"),
            ("TML_OFFSET", _float(offset)),
            ("TML_SCALE", _float(scale)),
            ("TML_LOWEST", f"({lowest}.0f)"),
            ("TML_HIGHEST", f"{highest}.0f"),
        ]
    if detector is not None:
        defines += [
            ("", "the CUSUM test"),
            ("TML_CANDIDATES", len(_candidates())),
            ("TML_GAP", (detector.gap - GAP_TOLERANCE).hex()),
            ("TML_MARGIN", detector.margin.hex()),
            ("TML_BINOMIAL", int(detector.likelihood == "binomial")),
            ("TML_LOGARITHM", LOGARITHM.get(detector.likelihood, 0.0)),
        ]
    lines = [f"\n/* {value} */" if not name else f"#define {name} {value}" for name, value in defines]
    head = "/* Generated from the fitted model. */\n#ifndef TMLCD_CONFIG_H\n#define TMLCD_CONFIG_H\n"
    return head + "\n".join(lines) + "\n\n#endif\n"


def _constants(
    model: Any, c: FirmwareConfiguration, classes: NDArray, tables: Tables, offset: float, scale: float
) -> str:
    T: NDArray
    codes: NDArray
    if c.learner == "tandem":
        T, codes = board_tandem.rows_and_places(model)
    else:
        T, codes = _stored(model, c, offset, scale), np.searchsorted(classes, model.labels_)
    names = ",\n    ".join(_string(str(label)) for label in classes.tolist())
    parts = [
        '/* Generated from the fitted model. */\n#include "model.h"\n',
        f"const char *const tml_class_names[TML_CLASSES] = {{\n    {names},\n}};\n",
        _array(f"const {C_TYPES[c.store]} tml_initial_x[TML_INITIAL][TML_FEATURES]", T, c.store == "float32"),
        _array("const uint8_t tml_initial_label[TML_INITIAL]", codes, False),
    ]
    if c.learner == "tandem":
        own = board_tandem.tables(model, np.searchsorted(classes, model.classes_))
        parts += [_array(name, table, table.dtype == np.float32) for name, table in own.items()]
    if c.learner in ("hybrid", "active", "tandem"):
        grid = ", ".join(float(v).hex() for v in _candidates())
        parts.append(f"const double tml_candidates[TML_CANDIDATES] = {{\n{_wrap(grid)}\n}};\n")
    parts += [_array(_declaration(name, c), table) for name, table in tables.items()]
    if c.front_end != "clip":
        parts += [_array(t.declaration, t.values, t.floating) for t in FRONT_ENDS[c.front_end].tables()]
    return "\n".join(parts)


def _declaration(table: str, c: FirmwareConfiguration) -> str:
    in_ram = c.layout == "paper" and table == "filter"  # where the paper counts it
    return f"{'' if in_ram else 'const '}float tml_{table}{SOUND_TABLES[table]}"


def _candidates() -> NDArray[np.float64]:
    return np.arange(GRID_SPACING / 2, 1, GRID_SPACING)


def _array(declaration: str, values: NDArray, floating: bool = True) -> str:
    return f"{declaration} = {_braces(np.asarray(values), floating)};\n"


def _braces(values: NDArray, floating: bool) -> str:
    if values.ndim > 1:
        return "{\n" + ",\n".join(_braces(part, floating) for part in values) + "}"
    numbers = (_float(v) if floating else str(int(v)) for v in values.tolist())
    return "{\n" + _wrap(", ".join(numbers)) + "}"


def _float(value: float) -> str:
    """C99 hexadecimal constant of a float32: exact with every compiler."""
    mantissa, exponent = float(np.float32(value)).hex().split("p")
    whole, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    return f"{whole}{'.' + digits if digits else ''}p{exponent}f"


def _wrap(text: str, width: int = 118) -> str:
    lines, line = [], ""
    for item in text.split(" "):
        if len(line) + len(item) + 1 > width:
            lines.append(line)
            line = ""
        line += " " + item if line else item
    return "\n".join([*lines, line])


def _string(text: str) -> str:
    """C string literal: printable ASCII, and octal escapes of the other UTF-8 bytes."""
    safe = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{safe}"'


def _linker_script(board: Board) -> str:
    return _fill(
        _source("board.ld"),
        BOARD=board.title,
        FLASH_ORIGIN=f"0x{board.flash_origin:08X}",
        FLASH=board.flash,
        RAM_ORIGIN=f"0x{board.ram_origin:08X}",
        RAM=board.ram,
        STACK=STACK,
    )


def _board_flags(board: Board) -> str:
    machine = {"stm32f401": "netduinoplus2"}.get(board.name, "none")
    origin = f"FLASH_ORIGIN = 0x{board.flash_origin:08X}"
    flags = ANY_M7 if board.core == "cortex-m7" and board.name not in BOARDS else CORE_FLAGS[board.core]
    family = FAMILY.get(board.name)
    nucleo = f"-DTML_STM32{family} -DTML_BOARD='\"{board.name}\"'" if family else ""
    return f"CPU = {flags}\n{origin}\nQEMU_MACHINE = {machine}\nNUCLEO = {nucleo}\n"


def _weights_licence(c: FirmwareConfiguration) -> str:
    if c.front_end == "speech":
        return "; `SPEECH_NETWORK.md` is the licence of the network's weights"
    return "; `STEM.md` is the licence of the filter's weights" if c.clips or c.front_end == "filter" else ""


def _readme(firmware: Firmware) -> str:
    board, c, labels = firmware.board, firmware.configuration, firmware.classes
    table = firmware.budget
    rows = "\n".join(f"| {r.name} | {r.size} | {r.bytes:,} | {r.note} |" for r in table.rows)
    if c.front_end != "clip":
        feed = (
            "mono sound that never ends, samples of 16 bits at 16,000 Hz: `tml_hear` (`frontend.h`) takes them in "
            "blocks of any length, as DMA brings them, from the main loop and not from an interrupt, and says when a "
            "word has ended"
        )
    elif c.vector is None:
        feed = (
            f"one second of mono sound, {c.sample_rate:,} samples of 16 bits at {c.sample_rate:,} Hz: "
            "`tml_audio_push` takes them in pieces of any length, as DMA brings them, from the main loop and not from "
            "an interrupt"
        )
    else:
        feed = f"a vector of {c.features:,} floats"
    return _fill(
        _source("README.in.md"),
        BOARD=board.title,
        BOARD_NAME=board.name,
        LEARNER=c.learner,
        CLASSES=", ".join(labels),
        SAMPLES=firmware.in_words(),
        STREAM=NO_STREAM if firmware.check is None else _fill(STREAM, COUNT=f"{firmware.check.samples:,}"),
        FEED=feed,
        ROWS=rows,
        NEEDED=f"{table.needed:,}",
        RAM=f"{board.ram:,}",
        FLASH=f"{board.flash:,}",
        STATIC=f"{table.static:,}",
        SERIAL=f"{serial_bytes(c):,}",
        SAMPLE="clip.wav" if c.vector is None else "vector.txt",
        LABEL=shlex.quote(labels[0]),
        STEM=_weights_licence(c),
    )
