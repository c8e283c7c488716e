"""Scenarios and the streams made from them, on data whose every row tells where it is from."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from tmlcd_core.datasets import Dataset
from tmlcd_core.errors import ConfigError, DataError, TmlcdError
from tmlcd_core.experiments import (
    DRIFTS,
    ClassAdded,
    ClassChange,
    ClassRemoved,
    Concept,
    DatasetMaterial,
    LabelsSwapped,
    Noise,
    Origin,
    Return,
    Scenario,
    SourceMaterial,
    compose,
    fitting_sizes,
    make_scenario,
)

WORDS = ("go", "no", "off", "on", "up", "yes")


def table(per_class=500, words=WORDS):
    """Row i of word w is (w, i, noise level): a sample says what it is."""
    y = np.repeat(words, per_class)
    index = np.tile(np.arange(per_class), len(words))
    X = np.column_stack([np.repeat(np.arange(len(words)), per_class), index, np.zeros(len(y))])
    return DatasetMaterial(Dataset("table", X.astype(np.float32), y, index))


class Disturbed(DatasetMaterial):
    """The same rows; a disturbed one carries the strength in its third feature."""

    def pool(self, origin, n):
        X, index = super().pool(Origin(origin.word), n)
        X = X.copy()
        X[:, 2] = origin.strength
        return X, index


def disturbed(per_class=500):
    return Disturbed(table(per_class).data)


def words_of(X):
    return np.array(WORDS)[X[:, 0].astype(int)]


def test_the_paper_s_protocol():
    stream = compose(make_scenario("class-change", ("yes", "no"), 200, 100, new="up"), table(), seed=3)
    assert Counter(stream.y0.tolist()) == {"yes": 100, "no": 100}
    assert stream.changes == (400,) and len(stream) == 800
    for part in (stream.y[:400], stream.y[400:]):
        assert Counter(part.tolist()) == {"yes": 200, "no": 200}
    said = words_of(stream.X)
    assert (said[:400] == stream.y[:400]).all()
    assert set(said[400:][stream.y[400:] == "yes"]) == {"up"}  # the new word carries the old label
    assert set(said[400:][stream.y[400:] == "no"]) == {"no"}


@pytest.mark.parametrize("drift", DRIFTS)
def test_samples_are_what_their_ids_say_and_come_once(drift):
    stream = compose(make_scenario(drift, 3, 60, 20, effect="white noise", strength=0.5), disturbed(), seed=5)
    for X, origin, index in ((stream.X0, stream.origin0, stream.index0), (stream.X, stream.origin, stream.index)):
        assert (words_of(X) == np.array([stream.origins[o].word for o in origin])).all()
        assert (X[:, 1] == index).all()
        assert (X[:, 2] == np.array([stream.origins[o].strength for o in origin], np.float32)).all()
    seen = [(w, i) for X in (stream.X0, stream.X) for w, i in zip(words_of(X).tolist(), X[:, 1].tolist(), strict=True)]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("drift", DRIFTS)
def test_json_round_trip(drift):
    scenario = make_scenario(drift, 3)
    assert Scenario.from_json(json.dumps(scenario.to_json())) == scenario
    named = scenario.complete(WORDS, 1)
    assert Scenario.from_json(named.to_json()) == named
    assert not named.is_open


def test_seeds_repeat_and_differ():
    scenario, material = make_scenario("gradual", 3, 60, 20), table()
    one, same, other = (compose(scenario, material, seed) for seed in (1, 1, 2))
    assert (one.X == same.X).all() and (one.y == same.y).all() and one.scenario == same.scenario
    assert one.X.shape == other.X.shape and (one.X != other.X).any()
    drawn = {compose(scenario, material, seed).scenario.names for seed in range(12)}
    assert len(drawn) > 6


def test_order_is_a_shuffle():
    """Labels follow each other as often as chance has it, and media come in no order."""
    stream = compose(make_scenario("none", ("yes", "no"), 240, 10), table(), seed=0)
    repeats = (stream.y[1:] == stream.y[:-1]).mean()
    assert 0.4 < repeats < 0.6
    assert abs(np.corrcoef(np.arange(len(stream)), stream.index)[0, 1]) < 0.15


def test_each_kind_of_drift():
    def after(*steps):
        return Scenario((Concept(("yes", "no", "up")), *steps), 100).worlds()[-1]

    assert after(ClassAdded(50, "go"))["go"] == Origin("go")
    assert list(after(ClassRemoved(50, "no"))) == ["yes", "up"]
    swapped = after(LabelsSwapped(50, "yes", "up"))
    assert (swapped["yes"].word, swapped["up"].word, swapped["no"].word) == ("up", "yes", "no")
    noisy = after(Noise(50, "echo", 0.3))
    assert {o.effect for o in noisy.values()} == {"echo"} and noisy["no"].word == "no"
    assert after(Noise(40, "echo"), Noise(50, strength=0.0))["yes"] == Origin("yes")
    assert after(ClassChange(40, "yes", "go"), Return(50))["yes"] == Origin("yes")
    assert after(Noise(40, "echo"), ClassChange(50, "yes", "go"))["yes"] == Origin("go", "echo", 1.0)
    assert after(ClassRemoved(50, "no"), ClassAdded(50, "go")).keys() == {"yes", "up", "go"}


def test_drifts_at_one_time_are_one_change():
    scenario = Scenario([Concept(("yes", "no", "up")), ClassRemoved(50, "no"), ClassAdded(50, "go")], 100, 10)
    stream = compose(scenario, table(), 0)
    assert stream.changes == (50,)
    assert set(stream.y[50:]) == {"yes", "up", "go"}


def test_gradual_is_a_probability_ramp():
    """Share of the new word, over many streams, against the line from 0 to 1."""
    scenario = Scenario([Concept(("yes", "no")), ClassChange(100, "yes", "up", over=80)], 240, 5)
    new = np.zeros(240)
    for seed in range(150):
        stream = compose(scenario, table(), seed)
        new += words_of(stream.X) == "up"
        assert stream.ends == (180,)
    share = 2 * new / 150  # half of the samples have the label that changes
    assert share[:100].max() == 0
    assert abs(share[180:].mean() - 1) < 0.05
    expected = np.arange(1, 81) / 80
    smooth = np.convolve(share[100:180], np.full(10, 0.1), "valid")
    assert np.abs(smooth - np.convolve(expected, np.full(10, 0.1), "valid")).max() < 0.12


def test_several_changes_and_a_return():
    stream = compose(make_scenario("recurring", ("yes", "no"), 50, 10, new="go"), table(), 0)
    said = words_of(stream.X)
    assert stream.changes == (100, 200)
    assert [set(said[a:b]) for a, b in ((0, 100), (100, 200), (200, 300))] == [
        {"yes", "no"},
        {"go", "no"},
        {"yes", "no"},
    ]


@pytest.mark.parametrize("later", [ClassChange, ClassRemoved, LabelsSwapped])
def test_names_left_open_are_those_of_the_concept_at_that_time(later):
    """The first label has gone when the second drift comes: it is about the one that is the first then."""
    scenario = Scenario([Concept(tuple("abcd")), ClassRemoved(10), later(20)], 30).complete(list("abcdef"), seed=0)
    before, after = scenario.worlds()[1:]
    assert list(before) == ["b", "c", "d"]
    assert after.get("b") != before["b"]


@pytest.mark.parametrize("later", [ClassChange(20, "f"), ClassRemoved(20, "f"), LabelsSwapped(20, "f")])
def test_what_was_added_is_not_drawn_to_begin_with(later):
    scenario = Scenario([Concept(2), ClassAdded(10, "f"), later], 30).complete(list("abcdef"), seed=0)
    first, added, _ = scenario.worlds()
    assert "f" not in first and "f" in added


def test_numbers_of_numpy_are_numbers():
    scenario = make_scenario("class-change", np.int64(3), np.int64(20), np.int64(10))
    assert Scenario.from_json(scenario.to_json()) == scenario == make_scenario("class-change", 3, 20, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scenario([Concept(2), ClassChange(3000)], 3000), "after the end: the stream has 3000"),
        (lambda: Scenario([Concept(2), ClassChange(0)], 3000), "at=0"),
        (lambda: Scenario([Concept(2), ClassChange(90), ClassChange(50)], 100), "order of time"),
        (lambda: Scenario([Concept(2), ClassChange(90, over=20)], 100), "takes 20 samples"),
        (lambda: Scenario([ClassChange(90)], 100), "a Concept and then drifts"),
        (lambda: Scenario([], 100), "a Concept and then drifts"),
        (lambda: Concept(1), "classes=1"),
        (lambda: Concept(("yes",)), "yes"),
        (lambda: Concept("yes"), "classes='yes'"),
        (lambda: Concept(("yes", "yes")), "none twice"),
        (lambda: Noise(10, "thunder"), "'thunder' is not known: choose very noisy, white noise"),
        (lambda: Noise(10, "echo", 1.5), "strength=1.5"),
        (lambda: Scenario([Concept(("a", "b")), ClassChange(5, "c", "d")], 9), "about 'c'; the labels then are a, b"),
        (lambda: Scenario([Concept(("a", "b")), ClassRemoved(5, "a")], 9), "leaves one class of 2"),
        (lambda: Scenario([Concept(("a", "b")), ClassAdded(5, "a")], 9), "'a', which is there already"),
        (lambda: Scenario([Concept(("a", "b")), ClassChange(5, "a", "b")], 9), "'b', which the label 'b' has already"),
        (
            lambda: Scenario([Concept(("a", "b")), ClassChange(5, "a", "c"), ClassAdded(6, "c")], 9),
            "'c', which the label 'a' has already",
        ),
        (lambda: Scenario([Concept(("a", "b")), LabelsSwapped(5, "a", "a")], 9), "with itself"),
        (lambda: Scenario([Concept(("a", "b")), Return(5, to=1)], 9), "back to concept 1"),
        (lambda: Return(5, to="begin"), "to='begin'"),
        (lambda: Return(5, to=0.5), "to=0.5"),
        (lambda: ClassChange(5, old=["a"]), r"about \['a'\]; classes are named by text"),
        (lambda: make_scenario("earthquake"), "no drift 'earthquake'; there are class-change"),
        (lambda: compose(make_scenario("none", 2), table(), seed=-1), "seed=-1"),
        (lambda: compose(make_scenario("none", 7), table()), "7 classes are wanted; the data have 6: go, no"),
        (lambda: compose(make_scenario("class-change", 6), table()), "needs a class more than the data have"),
        (lambda: compose(make_scenario("none", ("yes", "maybe")), table()), "no class 'maybe'; there are go, no"),
        (lambda: Scenario.from_json("{"), "not a scenario"),
        (lambda: Scenario.from_json({"steps": [{"kind": "flood"}], "length": 5}), "no step 'flood'; there are concept"),
        (lambda: Scenario.from_json({"steps": [{"kind": "noise"}], "length": 5}), "needs 'at'"),
        (lambda: Scenario.from_json({"steps": [{"kind": "return", "at": 3, "x": 1}], "length": 5}), "has no 'x'"),
        (lambda: Scenario.from_json({"steps": []}), "not a scenario"),
        (lambda: Scenario.from_json("[]"), "not a scenario"),
        (lambda: Scenario.from_json("[" * 100_000), "not a scenario"),
    ],
)
def test_bad_scenarios_name_the_value(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_too_few_samples_and_effects_without_media():
    with pytest.raises(DataError, match=r"takes 1600 samples of '(yes|no)'; table has 500"):
        compose(make_scenario("none", ("yes", "no")), table())
    with pytest.raises(ConfigError, match="table of features"):
        compose(make_scenario("noise", ("yes", "no"), 50, 10), table())
    with pytest.raises(TmlcdError, match="for audio, and digits holds image: choose image noise"):
        compose(make_scenario("noise", 2, 20, 10, effect="echo"), SourceMaterial("digits"))
    for data, choice in (("digits", "image noise, blur"), ("points", "another drift")):
        with pytest.raises(TmlcdError, match=f"only the data 'speech' .* for {data} choose {choice}"):
            compose(make_scenario("noise", 2, 20, 10), SourceMaterial(data))


def test_sizes_that_fit():
    assert fitting_sizes(table(1600), "none") == (100, 500)
    assert fitting_sizes(table(1599), "recurring") == (100, 499)
    train, per_class = fitting_sizes(table(174), "class-change")
    assert (train, per_class) == (34, 70)
    compose(make_scenario("class-change", 3, per_class, train), table(174))
    with pytest.raises(ConfigError, match="'maybe'"):
        fitting_sizes(table(), "none", ["maybe"])


def test_sizes_fit_what_of_a_folder_can_be_read(tmp_path):
    from PIL import Image

    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for i in range(12):
            Image.new("RGB", (8, 8)).save(tmp_path / label / f"{i}.png")
    (tmp_path / "cat" / "3.png").write_bytes(b"broken")
    material = SourceMaterial(tmp_path)
    train, per_class = fitting_sizes(material, "labels-swapped")
    assert (train, per_class) == (2, 4) and len(material.skipped) == 1
    compose(make_scenario("labels-swapped", 2, per_class, train), material)


def test_a_sample_s_medium_gives_its_features():
    """From the id of a sample in a noisy stream to its picture, and through the extractor to its features."""
    material = SourceMaterial("digits")
    stream = compose(make_scenario("noise", 2, 20, 10, effect="image noise", strength=0.7), material, 4)
    for t in (3, 45, 79):
        image = material.medium(stream.origins[stream.origin[t]], int(stream.index[t]))
        assert np.array_equal(material.extractor.transform_images([image])[0], stream.X[t])
    assert stream.origins[stream.origin[79]].strength == 0.7
