"""The exported C code, run here and on emulated Cortex-M4 and M7 cores, against the Python learners.

zig compiles for the device and unicorn runs it, both from PyPI. Where Debian's arm-none-eabi-gcc and
qemu-system-arm are installed (`make firmware-test` sees to that) they are used as well.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core import ActiveTinyKNN, CondensingInTime, ExportError, GeneralizedCusum, HybridTinyKNN, TinyKNN
from tmlcd_core.cli import main
from tmlcd_core.datasets.speech import SpeechSource
from tmlcd_core.features import Extractor
from tmlcd_core.features.audio import load_clip
from tmlcd_core.knn.storage import quantise
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.mcu import BOARDS, Board, FirmwareConfiguration, budget, export_firmware, largest_store
from tmlcd_core.mcu.budget import STACK
from tmlcd_core.mcu.device import EmulatedBoard, HostLibrary, build_firmware, make
from tmlcd_core.mcu.exportable import MAX_CLASSES, MAX_CLASSES_BY_DISTANCE
from tmlcd_core.mcu.sound import as_int16, board_features, sound_tables

ROOT = Path(__file__).parents[2]

F401, F767, H743 = (BOARDS[name] for name in ("stm32f401", "stm32f767", "stm32h743"))
COMPILERS = ["zig", *(["gnu"] if shutil.which("arm-none-eabi-gcc") else [])]
needs_qemu = pytest.mark.skipif(
    not (shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-gcc")),
    reason="qemu-system-arm and arm-none-eabi-gcc are not installed: make firmware-test",
)


# -- streams -----------------------------------------------------------------------------------------


def drifting(n: int = 900, d: int = 12, seed: int = 0, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Classes that change places a third of the way, and again at two thirds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    place = (y + np.arange(n) * 3 // n) % n_classes
    X = rng.normal(size=(n, d)) + 1.2 * place[:, None] * np.sign(np.sin(1 + np.arange(d)))
    return X.astype(np.float32), y


def settle(model, firmware):
    """The model as stored on the device: T on the device's grid, all samples with time 0."""
    fresh = type(model)(**{**model.get_params(), "condense": False})
    fresh.fit(firmware.quantise(model.samples_), model.labels_)
    fresh.condense = model.condense  # Active condenses at its alarms
    return fresh


def lines_of(model, X, y):
    """What the C program should print, from the Python trace."""
    start = model.time_
    trace = model.run(X, y)
    out = [f"{start + i + 1} {p} {s}" for i, (p, s) in enumerate(zip(trace.predictions, trace.sizes, strict=True))]
    for at, change in zip(trace.detections, trace.change_points, strict=True):
        out[at] += f" alarm {start + change + 1}"
    return out


def records(X: np.ndarray, codes: np.ndarray) -> bytes:
    """The device's input: label, then the vector (float32) or clip (int16)."""
    kind = "<i2" if X.dtype == np.int16 else "<f4"
    return b"".join(np.array(c, "<i4").tobytes() + x.astype(kind).tobytes() for x, c in zip(X, codes, strict=True))


def host_lines(library: HostLibrary, X, codes, classes):
    out = []
    for x, code in zip(X, codes, strict=True):
        step = library.observe(x, code)
        out.append(f"{step.time} {classes[step.prediction]} {step.size}" + f" alarm {step.change}" * step.alarm)
    return out


def hide(y: np.ndarray, share: float, seed: int = 9) -> tuple[list, np.ndarray]:
    """Labels of which some are missing, for Python (None) and for C (-1)."""
    hidden = np.random.default_rng(seed).random(len(y)) < share
    return [None if h else int(v) for v, h in zip(y, hidden, strict=True)], np.where(hidden, -1, y)


LEARNERS = {
    "hybrid": lambda: HybridTinyKNN(max_size=50, threshold=8, batch=20, warmup=40),
    "hybrid, the paper's settings": lambda: HybridTinyKNN(max_size=50),
    "hybrid, k=5": lambda: HybridTinyKNN(max_size=30, threshold=8, batch=20, warmup=40, k=5),
    "hybrid, k above |T|": lambda: HybridTinyKNN(max_size=20, threshold=8, batch=20, warmup=40, k=99),
    "hybrid, 1/d": lambda: HybridTinyKNN(max_size=50, threshold=8, batch=20, warmup=40, weights="distance"),
    "hybrid, binomial": lambda: HybridTinyKNN(
        max_size=50, detector=GeneralizedCusum(8, 20, 40, direction="down", likelihood="binomial")
    ),
    "hybrid, the authors' code": lambda: HybridTinyKNN(
        max_size=50, detector=GeneralizedCusum(8, 20, 40, direction="down", likelihood="authors")
    ),
    "hybrid, both directions": lambda: HybridTinyKNN(max_size=50, detector=GeneralizedCusum(8, 20, 40, gap=0.1)),
    "active": lambda: ActiveTinyKNN(window=80, threshold=8, batch=20, warmup=40),
    "active, not condensed": lambda: ActiveTinyKNN(window=60, threshold=8, batch=20, warmup=40, condense=False),
    "cit": lambda: CondensingInTime(max_size=64),
    "incremental": lambda: IncrementalKNN(max_size=60),
    "static": lambda: StaticKNN(),
    "tiny": lambda: TinyKNN(condense=True),
}


def fitted(name: str, X, y, n: int = 60):
    model = LEARNERS[name]()
    size = min(n, getattr(model, "window", None) or model.max_size or n)
    return model.fit(X[:size], y[:size])


# -- the same decisions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "store"),
    [(name, "float32") for name in LEARNERS]
    + [(name, store) for name in ("hybrid", "hybrid, 1/d", "active", "cit") for store in ("int16", "uint8")],
)
def test_the_host_build_decides_as_python_does(name, store, tmp_path):
    """Predictions, |T|, alarms and change points over a stream with two drifts and missing labels."""
    X, y = drifting()
    model = fitted(name, X, y)
    firmware = export_firmware(model, store=store)
    library = HostLibrary(firmware.write(tmp_path))
    given, codes = hide(y[60:], 0.1)
    C = host_lines(library, X[60:], codes, firmware.classes)
    if name == "tiny":  # it has no stream interface: predictions alone
        expected = settle(model, firmware).predict(firmware.quantise(X[60:]))
        assert [line.split()[1] for line in C] == [str(p) for p in expected]
        return
    assert lines_of(settle(model, firmware), firmware.quantise(X[60:]), given) == C
    if name.startswith(("hybrid", "active")) and "above" not in name:  # all of T voting has no accuracy to lose
        assert sum("alarm" in line for line in C) >= (1 if "paper" in name else 2)


def test_the_statistic_is_pythons_to_the_last_digits(tmp_path):
    X, y = drifting()
    model = fitted("hybrid", X, y)
    firmware = export_firmware(model, store="float32")
    library = HostLibrary(firmware.write(tmp_path))
    trace = settle(model, firmware).run(X[60:], y[60:])
    seen = 0
    for x, code, g in zip(X[60:], y[60:], trace.statistic, strict=True):
        step = library.observe(x, code)
        if not math.isnan(g) and not step.alarm:
            assert library.statistic() == pytest.approx(g, rel=1e-9, abs=1e-9)
            seen += 1
    assert seen > 500


def test_equal_and_nearly_equal_distances_are_decided_exactly(tmp_path):
    """Integer coordinates give exact ties; small steps on large numbers vanish in float32 sums, not in C."""
    rng = np.random.default_rng(3)
    grid = rng.integers(-2, 3, (800, 4)).astype(np.float32)
    close = grid * 1000 + rng.choice([0.0, 1e-4, -1e-4], grid.shape)
    y = rng.integers(0, 3, 800)
    for i, X in enumerate((grid, close.astype(np.float32))):
        for weights in ("uniform", "distance"):
            model = HybridTinyKNN(max_size=50, threshold=8, batch=20, warmup=40, weights=weights).fit(X[:40], y[:40])
            firmware = export_firmware(model, store="float32")
            library = HostLibrary(firmware.write(tmp_path / f"{i}{weights}"))
            C = host_lines(library, X[40:], y[40:], firmware.classes)
            assert lines_of(settle(model, firmware), X[40:], y[40:]) == C


@pytest.mark.parametrize("k", [1, 2, 41, 2**40])
def test_any_number_of_neighbours(k, tmp_path):
    """k = 1, for which a compiler gave a wrong warning, up to more than the 40 samples of T."""
    X, y = drifting()
    model = HybridTinyKNN(max_size=40, k=k).fit(X[:60], y[:60])
    firmware = export_firmware(model, store="float32")
    library = HostLibrary(firmware.write(tmp_path))
    assert host_lines(library, X[60:], y[60:], firmware.classes) == lines_of(settle(model, firmware), X[60:], y[60:])


def test_square_roots_are_the_nearest_doubles(tmp_path):
    """One bit less, and votes by distance that tie in Python would not in C."""
    root = HostLibrary(export_firmware(TinyKNN().fit([[0.0], [1.0]], [0, 1])).write(tmp_path))._c.tml_sqrt
    root.restype, root.argtypes = ctypes.c_double, (ctypes.c_double,)
    rng = np.random.default_rng(0)
    for scale in (2.0**-298, 1e-30, 1.0, 1e30, 1e80):  # from the square of the smallest float on
        for x in [*(scale * rng.random(5000)), *(scale * np.arange(3000.0))]:
            assert root(x) == math.sqrt(x)


def test_a_class_that_turns_up_later(tmp_path):
    X, y = drifting(n_classes=3)
    known = y[:300] < 2
    model = HybridTinyKNN(max_size=50).fit(X[:300][known], y[:300][known])
    firmware = export_firmware(model, classes=[2])
    assert firmware.classes == ("0", "1", "2")
    library = HostLibrary(firmware.write(tmp_path))
    assert host_lines(library, X[300:], y[300:], firmware.classes) == lines_of(
        settle(model, firmware), firmware.quantise(X[300:]), y[300:]
    )


def test_a_reset_starts_again(tmp_path):
    X, y = drifting()
    firmware = export_firmware(fitted("active", X, y))
    library = HostLibrary(firmware.write(tmp_path))
    first = host_lines(library, X[60:], y[60:], firmware.classes)
    library.reset()
    assert host_lines(library, X[60:], y[60:], firmware.classes) == first


# -- the boundaries of forgetting --------------------------------------------------------------------


def obey(model, right: list[bool], d: int = 3, seed: int = 5):
    """A stream on which the model is correct and wrong as requested: labels are chosen after its prediction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(len(right), d)).astype(np.float32)
    y = []
    for x, ok in zip(X, right, strict=True):
        predicted = int(model.predict(x[None])[0])
        y.append(predicted if ok else 1 - predicted)
        model.observe(x, y[-1])
    return X, np.array(y)


def boundary_model(batch: int):
    rng = np.random.default_rng(4)
    model = HybridTinyKNN(max_size=40, threshold=2.0, batch=batch, warmup=20, condense=False)
    return model.fit(rng.normal(size=(8, 3)), np.arange(8) % 2)


@pytest.mark.parametrize(("batch", "left"), [(10, 10), (5, 5), (4, None)])
def test_the_boundary_of_the_change_and_of_five_samples(batch, left, tmp_path):
    """Wrong from the first sample of a batch on: its time is the change time, and it stays ("older" is <).

    With a batch of 5 exactly five samples are left, which is enough; with one of 4 T is untouched.
    """
    model = boundary_model(batch)
    X, y = obey(model, [True] * 20 + [True] * (3 * batch) + [False] * batch)
    change = 20 + 3 * batch + 1
    if left is None:
        assert 0 in model.times_
    else:
        assert model.times_.tolist() == list(range(change, change + left))
    firmware = export_firmware(boundary_model(batch), store="float32")
    folder = firmware.write(tmp_path / "c")
    expected = lines_of(boundary_model(batch), X, y)
    assert expected[-1].endswith(f" alarm {change}")
    assert host_lines(HostLibrary(folder), X, y, firmware.classes) == expected
    if left is None:
        return
    for i, (old, new) in enumerate([("< change", "<= change"), ("FEWEST_LEFT 5", f"FEWEST_LEFT {left + 1}")]):
        mutant = firmware.write(tmp_path / f"mutant{i}")
        source = mutant / "learner.c"
        assert old in source.read_text()
        source.write_text(source.read_text().replace(old, new))
        assert host_lines(HostLibrary(mutant), X, y, firmware.classes) != expected


# -- on the device -----------------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("board", [F401, F767], ids=lambda b: b.core)
@pytest.mark.parametrize(
    ("name", "store"),
    [("hybrid", "float32"), ("hybrid", "uint8"), ("hybrid, 1/d", "int16"), ("active", "uint8")],
)
def test_the_emulated_core_decides_as_python_does(name, store, board, compiler, tmp_path):
    """The whole program from reset, with the board's memory only: line by line Python's trace."""
    X, y = drifting(n=500)
    model = fitted(name, X, y)
    firmware = export_firmware(model, board=board, store=store)
    given, codes = hide(y[60:], 0.1)
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board, compiler), board)
    out = device.run(records(X[60:], codes)).splitlines()
    assert out == lines_of(settle(model, firmware), firmware.quantise(X[60:]), given)
    assert any("alarm" in line for line in out)
    assert device.stack_bytes() < STACK // 2


@pytest.mark.parametrize("board", [F401, H743], ids=lambda b: b.core)
def test_the_boundary_stream_on_the_device(board, tmp_path):
    model = boundary_model(5)
    X, y = obey(model, [True] * 35 + [False] * 5)
    firmware = export_firmware(boundary_model(5), board=board)
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board), board)
    assert device.run(records(X, y)).splitlines() == lines_of(boundary_model(5), X, y)


def clips(rate: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Bursts of noise, early (0) or late (1) in the second, as int16."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    time = np.arange(rate) / rate
    start = np.where(y, 0.6, 0.1)[:, None] + rng.uniform(0, 0.05, (n, 1))
    sound = rng.normal(0, 0.2, (n, rate)) * ((time > start) & (time < start + 0.3)) + rng.normal(0, 0.001, (n, rate))
    return np.round(sound * 32767).clip(-32768, 32767).astype(np.int16), y


def sound_model(extractor: Extractor, max_size: int = 50) -> HybridTinyKNN:
    heard, y = clips(extractor.sample_rate, 16)
    return HybridTinyKNN(max_size=max_size, condense=False).fit(extractor.transform(heard / np.float32(32768)), y)


FULL = Extractor()
SLOW = Extractor(sample_rate=4410, n_fft=128, hop=128)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("board", "extractor", "layout", "store"),
    [
        (F401, FULL, "streamed", "uint8"),  # beyond the paper: its full rate on its smallest board
        (F401, SLOW, "paper", "float32"),
        (H743, FULL, "paper", "float32"),
        (F767, FULL, "compact", "int16"),
    ],
    ids=lambda v: getattr(v, "name", None) or str(getattr(v, "sample_rate", v)),
)
def test_sound_on_the_device(board, extractor, layout, store, compiler, tmp_path):
    """From int16 samples to decisions: host and device print the same bytes, and decide as Python."""
    model = sound_model(extractor)
    firmware = export_firmware(model, extractor, board=board, layout=layout, store=store)
    folder = firmware.write(tmp_path)
    heard, y = clips(extractor.sample_rate, 4, seed=1)
    labels = np.where(np.arange(4) == 2, 1 - y, y)  # one wrong label, so that something is learnt
    device = EmulatedBoard(build_firmware(folder, board, compiler), board)
    out = device.run(records(heard, labels))
    (folder / "stream.bin").write_bytes(records(heard, labels))
    make(folder, "host")
    host = subprocess.run(["./tmlcd-host", "--stream", "stream.bin"], cwd=folder, capture_output=True, check=True)
    assert host.stdout.decode() == out
    X = extractor.transform(heard / np.float32(32768))
    assert out.splitlines() == lines_of(settle(model, firmware), firmware.quantise(X), labels)
    assert out.splitlines()[-1].split()[-1] == "17"

    difference = device.static_bytes() - firmware.budget.static
    assert 0 <= difference <= 16  # a file handle and alignment
    assert device.stack_bytes() < STACK // 2
    assert device.sections[".text"] <= firmware_flash(firmware)


def firmware_flash(firmware) -> int:
    from tmlcd_core.mcu import flash_bytes

    return flash_bytes(firmware.configuration, firmware.fused)


@pytest.mark.parametrize("board", [F401, H743], ids=lambda b: b.core)
def test_features_on_the_device_are_the_hosts_to_the_last_bit(board, tmp_path):
    firmware = export_firmware(sound_model(SLOW), SLOW, board=board, layout="compact")
    folder = firmware.write(tmp_path)
    heard, _ = clips(4410, 3, seed=2)
    library = HostLibrary(folder)
    device = EmulatedBoard(build_firmware(folder, board, whole=True), board)
    device.boot()
    for clip in heard:
        device.call("tml_audio_start")
        device.push_audio(clip)
        device.call("tml_extract")
        there = bytes(device.machine.mem_read(device.symbols["features"], 4 * 153))
        assert there == library.features(clip, 153).tobytes()


# -- features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["paper", "compact", "streamed"])
@pytest.mark.parametrize(
    "extractor",
    [
        FULL,
        SLOW,
        Extractor(filters=(51, 60), sample_rate=8000, n_fft=256, hop=100),  # windows that overlap
        Extractor(sample_rate=2000, n_fft=64, hop=150),  # windows with gaps
    ],
    ids=lambda e: f"{e.sample_rate}-{e.n_fft}-{e.hop}",
)
def test_features_are_pythons_within_a_colour_step(extractor, layout, tmp_path):
    """A decibel value on the edge between two colours may fall on either side; nothing else differs."""
    d = extractor.n_features
    model = TinyKNN().fit(np.eye(2, d), [0, 1])
    big = Board("big", "cortex-m7", 480, 1 << 22, 1 << 22)
    library = HostLibrary(export_firmware(model, extractor, board=big, layout=layout).write(tmp_path))
    heard, _ = clips(extractor.sample_rate, 4, seed=3)
    heard = np.concatenate([heard, np.round(tones(extractor.sample_rate) * 20000).astype(np.int16)])
    for clip in heard:
        expected = extractor.transform(clip / np.float32(32768))[0]
        got = library.features(clip, d)
        step = np.abs(got - expected)
        assert step.max() <= 0.01 * max(expected.max(), 0.1)
        assert np.median(step) < 2e-4
        assert np.array_equal(got, library.features(clip, d, chunk=37))


@pytest.mark.parametrize("extractor", [FULL, SLOW, Extractor(filters=(51, 60), sample_rate=8000, n_fft=256, hop=100)],
                         ids=lambda e: str(e.sample_rate))  # fmt: skip
@pytest.mark.parametrize(("layout", "fused"), [("paper", False), ("compact", False), ("streamed", True)])
def test_the_python_twin_of_the_features_is_exact(extractor, layout, fused, tmp_path):
    """Words, noise, silence and full scale: not one bit differs between the C code and its arithmetic in numpy."""
    rate, d = extractor.sample_rate, extractor.n_features
    big = Board("big", "cortex-m7", 480, 1 << 22, 1 << 22)
    model = TinyKNN().fit(np.eye(2, d), [0, 1])
    firmware = export_firmware(model, extractor, board=big, layout=layout, fused=fused)
    library = HostLibrary(firmware.write(tmp_path))
    words = [as_int16(load_clip(path, rate)) for path in sorted((ROOT / "data" / "clips").glob("*.flac"))]
    noise = np.random.default_rng(0).integers(-32768, 32768, rate)
    edge = [noise, np.zeros(rate), np.full(rate, -32768), np.eye(1, rate)[0]]
    heard = np.stack([*words, *clips(rate, 2)[0], *as_int16(tones(rate)), *(clip.astype(np.int16) for clip in edge)])
    twin = board_features(heard, firmware.configuration, sound_tables(firmware.configuration, extractor, fused))
    assert len(words) == 8
    assert np.array_equal(twin, np.stack([library.features(clip, d) for clip in heard]))


def tones(rate: int) -> np.ndarray:
    time = np.arange(rate) / rate
    chirp = np.sin(2 * np.pi * (50 + rate / 5 * time) * time)
    chord = sum(np.sin(2 * np.pi * f * time) for f in (220, 277, 330)) / 3 * np.exp(-3 * time)
    return np.stack([chirp, chord])


@pytest.mark.parametrize("layout", ["paper", "compact", "streamed"])
def test_fused_and_plain_tables_agree(layout, tmp_path):
    model = sound_model(SLOW)
    heard, _ = clips(4410, 2, seed=4)
    results = []
    for fused in (True, False) if layout != "paper" else (False,):
        firmware = export_firmware(model, SLOW, layout=layout, store="uint8", fused=fused)
        library = HostLibrary(firmware.write(tmp_path / str(fused)))
        results.append(np.stack([library.features(c, 153) for c in heard]))
    assert np.abs(results[0] - results[-1]).max() < 1e-5


def test_silence_and_constant_clips(tmp_path):
    """One single value everywhere is level 0 everywhere, as in Python; a click of one step is not."""
    library = HostLibrary(export_firmware(sound_model(SLOW), SLOW).write(tmp_path))
    silence = np.zeros(4410, np.int16)
    expected = SLOW.transform(silence.astype(np.float32))[0]
    assert np.abs(library.features(silence, 153) - expected).max() < 1e-5
    for clip in (np.full(4410, 32767), np.full(4410, -32768), np.eye(1, 4410)[0]):
        clip = clip.astype(np.int16)
        expected = SLOW.transform(clip / np.float32(32768))[0]
        assert np.abs(library.features(clip, 153) - expected).max() < 0.02


def test_missing_samples_are_silence(tmp_path):
    for layout in ("streamed", "compact", "paper"):
        library = HostLibrary(export_firmware(sound_model(SLOW), SLOW, layout=layout).write(tmp_path / layout))
        heard, _ = clips(4410, 1)
        clip = heard[0].copy()
        clip[3000:] = 0
        assert np.array_equal(library.features(clip[:3000], 153), library.features(clip, 153))


# -- memory ------------------------------------------------------------------------------------------


def test_the_papers_layout_does_not_link_for_the_small_board(tmp_path):
    firmware = export_firmware(sound_model(FULL), FULL, board=H743, layout="paper", store="float32")
    folder = firmware.write(tmp_path)
    assert build_firmware(folder, H743).exists()
    for compiler in COMPILERS:
        with pytest.raises(ExportError, match=r"(?s)RAM.*overflowed"):
            build_firmware(folder, F401, compiler)


def test_the_paper_total_is_in_the_linkers_number(tmp_path):
    """What the linker adds to the paper's 370,744 and 77,140 bytes is what the budget lists beside them."""
    for extractor, total, board in ((FULL, 370_744, H743), (SLOW, 77_140, F401)):
        firmware = export_firmware(sound_model(extractor), extractor, board=board, layout="paper", store="float32")
        device = EmulatedBoard(build_firmware(firmware.write(tmp_path / board.name), board), board)
        listed = sum(r.bytes for r in firmware.budget.rows if not r.in_paper and r.name != "Stack")
        assert firmware.budget.total == total
        assert 0 <= device.static_bytes() - total - listed <= 16


@pytest.mark.parametrize("store", ["float32", "int16", "uint8"])
@pytest.mark.parametrize("name", ["hybrid", "active", "cit", "static"])
def test_the_linker_agrees_with_the_budget_of_vector_models(name, store, tmp_path):
    X, y = drifting(n=100)
    firmware = export_firmware(fitted(name, X, y), store=store)
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), F401), F401)
    assert 0 <= device.static_bytes() - budget(firmware.configuration).static <= 24


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("d", "store", "learner"), [(4, "uint8", "hybrid"), (5, "int16", "hybrid"), (1, "float32", "active")]
)
def test_the_largest_store_links(d, store, learner, compiler, tmp_path):
    """Sizes at which the sum alone leaves a few bytes free: what the linker adds must fit as well."""
    n = largest_store(FirmwareConfiguration(vector=d, layout="streamed", store=store, learner=learner), F401)
    X, y = drifting(n=60, d=d)
    model = HybridTinyKNN(max_size=n) if learner == "hybrid" else ActiveTinyKNN(window=n)
    assert build_firmware(export_firmware(model.fit(X, y), store=store).write(tmp_path), F401, compiler).exists()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("weights", "n"), [("uniform", MAX_CLASSES), ("distance", MAX_CLASSES_BY_DISTANCE)])
def test_the_votes_of_many_classes_leave_stack_for_interrupts(weights, n, compiler, tmp_path):
    y = np.arange(n)
    X = y[:, None].astype(np.float32)
    model = HybridTinyKNN(max_size=n, weights=weights, condense=False).fit(X, y)
    device = EmulatedBoard(build_firmware(export_firmware(model).write(tmp_path), F401, compiler), F401)
    assert len(device.run(records(X[:3], y[:3])).splitlines()) == 3
    assert device.stack_bytes() < STACK - 512


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_stack_starts_at_a_multiple_of_eight(compiler, tmp_path):
    """Required by ARM's calling convention, for any amount of RAM of a custom board."""
    mine = Board("mine", "cortex-m4", 84, 100_004, 512 * 1024)
    X, y = drifting(n=100)
    elf = build_firmware(export_firmware(fitted("hybrid", X, y), board=mine).write(tmp_path), mine, compiler)
    top = int.from_bytes(EmulatedBoard(elf, mine).machine.mem_read(mine.flash_origin, 4), "little")
    assert top == mine.ram_origin + 100_000


def test_a_stray_access_is_caught(tmp_path):
    """The emulator maps the board's memory and nothing else: the check that the checks above rely on."""
    import unicorn

    X, y = drifting(n=100)
    firmware = export_firmware(fitted("cit", X, y))
    folder = firmware.write(tmp_path)
    source = folder / "learner.c"
    source.write_text(source.read_text().replace("counts.now = 0;", "counts.now = *(volatile uint32_t *)0x30000000u;"))
    device = EmulatedBoard(build_firmware(folder, F401), F401)
    with pytest.raises(unicorn.UcError, match="UNMAPPED"):
        device.run(records(X, y))


# -- what the project brings along -----------------------------------------------------------------


@pytest.mark.parametrize(("board", "layout", "store"), [(F401, "streamed", "uint8"), (H743, "paper", "float32")])
def test_the_emulated_board_says_what_is_expected(board, layout, store, tmp_path):
    heard, y = clips(22050, 6, seed=6)
    firmware = export_firmware(sound_model(FULL), FULL, board=board, layout=layout, store=store, check=(heard, y))
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board), board)
    assert device.run(firmware.check.stream).encode() == firmware.check.expected


COUNTING = """
uint32_t tml_stored(int32_t label);
uint32_t tml_stored(int32_t label)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store.size; i++) {
        count += store.label[tml_place(&store, i)] == label;
    }
    return count;
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMLCD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def numbers(text: str, name: str) -> np.ndarray:
    """A generated array of integers."""
    return np.array(re.findall(r"\d+", re.search(rf"{name}\[.*?= \{{(.*?)\}};", text, re.DOTALL).group(1)), int)


@pytest.mark.parametrize("words", [["yes", "no", "up"], ["yes", "no", "up", "down"]], ids=len)
def test_no_class_is_lost_after_thirty_errors(words, cache, tmp_path, capsys):
    """The default export as it is: T right after it, and T of the C code and of Python after 30 misclassified clips."""
    assert main(["export", "--classes", *words, "--out", str(tmp_path / "c"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    folder, classes = tmp_path / "c", found["classes"]
    assert found["configuration"]["store"] == "uint8" and found["stored"] == 50
    assert subprocess.run(["make", "-C", str(folder), "check"], capture_output=True, check=False).returncode == 0
    text, config = (folder / "model.c").read_text(), (folder / "config.h").read_text()
    T = numbers(text, "tml_initial_x").reshape(50, -1).astype(np.float32)
    labels = np.array(classes)[numbers(text, "tml_initial_label")]
    counts = {word: int((labels == word).sum()) for word in classes}
    assert found["samples_per_class"] == counts
    assert max(counts.values()) - min(counts.values()) <= 1

    with (folder / "learner.c").open("a") as file:
        file.write(COUNTING)
    library = HostLibrary(folder)
    grid = [float.fromhex(re.search(rf"TML_{name} (\S+)f", config).group(1)) for name in ("OFFSET", "SCALE")]
    source = SpeechSource(words)
    heard = [(word, as_int16(clip)) for word in words for clip in source.media(word, range(100, 150))]
    order = np.random.default_rng(0).permutation(len(heard))
    for starved in (None, *classes):  # honest labels; then none is ever of this class, which thus only loses samples
        library.reset()
        twin = HybridTinyKNN(max_size=50, condense=False).fit(T, labels)
        errors = 0
        for word, clip in (heard[i] for i in order):
            x = library.features(clip, T.shape[1])
            predicted = classes[library.predict(x)]
            truth = word if starved is None else next(c for c in classes if c not in (predicted, starved))
            step = library.observe(x, classes.index(truth))
            assert twin.observe(quantise(x, "uint8", *grid), truth) == classes[step.prediction] == predicted
            errors += predicted != truth
            if errors == 30:
                break
        left = {word: library._c.tml_stored(code) for code, word in enumerate(classes)}
        assert left == {word: int((twin.labels_ == word).sum()) for word in classes}
        assert all(left.values())
        assert errors == 30


# -- instructions ------------------------------------------------------------------------------------


def test_instructions_are_repeatable_and_the_fused_table_saves_them(tmp_path):
    model = sound_model(FULL)
    clip = clips(22050, 1, seed=5)[0][0]
    counts = {}
    for fused in (False, True):
        firmware = export_firmware(model, FULL, board=F767, layout="compact", store="int16", fused=fused)
        elf = build_firmware(firmware.write(tmp_path / str(fused)), F767, whole=True)
        counts[fused] = EmulatedBoard(elf, F767, count=True).stage_instructions(clip, streamed=False)
        assert EmulatedBoard(elf, F767, count=True).stage_instructions(clip, streamed=False) == counts[fused]
    assert counts[True]["spectrogram"] == counts[False]["spectrogram"]
    assert counts[True]["features"] < 0.65 * counts[False]["features"]


# -- the real thing, emulated by others --------------------------------------------------------------


def qemu(folder, elf, machine: str) -> str:
    done = subprocess.run(
        ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", "-kernel", elf.name],
        cwd=folder, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


@needs_qemu
@pytest.mark.parametrize(
    ("board", "machine"),
    [
        (F401, "netduinoplus2"),  # an STM32F405: the F401's memory lies within its own
        (Board("mps2-an500", "cortex-m7", 25, 512 * 1024, 2048 * 1024, flash_origin=0), "mps2-an500"),
    ],
    ids=["m4", "m7"],
)
def test_qemu_decides_as_python_does(board, machine, tmp_path):
    X, y = drifting(n=400)
    model = fitted("hybrid", X, y)
    firmware = export_firmware(model, board=board)
    folder = firmware.write(tmp_path)
    given, codes = hide(y[60:], 0.1)
    (folder / "stream.bin").write_bytes(records(X[60:], codes))
    out = qemu(folder, build_firmware(folder, board, "gnu"), machine)
    assert out.splitlines() == lines_of(settle(model, firmware), firmware.quantise(X[60:]), given)


@needs_qemu
def test_qemu_hears_what_the_host_hears(tmp_path):
    firmware = export_firmware(sound_model(FULL), FULL, board=F401)
    folder = firmware.write(tmp_path)
    heard, y = clips(22050, 4, seed=1)
    (folder / "stream.bin").write_bytes(records(heard, y))
    make(folder, "host")
    host = subprocess.run(["./tmlcd-host", "--stream", "stream.bin"], cwd=folder, capture_output=True, check=True)
    assert qemu(folder, build_firmware(folder, F401, "gnu"), "netduinoplus2") == host.stdout.decode()


@needs_qemu
def test_make_run_prints_what_is_expected(tmp_path):
    heard, y = clips(22050, 6, seed=6)
    firmware = export_firmware(sound_model(FULL), FULL, board=F401, check=(heard, y))
    folder = firmware.write(tmp_path)
    done = subprocess.run(
        ["make", "-s", "run"], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=True
    )
    assert done.stdout + done.stderr == firmware.check.expected
    other = subprocess.run(["make", "-s", "run", "BOARD=stm32h743"], cwd=folder, capture_output=True, check=False)
    assert other.returncode == 2 and b"QEMU has no board like stm32h743" in other.stderr
