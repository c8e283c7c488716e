"""Scenarios and their streams, on data in which each row identifies its origin."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tmlcd_core.datasets import Dataset
from tmlcd_core.draws import CLASSES, ORDER, Draws
from tmlcd_core.errors import ConfigError, DataError, TmlcdError
from tmlcd_core.experiments import Experiment
from tmlcd_core.streams import (
    DRIFTS,
    ClassAdded,
    ClassChange,
    ClassRemoved,
    Concept,
    DatasetPool,
    DriftDetails,
    LabelsSwapped,
    Noise,
    Origin,
    Return,
    Scenario,
    SourcePool,
    add_drift,
    compose,
    make_scenario,
)
from tmlcd_core.streams.sizes import fitting_scenario, samples_needed
from tmlcd_core.streams.stream import order_labels

WORDS = ("go", "no", "off", "on", "up", "yes")
EIGHT = ("bed", "cat", *WORDS)


def table(per_class=500, words=WORDS):
    """Row i of word w is (w, i, noise level): a sample says what it is."""
    y = np.repeat(words, per_class)
    index = np.tile(np.arange(per_class), len(words))
    X = np.column_stack([np.repeat(np.arange(len(words)), per_class), index, np.zeros(len(y))])
    return DatasetPool(Dataset("table", X.astype(np.float32), y, index))


class Disturbed(DatasetPool):
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
    stream = compose(
        make_scenario("class-change", ("yes", "no"), 400, 100, details=DriftDetails("up")), table(), seed=3
    )
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
    stream = compose(
        make_scenario(drift, 3, 120, 20, details=DriftDetails(effect="white noise", strength=0.5)), disturbed(), seed=5
    )
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
    scenario, feature_pool = make_scenario("class-change", 3, 120, 20, over=1 / 3), table()
    one, same, other = (compose(scenario, feature_pool, seed) for seed in (1, 1, 2))
    assert (one.X == same.X).all() and (one.y == same.y).all() and one.scenario == same.scenario
    assert one.X.shape == other.X.shape and (one.X != other.X).any()
    drawn = {compose(scenario, feature_pool, seed).scenario.names for seed in range(12)}
    assert len(drawn) > 6


def test_order_is_a_shuffle():
    """Labels follow each other as often as chance has it, and media come in no order."""
    stream = compose(make_scenario("none", ("yes", "no"), 480, 10), table(), seed=0)
    repeats = (stream.y[1:] == stream.y[:-1]).mean()
    assert 0.4 < repeats < 0.6
    assert abs(np.corrcoef(np.arange(len(stream)), stream.index)[0, 1]) < 0.15


def test_each_kind_of_drift():
    def after(*steps):
        return Scenario((Concept(("yes", "no", "up")), *steps), 100).concepts()[-1]

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


@pytest.mark.parametrize("affected", [1, 2, 3, 4])
def test_so_many_classes_change_at_once(affected):
    details = DriftDetails(new="go", affected=affected)
    scenario = make_scenario("class-change", 4, 60, 5, details=details).complete(EIGHT, 3)
    before, after = scenario.concepts()[0], scenario.concepts()[-1]
    changed = [label for label in before if after[label] != before[label]]
    assert changed == list(before)[:affected] and after[changed[0]].word == "go"
    assert not {after[label].word for label in changed} & set(before), "useless: no old class under another label"
    assert len({origin.word for origin in after.values()}) == 4 and scenario.changes == (120,)


@pytest.mark.parametrize("affected", [2, 3, 4])
def test_so_many_labels_rotate(affected):
    """The new labels are one cycle through the first m, and the others keep theirs."""
    scenario = make_scenario("labels-swapped", 4, 60, 5, details=DriftDetails(affected=affected)).complete(EIGHT, 3)
    after = {label: origin.word for label, origin in scenario.concepts()[-1].items()}
    walked = [next(iter(after))]
    while after[walked[-1]] != walked[0]:
        walked.append(after[walked[-1]])
    assert walked == list(after)[:affected]
    assert all(after[label] == label for label in list(after)[affected:])


def test_a_gradual_rotation_shows_the_first_or_the_last_concept_only():
    scenario = make_scenario("labels-swapped", 4, 100, 5, over=0.5, details=DriftDetails(affected=4)).complete(EIGHT, 1)
    order = order_labels(scenario, 2)
    found = {(label, order.origins[o].word) for label, o in zip(order.labels, order.origin, strict=True)}
    concepts = scenario.concepts()
    assert found == {(label, o.word) for concept in (concepts[0], concepts[-1]) for label, o in concept.items()}


@pytest.mark.parametrize(("drift", "affected"), [("class-change", 5), ("labels-swapped", 1), ("labels-swapped", 5)])
def test_more_classes_than_there_are_cannot_be_affected(drift, affected):
    with pytest.raises(ConfigError, match=rf"cannot affect {affected} of 4 classes; choose \d to 4") as fault:
        make_scenario(drift, 4, details=DriftDetails(affected=affected))
    make_scenario(drift, 4, details=DriftDetails(affected=fault.value.remedy["affected"]))


def test_a_place_beyond_the_labels_is_refused():
    for step in (ClassChange(5, place=2), LabelsSwapped(5, place=1)):
        with pytest.raises(ConfigError, match=r"place=\d"):
            Scenario([Concept(2), step], 9).complete(EIGHT, 0)


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
    stream = compose(
        make_scenario("recurring", ("yes", "no"), 150, 10, at=1 / 3, details=DriftDetails("go")), table(), 0
    )
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
    before, after = scenario.concepts()[1:]
    assert list(before) == ["b", "c", "d"]
    assert after.get("b") != before["b"]


@pytest.mark.parametrize("later", [ClassChange(20, "f"), ClassRemoved(20, "f"), LabelsSwapped(20, "f")])
def test_what_was_added_is_not_drawn_to_begin_with(later):
    scenario = Scenario([Concept(2), ClassAdded(10, "f"), later], 30).complete(list("abcdef"), seed=0)
    first, added, _ = scenario.concepts()
    assert "f" not in first and "f" in added


def test_numbers_of_numpy_are_numbers():
    scenario = make_scenario("class-change", np.int64(3), np.int64(40), np.int64(10))
    assert Scenario.from_json(scenario.to_json()) == scenario == make_scenario("class-change", 3, 40, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scenario([Concept(2), ClassChange(3000)], 3000), "after the end .* below 3000"),
        (lambda: Scenario([Concept(2), ClassChange(0)], 3000), "at=0"),
        (lambda: Scenario([Concept(2), ClassChange(90), ClassChange(50)], 100), "order of time"),
        (lambda: Scenario([Concept(2), ClassChange(90, over=20)], 100), "20 samples; .* sample 100 or earlier"),
        (lambda: Scenario([ClassChange(90)], 100), "a Concept followed by drifts"),
        (lambda: Scenario([], 100), "a Concept followed by drifts"),
        (lambda: Concept(1), "classes=1"),
        (lambda: Concept(("yes",)), "yes"),
        (lambda: Concept("yes"), "classes='yes'"),
        (lambda: Concept(("yes", "yes")), "at least two different names"),
        (lambda: Noise(10, "thunder"), "'thunder' .*: choose very noisy, white noise"),
        (lambda: Noise(10, "echo", 1.5), "strength=1.5"),
        (lambda: Scenario([Concept(("a", "b")), ClassChange(5, "c", "d")], 9), "'c'; choose from a, b"),
        (lambda: Scenario([Concept(("a", "b")), ClassRemoved(5, "a")], 9), "needs at least 3 classes; there are 2"),
        (lambda: Scenario([Concept(("a", "b")), ClassAdded(5, "a")], 9), "'a', which already exists"),
        (lambda: Scenario([Concept(("a", "b")), ClassChange(5, "a", "b")], 9), "'b', .* label 'b': choose another"),
        (
            lambda: Scenario([Concept(("a", "b")), ClassChange(5, "a", "c"), ClassAdded(6, "c")], 9),
            "'c', .* label 'a': choose another",
        ),
        (lambda: Scenario([Concept(("a", "b")), LabelsSwapped(5, "a", "a")], 9), "with itself"),
        (lambda: Scenario([Concept(("a", "b")), Return(5, to=1)], 9), r"concept 1; choose 0\.\.0"),
        (lambda: Return(5, to="begin"), "to='begin'"),
        (lambda: Return(5, to=0.5), "to=0.5"),
        (lambda: ClassChange(5, old=["a"]), r"\['a'\]; give a string"),
        (lambda: make_scenario("earthquake"), "no drift 'earthquake'; there are class-change"),
        (lambda: compose(make_scenario("none", 2), table(), seed=-1), "seed=-1"),
        (lambda: compose(make_scenario("none", 7), table()), "7 classes .* have 6: go, no"),
        (lambda: compose(make_scenario("class-change", 6), table()), "needs one more class than the data have"),
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
    with pytest.raises(DataError, match=r"1600 samples of '(yes|no)'; table has 500"):
        compose(make_scenario("none", ("yes", "no")), table())
    with pytest.raises(ConfigError, match=r"table .*'very noisy' .* choose another drift"):
        compose(make_scenario("noise", ("yes", "no"), 100, 10), table())
    with pytest.raises(TmlcdError, match="audio, but digits holds image: choose image noise"):
        compose(make_scenario("noise", 2, 40, 10, details=DriftDetails(effect="echo")), SourcePool("digits"))
    for data, choice in (("digits", "image noise, blur"), ("points", "another drift")):
        with pytest.raises(TmlcdError, match=f"only the data 'speech' .* for {data} choose {choice}"):
            compose(make_scenario("noise", 2, 40, 10), SourcePool(data))


def fitted(counts, seed=0, asked=(1500, 100), drift="class-change", classes=2, **more):
    def make(n, train):
        return make_scenario(drift, classes, n, train, **more)

    return fitting_scenario(make, asked, counts, "data", seed).scenario


def test_enough_data_are_used_as_asked():
    assert fitted(dict.fromkeys(WORDS, 1600)).length == 3000
    assert fitted(dict.fromkeys(WORDS, 1600)).train == 100


@pytest.mark.parametrize(
    "drift", ["class-change", "labels-swapped", "class-removed", "class-added", "recurring", "none"]
)
@pytest.mark.parametrize("over", [0.0, 0.7])
@pytest.mark.parametrize("have", [60, 174, 500, 1599])
def test_a_fitting_stream_is_the_longest_that_the_data_allow(drift, over, have):
    """Against the plan itself: the run can be composed for many seeds, and a longer one would take too many."""
    counts = dict.fromkeys(WORDS, have)
    lengths = set()
    for seed in range(5):
        scenario = fitted(counts, seed, drift=drift, classes=3, over=over)
        stream = compose(scenario, table(have), seed)  # a DataError if a class had too few
        lengths.add(len(stream))
    (length,) = lengths  # runs with other seeds are equally long
    longer = make_scenario(drift, 3, length // 3 + 1, scenario.train, over=over)
    assert length == 4500 or max(samples_needed(longer).values()) > have
    assert scenario.train == min(100, have // 5)


def test_named_classes_with_few_samples_are_used_for_what_they_need():
    """The pack has half as many of the word that goes and of the one that appears."""
    counts = {"up": 850, "yes": 1600, "no": 1600, "stop": 750}
    scenario = fitted(counts, words=["up", "yes"], details=DriftDetails("stop"))
    assert (scenario.length, scenario.train) == (3000, 100)
    swapped = fitted(counts, drift="labels-swapped", words=["up", "yes"])
    assert swapped.length == 1500


def test_classes_with_far_fewer_samples_than_others_are_not_drawn():
    counts = {"a": 30, "b": 200, "c": 190, "d": 185, "e": 200}
    drawn = {name for seed in range(20) for name in fitted(counts, seed).names}
    assert drawn == {"b", "c", "d", "e"}
    assert {fitted(counts, seed).length for seed in range(5)} == {fitted(counts).length}
    assert "a" in fitted(counts, words=["a"]).names  # unless it is named


def test_too_few_samples_are_refused_with_the_class():
    with pytest.raises(DataError, match="data has 1 samples of 'a', too few"):
        fitted({"a": 1, "b": 900, "c": 900}, words=["a"])


def test_sizes_fit_what_of_a_folder_can_be_read(tmp_path):
    from PIL import Image

    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for i in range(60):
            Image.new("RGB", (8, 8)).save(tmp_path / label / f"{i}.png")
    for i in range(20):
        (tmp_path / "cat" / f"{i}.png").write_bytes(b"broken")
    experiment = Experiment(tmp_path, drift="labels-swapped")
    feature_pool = experiment.feature_pool()
    stream = experiment.stream(feature_pool)
    assert len(stream.X0) == 2 * 8 and len(stream) == 2 * 32 and len(feature_pool.skipped) == 20


# ---------------------------------------------------------------- the generator


ADDED = [name for name in DRIFTS if not DRIFTS[name].disturbs and name != "none"]


def with_past(base, drift, at, over=0.0, seed=3):
    """The streams before and after a drift is added."""
    rows = table()
    scenario = make_scenario(base, 3, 100, 20, over=over).complete(rows.classes, seed)
    longer = add_drift(scenario, drift, at).complete(rows.classes, seed)
    return compose(scenario, rows, seed), compose(longer, rows, seed)


@pytest.mark.parametrize("base", ["none", "class-change", "class-added", "recurring"])
@pytest.mark.parametrize("drift", ADDED)
@pytest.mark.parametrize(("at", "over"), [(1, 0.0), (80, 0.0), (200, 0.9), (299, 0.0)])
def test_an_added_drift_leaves_the_past_as_it_was(base, drift, at, over):
    old, new = with_past(base, drift, at, over)
    for name in ("X0", "y0", "index0"):
        assert np.array_equal(getattr(old, name), getattr(new, name))
    for name in ("X", "y", "index"):
        assert np.array_equal(getattr(old, name)[:at], getattr(new, name)[:at])
    assert [old.origins[i] for i in old.origin[:at]] == [new.origins[i] for i in new.origin[:at]]
    rows = np.concatenate([new.X0, new.X])
    assert len(np.unique(rows, axis=0)) == len(rows)  # no medium twice, also across the change
    begun = [change for change in old.changes if change < at]
    assert new.changes[: len(begun) + 1] == (*begun, at)
    assert Scenario.from_json(new.scenario.to_json()) == new.scenario


def test_an_added_drift_changes_what_follows():
    _, new = with_past("class-change", "labels-swapped", 200)  # “class-change” at 150 stays
    before, changed, after = new.scenario.concepts()
    first, second = list(changed)[:2]
    assert changed[first] != before[first] and after[first] == changed[second] and after[second] == changed[first]
    for label, word in zip(new.y[200:], words_of(new.X[200:]), strict=True):
        assert after[label].word == word
    assert set(Counter(new.y[200:]).values()) == {33, 34}  # equally frequent again
    _, earlier = with_past("class-change", "labels-swapped", 100)  # it had not changed yet
    assert earlier.changes == (100,) and set(words_of(earlier.X)) == set(earlier.scenario.start.classes)


def test_a_stream_with_an_added_drift_ends_where_the_data_end():
    experiment = Experiment("digits", classes=3, drift="none", seed=1)
    old, new = experiment.stream(), replace(experiment, added=["class-removed@294"]).stream()
    assert 294 < len(new) < len(old) and np.array_equal(old.X[:294], new.X[:294])
    used, digits = Counter([*new.y0, *new.y]), SourcePool("digits")
    assert any(used[word] == digits.count(word) for word in new.scenario.concepts()[1])


@pytest.mark.parametrize(
    ("added", "message"),
    [
        (["labels-swapped"], "write NAME@SAMPLE"),
        (["labels-swapped@-3"], "write NAME@SAMPLE"),
        (["turned@30"], "no drift 'turned'"),
        (["labels-swapped@30", "class-change@30"], "each at a later sample"),
        ([f"labels-swapped@{at}" for at in range(1, 12)], "at most 10"),
        (["labels-swapped@600"], "choose a sample from 1 to 599"),
    ],
)
def test_an_added_drift_that_cannot_be_is_refused(added, message):
    with pytest.raises(ConfigError, match=message):
        Experiment("points", per_class=300, added=added).stream()


def test_draws_are_splitmix64():
    """Against a transcription in Python's own integers, and against the generator's published first numbers."""
    mask = 2**64 - 1

    def mixed(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    assert mixed(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # SplitMix64 from state 0
    for seed in (0, 1, 77, 2**32 - 1):
        state, expected = (mixed(seed) + ORDER) & mask, []
        for _ in range(20):
            state = (state + 0x9E3779B97F4A7C15) & mask
            expected.append(mixed(state))
        draws = Draws(seed, ORDER)
        assert [*draws.integers(7).tolist(), *draws.integers(13).tolist()] == expected
        assert Draws(seed, ORDER).permutation(20).tolist() == sorted(range(20), key=expected.__getitem__)
        assert Draws(seed, ORDER).uniform(20).tolist() == [(one >> 11) / 2**53 for one in expected]


def test_permutations_are_fair_and_purposes_independent():
    first = Counter(int(Draws(seed, CLASSES).permutation(6)[0]) for seed in range(6000))
    assert all(abs(count - 1000) < 150 for count in first.values())
    pairs = Counter(
        (int(Draws(seed, CLASSES).permutation(3)[0]), int(Draws(seed, ORDER).permutation(3)[0])) for seed in range(9000)
    )
    assert len(pairs) == 9 and all(abs(count - 1000) < 150 for count in pairs.values())


def test_a_sample_s_medium_gives_its_features():
    """From the id of a sample in a noisy stream to its picture, and through the extractor to its features."""
    feature_pool = SourcePool("digits")
    stream = compose(
        make_scenario("noise", 2, 40, 10, details=DriftDetails(effect="image noise", strength=0.7)), feature_pool, 4
    )
    for t in (3, 45, 79):
        image = feature_pool.medium(stream.origins[stream.origin[t]], int(stream.index[t]))
        assert np.array_equal(feature_pool.extractor.transform_images([image])[0], stream.X[t])
    assert stream.origins[stream.origin[79]].strength == 0.7
