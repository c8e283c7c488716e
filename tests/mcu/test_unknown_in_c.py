"""Answer "unknown" of the C code: the limit against distances that NumPy computes from the features themselves."""

from __future__ import annotations

import numpy as np
import pytest

from tests.mcu.test_firmware import F401, F767, drifting
from tmlcd_core import ActiveTinyKNN, CondensingInTime, ConfigError, ExportError, HybridTinyKNN, Tandem
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.device import EmulatedBoard, HostLibrary, build_firmware
from tmlcd_core.mcu.keeping import SessionTakes
from tmlcd_core.mcu.unknown import is_unknown

X, Y = drifting()
START = 60
X[START::3] = X[START::3, ::-1]  # other vectors within the range of the first ones: T in integers clips beyond it
LIMIT = 3.0
TEST = {"threshold": 8, "batch": 20, "warmup": 40}
MODELS = {
    "hybrid": lambda: HybridTinyKNN(max_size=50, **TEST),
    "active": lambda: ActiveTinyKNN(window=50, **TEST),
    "cit": lambda: CondensingInTime(max_size=50),
    "tandem": lambda: Tandem(max_bytes=3_000, **TEST),
}


@pytest.mark.parametrize(
    ("name", "store"),
    [("hybrid", "float32"), ("hybrid", "int16"), ("hybrid", "uint8"), ("active", "uint8"), ("cit", "int16"),
     ("tandem", "uint8")],
)  # fmt: skip
def test_a_sample_is_unknown_beyond_the_limit(name, store, tmp_path):
    model = MODELS[name]().fit(X[:START], Y[:START])
    firmware = export_firmware(model, store=store, limit=LIMIT)
    library = HostLibrary(firmware.write(tmp_path))
    answers = []  # without labels: T stays as it is
    for x in X[START:260]:
        distance = np.linalg.norm(model.samples_.astype(np.float64) - x, axis=1).min()
        answers.append((distance, library.observe(x).unknown))
    steps = {"float32": 1e-9, "int16": 0.01, "uint8": 0.3}[store]  # rounding of twelve features
    clear = [(distance, unknown) for distance, unknown in answers if abs(distance - LIMIT) > steps]
    assert len(clear) > 20
    assert all(unknown == (distance > LIMIT) for distance, unknown in clear)
    assert 0 < sum(unknown for _, unknown in clear) < len(clear)


@pytest.mark.parametrize("store", ["float32", "int16", "uint8"])
def test_the_limit_itself_is_known_and_the_next_step_is_not(store, tmp_path):
    """Distances of a right-angled triangle with the sides 3, 4 and 5, in steps of T."""
    model = HybridTinyKNN(max_size=9, k=1).fit(np.array([[0, 0], [0, 256]], np.float32), [0, 1])
    scale = export_firmware(model, store=store).scale
    firmware = export_firmware(model, store=store, limit=5 / scale)
    library = HostLibrary(firmware.write(tmp_path))
    queries = (np.array([(3, 4), (3, 5), (5, 0), (6, 0)]) / scale).astype(np.float32)
    found = [bool(library.observe(x).unknown) for x in queries]
    assert found == [False, True, False, True]
    twin = HybridTinyKNN(max_size=9, k=1).fit(firmware.quantise(model.samples_), [0, 1])
    assert [is_unknown(twin, x, firmware.farthest) for x in firmware.quantise(queries)] == found


@pytest.mark.parametrize("store", ["float32", "int16", "uint8"])
def test_a_sample_near_a_named_one_is_known_though_t_does_not_hold_it(store, tmp_path):
    model = HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START])
    named = X[START : START + 60 : 2]
    firmware = export_firmware(model, store=store, limit=LIMIT, session=SessionTakes(named))
    library = HostLibrary(firmware.write(tmp_path))
    every = np.concatenate([model.samples_, named]).astype(np.float64)
    clear, beside_T = 0, 0
    for x in X[START:260]:
        to_T, to_any = (np.linalg.norm(rows - x, axis=1).min() for rows in (model.samples_.astype(np.float64), every))
        if abs(to_any - LIMIT) > 0.3:  # more than the rounding of twelve features
            clear += 1
            beside_T += to_T > LIMIT + 0.3 > to_any
            assert library.observe(x).unknown == (to_any > LIMIT)
    assert clear > 20 and beside_T > 5
    with pytest.raises(ExportError, match="no named samples"):
        export_firmware(Tandem(max_bytes=3_000).fit(X[:START], Y[:START]), limit=LIMIT, session=SessionTakes(named))


@pytest.mark.parametrize("board", [F401, F767], ids=lambda b: b.name)
def test_emulated_boards_print_unknown_where_the_twin_does(board, tmp_path):
    for store in ("float32", "int16", "uint8"):
        model = HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START])
        check = X[START : START + 60], Y[START : START + 60]
        firmware = export_firmware(model, board=board, store=store, limit=LIMIT, check=check)
        folder = firmware.write(tmp_path / store)
        assert firmware.check is not None
        assert 0 < firmware.check.expected.count(b"(unknown)") < 60
        device = EmulatedBoard(build_firmware(folder, board), board)
        assert device.run(firmware.check.stream).encode() == firmware.check.expected


def test_without_a_limit_nothing_is_unknown_and_a_bad_limit_is_refused(tmp_path):
    model = HybridTinyKNN(max_size=50).fit(X[:START], Y[:START])
    firmware = export_firmware(model)
    assert firmware.farthest is None and "TML_LIMITED" not in firmware.files["config.h"]
    assert HostLibrary(firmware.write(tmp_path)).observe(1e6 * X[0]).unknown == 0
    for limit in (-1.0, float("nan")):
        with pytest.raises(ConfigError, match="limit"):
            export_firmware(model, limit=limit)
