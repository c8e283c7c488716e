"""The page "From sound to features": its figures hold the extractor's numbers, and bad input gets a message."""

import base64
import io
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.shell.navigation import PAGES
from pages.views.features import input_picker as choice
from tmlcd_core.errors import DataError
from tmlcd_core.features import EFFECTS, Extractor, SpeechExtractor, load_image, load_stem, make_clip
from tmlcd_core.viz import features as viz
from tmlcd_core.viz import network_steps
from tmlcd_core.viz.medium import wav

ROOT = Path(__file__).parents[2]
PAGE = next(page for page in PAGES if page.url == "features")
CLIP = (np.sin(np.arange(22_050) ** 1.2 / 40) * np.linspace(0.6, 0.1, 22_050)).astype(np.float32)
PHOTO = np.random.default_rng(0).integers(0, 256, (300, 240, 3), dtype=np.uint8)


def open_page(**asked: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    for key, value in asked.items():
        at.query_params[key] = value
    return at.switch_page(PAGE.file).run()


def words(at: AppTest) -> str:
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def sound_file(kind: str, clip: np.ndarray = CLIP, rate: int = 22_050) -> bytes:
    soundfile.write(out := io.BytesIO(), clip, rate, format=kind)
    return out.getvalue()


def picture_file(kind: str = "PNG") -> bytes:
    Image.fromarray(PHOTO).save(out := io.BytesIO(), kind)
    return out.getvalue()


# ---------------------------------------------------------------- figures


def test_the_figures_hold_the_extractors_numbers():
    extractor = Extractor()
    sound, spectrum, _, kernel, mapped, numbers = (
        step.figure.data for step in viz.steps([viz.Way.through(extractor, CLIP)])
    )
    stages = extractor.stages(CLIP)
    assert np.abs(spectrum[0].z - stages.decibels).max() <= 0.5
    np.testing.assert_array_equal(mapped[0].z, stages.maps[0])
    np.testing.assert_array_equal(numbers[0].y, extractor.transform(CLIP)[0])
    np.testing.assert_array_equal([plane.z for plane in kernel], load_stem().conv1[51])
    assert (min(sound[0].y), max(sound[0].y)) == (CLIP.min(), CLIP.max())


def test_axes_are_in_seconds_and_hertz():
    tone = 2_205  # Hz: a fifth of the way up
    clip = np.sin(2 * np.pi * tone * np.arange(22_050) / 22_050).astype(np.float32)
    for extractor in (Extractor(), Extractor(sample_rate=8_820, n_fft=256, hop=128)):
        way = viz.Way.through(extractor, make_clip(clip, 22_050, extractor.sample_rate))
        spectrum = viz.steps([way])[1].figure.data[0]
        row = spectrum.z.mean(axis=1).argmax()
        assert spectrum.y0 + row * spectrum.dy == pytest.approx(tone, abs=spectrum.dy)
        assert spectrum.dx * (spectrum.z.shape[1] - 1) == pytest.approx(1, abs=spectrum.dx)


def test_the_coloured_spectrogram_is_the_picture_that_the_filter_sees():
    source = viz.steps([viz.Way.through(Extractor(), CLIP)])[2].figure.data[0].source
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))))
    np.testing.assert_allclose(pixels / 255, Extractor().stages(CLIP).coloured, atol=0.5 / 255 + 1e-6)


@pytest.mark.parametrize(
    ("medium", "rate", "sizes"),
    [
        (CLIP, 22_050, "22,050 → 257 × 44 → 257 × 44 × 3 → 65 × 11 → 715"),
        (CLIP[:4_410], 4_410, "4,410 → 65 × 35 → 65 × 35 × 3 → 17 × 9 → 153"),
        (PHOTO, 22_050, "300 × 240 × 3 → 224 × 224 × 3 → 224 × 224 × 3 → 56 × 56 → 3,136"),
    ],
)
def test_sizes_are_those_of_the_paper(medium, rate, sizes):
    window = 512 if rate == 22_050 else 128
    extractor = Extractor(sample_rate=rate, n_fft=window, hop=window)
    assert viz.sizes(extractor, medium.shape) == sizes
    steps = viz.steps([viz.Way.through(extractor, medium)])
    assert [step.size for step in steps if not step.name.startswith("Filter")] == sizes.split(" → ")


def test_what_two_ways_share_is_drawn_once():
    same = viz.steps([viz.Way.through(Extractor((f,)), CLIP, str(f)) for f in (51, 45)])
    assert [len(step.figure.data) for step in same] == [1, 1, 1, 6, 2, 2]
    noisy = EFFECTS["white noise"](CLIP[None], 0.5)[0]
    other = viz.steps([viz.Way.through(Extractor(), clip) for clip in (CLIP, noisy)])
    assert [len(step.figure.data) for step in other] == [2, 2, 2, 3, 2, 2]
    scales = [(trace.zmin, trace.zmax) for trace in other[4].figure.data]
    assert scales[0] == scales[1], "two maps can be compared only on one scale"


@pytest.mark.parametrize("length", [1, 1999, 2000, 2001, 22_050, 50_001])
def test_a_line_keeps_its_extremes(length):
    values = np.random.default_rng(length).normal(size=length)
    x, y = viz.envelope(values)
    assert len(x) <= viz.MAX_POINTS
    assert (np.diff(x) >= 0).all()
    np.testing.assert_array_equal(values[x], y)
    assert (y.min(), y.max()) == (values.min(), values.max())


def test_dead_filters_answer_nothing_and_are_marked():
    means = viz.mean_activations(Extractor(), PHOTO)
    dead = list(viz.dead_filters())
    assert means[dead].max() < 1e-3 < means[51]
    assert all("dead" in viz.filter_name(number) for number in dead)
    figure = viz.board_figure([51])
    assert [len(trace.x) for trace in figure.data[-2:]] == [len(dead), 1]


def test_a_sound_is_heard_as_loud_as_it_is():
    with wave.open(io.BytesIO(wav(CLIP, 22_050))) as file:
        heard = np.frombuffer(file.readframes(22_050), "<i2") / 32_767
        assert (file.getframerate(), file.getnchannels()) == (22_050, 1)
    np.testing.assert_allclose(heard, CLIP, atol=1 / 32_767)


# ---------------------------------------------------------------- the page


def test_every_step_of_a_typed_word():
    at = open_page(medium=choice.WORD, say="hello", voice="7")
    assert not at.exception and not at.error
    said = words(at)
    for step in ("1 Sound", "2 Spectrogram", "3 Colours", "4 Filter 51", "5 Feature map", "6 Features"):
        assert f"**{step}**" in said
    assert "22,050 → 257 × 44 → 257 × 44 × 3 → 65 × 11 → 715" in said


def test_a_stronger_drift_moves_the_features_further():
    at = open_page(beside="A drift at the source")
    distances = []
    for strength in (0.0, 0.3, 1.0):
        at.slider(key="amount").set_value(strength).run()
        assert not at.exception
        sentence = next(m.value for m in at.markdown if "distance between" in m.value)
        distances.append(float(sentence.split("**")[1]))
        assert "another clip of this word is" in sentence
    assert distances[0] == 0 < distances[1] < distances[2]


@pytest.mark.parametrize(("kind", "medium"), [("audio", choice.WORD), ("image", choice.DIGIT)])
def test_every_drift_of_sound_and_picture(kind, medium):
    at = open_page(medium=medium, beside="A drift at the source")
    effects = [effect for effect in EFFECTS.values() if effect.kind == kind]
    assert at.selectbox(key=f"{kind}-drift").options == [effect.name for effect in effects]
    for effect in effects:
        at.selectbox(key=f"{kind}-drift").set_value(effect.name).run()
        assert not at.exception and not at.error
        assert effect.explanation in words(at)


def test_the_slow_variant_stands_beside_the_paper_s():
    said = words(open_page(beside="4,410 Hz"))
    assert "4,410 → 65 × 35 → 65 × 35 × 3 → 17 × 9 → 153" in said
    assert "257 × 44 | 65 × 35" in said


def test_a_picture_has_no_slow_variant():
    at = open_page(medium=choice.DIGIT, beside="4,410 Hz")
    assert not at.exception and not at.error
    assert at.selectbox(key="beside").value == "Nothing"


def test_any_typed_word_gives_a_page():
    at = open_page(medium=choice.WORD)
    for word in ("<script>", "a\nb", "'; --", "", "   ", "!?", "🙂", "x" * 10_000, "\x00"):
        at.text_input(key="say").set_value(word).run()
        assert not at.exception
        assert "715" in words(at), "the last good one stays"
        said = any(c.isalnum() for c in word) and len(word) <= 40
        assert bool(at.sidebar.error) is not said, "what cannot be said is named at the widget"


def upload(at: AppTest, name: str, content: bytes) -> AppTest:
    return at.file_uploader(key="medium:file").upload(name, content).run()


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
def test_an_uploaded_sound(kind):
    at = upload(open_page(medium=choice.FILE), f"a.{kind.lower()}", sound_file(kind, rate=22_050))
    assert not at.exception and not at.error
    assert "257 × 44" in words(at)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_an_uploaded_picture(kind):
    at = upload(open_page(medium=choice.FILE), f"a.{kind.lower().replace('jpeg', 'jpg')}", picture_file(kind))
    assert not at.exception and not at.error
    assert "300 × 240 × 3 → 224 × 224 × 3" in words(at)


def test_a_large_picture_is_cropped_first_and_gives_the_same_features():
    Image.fromarray(np.tile(PHOTO, (3, 4, 1))).save(out := io.BytesIO(), "PNG")
    at = upload(open_page(medium=choice.FILE), "large.png", out.getvalue())
    assert not at.exception and not at.error
    assert "960 × 900 pixels" in words(at)
    shown = at.session_state[choice.LAST].data
    features = Extractor().transform_images([load_image(out.getvalue()), shown])
    np.testing.assert_array_equal(*features)


def garbage() -> dict[str, bytes]:
    silent = sound_file("WAV", np.zeros(22_050, np.float32))
    nan = sound_file("WAV", CLIP)[:44] + b"\xff\xff\xff\x7f" * 500
    return {
        "empty.wav": b"",
        "noise.wav": bytes(range(256)) * 40,
        "silent.wav": silent,
        "header.wav": nan[:44],
        "picture.wav": picture_file(),
        "sound.png": sound_file("WAV"),
        "half.png": picture_file()[:2_000],
        "page.jpg": b"<html><script>alert(1)</script></html>",
    }


@pytest.mark.parametrize("name", garbage())
def test_garbage_gives_a_message_at_the_widget_and_the_last_picture_stays(name):
    at = open_page(medium=choice.FILE)
    upload(at, "good.png", picture_file())
    upload(at, name, garbage()[name])
    assert not at.exception
    assert len(at.sidebar.error) == 1, "the message stands beside the widget"
    assert "300 × 240 × 3" in words(at)


def test_too_large_a_file_is_named():
    at = upload(open_page(medium=choice.FILE), "a.png", picture_file() + bytes(11 * 2**20))
    assert not at.exception
    assert "at most 10 MB" in at.sidebar.error[0].value


def test_broken_links_fall_back():
    at = open_page(medium="A moon", filter="999", beside="<b>")
    assert not at.exception and not at.error
    assert at.selectbox(key="filter").value.startswith("51")
    assert len(at.toast) == 3


def test_without_a_pack_a_word_is_spoken(monkeypatch):
    monkeypatch.setattr(choice, "_bundled", dict)
    at = open_page()
    assert not at.exception and not at.error
    assert at.selectbox(key="medium").options == [choice.WORD, choice.DIGIT, choice.FILE]
    assert at.selectbox(key="medium").value == choice.WORD


def test_ready_made_clips_come_with_another_one_of_their_word():
    for name, paths in choice._bundled().items():
        assert len(paths) == 2
        assert {path.name.partition("-")[0] for path in paths} == {name.partition(" ")[0]}


def test_without_espeak_there_is_a_message_and_still_a_picture(monkeypatch):
    def refuse(word: str, voice: int) -> None:
        raise DataError("speech needs the package espeakng-loader")

    monkeypatch.setattr(choice, "_spoken", refuse)
    at = open_page(medium=choice.WORD)
    assert not at.exception
    assert "espeakng" in at.sidebar.error[0].value
    assert "3,136" in words(at)


MODULES = """
import sys
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=120).run()
for script in sys.argv[1:]:
    assert not at.switch_page(script).run().exception
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_a_first_visit_loads_neither_torch_nor_librosa():
    scripts = [PAGE.file, "pages/stm32.py"]
    command = [sys.executable, "-c", MODULES, *scripts]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "plotly" in loaded
    assert not {"torch", "torchvision", "librosa", "river", "espeakng_loader"} & set(loaded)


def test_the_layers_of_the_network_trained_on_speech():
    at = open_page(extractor="speech", layer="20")
    assert not at.exception and not at.error and at.slider(key="layer").value == 20
    said = words(at)
    assert "25,600 → 32 × 157 → 96" in said and "**2 Mel spectrogram** · 32 × 157" in said
    assert "Layer 20 of 20: 96 channels of 1 × 11" in said
    assert len(at.get("plotly_chart")) == 4


def test_the_mosaic_shows_every_channel_once_and_the_vector_is_the_extractors():
    clip = make_clip(CLIP, 22_050, 16_000)
    way = network_steps.network_way(clip)
    assert np.array_equal(way.features, SpeechExtractor().transform(clip)[0])
    channels = np.arange(20, dtype=np.float32)[:, None, None] * np.ones((1, 5, 3), np.float32)
    channels[:, 0, 0] += 100  # the brightest cell of each: first in time, lowest frequency
    shown = network_steps.mosaic(channels)
    assert (shown == 1).sum() == len(channels)
    assert shown[-3, 0] == 1, "the first channel is at the top left, with low frequencies at its bottom"
