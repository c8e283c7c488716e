"""Features of T as 8- or 16-bit integers: against integer arithmetic, the reference on bytes, and exported C code."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import gaussian_stream
from tmlcd_core import ActiveTinyKNN, CondensingInTime, ConfigError, HybridTinyKNN, TinyKNN, reference
from tmlcd_core.knn.storage import FEWEST_SAMPLES, STORAGE_BYTES, grid_of, quantise, sample_bytes, samples_in
from tmlcd_core.learners import IncrementalKNN, StaticKNN
from tmlcd_core.learners.online_start import OnlineStart
from tmlcd_core.mcu import FirmwareConfiguration, budget, export_firmware
from tmlcd_core.mcu.device import HostLibrary

TEST = {"threshold": 12.0, "batch": 20, "warmup": 60}
LEARNERS = {
    "cit": partial(CondensingInTime, max_size=40),
    "active": partial(ActiveTinyKNN, window=90, **TEST),
    "hybrid": partial(HybridTinyKNN, max_size=60, **TEST),
    "static": StaticKNN,
    "condensed": partial(StaticKNN, condense=True),
    "incremental": partial(IncrementalKNN, max_size=50),
}
REFERENCE = {
    "cit": (reference.condensing_in_time, {"p": 40}),
    "active": (reference.active_tiny_knn, {"window": 90, "h": 12.0, "n": 20, "xi": 60}),
    "hybrid": (reference.hybrid_tiny_knn, {"max_size": 60, "h": 12.0, "n": 20, "xi": 60}),
}


def in_bytes(X0, X):
    """Bytes of X by whole-number arithmetic on exact fractions: the range of X0, an eighth wider on both sides."""
    low, high = float(X0.min()), float(X0.max())
    room = (high - low) / 8 if high > low else 0.125
    step = (high - low + 2 * room) / 255
    return np.clip(np.floor((X.astype(np.float64) - (low - room)) / step + 0.5), 0, 255)


@given(
    seed=st.integers(0, 10**6),
    centre=st.sampled_from([0.0, 1.0, -300.0]),
    spread=st.sampled_from([0.0, 1e-3, 1.0, 1e6]),
    storage=st.sampled_from(["uint8", "int16"]),
)
def test_stored_values_lie_on_the_grid_and_come_back_within_half_a_step(seed, centre, spread, storage):
    rng = np.random.default_rng(seed)
    X0 = (centre + spread * rng.normal(size=(30, 4))).astype(np.float32)
    model = TinyKNN(storage=storage).fit(X0, np.arange(30) % 2)
    low, high = (0, 255) if storage == "uint8" else (-32_767, 32_767)
    assert (model.stored_ == model.stored_.round()).all() and model.stored_.min() >= low and model.stored_.max() <= high
    scale = model.grid_[1]
    np.testing.assert_allclose(model.samples_, X0, atol=0.51 / scale + 1e-5 * np.abs(X0).max())
    if storage == "uint8":
        off = np.abs(model.stored_ - in_bytes(X0, X0))
        assert off.max() <= 1 and (off.mean() < 0.02 or centre), "float32 differs at the middle of a step"
    far = model.as_stored(np.array([[-1e30, 1e30, -3e38, 3e38]], np.float32))
    assert far.tolist() == [[low, high, low, high]]


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("k, weights", [("sqrt", "uniform"), (5, "distance")])
def test_byte_learner_is_the_reference_on_bytes(name, k, weights):
    """The definition in numpy, fed with whole numbers 0..255, decides alike; condensing votes by distance too."""
    X0, y0, X, y = gaussian_stream(n=700, d=12, separation=0.9, change=350, seed=1)
    grid = grid_of(X0, "uint8")
    rows = [quantise(part, "uint8", *grid) for part in (X0, X)]
    knn = partial(reference.KNN, k=None if k == "sqrt" else k, by_distance=weights == "distance")
    algorithm, parameters = REFERENCE[name]
    oracle = reference.run(algorithm, rows[0], y0, rows[1], y, **parameters, knn=knn)
    model = LEARNERS[name](k=k, weights=weights, storage="uint8").fit(X0, y0)
    trace = model.run(X, y)
    for field in ("predictions", "sizes", "detections", "change_points"):
        np.testing.assert_array_equal(getattr(trace, field), getattr(oracle, field), err_msg=field)
    whole = LEARNERS[name](k=k, weights=weights).fit(X0, y0).run(X, y)
    assert (whole.predictions != trace.predictions).any(), "rounding changes something"


@pytest.mark.parametrize("name", LEARNERS)
def test_run_is_observe_and_a_pickle_goes_on(name):
    X0, y0, X, y = gaussian_stream(n=500, d=7, separation=1.0, change=250, seed=2)
    X = X * 1.7  # leaves the range of the initial samples
    whole = LEARNERS[name](storage="uint8").fit(X0, y0)
    trace = whole.run(X, y)
    single = LEARNERS[name](storage="uint8").partial_fit(X0, y0)
    said = [single.observe(x, label) for x, label in zip(X[:250], y[:250], strict=True)]
    single = pickle.loads(pickle.dumps(single))
    said += [single.observe(x, label) for x, label in zip(X[250:], y[250:], strict=True)]
    np.testing.assert_array_equal(said, trace.predictions)
    np.testing.assert_array_equal(single.stored_, whole.stored_)
    assert single.memory_bytes() == whole.memory_bytes() == (len(whole) + len(whole._W)) * (7 + 1 + 4)
    assert whole.stored_.min() >= 0 and whole.stored_.max() <= 255


@pytest.mark.parametrize("d", [2, 153, 5000])
def test_distances_of_bytes_are_those_of_integers(d):
    rng = np.random.default_rng(d)
    X = rng.integers(0, 4, (60, d)).astype(np.float32)
    y = rng.integers(0, 3, 60)
    model = TinyKNN(k=3, storage="uint8").fit(X[:40], y[:40])
    T, queries = model.stored_.astype(np.int64), model.as_stored(X[40:]).astype(np.int64)
    squared = ((queries[:, None] - T[None]) ** 2).sum(axis=2)
    nearest = squared.argsort(axis=1, kind="stable")[:, :3]
    found = model.neighbours(X[40:])
    np.testing.assert_array_equal(found.positions, nearest)
    np.testing.assert_allclose(found.distances, np.sqrt(np.take_along_axis(squared, nearest, 1)) / model.grid_[1])
    np.testing.assert_array_equal(
        model.predict(X[40:]), [np.bincount(y[near], minlength=3).argmax() for near in nearest]
    )


@pytest.mark.parametrize("storage", ["uint8", "int16"])
def test_constant_samples_are_told_apart_from_others_later(storage):
    model = IncrementalKNN(k=1, storage=storage).fit(np.full((6, 3), 7.0), list("aaabbb"))
    np.testing.assert_allclose(model.samples_, 7.0, atol=0.02)
    model.run(np.full((4, 3), 8.0), list("cccc"))
    assert model.predict([[7.0, 7.0, 7.0], [8.0, 8.0, 8.0], [99.0, 99.0, 99.0]]).tolist() == ["a", "c", "c"]


def test_an_online_start_takes_its_range_from_all_initial_samples():
    X0, y0, X, y = gaussian_stream(n0=30, n=80, d=3, seed=0)
    start = OnlineStart(CondensingInTime(storage="uint8"), initial=30)
    for x, label in zip(np.concatenate([X0, X]), np.concatenate([y0, y]), strict=True):
        start.learn(x, label)
    model = CondensingInTime(storage="uint8").fit(X0, y0)
    model.run(X, y)
    assert start.learner.grid_ == model.grid_
    np.testing.assert_array_equal(start.learner.stored_, model.stored_)


def test_new_features_of_a_widened_learner_are_zero():
    X0, y0, X, y = gaussian_stream(n=60, d=3, seed=0)
    model = CondensingInTime(storage="uint8").fit(X0, y0).widen(5)
    np.testing.assert_allclose(model.samples_[:, 3:], 0.0, atol=0.51 / model.grid_[1])
    model.run(np.pad(X, ((0, 0), (0, 2))), y)
    assert model.memory_bytes() == len(model) * 10


@pytest.mark.parametrize("name", ["cit", "active", "hybrid", "static", "incremental"])
@pytest.mark.parametrize("storage", ["uint8", "int16"])
def test_the_exported_c_makes_the_decisions_of_the_python_learner(name, storage, tmp_path):
    """Not of a twin on quantised samples: the learner itself, from `fit` on, and its own T byte for byte."""
    X0, y0, X, y = gaussian_stream(n0=60, n=600, d=9, separation=0.9, change=300, seed=5)
    model = LEARNERS[name](k=5, weights="distance", storage=storage, condense=False).fit(X0[:40], y0[:40])
    firmware = export_firmware(model)
    assert firmware.configuration.store == storage and (firmware.offset, firmware.scale) == model.grid_
    library = HostLibrary(firmware.write(tmp_path))
    steps = [library.observe(x, code) for x, code in zip(X, y, strict=True)]
    trace = model.run(X, y)
    assert [step.prediction for step in steps] == trace.predictions.tolist()
    assert [step.size for step in steps] == trace.sizes.tolist()
    assert [i for i, step in enumerate(steps) if step.alarm] == trace.detections.tolist()


@pytest.mark.parametrize("storage", STORAGE_BYTES)
def test_sample_bytes_are_those_of_the_memory_budget(storage):
    table = budget(FirmwareConfiguration(samples=50, store=storage, learner="hybrid"))
    (T,) = [row for row in table.rows if row.name == "Training set T"]
    assert T.bytes == 50 * sample_bytes(715, storage)


def test_bad_storage_is_refused():
    with pytest.raises(ConfigError, match="storage='bits'"):
        TinyKNN(storage="bits").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ConfigError, match="cannot be scaled to uint8: use storage='float32'"):
        TinyKNN(storage="uint8").fit([[-3e38], [3e38]], [0, 1])


@given(each=st.integers(5, 3000), queues=st.integers(1, 2), max_bytes=st.integers(1, 200_000))
def test_samples_in_is_the_largest_number_that_fits(each, queues, max_bytes):
    try:
        n = samples_in(max_bytes, each, queues)
    except ConfigError as error:
        needed = error.remedy["max_bytes"]
        assert max_bytes < needed and samples_in(needed, each, queues) == FEWEST_SAMPLES
    else:
        assert n >= FEWEST_SAMPLES and n * each * queues <= max_bytes < (n + 1) * each * queues
