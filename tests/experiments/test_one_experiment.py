"""One experiment: the page, the command line and Python make the same run of the same settings, sample for sample."""

import json
import random
import shlex
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from streamlit.testing.v1 import AppTest

from tmlcd_core import CondensingInTime, Experiment, GeneralizedCusum, HybridTinyKNN, prequential
from tmlcd_core.cli import main
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments import Results, grid, sweep
from tmlcd_core.experiments.link import OLD_LABELS
from tmlcd_core.learners import LEARNERS
from tmlcd_core.streams import DRIFTS

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "threshold": [5.0, 12.5, 25.0],
    "batch": [20, 50],
    "warmup": [40, 100],
    "k": [1, 3, "sqrt"],
    "weights": ["uniform", "distance"],
    "cit.max_size": [25],
    "active.window": [40],
    "hybrid.max_size": [40],
    "hybrid.condense": [False],
    "gap": [0.05],
    "spacing": [0.02],
}


def drawn(number: int) -> Experiment:
    """Settings drawn at random, such as a visitor could choose."""
    pick = random.Random(number)
    data = pick.choice(["points", "points", "digits", "pack"])
    vectors = data != "digits"
    drift = pick.choice([name for name, kind in DRIFTS.items() if not (vectors and kind.disturbs)])
    return Experiment(
        data,
        pick.choice([3, 3, 4] if data != "pack" else [3]),
        drift=drift,
        at=pick.choice([0.3, 0.5, 0.65]),
        over=pick.choice([0.0, 0.0, 0.4]),
        strength=pick.choice([0.5, 1.0]) if DRIFTS[drift].disturbs else 1.0,
        per_class=pick.choice([100, 150, 200]),
        train=pick.choice([10, 20, 35]),
        learners=pick.sample(["cit", "active", "hybrid", "static", "incremental"], pick.randint(1, 4)),
        settings={name: pick.choice(SETTINGS[name]) for name in pick.sample(list(SETTINGS), 4)},
        seed=pick.randrange(100),
        affected=pick.choice([0, 3]) if DRIFTS[drift].affects and data != "pack" else 0,
        added=pick.choice([[], ["labels-swapped@60"], [*["class-change@99"] * (data != "pack"), "labels-swapped@190"]]),
    )


def page_of(link: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    for key, values in parse_qs(urlsplit(link).query).items():
        at.query_params[key] = values
    return at.switch_page("pages/drift_lab.py").run()


@pytest.mark.parametrize("number", range(12))
def test_page_command_and_python_run_the_same(number, capsys, tmp_path):
    experiment = drawn(number)
    outcome = experiment.run()

    at = page_of(experiment.link())
    assert not at.exception and not at.error and not at.toast
    shown = at.session_state["lab good"]
    assert shown.experiment == experiment
    for name, one in outcome.learners.items():
        for field in ("predictions", "sizes", "statistic", "detections", "change_points"):
            np.testing.assert_array_equal(getattr(shown.trace(name), field), getattr(one.trace, field))

    for arguments in (shlex.split(experiment.command())[1:], ["run", "--link", f"http://host{experiment.link()}"]):
        folder = tmp_path / arguments[1].strip("-")
        assert main([*arguments, "--json", "--jobs", "1", "--out", str(folder)]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["runs"], told["seed"], told["link"]) == (1, experiment.seed, experiment.link())
        [run] = Results.load(folder).runs(experiment)
        for name, one in outcome.learners.items():
            assert told["learners"][name]["accuracy"]["mean"] == one.metrics.accuracy
            for field in ("correct", "sizes", "detections", "change_points"):
                np.testing.assert_array_equal(getattr(run.learners[name], field), getattr(one, field))


def test_a_link_of_the_same_visit_leaves_nothing_of_the_run_before():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    at.switch_page("pages/drift_lab.py").run()
    assert at.session_state["lab good"].experiment.seed == 1  # as START has it
    first = Experiment("points", per_class=100, train=20, seed=5, learners=["cit"], settings={"threshold": 30.0})
    for experiment in (replace(first, seed=0), first, Experiment("points", 3, drift="none", per_class=100)):
        at.switch_page("pages/home.py").run()
        for key in list(at.query_params):
            del at.query_params[key]
        for key, values in (parse_qs(urlsplit(experiment.link()).query) | {"seed": [str(experiment.seed)]}).items():
            at.query_params[key] = values
        at.switch_page("pages/drift_lab.py").run()
        assert at.session_state["lab good"].experiment == experiment
    at.switch_page("pages/home.py").run()
    at.query_params.clear()
    at.switch_page("pages/drift_lab.py").run()  # by the menu: the visit goes on
    assert at.session_state["lab good"].experiment == experiment


@pytest.mark.parametrize("drift", ["labels-swapped", "class-added"])
def test_the_learners_past_stays_as_it_was_before_a_drift_is_added(drift):
    learners = ["cit", "active", "hybrid", "static", "tandem"]
    labels = {"labels": 0.8, "wrong_labels": 0.2, "label_delay": 7}
    experiment = Experiment("points", 3, per_class=150, train=20, learners=learners, seed=4, **labels)
    now = replace(experiment, added=[f"{drift}@300"])
    again = replace(now, added=[*now.added, "class-change@400"])
    for before, after, at in ((experiment, now, 300), (now, again, 400)):
        old, new = before.run().learners, after.run().learners
        for name in learners:
            for field in ("predictions", "sizes", "statistic"):
                one, other = (getattr(found[name].trace, field)[:at] for found in (old, new))
                np.testing.assert_array_equal(one, other)
            assert not np.array_equal(old[name].trace.predictions[at:], new[name].trace.predictions[at:])


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_an_experiment_survives_its_link_its_command_and_json(number):
    experiment = drawn(number)
    assert Experiment.from_link(experiment.link("https://lab.example.org/")) == experiment
    assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment
    names: dict = {"Experiment": Experiment}
    assert eval(repr(experiment), names) == experiment
    assert hash(eval(repr(experiment), names)) == hash(experiment)
    many = replace(experiment, runs=20)
    assert Experiment.from_link(many.link()) == many


def test_names_of_classes_travel_too():
    for words, new in ((("yes",), None), (("yes", "no"), "up"), ((), "up"), (("it's", "a,b"), "&=?")):
        experiment = Experiment("speech", 2, words=words, new=new)
        assert Experiment.from_link(experiment.link()) == experiment
        assert eval(repr(experiment)) == experiment
        options = shlex.split(experiment.command())
        assert options[:2] == ["tmlcd", "run"]
    assert "--link" in options, "a comma in a name cannot stand in a list with commas"
    assert Experiment("speech", ["yes", "no"]) == Experiment("speech", 2, words=("yes", "no"))
    assert Experiment("speech", 2, words=("yes", "no", "up")) == Experiment("speech", 2, words=("yes", "no"), new="up")


def test_settings_that_are_as_usual_make_no_difference():
    assert Experiment(settings={"threshold": 25, "k": "sqrt"}) == Experiment()
    assert Experiment(settings={"threshold": 30, "hybrid.threshold": 25}).settings == (
        ("hybrid.threshold", 25),
        ("threshold", 30),
    )
    assert Experiment(learners=["cit"], settings={"hybrid.max_size": 9, "threshold": 9}) == Experiment(learners=["cit"])


# Addresses that earlier versions wrote, whose values are labels.
EARLIER = {
    "/drift-lab?data=Points+in+the+plane&drift=Two+labels+swap&over=80": Experiment(
        "points", drift="labels-swapped", over=0.8
    ),
    "/drift-lab?data=Ready-made+words&drift=A+class+changes&learners=Condensing-in-Time&learners=Incremental+kNN&window=50"
    "&p=50": Experiment("pack", learners=["cit", "incremental"], settings={"cit.max_size": 50}),
    "/drift-lab?data=Spoken+words&words=yes&words=no&drift=Noise+sets+in&effect=babble&per_class=400&train=50"
    "&strength=30": Experiment(
        "speech", ["yes", "no"], drift="noise", effect="babble", per_class=400, train=50, strength=0.3
    ),
    "/drift-lab?data=Handwritten+digits&lambda=4&drift=One+after+the+other&h=12&n=20&xi=40&k=3&votes=distance"
    "&condense=false&grid=0.02&gap=0.1&seed=7&begins=30&bands=true": Experiment(
        "digits", 4, drift="several", at=0.3, seed=7, runs=20,
        settings={"threshold": 12, "batch": 20, "warmup": 40, "k": 3, "weights": "distance", "spacing": 0.02,
                  "gap": 0.1, "cit.condense": False, "active.condense": False, "hybrid.condense": False},
    ),
}  # fmt: skip


def test_a_single_value_needs_no_list():
    one = Experiment("points", words="I", learners="hybrid", added="noise@0300")
    assert one == Experiment("points", words=["I"], learners=["hybrid"], added=["noise@300"])
    learner = Guess()
    assert Experiment("points", learners=learner).learners == (learner,)


def test_only_a_link_without_any_setting_opens_the_start():
    start = Experiment.from_link("/drift-lab?presenter=true")
    assert start == Experiment.from_link("") == Experiment.from_link(start.link())
    assert start.learners == ("static", *Experiment().learners)
    for experiment in (Experiment("pack"), Experiment("pack", runs=20), Experiment("pack", seed=1)):
        assert "?" in experiment.link() and Experiment.from_link(experiment.link()) == experiment
    assert Experiment.from_link("/drift-lab?h=25").learners == Experiment().learners, "as in earlier versions"


@pytest.mark.parametrize("link", EARLIER)
def test_an_earlier_link_opens_the_same_settings(link):
    assert Experiment.from_link(link) == EARLIER[link]
    if "Spoken" not in link and "bands" not in link:
        at = page_of(link)
        assert not at.exception and not at.error and not at.toast
        assert at.session_state["lab good"].experiment == EARLIER[link]
        assert not set(OLD_LABELS) & {value for key in at.query_params for value in at.query_params[key]}


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("/drift-lab?h=high", "threshold='high'"),
        ("/drift-lab?lambda=two", "lambda='two' in the link is not a number"),
        ("/drift-lab?seed=1e999", "seed='1e999'"),
        ("/drift-lab?drift=earthquake", "no drift 'earthquake'"),
        ("/drift-lab?learners=nobody", "no learner 'nobody'"),
        ("/drift-lab?data=upload", "zip: unpack it"),
        ("/drift-lab?data=folder", "without folder=PATH"),
        ("/drift-lab?set=threshold", "write SETTING=VALUE"),
        ("/drift-lab?per_class=1e300", "at most 1000000000000"),
        pytest.param("/drift-lab?added=noise@" + "9" * 5000, "write NAME@SAMPLE", id="a sample of 5,000 digits"),
    ],
)
def test_a_bad_link_is_refused_by_the_command_with_a_reason(link, told, capsys):
    assert main(["run", "--link", link, "--jobs", "1", "--runs", "1"]) == 2
    assert told in capsys.readouterr().err
    assert main(["run", "--link", "/drift-lab", "--data", "points"]) == 2
    assert "leave out --data" in capsys.readouterr().err


class Guess:
    """Custom learner: always predicts the most frequent label."""

    def fit(self, X, y):
        labels, counts = np.unique(y, return_counts=True)
        self.label = labels[counts.argmax()]
        return self

    def run(self, X, y):
        from tmlcd_core.learners import Trace

        none = np.empty(0, np.int64)
        return Trace(np.full(len(X), self.label), np.zeros(len(X), np.int32), np.full(len(X), np.nan), none, none, none)


def test_learners_join_as_objects_also_in_other_processes():
    from river import naive_bayes

    mine = [Guess(), HybridTinyKNN(max_size=30), GaussianNB(), naive_bayes.GaussianNB()]
    with pytest.raises(ConfigError, match=r"GaussianNB.*all different"):
        Experiment("points", learners=mine)
    experiment = Experiment("points", per_class=150, train=20, learners=["hybrid", *mine[:3]], runs=2)
    alone, together = (sweep([experiment], jobs=jobs) for jobs in (1, 2))
    assert experiment.learner_names == ("hybrid", "Guess", "HybridTinyKNN", "GaussianNB")
    for one, other in zip(alone.runs(experiment), together.runs(experiment), strict=True):
        for name in experiment.learner_names:
            np.testing.assert_array_equal(one.learners[name].correct, other.learners[name].correct)
    outcome = experiment.run()
    stream = experiment.stream()
    expected = HybridTinyKNN(max_size=30).fit(stream.X0, stream.y0).run(stream.X, stream.y)
    np.testing.assert_array_equal(outcome.learners["HybridTinyKNN"].trace.predictions, expected.predictions)
    with pytest.raises(ConfigError, match="register_learner"):
        experiment.link()


@pytest.mark.parametrize("name", LEARNERS)
def test_prequential_takes_any_learner_of_ours(name):
    experiment = Experiment("points", per_class=60, train=20, learners=[name])
    stream = experiment.stream()
    found = prequential(experiment.learner(name, stream.scenario), stream)
    assert len(found.correct) == len(stream) and found.metrics.accuracy > 0.3


def test_prequential_in_one_call_on_arrays():
    """Compared with the loop that it replaces."""
    from river import neighbors

    rng = np.random.default_rng(3)
    y = np.array(["a", "b"])[rng.integers(0, 2, 400)]
    X = (rng.normal(size=(400, 3)) + 2 * (y == "b")[:, None]).astype(np.float32)
    ours = CondensingInTime().fit(X[:50], y[:50])
    predicted = [ours.observe(x, label) for x, label in zip(X[50:], y[50:], strict=True)]
    assert prequential(CondensingInTime(), (X, y), initial=50).metrics.accuracy == np.mean(predicted == y[50:])
    bayes = GaussianNB().partial_fit(X[:100], y[:100], classes=["a", "b"])
    hits = []
    for i in range(100, 400):
        hits.append(bayes.predict(X[i : i + 1])[0] == y[i])
        bayes.partial_fit(X[i : i + 1], y[i : i + 1])
    assert prequential(GaussianNB(), (X, y)).correct.tolist() == hits
    assert prequential(neighbors.KNNClassifier(), (X, y)).metrics.accuracy > 0.9
    for bad in (object(), GaussianNB, "hybrid"):
        with pytest.raises(ConfigError, match=r"learner|is a class"):
            prequential(bad, (X, y))


def test_the_statistic_of_the_authors_code_reaches_the_learners(capsys):
    """`likelihood=authors` in Python, in a link and on the command line; g is that of `GeneralizedCusum`."""
    experiment = Experiment("points", 3, per_class=150, train=20, learners=["hybrid"], settings={"warmup": 40})
    as_authors = replace(experiment, settings={"warmup": 40, "likelihood": "authors"})
    assert Experiment.from_link(as_authors.link()) == as_authors != experiment
    assert "--set likelihood=authors" in as_authors.command()
    stream = as_authors.stream()
    outcome = as_authors.run_stream(stream).learners["hybrid"]
    test = GeneralizedCusum(warmup=40, direction="down", likelihood="authors")
    g = []
    for correct in outcome.trace.predictions == stream.y:
        test.update(correct)
        g.append(test.statistic)
    np.testing.assert_array_equal(outcome.trace.statistic, g)
    assert main([*shlex.split(as_authors.command())[1:], "--jobs", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["learners"]["hybrid"]
    assert told["settings"]["likelihood"] == "authors"
    assert told["accuracy"]["mean"] == pytest.approx(outcome.metrics.accuracy)


def test_the_norm_of_the_stem_travels_by_link_and_grid():
    experiment = Experiment("digits", extractor={"norm": "clip"})
    assert Experiment.from_link(experiment.link()) == experiment
    assert experiment.feature_pool().extractor.norm == "clip"
    assert experiment.data_key() != Experiment("digits").data_key()
    assert grid(Experiment("digits"), {"extractor.norm": ["clip"]}) == [experiment]
