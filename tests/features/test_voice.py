"""Word detection with known onsets, refused recordings, and features under variation of the voice."""

from __future__ import annotations

import io

import librosa
import numpy as np
import pytest
import scipy.fft
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from tmlcd_core import AudioError
from tmlcd_core.datasets.espeak import SAMPLE_RATE, Utterance, speak
from tmlcd_core.features import EFFECTS, coloured_noise
from tmlcd_core.features.voice import (
    DEFAULT_VOICE,
    VOICE_EXTRACTORS,
    VOICE_RATE,
    aligned,
    cut_words,
    open_take,
)
from tmlcd_core.features.voice.cepstra import cosines, mel_filters, resampled

WORDS = ("yes", "no", "up", "stop", "eight", "six", "seven", "happy")
ONSET = 0.25  # seconds


def vowel(seconds: float, pitch: float = 130.0, rate: int = 16_000) -> np.ndarray:
    """Harmonics under two formants, with soft edges of 10 ms."""
    time = np.arange(round(seconds * rate)) / rate
    sound = np.zeros(len(time))
    for harmonic in range(1, int(3_500 / pitch)):
        f = harmonic * pitch
        gain = np.exp(-(((f - 600) / 200) ** 2)) + 0.5 * np.exp(-(((f - 1_700) / 300) ** 2)) + 0.02
        sound += gain * np.sin(2 * np.pi * f * time + harmonic)
    edge = np.minimum(np.minimum(time, time[::-1]) / 0.01, 1)
    return 0.3 * edge * sound / np.abs(sound).max()


def laid(sound: np.ndarray, onset: float, seconds: float = 1.2, rate: int = 16_000) -> np.ndarray:
    out = np.zeros(round(seconds * rate))
    first = round(onset * rate)
    out[first : first + len(sound)] = sound[: len(out) - first]
    return out


def in_noise(clip: np.ndarray, word: np.ndarray, snr: float, colour: str = "white", seed: int = 0, rate: int = 16_000):
    rng = np.random.default_rng(seed)
    return clip + np.sqrt(np.mean(word**2)) * 10 ** (-snr / 20) * coloured_noise(colour, len(clip), rate, rng)


@pytest.fixture(scope="module")
def spoken() -> dict[str, np.ndarray]:
    """Words of eSpeak NG without the silence around them."""
    clips = {}
    for word, sound in zip(WORDS, speak([Utterance(w, "en-us", 50, 140) for w in WORDS]), strict=True):
        sound = sound / 32768
        heard = np.flatnonzero(np.abs(sound) > 0.01 * np.abs(sound).max())
        clips[word] = sound[heard[0] : heard[-1] + 1]
    return clips


# -- where the word is ---------------------------------------------------------------------------


@pytest.mark.parametrize("colour", ["white", "pink", "brown"])
@pytest.mark.parametrize("snr", [40, 30, 20])
def test_onsets_of_spoken_words_are_within_30_ms(spoken, snr, colour):
    for number, (word, sound) in enumerate(spoken.items()):
        clip = in_noise(laid(sound, ONSET, 1.2, SAMPLE_RATE), sound, snr, colour, number, SAMPLE_RATE)
        take = open_take((clip, SAMPLE_RATE))
        assert abs(take.start - ONSET) < 0.03, (word, take.start)
        assert take.stop < ONSET + len(sound) / SAMPLE_RATE + 0.03


@pytest.mark.parametrize("snr", [30, 20, 10, 5])
def test_a_vowel_is_found_at_both_ends(snr):
    sound = vowel(0.4)
    for seed in range(5):
        take = open_take((in_noise(laid(sound, 0.3), sound, snr, seed=seed), 16_000))
        assert abs(take.start - 0.3) < 0.03
        assert abs(take.stop - 0.7) < 0.04


def test_weak_endings_are_kept(spoken):
    """The s of "yes" and "six", the release of "eight" and "stop": at 30 dB nothing of them is lost."""
    for word in ("yes", "six", "eight", "stop"):
        sound = spoken[word]
        take = open_take((in_noise(laid(sound, ONSET, 1.2, SAMPLE_RATE), sound, 30, rate=SAMPLE_RATE), SAMPLE_RATE))
        assert take.stop > ONSET + len(sound) / SAMPLE_RATE - 0.03, word


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_a_recording_trimmed_to_the_word_is_left_whole(spoken, rate):
    for word, sound in spoken.items():
        tight = librosa.resample(sound, orig_sr=SAMPLE_RATE, target_sr=rate)
        take = open_take((tight, rate))
        assert take.start == 0, word
        assert take.stop > 0.75 * len(sound) / SAMPLE_RATE, word


def test_a_click_before_the_word_is_not_the_word():
    sound = vowel(0.35)
    clip = laid(sound, 0.6)
    clip[round(0.15 * 16_000) :][:40] += 0.9 * np.sign(np.sin(np.arange(40)))
    take = open_take((in_noise(clip, sound, 30), 16_000))
    assert abs(take.start - 0.6) < 0.03


def test_the_louder_of_two_sounds_is_the_word():
    clip = laid(vowel(0.3), 0.1, 2.0) + laid(0.05 * vowel(0.3), 1.2, 2.0)
    take = open_take((in_noise(clip, vowel(0.3), 45), 16_000))
    assert abs(take.start - 0.1) < 0.03
    assert take.stop < 0.5


def test_a_vowel_that_fills_a_second_is_taken_with_a_remark():
    rng = np.random.default_rng(0)
    take = open_take((vowel(1.0) + rng.normal(0, 1e-3, 16_000), 16_000))
    assert take.stop - take.start > 0.95
    assert any("fills" in remark for remark in take.remarks)


@given(
    gaps=st.lists(st.floats(0.3, 0.7), min_size=1, max_size=8),
    lengths=st.lists(st.floats(0.15, 0.6), min_size=8, max_size=8),
    pitch=st.floats(90, 250),
    snr=st.floats(20, 40),
)
@settings(max_examples=25)
def test_k_words_are_cut_into_k_takes_in_order(gaps, lengths, pitch, snr):
    words = [vowel(seconds, pitch) for seconds in lengths[: len(gaps)]]
    parts, onsets, at = [], [], 0.0
    for gap, word in zip(gaps, words, strict=True):
        parts += [np.zeros(round(gap * 16_000)), word]
        onsets.append(at + gap)
        at += gap + len(word) / 16_000
    clip = in_noise(np.concatenate([*parts, np.zeros(6_000)]), words[0], snr)
    takes = cut_words((clip, 16_000))
    assert len(takes) == len(words)
    offset = 0
    for take, word, onset in zip(takes, words, onsets, strict=True):
        assert abs(take.stop - take.start - len(word) / 16_000) < 0.06
        # each take is a piece of the recording, and the pieces follow one another
        place = find_piece(clip, take.samples, offset)
        assert abs(place / 16_000 + take.start - onset) < 0.03
        offset = place + len(take.samples) - 1


def test_words_part_in_a_ringing_room():
    """A room of 0.8 s, quiet enough to hear the ringing until the next word comes half a second later."""
    rng = np.random.default_rng(4)
    seconds = (0.35, 0.5, 0.3, 0.6, 0.4)
    onsets = 0.5 + np.cumsum([0.0, *(length + 0.5 for length in seconds[:-1])])
    dry = np.zeros(round((onsets[-1] + seconds[-1] + 0.6) * 16_000))
    for length, onset in zip(seconds, onsets, strict=True):
        word = vowel(length)
        dry[round(onset * 16_000) :][: len(word)] = word
    time = np.arange(12_800) / 16_000
    ringing = np.convolve(dry, 0.01 * rng.normal(size=len(time)) * 10 ** (-3 * time / 0.8))[: len(dry)]
    clip = dry + ringing + rng.normal(0, 3e-4, len(dry))
    takes = cut_words((clip, 16_000))
    assert len(takes) == len(seconds)
    offset = 0
    for take, onset in zip(takes, onsets, strict=True):
        offset = find_piece(clip, take.samples, offset)
        assert abs(offset / 16_000 + take.start - onset) < 0.03
        assert not take.remarks


def find_piece(whole: np.ndarray, piece: np.ndarray, start: int) -> int:
    """Where a piece lies in the whole, by its first hundred samples."""
    windows = np.lib.stride_tricks.sliding_window_view(whole[start:], 100)
    return start + int(np.abs(windows - piece[:100]).max(axis=1).argmin())


# -- what comes in -------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_any_rate_and_stereo_give_the_same_word(rate, channels):
    sound = laid(vowel(0.4, rate=rate), 0.3, rate=rate) + np.random.default_rng(0).normal(0, 1e-4, round(1.2 * rate))
    take = open_take((np.stack([sound] * channels, axis=1), rate))
    assert len(take.samples) == round(1.2 * VOICE_RATE)
    assert take.samples.dtype == np.float32
    assert not take.samples.flags.writeable
    assert abs(take.start - 0.3) < 0.02
    assert abs(take.stop - 0.7) < 0.03


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
def test_files_of_every_kind_are_opened(kind, tmp_path):
    sound = laid(vowel(0.4, rate=44_100), 0.3, rate=44_100)
    soundfile.write(buffer := io.BytesIO(), sound, 44_100, format=kind)
    (tmp_path / "take").write_bytes(buffer.getvalue())
    for source in (buffer.getvalue(), tmp_path / "take"):
        assert abs(open_take(source).start - 0.3) < 0.05


def test_a_take_survives_its_wav_to_the_last_bit():
    sound = in_noise(laid(vowel(0.4), 0.3), vowel(0.4), 25)
    take = open_take((sound, 16_000))
    again = open_take(take.wav())
    assert np.array_equal(take.samples, again.samples)
    assert (take.start, take.stop, take.digest) == (again.start, again.stop, again.digest)
    assert open_take((sound * 0.99, 16_000)).digest != take.digest


def test_of_a_long_recording_the_word_and_its_surroundings_are_kept():
    take = open_take((in_noise(laid(vowel(0.4), 3.0, 4.5), vowel(0.4), 30), 16_000))
    assert take.seconds == pytest.approx(0.4 + 0.8, abs=0.1)
    assert take.start == pytest.approx(0.4, abs=0.05)


RNG = np.random.default_rng(5)
CLICK = RNG.normal(0, 1e-3, 16_000) + np.where(np.abs(np.arange(16_000) - 8_000) < 20, 0.7, 0)
REFUSED = {
    "silent": np.zeros(16_000),
    "no word stands out": RNG.normal(0, 0.01, 16_000),
    "only a click": CLICK,
    "0.05 s is too short": RNG.normal(0, 0.1, 800),
    "60.0 s is too long: .* at most 5 s; .* cut into words may have 30 s": RNG.normal(0, 0.1, 960_000),
    "NaN": np.full(16_000, np.nan),
    "samples are 0.0000 s": np.zeros(0),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_no_take_is_refused_in_a_sentence(sentence):
    with pytest.raises(AudioError, match=sentence):
        open_take((REFUSED[sentence], 16_000))


@pytest.mark.parametrize("rate", [1_000, 0, -1, 500_000])
def test_absurd_rates_are_refused(rate):
    with pytest.raises(AudioError, match="Hz"):
        open_take((vowel(0.25), rate))


@pytest.mark.parametrize("source", [b"", b"hello", b"RIFF" + bytes(100)])
def test_bytes_that_are_no_sound_are_refused(source):
    for gate in (open_take, cut_words):
        with pytest.raises(AudioError, match="cannot be decoded"):
            gate(source)


def test_files_are_refused_by_length_without_reading_them_whole():
    soundfile.write(buffer := io.BytesIO(), np.tile(vowel(1.0), 61), 16_000, format="WAV")
    with pytest.raises(AudioError, match=r"61\.0 s is too long"):
        open_take(buffer.getvalue())
    with pytest.raises(AudioError, match="at most 30 s"):
        cut_words(buffer.getvalue())
    with pytest.raises(AudioError, match="no word stands out"):
        cut_words((np.random.default_rng(0).normal(0, 0.01, 160_000), 16_000))


def test_mains_hum_is_no_word():
    time = np.arange(16_000) / 16_000
    hum = 0.005 * sum(np.sin(2 * np.pi * 50 * k * time) for k in (1, 2, 3))
    with pytest.raises(AudioError, match="no word"):
        open_take((hum + np.random.default_rng(0).normal(0, 1e-3, 16_000), 16_000))


def test_remarks_on_clipping_softness_and_length():
    def remarks(sound):
        return " ".join(open_take((sound, 16_000)).remarks)

    word = laid(vowel(0.4), 0.3) + np.random.default_rng(0).normal(0, 1e-5, 19_200)
    assert remarks(word) == ""
    assert "clipped" in remarks(np.clip(8 * word, -1, 1))
    assert "soft" in remarks(word * 0.02)
    assert "long" in remarks(laid(vowel(1.5), 0.2, 2.2) + np.random.default_rng(0).normal(0, 1e-4, 35_200))


# -- vectors -------------------------------------------------------------------------------------


def test_mel_filters_and_cosines_are_librosas_and_scipys():
    theirs = librosa.filters.mel(sr=16_000, n_fft=512, n_mels=32, fmin=80, fmax=7_600, htk=True, norm=None)
    assert np.allclose(mel_filters(32), theirs / theirs.sum(axis=1, keepdims=True), atol=1e-6)
    rows = np.random.default_rng(0).normal(size=(5, 32))
    assert np.allclose(rows @ cosines(12, 32).T, scipy.fft.dct(rows, norm="ortho")[:, 1:13])


def test_resampling_by_change_undoes_a_warped_clock():
    """A track that lingers and hurries gives the same moments as one that does not."""
    time = np.linspace(0, 1, 200)
    path = np.stack([np.cos(3 * time), np.sin(3 * time)], axis=1)  # constant speed
    warped = np.linspace(0, 1, 300) ** 2
    slow = np.stack([np.cos(3 * warped), np.sin(3 * warped)], axis=1)
    assert np.allclose(resampled(slow, 16, 1.0), resampled(path, 16, 1.0), atol=0.02)
    assert not np.allclose(resampled(slow, 16, 0.0), resampled(path, 16, 0.0), atol=0.2)
    assert resampled(np.ones((1, 3)), 4, 0.5).shape == (4, 3)
    assert np.array_equal(resampled(np.ones((9, 2)), 4, 0.5), np.ones((4, 2)))


@pytest.fixture(scope="module")
def takes(spoken):
    """Two recordings of each of four words: early, loud, quiet room; late, soft, noisy room, a little faster."""
    first, second = [], []
    for number, word in enumerate(("yes", "no", "stop", "seven")):
        sound = spoken[word]
        first.append(
            open_take(
                (in_noise(laid(sound, 0.1, 1.3, SAMPLE_RATE), sound, 35, "pink", number, SAMPLE_RATE), SAMPLE_RATE)
            )
        )
        quick = librosa.effects.time_stretch(sound, rate=1.15)
        clip = 0.2 * in_noise(laid(quick, 0.4, 1.3, SAMPLE_RATE), quick, 20, "pink", number + 9, SAMPLE_RATE)
        second.append(open_take((clip, SAMPLE_RATE)))
    return first, second


@pytest.mark.parametrize("name", VOICE_EXTRACTORS)
def test_every_extractor_gives_finite_vectors_of_its_length(takes, name):
    extractor = VOICE_EXTRACTORS[name]
    X = extractor.transform(takes[0])
    assert X.shape == (4, extractor.n_features)
    assert X.dtype == np.float32
    assert np.isfinite(X).all()
    assert np.array_equal(X[1:2], extractor.transform(takes[0][1:2]))  # no take depends on its company
    assert extractor.picture(takes[0][0]).ndim == 2
    assert extractor.name == name
    assert extractor.title and extractor.explain.endswith(".")


def told_apart(name: str, takes) -> int:
    extractor = VOICE_EXTRACTORS[name]
    A, B = (extractor.transform(part) for part in takes)
    return int((np.linalg.norm(B[:, None] - A, axis=2).argmin(axis=1) == np.arange(len(A))).sum())


def test_the_default_knows_a_word_said_later_softer_faster_and_in_noise(takes):
    assert told_apart(DEFAULT_VOICE, takes) == 4
    assert told_apart("paper", takes) < 4  # as recorded, the onset alone makes it another picture


@pytest.mark.parametrize("name", ["aligned", "filters", "log-mel", DEFAULT_VOICE])
def test_where_and_how_loud_a_word_is_does_not_matter(spoken, name):
    sound = spoken["seven"]
    early, late, other = (
        open_take((in_noise(laid(gain * s, at, 1.3, SAMPLE_RATE), gain * s, 45, rate=SAMPLE_RATE), SAMPLE_RATE))
        for s, at, gain in ((sound, 0.1, 1.0), (sound, 0.35, 0.2), (spoken["six"], 0.1, 1.0))
    )
    same, different = (
        np.linalg.norm(np.subtract(*VOICE_EXTRACTORS[name].transform([early, take]))) for take in (late, other)
    )
    assert same < 0.65 * different


def test_the_aligned_second_begins_with_the_word(takes):
    for rate in (16_000, 22_050, 4_410):
        clip = aligned(takes[1][2], rate)
        assert len(clip) == rate
        loud = np.flatnonzero(np.abs(clip) > 0.2 * np.abs(clip).max())
        assert loud[0] < 0.25 * rate


def test_faults_that_the_page_offers_can_be_heard(takes):
    """Every effect of the list changes the take, and the chain from there on still works."""
    take = takes[0][0]
    for name, effect in EFFECTS.items():
        if effect.kind == "audio" and name != "gain loss":
            changed = effect(take.samples[None], 0.5, sample_rate=VOICE_RATE)[0]
            heard = open_take((changed, VOICE_RATE))
            assert np.isfinite(VOICE_EXTRACTORS[DEFAULT_VOICE].transform([heard])).all()
            assert heard.digest != take.digest
