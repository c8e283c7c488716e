"""Tandem in C: every prediction, alarm and byte of memory against the Python learner."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from tests.mcu.test_firmware import F401, F767, drifting, hide, host_lines, lines_of, records
from tmlcd_core import Tandem
from tmlcd_core.learners.tandem import needed_bytes
from tmlcd_core.mcu import FirmwareConfiguration, budget, export_firmware, flash_bytes, largest_store
from tmlcd_core.mcu.budget import STACK
from tmlcd_core.mcu.device import EmulatedBoard, HostLibrary, build_firmware

X, Y = drifting()
START = 60
TEST = {"threshold": 8, "batch": 20, "warmup": 40}


@pytest.mark.parametrize("bytes_", [1_000, 3_000, 20_000])  # a ring that is full at once, soon, and never
def test_the_host_build_decides_as_python_does(bytes_, tmp_path):
    model = Tandem(max_bytes=bytes_, **TEST).fit(X[:START], Y[:START])
    firmware = export_firmware(model)
    library = HostLibrary(firmware.write(tmp_path))
    given, codes = hide(Y[START:], 0.1)
    C = host_lines(library, X[START:], codes, firmware.classes)
    assert lines_of(model, X[START:], given) == C  # the very model, not a twin
    assert any("alarm" in line for line in C)
    library.reset()
    assert host_lines(library, X[START:], codes, firmware.classes) == C


def test_the_state_is_pythons_to_the_last_bit(tmp_path):
    """Weights and biases of both layers and the confusion matrix after 300 samples."""
    model = Tandem(max_bytes=2_000, **TEST).fit(X[:START], Y[:START])
    folder = export_firmware(model).write(tmp_path)
    with (folder / "tandem.c").open("a") as file:
        file.write("const float *layers_in_c(void);\nconst float *layers_in_c(void) { return state.weights; }\n")
    library = HostLibrary(folder)
    for x, y in zip(X[START:360], Y[START:360], strict=True):
        library.observe(x, y)
        model.observe(x, y)
    library._c.layers_in_c.restype = ctypes.POINTER(ctypes.c_float)
    weights = np.ctypeslib.as_array(library._c.layers_in_c(), (2 * 3 * 13 + 9,))
    assert np.array_equal(weights[: 2 * 3 * 12].reshape(2, 3, 12), model._state.weights)
    assert np.array_equal(weights[2 * 3 * 12 : 2 * 3 * 13].reshape(2, 3), model._state.biases)
    assert np.array_equal(weights[2 * 3 * 13 :].reshape(3, 3), model._state.confusion)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e18, 1e25])
def test_strange_scales_and_outliers(scale, tmp_path):
    """Squares that underflow or overflow, values outside the initial range, equal samples, exact ties."""
    rng = np.random.default_rng(5)
    Z = (rng.integers(-2, 3, (400, 20)) * scale).astype(np.float32)
    Z[::7] *= np.float32(1e6)
    y = rng.integers(0, 3, 400)
    model = Tandem(max_bytes=4_000, **TEST).fit(Z[:40], y[:40])
    library = HostLibrary(export_firmware(model).write(tmp_path))
    C = host_lines(library, Z[40:], y[40:], ("0", "1", "2"))
    assert lines_of(model, Z[40:], y[40:]) == C
    assert library.observe(np.full(20, np.nan), 1).prediction == -1


def test_a_class_that_turns_up_later(tmp_path):
    """Its memory is reserved: the ring has fewer rows from the start, and keeps them."""
    known = Y[:300] < 2
    model = Tandem(max_bytes=3_000, **TEST).fit(X[:300][known], Y[:300][known])
    firmware = export_firmware(model, classes=[2])
    assert firmware.configuration.samples == model._capacity(12, 3) < len(model._state.rows)
    library = HostLibrary(firmware.write(tmp_path))
    from tmlcd_core.mcu.board_tandem import on_board

    C = host_lines(library, X[300:], Y[300:], firmware.classes)
    assert lines_of(on_board(model, 3), X[300:], Y[300:]) == C
    assert any(line.split()[1] == "2" for line in C)


def test_taught_samples_and_settings(tmp_path):
    model = Tandem(max_bytes=2_000, threshold=25, batch=50, warmup=100).fit(X[:START], Y[:START])
    library = HostLibrary(export_firmware(model).write(tmp_path))
    library.configure(**TEST)
    library.reset()
    model = Tandem(max_bytes=2_000, **TEST).fit(X[:START], Y[:START])
    for x, y in zip(X[60:80], Y[60:80], strict=True):
        assert library.teach(x, y)
    model.take_in(X[60:80], Y[60:80])
    assert lines_of(model, X[80:], Y[80:]) == host_lines(library, X[80:], Y[80:], ("0", "1", "2"))


@pytest.mark.parametrize("board", [F401, F767], ids=lambda b: b.core)
def test_the_emulated_core_decides_as_python_does(board, tmp_path):
    """The whole program from reset, and the linker's bytes against the budget."""
    model = Tandem(max_bytes=3_000, **TEST).fit(X[:START], Y[:START])
    firmware = export_firmware(model, board=board)
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board), board)
    out = device.run(records(X[START:400], Y[START:400])).splitlines()
    assert out == lines_of(model, X[START:400], Y[START:400])
    assert 0 <= device.static_bytes() - firmware.budget.static <= 16
    assert device.stack_bytes() < STACK // 2
    assert device.sections[".text"] <= flash_bytes(firmware.configuration, False)


def test_the_budget_is_tandems_own_count_without_the_mean():
    """The mean is in flash, the query and the experts' probabilities are working memory."""
    c = FirmwareConfiguration(vector=192, samples=300, learner="tandem", classes=5, store="float32")
    assert c.store == "uint8"
    rows = {r.name: r.bytes for r in budget(c).rows}
    state = rows["Ring of samples T"] + rows["Layers F and A"] + rows["Confusion matrix"] + 44
    assert state == needed_bytes(192, 5, 300) - 4 * 192
    assert largest_store(c, F401) > 300
    assert math.isclose(flash_bytes(c, False), 20_480 + 300 * 193 + 8 * 5 * 193 + 4 * 25 + 4 * 192)
