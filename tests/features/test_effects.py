"""Effects, checked by powers, spectra, delays and pitches."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import (
    EFFECTS,
    Extractor,
    babble,
    coloured_noise,
)

RATE = 22_050
TIME = np.arange(RATE) / RATE
NOISES = ["white noise", "pink noise", "brown noise", "babble"]
AUDIO = [name for name, effect in EFFECTS.items() if effect.kind == "audio"]
IMAGE = [name for name, effect in EFFECTS.items() if effect.kind == "image"]


def clips(n: int = 4) -> NDArray[np.float32]:
    """Syllables of a harmonic voice with a breath of noise, different in each clip."""
    rng = np.random.default_rng(0)
    voices = [
        sum(np.sin(2 * np.pi * k * pitch * TIME) / k for k in range(1, 30)) * np.sin(2 * np.pi * 2 * TIME) ** 2
        for pitch in rng.uniform(100, 200, n)
    ]
    return (0.1 * np.array(voices) + rng.normal(0, 0.005, (n, RATE))).astype(np.float32)


def images(n: int = 3) -> NDArray[np.uint8]:
    """Soft blobs with sharp edges."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[:48, :64]
    out = np.empty((n, 48, 64, 3), np.uint8)
    for i, (cy, cx, r) in enumerate(rng.uniform([10, 10, 5], [38, 54, 20], (n, 3))):
        inside = (y - cy) ** 2 + (x - cx) ** 2 < r**2
        out[i] = np.where(inside[..., None], (220, 120, 60), np.stack([x * 2, y * 3, x + y], -1)).astype(np.uint8)
    return out


def media(name: str) -> NDArray:
    return clips() if EFFECTS[name].kind == "audio" else images()


def decibels(ratio: float) -> float:
    return float(10 * np.log10(ratio))


def density(wave: NDArray, low: float, high: float) -> float:
    """Mean power per bin between two frequencies."""
    power = np.abs(np.fft.rfft(wave, axis=-1)) ** 2
    frequency = np.fft.rfftfreq(wave.shape[-1], 1 / RATE)
    return float(power[..., (frequency >= low) & (frequency < high)].mean())


def pitch(wave: NDArray) -> float:
    spectrum = np.abs(np.fft.rfft(wave * np.hanning(len(wave))))
    return float(np.fft.rfftfreq(len(wave), 1 / RATE)[spectrum.argmax()])


# What holds for every effect.


def test_every_promised_effect_is_there() -> None:
    assert set(AUDIO) == {
        *NOISES, "gain loss", "clipping", "muffled", "echo", "reverberation", "faster speech", "drop-outs",
        "wrong sample rate",
    }  # fmt: skip
    assert set(IMAGE) == {"image noise", "blur", "darkness", "rotation", "occlusion"}
    for name, effect in EFFECTS.items():
        assert effect.name == name
        assert "\n" not in effect.explanation
        with pytest.raises(FrozenInstanceError):
            effect.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", EFFECTS)
def test_strength_none_is_the_input_bit_for_bit(name: str) -> None:
    given = media(name)
    kept = given.copy()
    same = EFFECTS[name](given, 0.0)
    assert same.tobytes() == given.tobytes()
    assert same is not given
    EFFECTS[name](given, 1.0)
    np.testing.assert_array_equal(given, kept)  # full strength leaves the input alone too


@pytest.mark.parametrize("name", EFFECTS)
def test_damage_grows_with_strength(name: str) -> None:
    given = media(name).astype(float)
    steps = [0.1, 0.25, 0.5, 0.75, 1.0]
    if name in ("faster speech", "wrong sample rate", "rotation"):
        # Moved content is soon as far from where it was as it can be: watch the small strengths.
        steps = [0.0005, 0.001, 0.002, 0.004] if name != "rotation" else [0.05, 0.15, 0.4, 1.0]
    if name == "blur":
        steps = [0.25, 0.5, 0.75, 1.0]  # less than a fifth of a pixel changes nothing
    damage = [np.abs(EFFECTS[name](media(name), s) - given).mean() for s in steps]
    assert damage[0] > 0
    assert all(a < b for a, b in pairwise(damage)), damage


@pytest.mark.parametrize("name", EFFECTS)
def test_output_is_of_the_same_kind(name: str) -> None:
    given = media(name)
    changed = EFFECTS[name](given, 1.0)
    assert (changed.dtype, changed.shape) == (given.dtype, given.shape)
    assert np.isfinite(changed).all()
    assert not np.array_equal(changed, given)


@pytest.mark.parametrize("name", EFFECTS)
def test_a_sample_is_the_same_in_any_batch(name: str) -> None:
    given, strengths = media(name), np.array([0.2, 0.0, 0.7, 1.0])[: len(media(name))]
    together = EFFECTS[name](given, strengths, seed=3, indices=range(10, 10 + len(given)))
    for i, clip in enumerate(given):
        alone = EFFECTS[name](clip[None], strengths[i], seed=3, indices=[10 + i])
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("name", [*NOISES, "drop-outs", "image noise", "occlusion"])
def test_seed_and_index_choose_the_randomness(name: str) -> None:
    twice = np.repeat(media(name)[:1], 2, axis=0)
    first = EFFECTS[name](twice, 0.5, seed=1)
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_array_equal(EFFECTS[name](twice, 0.5, seed=1), first)
    assert not np.array_equal(EFFECTS[name](twice, 0.5, seed=2), first)


@pytest.mark.parametrize("name", AUDIO)
def test_the_smallest_board_s_rate_and_silence(name: str) -> None:
    small = clips(2)[:, :4_410]
    assert EFFECTS[name](small, 1.0, sample_rate=4_410).shape == (2, 4_410)
    assert not EFFECTS[name](np.zeros((1, RATE), np.float32), 1.0).any()


@pytest.mark.parametrize("name", AUDIO)
def test_features_feel_it(name: str) -> None:
    """Full strength moves a clip by half the distance between two voices or more.

    All but the loss of gain, which the extractor's own scaling takes out: its explanation says so.
    """
    before = Extractor().transform(clips())
    between = np.mean([np.abs(a - b).mean() for a, b in combinations(before, 2)])
    moved = np.abs(Extractor().transform(EFFECTS[name](clips(), 1.0)) - before).mean()
    assert (moved < 0.01 * between) if name == "gain loss" else (moved > 0.5 * between)


# What each one claims.


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("snr", [-5.0, 0.0, 10.0, 30.0])
def test_noise_has_the_chosen_snr(name: str, snr: float) -> None:
    given = clips()
    noise = EFFECTS[name](given, 10 ** ((-5 - snr) / 20)).astype(float) - given  # full strength is -5 dB
    for clip, added in zip(given, noise, strict=True):
        assert decibels(np.mean(clip.astype(float) ** 2) / np.mean(added**2)) == pytest.approx(snr, abs=0.1)


@pytest.mark.parametrize(("colour", "slope"), [("white", 0.0), ("pink", -3.01), ("brown", -6.02)])
def test_noise_colours_fall_as_they_should(colour: str, slope: float) -> None:
    rng = np.random.default_rng(2)
    noise = np.array([coloured_noise(colour, RATE, RATE, rng) for _ in range(60)])  # type: ignore[arg-type]
    assert np.mean(noise**2) == pytest.approx(1)
    levels = [decibels(density(noise, low, 2 * low)) for low in (50, 100, 200, 400, 800, 1600, 3200)]
    np.testing.assert_allclose(np.diff(levels), slope, atol=0.6)
    assert decibels(density(noise, 50, 100) / density(noise, 3200, 6400)) == pytest.approx(-6 * slope, abs=0.7)


def test_babble_sounds_like_many_voices() -> None:
    """Most of the power is where speech has it."""
    rng = np.random.default_rng(3)
    crowd = np.array([babble(RATE, RATE, rng) for _ in range(10)])
    assert density(crowd, 100, 3_000) > 20 * density(crowd, 6_000, 11_000)


@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_gain_loss_in_decibels(strength: float) -> None:
    quiet = EFFECTS["gain loss"](clips(), strength)
    assert decibels(np.mean(quiet**2) / np.mean(clips() ** 2)) == pytest.approx(-40 * strength, abs=0.01)


def test_clipping_cuts_the_peaks_and_nothing_else() -> None:
    given = clips()
    cut = EFFECTS["clipping"](given, 0.5)
    limits = 0.515 * np.abs(given).max(axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(cut).max(axis=1, keepdims=True), limits, rtol=1e-6)
    below = np.abs(given) < limits * 0.999
    np.testing.assert_array_equal(cut[below], given[below])


def test_muffled_is_a_low_pass() -> None:
    noise = np.random.default_rng(4).normal(0, 0.1, (20, RATE)).astype(np.float32)
    dull = EFFECTS["muffled"](noise, 1.0)

    def gain(low: float, high: float) -> float:
        return decibels(density(dull, low, high) / density(noise, low, high))

    assert gain(20, 250) == pytest.approx(0, abs=0.3)
    assert gain(390, 410) == pytest.approx(-3, abs=0.5)
    assert gain(790, 810) == pytest.approx(-36, abs=1.5)  # 6 dB per octave and order
    assert gain(3_000, 11_000) < -50
    half = EFFECTS["muffled"](noise, 0.5)  # cut-off at the geometric mean of 400 and 11,025 Hz: 2,100 Hz
    assert decibels(density(half, 2_080, 2_120) / density(noise, 2_080, 2_120)) == pytest.approx(-3, abs=0.5)


def test_echo_comes_back_after_its_delay() -> None:
    click = np.zeros((1, RATE), np.float32)
    click[0, 100] = 1
    answer = EFFECTS["echo"](click, 0.5)[0]
    delay = round(0.15 * RATE)
    places = np.flatnonzero(answer)
    np.testing.assert_array_equal(places, 100 + delay * np.arange(5))
    np.testing.assert_allclose(answer[places], 0.4 ** np.arange(5), rtol=1e-6)


def test_reverberation_decays_by_60_db_in_its_time() -> None:
    click = np.zeros((2, RATE), np.float32)
    click[:, 0] = 1
    tails = EFFECTS["reverberation"](click, 1.0).astype(float)
    np.testing.assert_array_equal(tails[0], tails[1])  # one room
    tail = tails[0].copy()
    tail[0] -= 1
    assert np.sum(tail**2) == pytest.approx(1.5**2, rel=0.01)
    energy = np.cumsum(tail[::-1] ** 2)[::-1]  # Schroeder's backward integration
    falls = [decibels(energy[round(s * RATE)] / energy[0]) for s in (0.1, 0.2, 0.4)]
    np.testing.assert_allclose(falls, [-7.5, -15, -30], atol=1.0)


def test_faster_speech_keeps_the_pitch() -> None:
    tone = (0.3 * np.sin(2 * np.pi * 440 * TIME)).astype(np.float32)[None]
    assert pitch(EFFECTS["faster speech"](tone, 1.0)[0]) == pytest.approx(440, abs=5)
    burst = tone * ((TIME > 0.4) & (TIME < 0.72))
    fast = EFFECTS["faster speech"](burst.astype(np.float32), 1.0)[0]
    loud = np.flatnonzero(np.abs(fast[: round(RATE / 1.6)]) > 0.05) / RATE
    assert loud[0] == pytest.approx(0.4 / 1.6, abs=0.03)
    assert loud[-1] == pytest.approx(0.72 / 1.6, abs=0.03)
    assert np.abs(fast).max() == pytest.approx(0.3, abs=0.08)


def test_wrong_sample_rate_lowers_the_pitch() -> None:
    tone = (0.3 * np.sin(2 * np.pi * 1_000 * TIME)).astype(np.float32)[None]
    for strength in (0.1, 0.5, 1.0):
        slow = EFFECTS["wrong sample rate"](tone, strength)[0]
        assert pitch(slow) == pytest.approx(1_000 / (1 + strength), abs=1.5)
        assert slow[1_000:-1_000].std() == pytest.approx(0.3 / np.sqrt(2), rel=0.01)


@pytest.mark.parametrize("strength", [0.3, 1.0])
def test_drop_outs_lose_whole_packets(strength: float) -> None:
    ones = np.ones((40, RATE), np.float32)
    heard = EFFECTS["drop-outs"](ones, strength)
    assert 1 - heard.mean() == pytest.approx(0.7 * strength, abs=0.04)
    edges = np.flatnonzero(np.diff(heard[0]))
    np.testing.assert_array_equal((edges + 1) % 441, 0)  # 20 ms


def test_image_noise_has_its_deviation() -> None:
    grey = np.full((1, 200, 200, 3), 128, np.uint8)
    assert EFFECTS["image noise"](grey, 0.2).astype(float).std() == pytest.approx(20, rel=0.03)


def test_blur_is_gaussian_and_keeps_the_light() -> None:
    spot = np.zeros((1, 101, 101, 3), np.uint8)
    spot[0, 41:60, 41:60] = 255
    soft = EFFECTS["blur"](spot, 1.0)[0, ..., 0].astype(float)
    assert soft.sum() == pytest.approx(spot[0, ..., 0].sum(), rel=0.01)
    rows = soft.sum(axis=1)
    variance = np.sum(rows * (np.arange(101) - 50) ** 2) / rows.sum()
    assert variance == pytest.approx(4.04**2 + (19**2 - 1) / 12, rel=0.03)
    flat = np.full((1, 30, 40, 3), 77, np.uint8)
    np.testing.assert_array_equal(EFFECTS["blur"](flat, 1.0), flat)


def test_darkness() -> None:
    assert EFFECTS["darkness"](np.full((1, 2, 2, 3), 200, np.uint8), 0.5)[0, 0, 0, 0] == 110


def test_rotation_turns_about_the_middle() -> None:
    """Against Pillow's own rotation, away from the corners that it fills with black."""
    from PIL import Image

    y, x = np.mgrid[:61, :61]
    smooth = np.stack([x * 4, y * 4, x + y], -1).astype(np.uint8)
    turned = EFFECTS["rotation"](smooth[None], 1.0)[0].astype(int)
    expected = np.asarray(Image.fromarray(smooth).rotate(45, Image.Resampling.BILINEAR)).astype(int)
    inside = np.hypot(x - 30, y - 30) < 28
    assert np.abs(turned - expected)[inside].max() <= 3


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_occlusion_covers_its_share(strength: float) -> None:
    black = np.zeros((20, 100, 150, 3), np.uint8)
    covered = EFFECTS["occlusion"](black, strength)
    assert (covered == 128).mean() == pytest.approx(0.6 * strength, rel=0.05)
    if strength < 1:
        assert (EFFECTS["occlusion"](black, 1.0)[covered == 128] == 128).all()


def test_tiny_images() -> None:
    for name in IMAGE:
        assert EFFECTS[name](np.full((1, 1, 1, 3), 9, np.uint8), 1.0).shape == (1, 1, 1, 3)


@pytest.mark.parametrize("strength", [-0.1, 1.1, float("nan"), [0.5, 0.5], [[0.1]]])
def test_bad_strengths(strength: object) -> None:
    with pytest.raises(ConfigError, match="strength"):
        EFFECTS["echo"](clips(), strength)  # type: ignore[arg-type]


def test_bad_media_and_settings() -> None:
    with pytest.raises(DataError, match="'echo' got uint8"):
        EFFECTS["echo"](images())
    with pytest.raises(DataError, match="'blur' got float32"):
        EFFECTS["blur"](clips())
    for effect in EFFECTS.values():
        with pytest.raises(DataError, match=r"got .* of shape"):
            effect(clips()[:, :0] if effect.kind == "audio" else images()[:, :0])
    for rate in (0, 10, 2**31, 22_050.5):  # the room's echo at 2^31 Hz would be 14 GB
        with pytest.raises(ConfigError, match="sample_rate="):
            EFFECTS["reverberation"](clips(), sample_rate=rate)  # type: ignore[arg-type]
    for seed in (-1, 1.5):
        with pytest.raises(ConfigError, match="seed="):
            EFFECTS["echo"](clips(), seed=seed)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="1 indices for 4"):
        EFFECTS["echo"](clips(), indices=[0])
