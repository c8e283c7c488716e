"""Generated C files: config.h and model.c of a fitted model."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.detectors.cusum import LOGARITHM
from tmlcd_core.knn.storage import VALUE_RANGE
from tmlcd_core.mcu import board_tandem
from tmlcd_core.mcu.budget import FirmwareConfiguration
from tmlcd_core.mcu.c_literals import c_array, c_float, c_string, wrap
from tmlcd_core.mcu.expected_output import initial_samples
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.mcu.link import LEARNER_CODES
from tmlcd_core.mcu.sound import Tables

LAYOUT_CODES = {"paper": "TML_PAPER", "compact": "TML_COMPACT", "streamed": "TML_STREAMED"}
STORE_CODES = {"float32": "TML_FLOAT32", "int16": "TML_INT16", "uint8": "TML_UINT8"}
C_TYPES = {"float32": "float", "int16": "int16_t", "uint8": "uint8_t"}
FRONT_END_CODES = {"clip": "TML_CLIP", "word": "TML_WORD", "speech": "TML_SPEECH", "filter": "TML_FILTER"}
SOUND_TABLES = {
    "window": "[TML_WINDOW]",
    "twiddle": "[TML_N_FFT / 2][2]",
    "bias": "[TML_FILTERS]",
    "fused": "[TML_FILTERS][49][256]",
    "viridis": "[256][3]",
    "filter": "[TML_FILTERS][49][3]",
}
MODEL_ID = "0x00000000u"  # replaced by the CRC-32 of config.h with this and model.c
GRID_SPACING = 0.01  # of the candidate accuracies: 100 of them
GAP_TOLERANCE = 1e-12  # as in candidate_accuracies


def config_h(
    model: Any, c: FirmwareConfiguration, bound: int, fused: bool, n_classes: int, detector: GeneralizedCusum | None,
    offset: float, scale: float, farthest: float | None, keep: int, named: int,
) -> str:  # fmt: skip
    """Return the text of config.h."""
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
        ("TML_KEEP", keep),
        ("TML_MODEL_ID", MODEL_ID),
    ]
    if farthest is not None:
        value = farthest.hex() if c.store == "float32" else f"{int(farthest)}{'ull' if c.store == 'int16' else 'u'}"
        defines += [
            ("", "unknown: squared distance from T, in its steps, beyond which an answer is no class"),
            ("TML_LIMITED", 1),
            ("TML_FARTHEST", value),
            ("TML_NAMED", named),
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
        defines += [(name, c_float(float(v)) if isinstance(v, np.floating) else v) for name, v in own]
    elif c.store != "float32":
        lowest, highest = VALUE_RANGE[c.store]
        defines += [
            ("", "features in T: round((x - offset) * scale), within lowest .. highest"),
            ("TML_OFFSET", c_float(offset)),
            ("TML_SCALE", c_float(scale)),
            ("TML_LOWEST", f"({lowest}.0f)"),
            ("TML_HIGHEST", f"{highest}.0f"),
        ]
    if detector is not None:
        defines += [
            ("", "the CUSUM test"),
            ("TML_CANDIDATES", len(candidates())),
            ("TML_GAP", (detector.gap - GAP_TOLERANCE).hex()),
            ("TML_MARGIN", detector.margin.hex()),
            ("TML_BINOMIAL", int(detector.likelihood == "binomial")),
            ("TML_LOGARITHM", LOGARITHM.get(detector.likelihood, 0.0)),
        ]
    lines = [f"\n/* {value} */" if not name else f"#define {name} {value}" for name, value in defines]
    head = "/* Generated from the fitted model. */\n#ifndef TMLCD_CONFIG_H\n#define TMLCD_CONFIG_H\n"
    return head + "\n".join(lines) + "\n\n#endif\n"


def model_c(
    model: Any, c: FirmwareConfiguration, classes: NDArray, tables: Tables, offset: float, scale: float,
    named: NDArray[np.float32],
) -> str:  # fmt: skip
    """Return the text of model.c; `classes` (n,) are sorted, `named` (m, d) as stored."""
    T: NDArray
    codes: NDArray
    if c.learner == "tandem":
        T, codes = board_tandem.rows_and_places(model)
    else:
        T, codes = initial_samples(model, c, offset, scale), np.searchsorted(classes, model.labels_)
    names = ",\n    ".join(c_string(str(label)) for label in classes.tolist())
    parts = [
        '/* Generated from the fitted model. */\n#include "model.h"\n',
        f"const char *const tml_class_names[TML_CLASSES] = {{\n    {names},\n}};\n",
        c_array(f"const {C_TYPES[c.store]} tml_initial_x[TML_INITIAL][TML_FEATURES]", T, c.store == "float32"),
        c_array("const uint8_t tml_initial_label[TML_INITIAL]", codes, False),
    ]
    if len(named):
        declaration = f"const {C_TYPES[c.store]} tml_named_x[TML_NAMED][TML_FEATURES]"
        parts.append(c_array(declaration, named, c.store == "float32"))
    if c.learner == "tandem":
        own = board_tandem.tables(model, np.searchsorted(classes, model.classes_))
        parts += [c_array(name, table, table.dtype == np.float32) for name, table in own.items()]
    if c.learner in ("hybrid", "active", "tandem"):
        grid = ", ".join(float(v).hex() for v in candidates())
        parts.append(f"const double tml_candidates[TML_CANDIDATES] = {{\n{wrap(grid)}\n}};\n")
    parts += [c_array(_declaration(name, c), table) for name, table in tables.items()]
    if c.front_end != "clip":
        parts += [c_array(t.declaration, t.values, t.floating) for t in FRONT_ENDS[c.front_end].tables()]
    return "\n".join(parts)


def _declaration(table: str, c: FirmwareConfiguration) -> str:
    in_ram = c.layout == "paper" and table == "filter"  # where the paper counts it
    return f"{'' if in_ram else 'const '}float tml_{table}{SOUND_TABLES[table]}"


def candidates() -> NDArray[np.float64]:
    """Return the candidate accuracies of the CUSUM test, shape (100,)."""
    return np.arange(GRID_SPACING / 2, 1, GRID_SPACING)
