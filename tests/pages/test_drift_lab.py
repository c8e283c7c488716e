"""The Drift lab without a browser: experiments, close-ups, repeated runs, exports, and what widgets make of them."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.shell import computation
from pages.shell.url_widgets import WORD_JOINER, as_text
from pages.views.drift_lab import repeat, toolbar
from pages.views.drift_lab import upload as upload_module
from pages.views.drift_lab.repeat import JOB, RUNS, TOGGLE, Job
from pages.views.drift_lab.runs import GOOD
from pages.views.drift_lab.toolbar import ASKED, BYTES, MEMORY, OWN
from pages.views.drift_lab.upload import LIMIT, unpack
from tmlcd_core.datasets import FeatureCache, UploadBudget
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments import Experiment, LearnerRun, summarise
from tmlcd_core.experiments.experiment import PACK
from tmlcd_core.experiments.inspection import inspect_sample
from tmlcd_core.streams import DRIFTS
from tmlcd_core.streams.scenario import Origin
from tmlcd_core.viz.lab import bands_of, figures, run_of, sample_in_words, spreads, trace_csv
from tmlcd_core.viz.medium import picture, wav

ROOT = Path(__file__).parents[2]
TIMEOUT = 120
SMALL = Experiment("points", classes=3, per_class=120, train=20)


def trace_of(experiment, name, stream):
    return experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0).run(stream.X, stream.y)


def traces_of(experiment, stream):
    return {name: trace_of(experiment, name, stream) for name in experiment.learners}


# ---------------------------------------------------------------- experiments


@pytest.mark.parametrize("drift", [name for name, kind in DRIFTS.items() if not kind.disturbs])
def test_each_drift_changes_what_it_says_and_when(drift):
    experiment = replace(SMALL, drift=drift, at=0.25, classes=3)
    stream = experiment.stream(experiment.feature_pool())
    assert len(stream) == 360
    assert stream.changes[:1] == (() if drift == "none" else (90,))
    pairs = [(str(y), stream.origins[o].word) for y, o in zip(stream.y, stream.origin, strict=True)]
    before, after = set(pairs[:90]), set(pairs[90:220])
    assert len(before) == 3
    expected = {"class-added": 4, "class-removed": 2}.get(drift, 3)
    assert len(after) == expected
    assert (before == after) == (drift == "none")


def test_named_words_come_first_and_the_next_one_comes_in():
    experiment = replace(SMALL, words=("C", "A", "H"), classes=2)
    stream = experiment.stream(experiment.feature_pool())
    assert stream.scenario.start.classes == ("C", "A")
    assert {stream.origins[o].word for o in stream.origin[200:]} == {"A", "H"}


def test_the_seed_draws_what_is_not_named():
    drawn = {replace(SMALL, words=("C",), seed=s).prepare(SMALL.feature_pool()).start.classes for s in range(6)}
    assert all(classes[0] == "C" for classes in drawn)
    assert len(drawn) > 1


def test_a_stream_is_as_long_as_the_data_allow():
    experiment = Experiment("digits", classes=3)
    stream = experiment.stream(experiment.feature_pool())
    used = np.concatenate([stream.index0, stream.index])
    words = np.concatenate([stream.origin0, stream.origin])
    pairs = {(stream.origins[o].word, int(i)) for o, i in zip(words, used, strict=True)}
    assert len(pairs) == len(used), "a digit is drawn twice"
    assert 400 < len(stream) < 540


@pytest.mark.parametrize("change", [{"classes": 11}, {"classes": 10}, {"words": ("nobody",)}])
def test_what_the_data_do_not_have_is_said(change):
    experiment = replace(SMALL, **change)
    with pytest.raises(ConfigError):
        experiment.prepare(experiment.feature_pool())


@pytest.mark.parametrize("name", ["treshold", "cit.threshold", "nobody.k"])
def test_a_setting_that_nobody_has_is_refused(name):
    with pytest.raises(ConfigError, match=name.partition(".")[0]):
        replace(SMALL, settings=((name, 5.0),))


def test_settings_reach_the_learners_that_have_them():
    settings = {"threshold": 31.0, "k": 3, "hybrid.max_size": 40, "gap": 0.1, "cit.condense": False}
    experiment = replace(SMALL, settings=settings, learners=("cit", "active", "hybrid", "static"))
    scenario = experiment.prepare(experiment.feature_pool())
    made = {name: experiment.learner(name, scenario) for name in experiment.learners}
    assert made["hybrid"].max_size == 40
    assert made["active"].window == 60
    assert made["active"].detector.gap == 0.1
    assert made["active"].detector.direction == "both"
    assert made["hybrid"].detector.threshold == 31.0
    assert made["hybrid"].detector.direction == "down"
    assert made["static"].k == 3
    assert made["cit"].condense is False


PROGRAMS = {
    "plain": SMALL,
    "every learner": replace(SMALL, learners=("cit", "active", "hybrid", "static", "incremental"), seed=3),
    "grid": replace(SMALL, settings=(("spacing", 0.02), ("gap", 0.05), ("threshold", 9.0), ("k", 5))),
    "bounds": replace(SMALL, settings=(("cit.max_size", 15), ("active.window", 30), ("weights", "distance"))),
    "digits": Experiment("digits", per_class=60, train=10, drift="several", over=0.3, words=("3", "8")),
}


@pytest.mark.parametrize("experiment", PROGRAMS.values(), ids=PROGRAMS)
def test_the_program_makes_the_same_run(experiment, capsys):
    stream = experiment.stream()
    names: dict = {}
    assert len(experiment.program().splitlines()) == 3
    exec(experiment.program(), names)
    assert capsys.readouterr().out.count(": ") == len(experiment.learners)
    for name, trace in traces_of(experiment, stream).items():
        np.testing.assert_array_equal(names["outcome"].learners[name].trace.predictions, trace.predictions)
        np.testing.assert_array_equal(names["outcome"].learners[name].trace.detections, trace.detections)


def test_words_in_a_program_are_text():
    experiment = Experiment("speech", words=('"); import os #', "it's", "<b>"), classes=2)
    code = replace(experiment, learners=("cit",)).program()
    compile(code, "run.py", "exec")
    assert repr('"); import os #') in code


# ---------------------------------------------------------------- close-ups


@pytest.mark.parametrize("name", ["cit", "active", "hybrid", "static", "incremental"])
def test_a_closeup_agrees_with_the_run_and_with_a_learner_stopped_there(name):
    experiment = replace(SMALL, drift="labels-swapped")
    feature_pool = experiment.feature_pool()
    stream = experiment.stream(feature_pool)
    trace = trace_of(experiment, name, stream)
    for sample in (0, 1, 150, 300, 359):
        seen = inspect_sample(experiment.learner(name, stream.scenario), stream, sample)
        assert seen.said == trace.predictions[sample]
        model = experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0)
        if sample:
            model.run(stream.X[:sample], stream.y[:sample])
        assert seen.size == len(model)
        asked = model.neighbours(stream.X[sample : sample + 1])
        assert [n.label for n in seen.neighbours] == asked.labels[0].tolist()
        for one, distance in zip(seen.neighbours, asked.distances[0], strict=True):
            medium = feature_pool.medium(one.origin, one.index)
            assert np.linalg.norm(medium - stream.X[sample]) == pytest.approx(distance, abs=1e-4)
            if one.age is not None:
                assert stream.y[sample - one.age] == one.label


@pytest.mark.parametrize(
    ("label", "origin", "data", "kind", "told"),
    [
        ("stop", Origin("stop"), "speech", "audio", "the word “stop”"),
        ("up", Origin("stop"), PACK, "vector", "the word “stop”, now labelled “up”"),
        ("up", Origin("stop", "very noisy", 1.0), "speech", "audio", "the word “stop”, now labelled “up”, very noisy"),
        ("3", Origin("8"), "digits", "image", "the digit “8”, now labelled “3”"),
        ("A", Origin("A"), "points", "vector", "a point of “A”"),
        ("cat", Origin("cat"), "/my/folder", "image", "an image of “cat”"),
        ("cat", Origin("dog", "reverb", 0.5), "/points", "audio", "a clip of “dog”, now labelled “cat”, reverb 50%"),
    ],
)
def test_a_sample_is_told_by_content_and_label(label, origin, data, kind, told):
    assert sample_in_words(label, origin, data, kind) == told


# ---------------------------------------------------------------- repetition


def test_repeated_runs_have_the_mean_and_deviation_of_single_runs():
    job = Job(replace(SMALL, learners=("cit", "hybrid"), seed=2), None)
    steps = 0
    while len(job.runs) < 4:
        assert job.share == pytest.approx(steps / (2 * RUNS))
        job.step(lambda *_: None)
        steps += 1
    assert steps == 8
    sizes, accuracy = [], []
    for seed in range(2, 6):
        experiment = replace(SMALL, seed=seed)
        stream = experiment.stream()
        trace = trace_of(experiment, "hybrid", stream)
        sizes.append(trace.sizes)
        accuracy.append(np.mean(trace.predictions == stream.y))
    shown = bands_of("bands", job.runs, 25.0)
    memory = shown.panels[1]
    np.testing.assert_allclose(memory.curves["hybrid"], np.mean(sizes, axis=0))
    np.testing.assert_allclose(memory.deviation["hybrid"], np.std(sizes, axis=0))
    summary = {name: summarise([run.learners[name].metrics for run in job.runs]) for name in ("cit", "hybrid")}
    assert summary["hybrid"]["accuracy"].mean == pytest.approx(np.mean(accuracy))
    assert shown.pack()
    assert set(shown.panels[0].deviation) == {"cit", "hybrid"}
    assert "±" in spreads(summary)["Hybrid"][0]


@given(st.integers(0, 30), st.sampled_from(("active", "hybrid")), st.floats(0.5, 80), st.floats(0.5, 80))
def test_thresholds_that_make_no_difference_are_known_and_no_others(seed, name, one, other):
    experiment = replace(SMALL, seed=seed, settings={"batch": 10, "warmup": 40})
    stream = experiment.stream()

    def trace(threshold):
        return trace_of(replace(experiment, settings=(*experiment.settings, ("threshold", threshold))), name, stream)

    first, second = trace(one), trace(other)
    low, high = first.thresholds()
    assert low < one <= high
    same = all(
        np.array_equal(getattr(first, f), getattr(second, f), equal_nan=f == "statistic")
        for f in ("predictions", "sizes", "statistic", "detections", "change_points")
    )
    assert same == (low < other <= high)


# ---------------------------------------------------------------- what can be taken away


def test_the_csv_holds_the_run():
    stream = SMALL.stream(SMALL.feature_pool())
    traces = traces_of(SMALL, stream)
    rows = list(csv.DictReader(io.StringIO(trace_csv(stream, traces))))
    assert len(rows) == len(stream)
    for name, trace in traces.items():
        assert [row[f"{name}_predicted"] for row in rows] == trace.predictions.tolist()
        assert [int(row[f"{name}_size"]) for row in rows] == trace.sizes.tolist()
        alarms = [i for i, row in enumerate(rows) if row[f"{name}_alarm"] == "1"]
        assert alarms == trace.detections.tolist()
        g = [float(row[f"{name}_statistic"] or "nan") for row in rows]
        np.testing.assert_array_equal(g, trace.statistic)
    assert [i for i, row in enumerate(rows) if row["true_change"] == "1"] == list(stream.changes)


def test_a_run_is_told_in_words_and_its_figures_are_those_of_the_run():
    stream = SMALL.stream(SMALL.feature_pool())
    traces = traces_of(SMALL, stream)
    shown = run_of("run", stream, traces, 25.0)
    assert "accuracy" in shown.alt and str(stream.changes[0]) in shown.alt
    metrics = {name: LearnerRun.of(trace, stream, 0, 1.0, True).metrics for name, trace in traces.items()}
    table = figures(metrics)
    accuracy = np.mean(traces["cit"].predictions == stream.y)
    assert float(table["CIT"][0]) == pytest.approx(accuracy, abs=6e-4)


def test_media_to_see_and_to_hear():
    import wave

    clip = 0.5 * np.sin(np.arange(22_050) * 2 * np.pi * 5000 / 22_050).astype(np.float32)
    seen = picture(clip)
    assert seen.dtype == np.uint8 and seen.shape[2] == 3
    bright = seen.sum(axis=2).mean(axis=1).argmax() / len(seen)
    assert bright == pytest.approx(1 - 5000 / 11_025, abs=0.02), "low frequencies are at the bottom"
    with wave.open(io.BytesIO(wav(clip, 22_050))) as file:
        heard = np.frombuffer(file.readframes(-1), "<i2") / 32767
        assert file.getframerate() == 22_050
    np.testing.assert_allclose(heard, clip, atol=1e-4)


# ---------------------------------------------------------------- uploads


def zipped(files):
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pictures(n, classes=("cat", "dog", "owl")):
    from PIL import Image

    files = {}
    rng = np.random.default_rng(0)
    for number, label in enumerate(classes):
        for i in range(n):
            image = Image.fromarray((rng.integers(0, 60, (12, 12, 3)) + 60 * number).astype(np.uint8))
            image.save(buffer := io.BytesIO(), format="PNG")
            files[f"{label}/{i}.png"] = buffer.getvalue()
    return files


def link():
    info = zipfile.ZipInfo("cat/a.png")
    info.external_attr = 0o120777 << 16
    return zipped({info: "/etc/passwd"})


BAD = {
    "no zip": b"hello",
    "empty": zipped({}),
    "wrong types": zipped({"a.exe": b"MZ", "b.txt": b"x"}),
    "traversal": zipped({"../../cat/a.png": b"x"}),
    "absolute": zipped({"/etc/a.png": b"x"}),
    "link": link(),
    "bomb": zipped({f"cat/{i}.wav": bytes(30 * 2**20) for i in range(4)}),
    "too large": b"P" * (LIMIT + 1),
    "nothing readable": zipped({"cat/a.png": b"x", "dog/b.png": b"y"}),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_upload_is_refused_with_a_reason(content):
    with pytest.raises(DataError) as fault:
        unpack("id", "mine.zip", content)
    assert "/tmp" not in str(fault.value)


def test_a_good_upload_runs_in_its_own_folder_and_goes_with_it():
    own = unpack("id", "mine.zip", zipped(pictures(50) | {"cat/broken.png": b"no"}))
    assert "cat: 50" in own.told and "1 file is left out, such as cat/broken.png (" in own.told
    experiment = Experiment(own.path, classes=2, drift="class-change", per_class=100, train=5)
    stream = experiment.stream(experiment.feature_pool(FeatureCache(own.cache)))
    assert 60 <= len(stream) <= 100
    assert list(Path(own.cache).rglob("*.features"))
    folder = Path(own.path)
    del own
    assert not folder.exists()


def test_uploads_of_a_visitor_do_not_add_up_without_limit(monkeypatch):
    monkeypatch.setattr(upload_module, "BUDGET", UploadBudget(bytes=100_000))
    monkeypatch.setattr(upload_module, "MOST_OF_VISITOR", 300_000)
    monkeypatch.setattr(upload_module, "MOST_OF_ALL", 520_000)
    sent = zipped({"cat/a.png": (picture := pictures(1, ("cat",))["cat/0.png"]), "dog/a.png": picture + bytes(90_000)})
    kept = [unpack("id", "mine.zip", sent, "one visitor") for _ in range(3)]
    with pytest.raises(DataError, match="your tabs hold 0 MB of uploads; close one of them"):
        unpack("id", "mine.zip", sent, "one visitor")
    kept += [unpack("id", "mine.zip", sent, "another") for _ in range(2)]
    with pytest.raises(DataError, match="the server holds"):
        unpack("id", "mine.zip", sent, "a third")
    del kept[:2]  # tabs that have been closed
    for _ in range(9):  # one after another, each replaced by the next
        unpack("id", "mine.zip", sent, "one visitor")
        with pytest.raises(DataError, match="not a zip"):
            unpack("id", "mine.zip", b"hello", "one visitor")
    kept.clear()
    assert not upload_module._uploads._sizes


# ---------------------------------------------------------------- the page


def lab(**query):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    for key, value in {"data": "points", **query}.items():
        at.query_params[key] = value
    return at.switch_page("pages/drift_lab.py").run()


def messages(at):
    """All messages of a page, in any position."""
    return [message.value for kind in ("error", "warning", "info", "success") for message in getattr(at, kind)]


def plain(text):
    """A message without the backslashes that keep Markdown away."""
    return text.replace("\\", "")


def code(at):
    return at.code[0].value


def test_a_link_decides_about_everything():
    at = lab(
        h="31", seed="7", drift="Two labels swap", per_class="100", learners="Hybrid Tiny kNN", k="3", **{"lambda": "4"}
    )
    assert not at.exception and not at.toast
    assert at.session_state["lab good"].experiment == Experiment(
        "points",
        4,
        drift="labels-swapped",
        per_class=100,
        learners=["hybrid"],
        settings={"threshold": 31, "k": 3},
        seed=7,
    )
    again = lab(
        h="31", seed="7", drift="Two labels swap", per_class="100", learners="Hybrid Tiny kNN", k="3", **{"lambda": "4"}
    )
    assert code(again) == code(at)


def test_a_broken_link_falls_back_with_notices():
    at = lab(h="x", seed="-5", drift="<b>", learners="nobody", **{"lambda": "99"})
    assert not at.exception and not at.error
    assert len(at.toast) == 5
    assert at.session_state["lab good"].experiment == Experiment("points")


@pytest.mark.parametrize("word", ["x" * 10_000, "🙂", "\"'<>&", "![a](http://example.com/a.png)", "yes!"])
def test_an_unspeakable_word_is_a_message_and_the_last_good_run_stays(word):
    at = lab(per_class="100")
    good = code(at)
    at.selectbox(key="data").set_value("speech")
    at.session_state["words"] = ["yes", word]
    at.run()
    assert not at.exception
    if word.startswith("!["):  # its letters can be said
        return
    [told] = messages(at)
    assert "http" not in told and "previous run: A class changes, Points in the plane" in plain(told)
    assert code(at) == good


def test_markup_in_a_message_stays_text():
    assert as_text("![x](a.b/c.png) <b> `q` $x$") == r"\!\[x\]\(a\.b/c\.png\) \<b\> \`q\` \$x\$"


# What Markdown makes links of, in text whose escapes it has resolved: mdast-util-gfm-autolink-literal.
AUTOLINKS = re.compile(r"(https?://|www(?=\.))[-.\w]+|[-.\w+]+@[-\w]+(\.[-\w]+)+", re.IGNORECASE)
ADDRESSES = [
    "https://x.y", "HTTP://x.y/z?a=b", "see https://x.y.", "(www.x.y)", "Www.x.y", "a.b+c@d.e", "a@b.c@d.e", "//x.y",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_in_a_message_stays_text(address):
    resolved = re.sub(r"\\(?=[^\w\s])", "", as_text(address))
    assert not AUTOLINKS.search(resolved) and resolved.replace(WORD_JOINER, "") == address


def test_no_learner_is_a_message():
    at = lab(per_class="100")
    at.multiselect(key="learners").set_value([]).run()
    [told] = messages(at)
    assert told.startswith("Choose at least one learner")
    assert code(at)


@pytest.mark.parametrize("folder", ["/no/such/folder", "~nobody/x", "a\0b", "x" * 9000, "points", "/etc/passwd"])
def test_a_folder_that_is_not_there_is_a_message_and_no_run(folder, monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")
    at = lab(data="Folder on this computer", folder=folder)
    assert not at.exception
    [told] = messages(at)
    assert "There is no folder" in told and "previous run" not in told
    assert not at.code and not at.get("bidi_component"), "no run stands in for what was asked for"


def test_a_folder_says_what_of_it_is_of_no_use(tmp_path, monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")
    for name, content in (pictures(50) | {f"{label}/broken.png": b"no" for label in ("cat", "dog", "owl")}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    at = lab(data="Folder on this computer", folder=str(tmp_path), per_class="100", **{"lambda": "2"})
    assert not at.exception and not at.error
    assert any("3 files are left out, such as" in caption.value for caption in at.caption)


def test_a_zip_of_pictures_runs_and_a_bad_one_gives_one_message():
    at = lab(data="Upload a zip", per_class="100", **{"lambda": "2"})
    [told] = messages(at)
    assert told.startswith("Upload a zip") and not at.code
    at.file_uploader[0].upload("bomb.zip", BAD["bomb"], "application/zip").run()
    [told] = messages(at)
    assert told.startswith("The zip unpacks to more") and "previous run" not in told and not at.code
    at.file_uploader[0].upload("mine.zip", zipped(pictures(50)), "application/zip").run()
    [told] = messages(at)
    assert not at.exception and "(ξ + n)" in plain(told), "the pictures are few, and that is all"
    good = code(at)
    assert "the folder that you zipped" in good and "/tmp" not in good
    at.file_uploader[0].upload("bomb.zip", BAD["bomb"], "application/zip").run()
    assert not at.exception
    [told] = messages(at)
    assert told.startswith("The zip unpacks to more") and "previous run: A class changes, mine.zip (" in plain(told)
    assert code(at) == good


def test_a_refused_upload_is_read_once(monkeypatch):
    read = []
    original = upload_module.unpack
    monkeypatch.setattr(upload_module, "unpack", lambda *a: (read.append(a[1]), original(*a))[1])
    at = lab(data="Upload a zip")
    at.file_uploader[0].upload("bomb.zip", BAD["bomb"], "application/zip").run()
    for threshold in (30.0, 40.0):
        at.slider(key="h").set_value(threshold).run()
        assert not at.exception and len(messages(at)) == 1
    assert read == ["bomb.zip"]


@pytest.fixture
def elsewhere(monkeypatch):
    """A long computation in another tab of the same browser, until this function is called."""
    monkeypatch.setattr(computation, "visitor", lambda: "one browser")
    running = [True]
    with monkeypatch.context() as other:
        other.setattr(computation, "_tab", lambda: "another tab")
        computation.claim(computation.Computation("the test's own", lambda: bool(running)))
    yield running.clear
    computation.close_all()


def test_a_short_run_goes_on_beside_a_long_computation_in_another_tab(elsewhere, monkeypatch):
    at = lab(per_class="100", seed="3")
    assert not at.exception and not at.error and "seed=3)" in code(at)
    monkeypatch.setattr(computation, "LONG", -1.0)  # s: from now on, everything takes too long
    at.number_input(key="seed").set_value(4).run()
    assert "You already have a computation running" in plain(messages(at)[0]) and "seed=3)" in code(at)
    elsewhere()
    at.number_input(key="seed").set_value(5).run()
    assert not at.error and "seed=5)" in code(at)


def test_twenty_runs_wait_for_a_long_computation_in_another_tab(elsewhere, monkeypatch):
    monkeypatch.setattr(repeat, "SPELL", 0.0)  # s: one step per run of the page
    at = lab(per_class="100", train="20", learners="Condensing-in-Time")
    at.session_state["bands"] = "true"
    at.run()
    job = at.session_state["lab job"]
    assert not at.exception and job.share == 0
    assert "You already have a computation" in at.get("progress")[0].proto.text
    elsewhere()
    at.run()
    assert job.share == pytest.approx(1 / 20)
    with pytest.raises(computation.Busy, match="the 20 runs of the Drift lab"):
        computation.claim(computation.Computation("a third tab", lambda: True))
    at.button(key="cancel bands").click().run()
    computation.claim(computation.Computation("a third tab", lambda: True))


def test_a_drift_that_needs_more_classes_offers_them_as_a_button():
    at = lab(per_class="100")
    good, shown = code(at), shown_run(at)
    at.selectbox(key="drift").set_value("class-removed").run()
    [told] = messages(at)
    assert plain(told).startswith("“A class disappears” needs at least 3 classes")
    assert f"previous run: {shown['title'].removeprefix('Drift lab: ')}." in plain(told)
    assert "A class changes" in shown["title"] and code(at) == good, "the charts are those of the run that is named"
    at.button(key="fix classes").click().run()
    assert not messages(at) and not at.exception
    assert at.slider(key="lambda").value == 3
    assert "class-removed" in code(at) and "A class disappears" in shown_run(at)["title"]


def test_a_first_visit_to_a_drift_that_cannot_run_shows_the_button_and_no_run():
    at = lab(data="Handwritten digits", **{"lambda": "10"})
    [told] = messages(at)
    assert "“A class changes” needs one more class" in plain(told) and "previous run" not in told
    assert not at.code and at.button(key="fix classes").label == "Use 9 classes"
    at.button(key="fix classes").click().run()
    assert not messages(at) and code(at)


def test_no_button_where_it_would_not_help(tmp_path, monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")
    for name, content in pictures(50, ("cat", "dog")).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    folder = {"data": "Folder on this computer", "folder": str(tmp_path), "per_class": "100"}
    at = lab(**folder, drift="A class goes")
    assert len(messages(at)) == 1 and not [b for b in at.button if b.key == "fix classes"]
    at = lab(**folder, drift="Two labels swap", **{"lambda": "5"})
    assert at.button(key="fix classes").label == "Use 2 classes"


@pytest.mark.parametrize(
    ("experiment", "remedy"),
    [
        (Experiment("points", classes=2, drift="class-removed"), 3),
        (Experiment("digits", classes=10), 9),
        (Experiment("digits", classes=12), 9),
        (Experiment("digits", classes=12, drift="labels-swapped"), 10),
        (Experiment("digits", classes=10, drift="several"), 9),
    ],
)
def test_an_error_carries_a_remedy_that_helps(experiment, remedy):
    feature_pool = experiment.feature_pool()
    with pytest.raises(ConfigError) as fault:
        experiment.drawn(feature_pool)
    assert fault.value.remedy == {"classes": remedy}
    assert experiment.remedied(feature_pool, fault.value) == replace(experiment, classes=remedy)
    assert experiment.remedied(feature_pool, DataError("no remedy")) is None


def test_fewer_samples_than_asked_for_are_said_with_the_reason():
    at = lab(data="Handwritten digits")
    experiment = at.session_state["lab good"].experiment
    feature_pool = experiment.feature_pool()
    stream = experiment.stream(feature_pool)
    [told] = [plain(caption.value) for caption in at.caption if "instead of" in caption.value]
    assert f"The stream has {len(stream)} samples instead of 3,000: the data have only" in told
    count, word = re.search(r"only (\d+) of “(\d)”", told).groups()
    assert feature_pool.count(word) == int(count)
    assert int(count) == min(map(feature_pool.count, feature_pool.classes)), "any run may draw this class"
    used = np.concatenate([stream.origin0, stream.origin])
    taken = max(np.bincount([[o.word for o in stream.origins].index(stream.origins[n].word) for n in used]))
    assert int(count) - 3 <= taken <= int(count), "as many are used of a class"
    assert f"begins with {len(stream.y0) // 2} samples instead of 100" in told
    assert not any("instead of" in caption.value for caption in lab(per_class="100").caption)


def shown_run(at):
    """The header of the run in the player."""
    packed = at.get("bidi_component")[0].proto.bytes
    return json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])


def test_equal_bytes_can_be_chosen_at_once_and_all_learners_keep_to_them():
    names = ["cit", "active", "hybrid", "tandem", "window", "sam-knn"]
    at = lab(per_class="150", train="20", learners=names)
    assert shown_run(at)["panels"][1]["unit"] == "samples"
    memory = at.selectbox(key=MEMORY)
    assert not memory.disabled and memory.value == OWN
    memory.set_value(BYTES).run()
    assert not at.exception and not at.toast
    good = at.session_state["lab good"]
    limit = good.experiment.max_bytes
    assert limit == 2 * 20 * 16, "the initial samples, of 4 d + 8 bytes"
    assert f"max_bytes={limit}" in good.experiment.link()
    axis = shown_run(at)["panels"][1]
    assert axis["unit"] == "bytes" and axis["alternative"]["unit"] == "samples"
    used = {name: good.metrics[name].peak_bytes for name in names}
    assert max(used.values()) <= limit, used
    assert min(used[name] for name in ("tandem", "window")) > limit - 16, "as many samples as fit"
    table = figures(good.metrics)
    row = next(iter(table.values())).index("bytes of T and W, largest")
    assert [column[row] for column in list(table.values())[1:]] == [f"{used[name]:,}" for name in names]


@pytest.mark.parametrize("name", ["sam-knn", "svm"])
def test_a_learner_without_neighbours_is_inspected_too(name):
    experiment = replace(SMALL, learners=(name,))
    stream = experiment.stream()
    run = experiment.run_stream(stream).learners[name]
    found = inspect_sample(experiment.learner(name, stream.scenario), stream, 30)
    assert found.neighbours == () and (found.said == str(stream.y[30])) == run.correct[30]


def test_home_plays_a_run_that_its_link_opens_in_the_drift_lab():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    link = next(entry.proto for entry in at.get("page_link") if "this run" in entry.proto.label)
    home = shown_run(at)
    for key, values in parse_qs(link.query_string).items():
        at.query_params[key] = values
    at.switch_page("pages/drift_lab.py").run()
    assert not at.exception and not at.toast
    lab = shown_run(at)
    for key in ("length", "changes"):
        assert home[key] == lab[key]
    for one, other in zip(home["learners"], lab["learners"], strict=True):
        assert {key: one[key] for key in ("name", "alarms", "change_points")} == {
            key: other[key] for key in ("name", "alarms", "change_points")
        }


def test_the_ready_made_words_run_where_the_pack_is():
    from tmlcd_core.datasets import pack

    if not (pack.PLACE / pack.FILE).exists():
        pytest.skip("no pack in data/")
    experiment = Experiment(PACK, classes=3)
    stream = experiment.stream(experiment.feature_pool())
    assert stream.changes == (2250,)
    assert len(set(stream.y)) == 3


def test_a_drift_asked_for_by_the_player_survives_runs_with_the_address_of_before():
    at = lab(per_class="60", train="20", drift="none", learners="hybrid")
    at.session_state[ASKED] = ["labels-swapped@30"]  # asked for, but not in the address that the browser sends
    for _ in range(2):  # the second run is asked for before the browser knows the address of the first
        at.query_params.pop("added", None)
        at.run()
        assert not at.exception and at.query_params["added"] == "labels-swapped@30"
        assert at.session_state[GOOD].experiment.added == ("labels-swapped@30",)
        assert ASKED in at.session_state
    assert at.run().session_state[GOOD].scenario.changes == (30,)
    assert ASKED not in at.session_state, "the browser has sent the address with it"
    del at.query_params["added"]  # Back
    assert at.run().session_state[GOOD].experiment.added == ()


@pytest.mark.parametrize("button", ["undo", "reset"])
def test_a_drift_that_was_asked_for_and_taken_back_does_not_return(button):
    at = lab(per_class="60", train="20", drift="none", learners="hybrid")
    at.session_state[ASKED] = ["labels-swapped@30"]
    at.run()
    at.button(key=button).click().run()
    assert not at.exception and at.session_state[GOOD].experiment.added == ()
    assert ASKED not in at.session_state and at.run().session_state[GOOD].experiment.added == ()


def test_classes_change_at_the_cursor_until_the_data_have_no_other_one():
    """The fourth of the ready-made words is short of samples; it is used all the same, and a fifth is missed."""
    at = lab(data=PACK, per_class="80", train="20", drift="none", learners="hybrid")
    twice = ["class-change@30", "class-change@60"]
    for added in (twice, [*twice, "class-change@90"]):
        at.query_params["added"] = added
        at.run()
        assert not at.exception and at.session_state[GOOD].experiment.added == tuple(twice)
    words = [drift.new for drift in at.session_state[GOOD].scenario.drifts]
    assert len({"up", "yes", *words}) == 4
    assert "“A class changes” needs one more class than the data have" in plain(messages(at)[0])
    for button in ("undo", "fix added"):
        at.query_params["added"] = [*twice, "class-change@90"]
        at.run().button(key=button).click().run()
        assert not messages(at) and at.query_params["added"] == twice, "only the change that cannot run is taken back"


def test_cancelling_twenty_runs_goes_back_to_one_whatever_ends_the_run_of_the_page(monkeypatch):
    """Streamlit may end a run at any access of its state: what was cancelled stays so in the next run."""
    monkeypatch.setattr(repeat, "SPELL", 0.0)  # s: one step per run of the page
    at = lab(per_class="60", train="20", learners="hybrid", bands="true")
    slot = at.session_state[JOB].steps
    assert not at.exception and slot._place.running()
    at.button(key="cancel bands").click()
    monkeypatch.setattr(toolbar, "chosen", lambda *_, **__: streamlit.stop())  # right after the callback
    at.run()
    monkeypatch.undo()
    assert not slot._place.running()
    at.run()
    assert not at.exception and JOB not in at.session_state
    assert at.session_state[TOGGLE] == "false" and "bands" not in at.query_params


def test_a_step_that_was_stopped_is_taken_again():
    class Stop(Exception):
        pass

    def stop(done, total, what):
        if what == "running the learners":
            raise Stop

    job, whole = (Job(replace(SMALL, learners=("cit", "tandem"), seed=2), None) for _ in range(2))
    for _ in range(4):
        whole.step(lambda *_: None)
    for _ in range(2):
        job.step(lambda *_: None)
    with pytest.raises(Stop):
        job.step(stop)
    while len(job.runs) < 2:
        job.step(lambda *_: None)
    for one, other in zip(job.runs, whole.runs, strict=True):
        for name in ("cit", "tandem"):
            assert one.learners[name].trace.predictions.tolist() == other.learners[name].trace.predictions.tolist()
