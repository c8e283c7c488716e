"""Tandem as the C code runs it: a ring whose number of rows stays the same when a class appears."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.learners import Tandem
from tmlcd_core.learners import tandem_kernels as kernels
from tmlcd_core.mcu.link import BoardInfo


class BoardTandem(Tandem):
    """Tandem with a fixed number of rows; the memory of all classes is reserved from the start.

    `Tandem` gives the rows of its ring to a class that appears; C code cannot. If no class appears, both decide alike.
    """

    ring_rows: int

    def _capacity(self, n_features: int, n_classes: int) -> int:
        return self.ring_rows


def on_board(model: Any, n_classes: int) -> BoardTandem:
    """Return a fitted Tandem as it starts on the board, with room for `n_classes` within its budget.

    The clock is 0 and the CUSUM test in its warm-up; layers, evidence and the newest rows are the model's.
    """
    board = BoardTandem(**model.get_params(deep=False))
    board.__dict__.update(copy.deepcopy(vars(model)))
    d = model.n_features_in_
    board.ring_rows = model._capacity(d, n_classes)
    board._resize(d, model._state.biases.shape[1])
    board.time_, board.alarm_, board.detector_ = 0, None, board._new_detector()
    board._times[:] = 0
    return board


def definitions(model: BoardTandem) -> list[tuple[str, Any]]:
    """Return the names and values of Tandem's own lines in config.h."""
    state = model._state
    return [
        ("", "Tandem"),
        ("TML_EXPERTS", kernels.EXPERTS),
        ("TML_SEEN", state.biases.shape[1]),
        ("TML_LEARNED", f"{int(state.counts[kernels.N_LEARNED])}u"),
        ("TML_LOW", state.scale[kernels.LOW]),
        ("TML_LEVELS", state.scale[kernels.LEVELS]),
    ]


def tables(model: BoardTandem, codes: NDArray[np.integer]) -> dict[str, NDArray]:
    """Return Tandem's own arrays of model.c by declaration; `codes` are the board's codes of the classes (n,)."""
    state = model._state
    return {
        "const float tml_mean[TML_FEATURES]": state.mean,
        "const float tml_initial_weights[2][TML_SEEN][TML_FEATURES]": state.weights,
        "const float tml_initial_biases[2][TML_SEEN]": state.biases,
        "const float tml_initial_confusion[TML_SEEN][TML_SEEN]": state.confusion,
        "const float tml_initial_evidence[TML_EXPERTS]": state.evidence,
        "const uint8_t tml_initial_codes[TML_SEEN]": codes[model._codes].astype(np.uint8),
    }


def rows_and_places(model: BoardTandem) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Return the rows of the ring, oldest first (rows, d), and the place of each one's class (rows,)."""
    return model.stored_, model._state.labels[model._order()]


def from_memory(
    memory: bytes, mean: NDArray[np.float32], scale: tuple[float, float], info: BoardInfo, test: GeneralizedCusum
) -> BoardTandem:
    """Return a Tandem from the memory of a board that was just reset: its struct `state` and the mean (features,).

    The labels are class codes.
    """
    d, n, rows = info.features, info.n_classes, info.capacity
    floats = [
        ("weights", "<f4", (2, n, d)),
        ("biases", "<f4", (2, n)),
        ("confusion", "<f4", (n, n)),
        ("evidence", "<f4", (kernels.EXPERTS,)),
    ]
    bytes_ = [("labels", "<u2", (rows,)), ("codes", "u1", (n,)), ("rows", "u1", (rows, d))]
    kinds = [*floats, ("counts", "<u4", (4,)), *bytes_]
    found = np.frombuffer(memory, np.dtype(kinds), 1)[0]
    learned, head, size, seen = (int(v) for v in found["counts"])
    model = BoardTandem(max_bytes=1, detector=test)
    model.ring_rows = rows
    model.n_features_in_, model.time_ = d, 0
    codes = found["codes"][:seen].astype(np.int64)
    model._know(np.sort(codes))
    model._codes = np.searchsorted(np.sort(codes), codes).astype(np.int32)
    model._state = kernels.State(
        mean=mean.copy(),
        weights=found["weights"][:, :seen].copy(),
        biases=found["biases"][:, :seen].copy(),
        confusion=found["confusion"][:seen, :seen].copy(),
        rows=found["rows"].copy(),
        labels=found["labels"].copy(),
        evidence=found["evidence"].copy(),
        scale=np.array(scale, np.float32),
        counts=np.array([learned, head, size], np.int32),
    )
    model._times = np.zeros(rows, np.int64)
    model.detector_, model.alarm_ = model._new_detector(), None
    return model
