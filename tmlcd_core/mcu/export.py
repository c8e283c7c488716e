"""Export of a fitted learner as a C project for a microcontroller."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tmlcd_core.errors import ConfigError
from tmlcd_core.features import Extractor
from tmlcd_core.mcu import board_tandem
from tmlcd_core.mcu.boards import BOARDS, Board, find_board
from tmlcd_core.mcu.budget import STORE_BYTES, FirmwareConfiguration
from tmlcd_core.mcu.expected_output import expected_output, quantised
from tmlcd_core.mcu.exportable import (
    KEEPING,
    bound_of,
    check_memory,
    choose_fused,
    choose_store,
    classes_of,
    detector_of,
    grid_of_model,
    learner_name,
    refuse,
    sound_settings,
    steps_per_unit,
    store_of,
)
from tmlcd_core.mcu.firmware import Firmware
from tmlcd_core.mcu.generated_c import MODEL_ID, config_h, model_c
from tmlcd_core.mcu.keeping import OF_NO_SESSION, SessionTakes
from tmlcd_core.mcu.packaging import packaging
from tmlcd_core.mcu.project_files import (
    ALWAYS,
    CORE_FLAGS,
    FOR_KNN,
    FOR_TANDEM,
    FOR_TESTS,
    LICENCES,
    SERIAL_SOURCES,
    board_flags,
    fill,
    licence_text,
    linker_script,
    readme,
    sound_sources,
    source,
)
from tmlcd_core.mcu.sound import sound_tables
from tmlcd_core.mcu.unknown import farthest_squared, is_unknown
from tmlcd_core.validation import real_number, whole_number

_NOT_CORE = {"stream.c", "report.c", "host.c", "firmware.c", "board_io.c", "startup.c", *SERIAL_SOURCES}


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
    session: SessionTakes = OF_NO_SESSION,
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
    session
        What the device does with takes as a live session does, `SessionTakes`.
    check
        Samples and their labels for `stream.bin` and `expected.txt`, which `make check` compares: clips
        (n, sample_rate) of int16 or in -1..1, vectors (n, features), or for a front end that hears words a list of
        recordings of int16 at 16 kHz. A model of vectors uses those of T by default; a model of sound without samples
        has no such files.

    Examples
    --------
    >>> import numpy as np
    >>> from tmlcd_core import HybridTinyKNN
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> model = HybridTinyKNN(max_size=50).fit(rng.normal(size=(60, 8)) + 2 * y[:, None], y)
    >>> firmware = export_firmware(model, board="stm32f401")
    >>> firmware.configuration.store, firmware.budget.total
    ('float32', 1882)
    """
    device = board if isinstance(board, Board) else find_board(board)
    learner = learner_name(model)
    named = session.named
    if (keep := whole_number("keep", session.keep, 0)) and learner not in KEEPING:
        raise refuse("keep", value=learner)
    if named is not None and learner == "tandem":
        raise refuse("named", value=learner)
    known = classes_of(model, classes)
    if learner == "tandem":
        model = board_tandem.on_board(model, len(known))
    size = bound_of(model, max_size)
    labels = tuple(str(label) for label in known.tolist())
    detector = detector_of(model, learner)
    sound: dict[str, Any] = {"vector": model.n_features_in_}
    if extractor is not None:
        sound = sound_settings(model, extractor)
    if capacity is not None and capacity < size:
        raise ConfigError(f"capacity={capacity!r} is below the bound {size:,} of |T|: give at least {size}")
    room = size if capacity is None or learner == "tandem" else capacity
    wanted = FirmwareConfiguration(samples=room, layout=layout, learner=learner, classes=len(known), **sound)
    configuration = choose_store(wanted, store_of(model, store), device)
    fused = choose_fused(configuration, fused, device)
    offset, scale = grid_of_model(model, configuration)
    farthest = farthest_squared(real_number("limit", limit, 0), configuration.store, steps_per_unit(model, scale))
    files = {name: source(name) for name in (*ALWAYS, *(FOR_TANDEM if learner == "tandem" else FOR_KNN))}
    files |= {name: source(name) for name in sound_sources(configuration)}
    files |= {name: source(name) for name in FOR_TESTS if detector is not None}
    beside = np.zeros((0, configuration.features), np.float32)
    if named is not None and farthest is not None:
        beside = quantised(np.asarray(named), configuration, offset, scale)
    check_memory(configuration, fused, device, beside.size * STORE_BYTES[configuration.store])
    files["config.h"] = config_h(
        model, configuration, size, fused, len(labels), detector, offset, scale, farthest, keep, len(beside)
    )
    tables = sound_tables(configuration, extractor, fused) if isinstance(extractor, Extractor) else {}
    files["model.c"] = model_c(model, configuration, known, tables, offset, scale, beside)
    model_id = zlib.crc32((files["config.h"] + files["model.c"]).encode())
    files["config.h"] = files["config.h"].replace(MODEL_ID, f"0x{model_id:08X}u")
    boards = dict(BOARDS) | {device.name: device}
    for b in boards.values():
        files[f"boards/{b.name}.ld"] = linker_script(b)
        files[f"boards/{b.name}.mk"] = board_flags(b)
    core = sorted(f for f in files if f.endswith(".c") and f not in _NOT_CORE)
    files |= packaging(device, core, CORE_FLAGS[device.core])
    files["Makefile"] = fill(source("Makefile.in"), BOARD=device.name, BOARDS=" ".join(boards), CORE=" ".join(core))
    files |= {name: licence_text(name) for name in LICENCES}
    if isinstance(extractor, Extractor) or extractor == "filter":
        files["STEM.md"] = resources.files("tmlcd_core.features").joinpath("STEM.md").read_text(encoding="utf-8")
    if configuration.front_end == "speech":
        licence = resources.files("tmlcd_core.features.voice").joinpath("SPEECH_NETWORK.md")
        files["SPEECH_NETWORK.md"] = licence.read_text(encoding="utf-8")
    if check is None and extractor is None:
        check = model.samples_, model.labels_
    unknown = partial(is_unknown, farthest=farthest, named=beside)
    made = None
    if check is not None:
        made = expected_output(model, configuration, size, known, tables, offset, scale, unknown, keep, *check)
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
        named=beside,
        files=files,
        check=made,
    )
    files["README.md"] = readme(firmware)
    return firmware
