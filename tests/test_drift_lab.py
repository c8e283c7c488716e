"""The Drift lab without a browser: trials, close-ups, repeated runs, exports, and what the widgets make of them."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.lab import upload as upload_module
from pages.lab.upload import LIMIT, unpack
from pages.shell import computation
from pages.widgets import WORD_JOINER, as_text
from tmlcd_core.datasets import FeatureCache, UploadBudget
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments.closeup import closeup
from tmlcd_core.experiments.repetition import Repetition
from tmlcd_core.experiments.trial import KINDS, NOISY, PACK, Trial, program
from tmlcd_core.viz.lab import bands_of, figures, run_of, spreads, trace_csv
from tmlcd_core.viz.medium import picture, wav

ROOT = Path(__file__).parent.parent
TIMEOUT = 120
SMALL = Trial("points", classes=3, per_class=120, train=20)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Features of the tests do not go into the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMLCD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def traces_of(trial, stream):
    return {name: trial.learner(name).fit(stream.X0, stream.y0).run(stream.X, stream.y) for name in trial.learners}


# ---------------------------------------------------------------- trials


@pytest.mark.parametrize("drift", [kind for kind in KINDS if kind not in NOISY])
def test_each_drift_changes_what_it_says_and_when(drift):
    trial = replace(SMALL, drift=drift, at=0.25, classes=3)
    stream = trial.stream(trial.material())
    assert len(stream) == 360
    assert stream.changes[:1] == (() if drift == "none" else (90,))
    pairs = [(str(y), stream.origins[o].word) for y, o in zip(stream.y, stream.origin, strict=True)]
    before, after = set(pairs[:90]), set(pairs[90:220])
    assert len(before) == 3
    expected = {"class-added": 4, "class-removed": 2}.get(drift, 3)
    assert len(after) == expected
    assert (before == after) == (drift == "none")


def test_named_words_come_first_and_the_next_one_comes_in():
    trial = replace(SMALL, words=("C", "A", "H"), classes=2)
    stream = trial.stream(trial.material())
    assert stream.scenario.start.classes == ("C", "A")
    assert {stream.origins[o].word for o in stream.origin[200:]} == {"A", "H"}


def test_the_seed_draws_what_is_not_named():
    drawn = {replace(SMALL, words=("C",), seed=s).prepare(SMALL.material()).start.classes for s in range(6)}
    assert all(classes[0] == "C" for classes in drawn)
    assert len(drawn) > 1


def test_a_stream_is_as_long_as_the_data_allow():
    trial = Trial("digits", classes=3)
    stream = trial.stream(trial.material())
    used = np.concatenate([stream.index0, stream.index])
    words = np.concatenate([stream.origin0, stream.origin])
    pairs = {(stream.origins[o].word, int(i)) for o, i in zip(words, used, strict=True)}
    assert len(pairs) == len(used), "a digit is drawn twice"
    assert 400 < len(stream) < 540


@pytest.mark.parametrize("change", [{"classes": 11}, {"classes": 10}, {"words": ("nobody",)}])
def test_what_the_data_do_not_have_is_said(change):
    trial = replace(SMALL, **change)
    with pytest.raises(ConfigError):
        trial.prepare(trial.material())


@pytest.mark.parametrize("name", ["treshold", "cit.threshold", "nobody.k"])
def test_a_setting_that_nobody_has_is_refused(name):
    with pytest.raises(ConfigError, match=name.partition(".")[0]):
        replace(SMALL, settings=((name, 5.0),))


def test_settings_reach_the_learners_that_have_them():
    settings = (("threshold", 31.0), ("k", 3), ("hybrid.max_size", 40), ("gap", 0.1), ("cit.condense", False))
    trial = replace(SMALL, settings=settings, learners=("cit", "active", "hybrid", "static"))
    assert trial.learner("hybrid").max_size == 40
    assert trial.learner("active").window == 60
    assert trial.learner("active").detector.gap == 0.1
    assert trial.learner("active").detector.direction == "both"
    assert trial.learner("hybrid").detector.threshold == 31.0
    assert trial.learner("hybrid").detector.direction == "down"
    assert trial.learner("static").k == 3
    assert trial.learner("cit").condense is False


PROGRAMS = {
    "plain": SMALL,
    "every learner": replace(SMALL, learners=("cit", "active", "hybrid", "static", "incremental"), seed=3),
    "grid": replace(SMALL, settings=(("spacing", 0.02), ("gap", 0.05), ("threshold", 9.0), ("k", 5))),
    "bounds": replace(SMALL, settings=(("cit.max_size", 15), ("active.window", 30), ("weights", "distance"))),
    "digits": Trial("digits", per_class=60, train=10, drift="several", over=0.3, words=("3", "8")),
}


@pytest.mark.parametrize("trial", PROGRAMS.values(), ids=PROGRAMS)
def test_the_program_makes_the_same_run(trial, capsys):
    material = trial.material()
    scenario = trial.prepare(material)
    stream = trial.stream(material)
    names: dict = {}
    exec(program(trial, scenario), names)
    assert capsys.readouterr().out.count("accuracy") == len(trial.learners)
    for name, trace in traces_of(trial, stream).items():
        np.testing.assert_array_equal(names["traces"][name].predictions, trace.predictions)
        np.testing.assert_array_equal(names["traces"][name].detections, trace.detections)


def test_words_in_a_program_are_text():
    trial = Trial("speech", words=('"); import os #', "it's", "<b>"), classes=2)
    scenario = trial.scenario(trial.material())
    code = program(replace(trial, learners=("cit",)), scenario)
    compile(code, "run.py", "exec")
    assert repr('"); import os #') in code


# ---------------------------------------------------------------- close-ups


@pytest.mark.parametrize("name", ["cit", "active", "hybrid", "static", "incremental"])
def test_a_closeup_agrees_with_the_run_and_with_a_learner_stopped_there(name):
    trial = replace(SMALL, drift="labels-swapped")
    stream = trial.stream(trial.material())
    trace = trial.learner(name).fit(stream.X0, stream.y0).run(stream.X, stream.y)
    for sample in (0, 1, 150, 300, 359):
        seen = closeup(trial.learner(name), stream, sample)
        assert seen.said == trace.predictions[sample]
        model = trial.learner(name).fit(stream.X0, stream.y0)
        if sample:
            model.run(stream.X[:sample], stream.y[:sample])
        assert seen.size == len(model)
        asked = model.neighbours(stream.X[sample : sample + 1])
        assert [n.label for n in seen.neighbours] == asked.labels[0].tolist()
        for one, distance in zip(seen.neighbours, asked.distances[0], strict=True):
            medium = trial.material().medium(one.origin, one.index)
            assert np.linalg.norm(medium - stream.X[sample]) == pytest.approx(distance, abs=1e-4)
            if one.age is not None:
                assert stream.y[sample - one.age] == one.label


# ---------------------------------------------------------------- repetition


def test_repeated_runs_have_the_mean_and_deviation_of_single_runs():
    repetition = Repetition(replace(SMALL, learners=("cit", "hybrid"), seed=2), runs=4)
    steps = 0
    while not repetition.finished:
        repetition.step()
        steps += 1
    assert steps == 8
    sizes, accuracy = [], []
    for seed in range(2, 6):
        trial = replace(SMALL, seed=seed)
        stream = trial.stream(trial.material())
        trace = trial.learner("hybrid").fit(stream.X0, stream.y0).run(stream.X, stream.y)
        sizes.append(trace.sizes)
        accuracy.append(np.mean(trace.predictions == stream.y))
    spread = repetition.curve("hybrid", lambda trace, one: trace.sizes)
    np.testing.assert_allclose(spread.mean, np.mean(sizes, axis=0))
    np.testing.assert_allclose(spread.std, np.std(sizes, axis=0))
    assert repetition.summary()["hybrid"]["accuracy"].mean == pytest.approx(np.mean(accuracy))
    shown = bands_of("bands", repetition, 25.0)
    assert shown.pack()
    assert set(shown.panels[0].deviation) == {"cit", "hybrid"}
    assert "±" in spreads(repetition.summary())["Hybrid"][0]


@given(st.integers(0, 30), st.sampled_from(("active", "hybrid")), st.floats(0.5, 80), st.floats(0.5, 80))
def test_thresholds_that_make_no_difference_are_known_and_no_others(seed, name, one, other):
    trial = replace(SMALL, seed=seed, settings=(("batch", 10), ("warmup", 40)))
    stream = trial.stream(trial.material())

    def trace(threshold):
        made = replace(trial, settings=(*trial.settings, ("threshold", threshold))).learner(name)
        return made.fit(stream.X0, stream.y0).run(stream.X, stream.y)

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
    stream = SMALL.stream(SMALL.material())
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
    stream = SMALL.stream(SMALL.material())
    traces = traces_of(SMALL, stream)
    shown = run_of("run", stream, traces, 25.0)
    assert "accuracy" in shown.alt and str(stream.changes[0]) in shown.alt
    from tmlcd_core.experiments.experiment import LearnerRun

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
    trial = Trial(own.path, classes=2, drift="class-change", per_class=100, train=5)
    stream = trial.stream(trial.material(FeatureCache(own.cache)))
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
    for key, value in {"data": "Points in the plane", **query}.items():
        at.query_params[key] = value
    return at.switch_page("pages/explore/drift_lab.py").run()


def code(at):
    return at.code[0].value


def test_a_link_decides_about_everything():
    at = lab(
        h="31", seed="7", drift="Two labels swap", per_class="100", learners="Hybrid Tiny kNN", k="3", **{"lambda": "4"}
    )
    assert not at.exception and not at.toast
    assert "LabelsSwapped" in code(at) and "threshold=31.0" in code(at) and "k=3" in code(at)
    assert "seed=7" in code(at) and "length=400" in code(at) and "ActiveTinyKNN" not in code(at)
    again = lab(
        h="31", seed="7", drift="Two labels swap", per_class="100", learners="Hybrid Tiny kNN", k="3", **{"lambda": "4"}
    )
    assert code(again) == code(at)


def test_a_broken_link_falls_back_with_notices():
    at = lab(h="x", seed="-5", drift="<b>", learners="nobody", **{"lambda": "99"})
    assert not at.exception and not at.error
    assert len(at.toast) == 5
    assert "length=3000" in code(at)


@pytest.mark.parametrize("word", ["x" * 10_000, "🙂", "\"'<>&", "![a](http://example.com/a.png)", "yes!"])
def test_an_unspeakable_word_is_a_message_and_the_last_good_run_stays(word):
    at = lab(per_class="100")
    good = code(at)
    at.selectbox(key="data").set_value("Spoken words")
    at.session_state["words"] = ["yes", word]
    at.run()
    assert not at.exception
    if word.startswith("!["):  # its letters can be said
        return
    assert len(at.sidebar.error) == 1
    assert "http" not in at.sidebar.error[0].value
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
    assert [e.value for e in at.sidebar.error] == ["Choose at least one learner."]
    assert code(at)


@pytest.mark.parametrize("folder", ["/no/such/folder", "~nobody/x", "a\0b", "x" * 9000, "points", "/etc/passwd"])
def test_a_folder_that_is_not_there_is_a_message_at_its_widget(folder, monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")
    at = lab(data="Folder on this computer", folder=folder)
    assert not at.exception
    assert "there is no folder" in at.sidebar.error[0].value
    assert code(at), "a first visit by a bad link still shows a run"


def test_a_folder_says_what_of_it_is_of_no_use(tmp_path, monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")
    for name, content in (pictures(50) | {f"{label}/broken.png": b"no" for label in ("cat", "dog", "owl")}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    at = lab(data="Folder on this computer", folder=str(tmp_path), per_class="100", **{"lambda": "2"})
    assert not at.exception and not at.error
    assert any("3 files are left out, such as" in caption.value for caption in at.caption)


def test_a_zip_of_pictures_runs_and_a_bad_one_after_it_changes_nothing():
    at = lab(data="Upload a zip", per_class="100", **{"lambda": "2"})
    assert any("uploaded" in info.value for info in at.sidebar.info)
    at.file_uploader[0].upload("mine.zip", zipped(pictures(50)), "application/zip").run()
    assert not at.exception and not at.error
    good = code(at)
    assert "the folder that you zipped" in good and "/tmp" not in good
    at.file_uploader[0].upload("bomb.zip", BAD["bomb"], "application/zip").run()
    assert not at.exception
    assert len(at.sidebar.error) == 1
    assert code(at) == good


def test_a_refused_upload_is_read_once(monkeypatch):
    read = []
    original = upload_module.unpack
    monkeypatch.setattr(upload_module, "unpack", lambda *a: (read.append(a[1]), original(*a))[1])
    at = lab(data="Upload a zip")
    at.file_uploader[0].upload("bomb.zip", BAD["bomb"], "application/zip").run()
    for threshold in (30.0, 40.0):
        at.slider(key="h").set_value(threshold).run()
        assert not at.exception and len(at.sidebar.error) == 1
    assert read == ["bomb.zip"]


@pytest.fixture
def elsewhere(monkeypatch):
    """A long computation in another tab of the same browser, until it is called."""
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
    assert "Another computation of yours is still running" in at.error[0].value and "seed=3)" in code(at)
    elsewhere()
    at.number_input(key="seed").set_value(5).run()
    assert not at.error and "seed=5)" in code(at)


def test_twenty_runs_wait_for_a_long_computation_in_another_tab(elsewhere):
    at = lab(per_class="100", train="20", learners="Condensing-in-Time")
    at.toggle(key="bands").set_value(True).run()
    job = at.session_state["lab job"]
    assert not at.exception and job.runs.steps == 0
    assert "Another computation of yours" in at.get("progress")[0].proto.text
    elsewhere()
    at.run()
    assert job.runs.steps == 1
    with pytest.raises(computation.Busy, match="the 20 runs of the Drift lab"):
        computation.claim(computation.Computation("a third tab", lambda: True))
    at.button(key="cancel bands").click().run()
    computation.claim(computation.Computation("a third tab", lambda: True))


def shown_run(at):
    """The header of the run in the player."""
    packed = at.get("bidi_component")[0].proto.bytes
    return json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])


def test_home_plays_a_run_that_its_link_opens_in_the_drift_lab():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    link = next(entry.proto for entry in at.get("page_link") if "this run" in entry.proto.label)
    home = shown_run(at)
    for key, value in parse_qsl(link.query_string):
        at.query_params[key] = value
    at.switch_page("pages/explore/drift_lab.py").run()
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
    trial = Trial(PACK, classes=3)
    stream = trial.stream(trial.material())
    assert stream.changes == (2250,)
    assert len(set(stream.y)) == 3
