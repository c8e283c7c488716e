"""Recorded streams: encoding fitted on the initial rows, tables in blocks, river's streams, ordered folders."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from river import datasets
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from tests.support.tables import drifting_frame
from tmlcd_core import CondensingInTime, ConfigError, DataError, Experiment, prequential
from tmlcd_core.streams import FolderRecording, TableRecording
from tmlcd_core.streams.foreign import foreign_recording
from tmlcd_core.streams.tables import LeftOutWarning

ROOT = Path(__file__).resolve().parents[2]


def whole(recording):
    blocks = list(recording.blocks())
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


@pytest.mark.parametrize(("scale", "scaler"), [("z-score", StandardScaler()), ("min-max", MinMaxScaler())])
def test_the_features_are_those_of_scikit_learn_fitted_on_the_initial_rows(scale, scaler):
    frame = drifting_frame(600)
    X, y = whole(TableRecording(frame, "class", initial=150, scale=scale))
    most = SimpleImputer(strategy="most_frequent", missing_values=None)
    other = ColumnTransformer([
        ("numbers", make_pipeline(scaler, SimpleImputer()), ["size", "weight"]),
        ("colour", make_pipeline(most, OneHotEncoder(sparse_output=False)), ["colour"]),
    ])  # fmt: skip
    frame["colour"] = frame["colour"].astype(object).where(frame["colour"].notna(), None)
    expected = other.fit(frame[:150]).transform(frame)
    np.testing.assert_allclose(X[:, :2], expected[:, :2], atol=2e-6)
    recording = TableRecording(frame, "class", initial=150)
    next(recording.blocks())
    places = [recording.encoder.names.index(f"colour={colour}") for colour in ("blue", "green", "red")]
    np.testing.assert_array_equal(X[:, places], expected[:, 2:])
    assert y.tolist() == frame["class"].tolist()


def test_later_rows_do_not_change_the_encoding_of_earlier_ones():
    frame = drifting_frame(400)
    changed = frame.copy()
    changed.loc[200:, ["size", "weight"]] *= 1e3
    changed.loc[200:, "colour"] = "violet"
    one, other = (whole(TableRecording(part, "class", initial=100))[0] for part in (frame, changed))
    np.testing.assert_array_equal(one[:200], other[:200])
    assert one.shape == other.shape and (other[200:, -1] == 1).all(), "an unknown category has the feature “other”"


def test_a_column_that_is_constant_at_the_start_is_only_centred():
    frame = drifting_frame(300).assign(still=5.0)
    frame.loc[200:, "still"] = 7.0
    recording = TableRecording(frame, "class", initial=100)
    X, _ = whole(recording)
    assert set(X[:, recording.encoder.names.index("still")]) == {0.0, 2.0}


def test_blocks_do_not_depend_on_the_length_of_the_initial_part(monkeypatch):
    monkeypatch.setattr("tmlcd_core.streams.tables.CHUNK", 64)
    frame = drifting_frame(500)
    recording = TableRecording(frame, "class", initial=130, samples=400)
    sizes = [len(y) for _, y in recording.blocks()]
    assert sizes[0] == 130 and sum(sizes) == 400 and max(sizes[1:]) <= 64
    assert recording.scenario().length == 270


def test_what_is_left_out_is_a_warning(recwarn):
    frame = drifting_frame(300).assign(when=pd.date_range("2024-01-01", periods=300))
    frame.loc[:9, "class"] = None
    recording = TableRecording(frame, "class")
    assert [str(one.message) for one in recwarn if one.category is LeftOutWarning] == [
        "The column “when” is left out: a date; the order of the rows is the time.",
        "10 rows without a label are left out.",
    ]
    assert recording.total == 290


def test_too_few_rows_is_a_sentence():
    with pytest.raises(DataError, match="has 90 labelled samples, initial=100: use fewer"):
        TableRecording(drifting_frame(90), "class")


def test_a_stream_that_does_not_fit_into_memory_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("tmlcd_core.streams.stream.MOST_BYTES", 10_000)
    recording = TableRecording(drifting_frame(900), "class")
    experiment = Experiment("things.csv", label="class")
    with pytest.raises(DataError, match=r"use fewer samples \(--samples\), or `tmlcd run`"):
        experiment.stream(recording)
    assert experiment.run(recording).scenario.length == 800, "a run in blocks needs no such array"


# ---------------------------------------------------------------- memory

MEASURE = """
import resource, sys
import numpy as np, pandas as pd, pyarrow.parquet
from tmlcd_core import Experiment
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
def run(path):
    calls = []
    found = Experiment(path, label="class", learners=["hybrid"]).run(progress=lambda *told: calls.append(told),
                                                                    keep_traces=False)
    return found.learners["hybrid"].correct.size, calls
run(sys.argv[1])
before = peak()
samples, calls = run(sys.argv[2])
print(peak() - before, samples, len(calls), *calls[-1][:2])
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_long_table_needs_the_memory_of_its_blocks(ending, tmp_path):
    """60,000 rows of 50 columns are 24 MB as float64, 12 MB as float32, and 60 MB as text."""
    rng = np.random.default_rng(0)
    for name, rows in (("short", 9000), ("long", 60_000)):
        frame = pd.DataFrame(rng.normal(size=(rows, 50)).astype(np.float32), columns=[f"c{i}" for i in range(50)])
        frame["class"] = rng.choice(["x", "y"], rows)
        getattr(frame, f"to_{ending}")(tmp_path / f"{name}.{ending}", index=False)
    paths = [str(tmp_path / f"{name}.{ending}") for name in ("short", "long")]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True, env=env)
    grown, samples, calls, done, total = map(int, told.stdout.split())
    assert samples == 59_900 and done == total == 60_000
    assert calls >= 60_000 // 4096, "a progress bar has something to show"
    assert grown <= 12, f"{grown} MB more than for 9,000 rows"


# ---------------------------------------------------------------- streams of other libraries


def test_river_streams_by_name_and_by_object_are_the_same():
    by_name = whole(foreign_recording("river:Phishing"))
    by_object = whole(foreign_recording(datasets.Phishing()))
    for one, other in zip(by_name, by_object, strict=True):
        np.testing.assert_array_equal(one, other)
    assert by_name[1].tolist() == [str(y) for _, y in datasets.Phishing()]


def test_an_endless_generator_gives_the_samples_of_its_seed():
    recording = foreign_recording("river:SEA", samples=500, seed=3, scale="none")
    X, y = whole(recording)
    rows = list(datasets.synth.SEA(seed=3).take(500))
    np.testing.assert_allclose(X, [list(x.values()) for x, _ in rows], rtol=1e-6)
    assert y.tolist() == [str(label) for _, label in rows]
    assert foreign_recording("river:SEA").total == 10_000
    assert not np.array_equal(X, whole(foreign_recording("river:SEA", samples=500, seed=4, scale="none"))[0])


@pytest.mark.parametrize(
    "name", ["RandomRBF", "RandomRBFDrift", "RandomTree", "ConceptDriftStream", "Waveform", "LEDDrift"]
)
def test_a_generator_with_any_seeds_repeats_itself(name):
    """RandomRBF and RandomTree have two seeds each, and the usual name for neither."""
    first, again, other = (whole(foreign_recording(f"river:{name}", samples=200, seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1].tolist() == again[1].tolist()
    assert not np.array_equal(first[0], other[0])
    assert Experiment(f"river:{name}", samples=200).is_random


def test_a_given_generator_is_not_used_up():
    generator = datasets.synth.STAGGER(seed=1)
    one, other = (prequential(CondensingInTime(), generator) for _ in range(2))
    assert one.metrics.accuracy == other.metrics.accuracy and len(one.correct) == 9900


@pytest.mark.parametrize(("name", "sentence"), [
    ("river:Elec2", r"not on this computer: download it once with python -c .*datasets\.Elec2\(\)\.download\(\)"),
    ("river:Nothing", "river has no stream 'Nothing'; there are AirlinePassengers, Agrawal|Agrawal, AirlinePassengers"),
    ("river:TrumpApproval", "is for regression: choose a stream for classification"),
    ("river:Insects", "not on this computer|needs"),
])  # fmt: skip
def test_a_river_stream_that_cannot_run_is_a_sentence(name, sentence, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises((ConfigError, DataError), match=sentence):
        foreign_recording(name)


class Instance:
    def __init__(self, x, y):
        self.x, self.y_label = x, y


class CapyLike:
    """What CapyMOA's streams offer, without Java."""

    def __init__(self, X, y, regression=False):
        self.X, self.y, self.regression = X, y, regression
        self.schema = self
        self.restart()

    def is_classification(self):
        return not self.regression

    def restart(self):
        self.i = 0

    def has_more_instances(self):
        return self.i < len(self.y)

    def next_instance(self):
        self.i += 1
        return Instance(self.X[self.i - 1], self.y[self.i - 1])


def test_a_stream_with_the_interface_of_capymoa_runs():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 400)
    X = rng.normal(size=(400, 3)) + (y == "a")[:, None]
    recording = foreign_recording(CapyLike(X, y), scale="none")
    np.testing.assert_allclose(whole(recording)[0], X, rtol=1e-6)
    assert prequential(CondensingInTime(), CapyLike(X, y)).metrics.accuracy > 0.6
    with pytest.raises(ConfigError, match="for regression"):
        foreign_recording(CapyLike(X, y, regression=True))


def test_a_generator_of_capymoa_is_cut_and_a_file_is_not():
    class Generator(CapyLike):
        """Goes on for ever."""

        def getClass(self):
            return self

        def getName(self):
            return "moa.streams.generators.SEAGenerator"

        def has_more_instances(self):
            self.i %= len(self.y)
            return True

    X, y = np.ones((12_000, 1)), np.arange(12_000) % 2
    endless = Generator(X, y)
    endless.moa_stream = endless
    assert foreign_recording(endless).total == 10_000
    assert foreign_recording(CapyLike(X, y)).total == 12_000


# ---------------------------------------------------------------- folders in order


@pytest.fixture
def photos(tmp_path):
    """24 grey images of two classes, named by their time; dates run the other way."""
    for number in range(24):
        label = "dark" if number % 3 else "light"
        (tmp_path / label).mkdir(exist_ok=True)
        path = tmp_path / label / f"{number:03d}.png"
        Image.fromarray(np.full((32, 32, 3), 60 if label == "dark" else 200, np.uint8)).save(path)
        os.utime(path, (1e9 - number, 1e9 - number))
    return tmp_path


@pytest.mark.parametrize(("order", "numbers"), [("name", range(24)), ("date", range(23, -1, -1))])
def test_files_run_in_the_order_of_their_names_or_dates(photos, order, numbers):
    X, y = whole(FolderRecording(str(photos), order, initial=8))
    assert y.tolist() == ["dark" if number % 3 else "light" for number in numbers]
    assert X.shape[0] == 24 and len(np.unique(X[y == "dark"], axis=0)) == 1
    experiment = Experiment(photos, order=order, initial=8, learners=["cit"])
    assert Experiment.from_link(experiment.link()) == experiment
    assert experiment.run().learners["cit"].correct.size == 16


def test_a_file_that_cannot_be_read_leaves_no_gap(photos):
    (photos / "dark" / "001.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"001\.png cannot be read: remove it"):
        whole(FolderRecording(str(photos), "name", initial=8))


def test_only_a_folder_has_an_order():
    with pytest.raises(ConfigError, match="is for a folder"):
        FolderRecording("digits", "name")
    with pytest.raises(ConfigError, match="order='size' must be one of"):
        Experiment("digits", order="size")


@pytest.mark.parametrize("scale", ["z-score", "min-max", "none"])
@pytest.mark.parametrize("row", [3, 150])
def test_a_number_too_large_for_a_feature_is_a_sentence_without_a_warning(scale, row):
    frame = pd.DataFrame({"a": np.arange(200.0), "b": np.ones(200), "y": np.arange(200) % 2})
    frame.loc[[row, row + 1], "a"] = [1e308, -1e308]
    with pytest.raises(DataError, match=r"the column 'a' has the number 1e\+308, too large for a feature"):
        list(TableRecording(frame, "y", scale=scale).blocks())
