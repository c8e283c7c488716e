"""The network trained on speech as an extractor of experiments: features, errors, links, folders, command and page."""

import json
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import soundfile
from streamlit.testing.v1 import AppTest

from pages.views.drift_lab.page import GOOD
from tests.support.appserver import ROOT
from tmlcd_core import Experiment
from tmlcd_core.cli import main
from tmlcd_core.datasets import open_source
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.variants import VARIANTS
from tmlcd_core.features import Extractor, SpeechExtractor, make_extractor
from tmlcd_core.features.voice import VOICE_EXTRACTORS, VOICE_RATE, open_take

WORDS = ("yes", "no", "stop")
SMALL = Experiment(
    "speech", 2, WORDS[:2], WORDS[2], per_class=20, train=4, learners=["cit", "hybrid"], extractor="speech"
)


def tone(level=0.3):
    time = np.arange(VOICE_RATE) / VOICE_RATE
    return (level * np.sin(2 * np.pi * 440 * time) * ((time > 0.3) & (time < 0.7))).astype(np.float32)


def test_it_gives_the_features_of_the_microphone_page():
    clips = np.stack([tone(0.3), np.roll(tone(0.1), 1_600)])
    wanted = VOICE_EXTRACTORS["speech"].transform([open_take((clip, VOICE_RATE)) for clip in clips])
    found = SpeechExtractor().transform(clips)
    assert found.shape == (2, SpeechExtractor.n_features) and found.dtype == np.float32
    assert np.array_equal(found, wanted)
    assert np.array_equal(SpeechExtractor().transform(clips[0]), wanted[:1])


def test_a_clip_without_a_word_has_features_too():
    quiet = np.random.default_rng(0).normal(0, 1e-4, VOICE_RATE).astype(np.float32)
    found = SpeechExtractor().transform(np.stack([quiet, np.zeros_like(quiet)]))
    assert np.isfinite(found).all()


def test_the_choice_by_name():
    assert make_extractor({}) == make_extractor({"name": "paper"}) == Extractor()
    assert make_extractor({"name": "speech"}) == SpeechExtractor()
    assert SpeechExtractor().key != Extractor().key
    assert Experiment("speech", extractor="paper") == Experiment("speech")
    for wrong in ("photo", {"name": "speech", "norm": "clip"}):
        with pytest.raises(ConfigError):
            Experiment("speech", extractor=wrong)


@pytest.mark.parametrize("data", ["pack", "digits", "points"])
def test_data_without_sound_are_refused(data):
    with pytest.raises(ConfigError, match="speech"):
        Experiment(data, extractor="speech").run()


def test_the_code_of_the_authors_does_not_change_the_network():
    experiment = VARIANTS["code"].apply(Experiment("speech", learners=["hybrid"], extractor="speech"))
    assert dict(experiment.extractor) == {"name": "speech"}
    assert Experiment.from_link(experiment.link()) == experiment
    assert Experiment.from_link("/drift-lab?data=speech&learners=hybrid&extractor=speech&paper=code") == experiment


def test_link_command_python_and_page_give_one_run(capsys, tmp_path):
    assert "extractor=speech" in SMALL.link() and "--extractor speech" in SMALL.command()
    assert Experiment.from_link(SMALL.link()) == SMALL == eval(repr(SMALL))
    run = SMALL.run()
    assert main([*SMALL.command().split()[1:], "--json", "--jobs", "1", "--out", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    page = AppTest.from_file(str(ROOT / "pages/drift_lab.py"), default_timeout=300)
    page.query_params.update(parse_qs(urlsplit(SMALL.link()).query))
    page.run()
    assert not page.exception and not page.error and not page.toast
    assert page.selectbox(key="extractor").value == "speech"
    for name, one in run.learners.items():
        assert np.array_equal(page.session_state[GOOD].traces[name].predictions, one.trace.predictions)
        assert printed["learners"][name]["accuracy"]["mean"] == pytest.approx(one.metrics.accuracy)
    paper = Experiment.from_link(SMALL.link().replace("extractor=speech", "extractor=paper"))
    assert [w.tolist() for w in (paper.stream().y, paper.stream().index)] == [
        w.tolist() for w in (SMALL.stream().y, SMALL.stream().index)
    ], "the same stream, with other features"


def test_a_folder_of_recordings(tmp_path):
    source = open_source("speech", WORDS)
    for word in WORDS:
        (tmp_path / word).mkdir()
        for number, clip in enumerate(source.media(word, range(8))):
            soundfile.write(tmp_path / word / f"{number}.wav", clip, source.sample_rate, subtype="PCM_16")
    experiment = Experiment(str(tmp_path), 2, WORDS[:2], train=2, per_class=6, learners=["cit"], extractor="speech")
    stream = experiment.stream()
    assert stream.X.shape[1] == 96 and len(stream) == 12
    assert Experiment.from_link(experiment.link()) == experiment
