"""Python twin of the C front end `speech` (speech.c): the speech network in 8 bits.

Weights are int8 with one scale per channel, activations uint8 with one scale and zero point per layer; sums are exact
integers, and a product with an integer and a shift scales them to the next layer. The input are the levels in half
decibels: 1/20 of a step is one unit of the float network.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice.extractors import NETWORK_LEVEL
from tmlcd_core.features.voice.speech_network import POOLS, SIZE, SLOPE
from tmlcd_core.mcu.listening import (
    BANDS,
    HOP,
    LEAD,
    STEPS_PER_OCTAVE,
    TAIL,
    Frames,
    Span,
    Spectrum,
    spectrum_of,
)
from tmlcd_core.mcu.sound import FULL_SCALE, log2_of

FILE = "speech_int8.npz"  # made by `python -m docs.make_speech_int8`
FRAMES = 157  # of 1.6 s: 11 vectors
VECTORS = 11
BEFORE = 79  # frames from the first one to the middle of the word
AROUND = 25  # frames of the stream before and after the word that the network hears; the rest is empty
OFFSET = 16  # level of a mel power of 1, in half decibels: the lowest level is -8 dB
ZERO = 40  # the network's 0 is -20 dB
RANGE = 160  # half decibels below the loudest level
TARGET = np.float32((NETWORK_LEVEL * FULL_SCALE) ** 2)  # mean square of the normalised word
INPUT_SCALE = 0.05  # of the network, per half decibel
FLOOR = 0.4  # the activations are cut off below -0.4


class Int8Layer(NamedTuple):
    """Convolution in 8 bits; its input has the width `width`.

    Parameters
    ----------
    weights
        int8 (out, time, frequency, in).
    bias
        int32 (out,), with the zero point of the input.
    positive, negative
        Factors of positive and negative sums, int32 (out,), before the shift.
    shift
        Bits of the shift, 32 or more.
    zero
        Zero point of the output, 0..255; that of the last layer is not used.
    pool
        Maximum over (time, frequency) after it.
    width
        Positions in frequency of input and output.
    """

    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    positive: NDArray[np.int32]
    negative: NDArray[np.int32]
    shift: int
    zero: int
    pool: tuple[int, int]
    width: int


class Int8Network(NamedTuple):
    """Layers, and the scale (96,) and mean (96,) of the output in float32."""

    layers: tuple[Int8Layer, ...]
    scale: NDArray[np.float32]
    mean: NDArray[np.float32]


@lru_cache(maxsize=1)
def load_int8_network() -> Int8Network:
    """Read the shipped 8-bit weights and return the `Int8Network`."""
    with resources.files(__package__).joinpath(FILE).open("rb") as file, np.load(file) as arrays:
        return network_of(dict(arrays))


def network_of(arrays: dict[str, NDArray]) -> Int8Network:
    """Return the `Int8Network` of the file's arrays, with the shapes of `Int8Layer`: names weights0 (24, 3, 3, 1), …"""
    layers, width = [], BANDS
    shifts, zeros = arrays["shift"].tolist(), arrays["zero"].tolist()
    for i, (shift, zero) in enumerate(zip(shifts, zeros, strict=True)):
        pool = POOLS.get(i, (1, 1))
        weights, bias, positive, negative = (arrays[f"{n}{i}"] for n in ("weights", "bias", "positive", "negative"))
        layers.append(Int8Layer(weights, bias, positive, negative, shift, zero, pool, width))
        width //= pool[1]
    return Int8Network(tuple(layers), arrays["scale"], arrays["mean"])


@lru_cache(maxsize=1)
def speech_spectrum() -> Spectrum:
    """Return the constants of the frames: the mel filters that the network was trained with."""
    return spectrum_of(slaney_filters(), OFFSET)


def slaney_filters() -> NDArray[np.float64]:
    """Return the network's mel filters, float64 (32, 257): 60 to 3,800 Hz, each with an area of one (librosa's)."""
    from tmlcd_core.features.voice.speech_network import FFT, HIGHEST_HZ, LOWEST_HZ
    from tmlcd_core.mcu.listening import VOICE_RATE

    low, high = (_mel(hz) for hz in (LOWEST_HZ, HIGHEST_HZ))
    corners = np.array([_hz(mel) for mel in np.linspace(low, high, BANDS + 2)])
    bins = np.arange(FFT // 2 + 1) * VOICE_RATE / FFT
    left, centre, right = (corners[i : i + BANDS, None] for i in range(3))
    filters = np.maximum(0, np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)))
    return filters * 2 / (right - left)


# Slaney's mel scale: linear up to 1,000 Hz, then logarithmic.
_LINEAR, _KNEE, _STEP = 200 / 3, 1_000.0, np.log(6.4) / 27


def _mel(hz: float) -> float:
    return hz / _LINEAR if hz < _KNEE else _KNEE / _LINEAR + float(np.log(hz / _KNEE)) / _STEP


def _hz(mel: float) -> float:
    return mel * _LINEAR if mel < _KNEE / _LINEAR else _KNEE * float(np.exp(_STEP * (mel - _KNEE / _LINEAR)))


def network_input(frames: Frames, span: Span) -> NDArray[np.uint8]:
    """Return the levels that the network hears of a word, uint8 (157, 32): level-normalised, 80 dB."""
    first, last = max(span.start - LEAD, 0), span.stop + TAIL
    energy = np.float32(0)
    for value in frames.energy[first : last + 1]:
        energy += value
    mean = energy / np.float32(HOP * (last + 1 - first))
    ratio = TARGET / max(mean, np.float32(1e-3))
    steps = STEPS_PER_OCTAVE * log2_of(np.array([ratio], np.float32))[0]
    gain = int(steps + (np.float32(0.5) if steps > 0 else np.float32(-0.5)))
    begin = (span.start + span.stop + 1) // 2 - BEFORE
    levels = np.full((FRAMES, BANDS), -1_000)
    low, high = max(span.start - AROUND, begin, 0), min(span.stop + AROUND, begin + FRAMES - 1)
    levels[low - begin : high + 1 - begin] = frames.mel[low : high + 1].astype(int) + (gain - OFFSET + ZERO)
    levels = np.maximum(levels, levels.max() - RANGE)
    return levels.clip(0, 255).astype(np.uint8)


def speech_features(frames: Frames, span: Span) -> NDArray[np.float32]:
    """Return the features of a word of a stream, float32 (96,), of unit length."""
    network = load_int8_network()
    total = run_layers(network_input(frames, span), network)[-1].sum(axis=0)
    vector = total.astype(np.float32) * network.scale - network.mean
    square = np.float32(0)
    for value in vector:
        square += value * value
    norm = np.float32(np.sqrt(np.float64(square)))
    return vector / max(norm, np.float32(1e-12))


def run_layers(levels: NDArray[np.uint8], network: Int8Network) -> list[NDArray]:
    """Return the output of every layer for levels (frames, 32): uint8 (time, width, out), the last int32 (time, out).

    The products of a layer are below 2^24, so that their sums in float32 are exact in any order.
    """
    found: list[NDArray] = []
    x, zero = levels[:, :, None], 0
    for i, layer in enumerate(network.layers):
        out, time, frequency, _ = layer.weights.shape
        rows = len(x) - time + 1
        padded = np.pad(x, ((0, 0), (frequency // 2,) * 2, (0, 0)), constant_values=zero).astype(np.float32)
        taps = [padded[t : t + rows, f : f + layer.width] for t in range(time) for f in range(frequency)]
        columns = np.concatenate(taps, axis=2).reshape(rows * layer.width, -1)
        sums = columns @ layer.weights.reshape(out, -1).astype(np.float32).T
        total = sums.astype(np.int64) + layer.bias
        if i + 1 == len(network.layers):
            found.append(total.astype(np.int32))
            break
        half = 1 << (layer.shift - 1)
        above = (total * layer.positive + half) >> layer.shift
        below = -((-total * layer.negative + half) >> layer.shift)
        x = (np.where(total >= 0, above, below) + layer.zero).clip(0, 255).astype(np.uint8)
        x = x.reshape(rows, layer.width, out)
        high, wide = layer.pool
        if layer.pool != (1, 1):
            x = x[: rows // high * high].reshape(rows // high, high, layer.width // wide, wide, out).max(axis=(1, 3))
        zero = layer.zero
        found.append(x)
    return found


def arena_bytes(layers: Sequence[Int8Layer]) -> int:
    """Return the bytes of the rows that the layers keep in speech.c.

    These are three rows of the input of a kernel along time, and one of the output before a maximum along time.
    """
    total = 0
    for i, layer in enumerate(layers):
        out, time, _, into = layer.weights.shape
        if time > 1:
            total += 3 * (layer.width + 2 * (i == 0)) * into
        if layer.pool[0] > 1:
            total += layer.width // layer.pool[1] * out
    return total


def longest_row(layers: Sequence[Int8Layer]) -> int:
    """Return the bytes of the longest row between two layers, with a position of zeros at either end."""
    return max((layer.width + 2) * max(layer.weights.shape[0], layer.weights.shape[3]) for layer in layers[:-1])


def longest_kernel(layers: Sequence[Int8Layer]) -> int:
    """Return the weights of a channel of the largest layer."""
    return max(layer.weights[0].size for layer in layers)


def quantise_network(
    weights: list[NDArray[np.float32]], biases: list[NDArray[np.float32]], largest: list[float], mean: NDArray
) -> dict[str, NDArray]:
    """Return the arrays of the 8-bit file.

    Parameters
    ----------
    weights, biases
        Of the float layers: (out, in, time, frequency) and (out,).
    largest
        Largest activation of each layer but the last, found by calibration; larger ones are cut off.
    mean
        Mean of word vectors, float32 (96,).
    """
    arrays: dict[str, NDArray] = {"mean": np.asarray(mean, np.float32)}
    scale_in, zero_in = INPUT_SCALE, 0
    shifts, zeros = [], []
    for i, (kernel, bias) in enumerate(zip(weights, biases, strict=True)):
        scales = np.abs(kernel).max(axis=(1, 2, 3)).astype(np.float64) / 127
        small = np.rint(kernel / scales[:, None, None, None]).astype(np.int8).transpose(0, 2, 3, 1)
        real = scale_in * scales
        arrays[f"weights{i}"] = np.ascontiguousarray(small)
        arrays[f"bias{i}"] = (np.rint(bias / real) - zero_in * small.sum(axis=(1, 2, 3), dtype=int)).astype(np.int32)
        if i + 1 == len(weights):
            arrays["scale"] = (real / VECTORS).astype(np.float32)
            shift, zero, factors = 1, 0, np.zeros_like(real)
            slope = factors
        else:
            scale = (largest[i] + FLOOR) / 255
            zero = round(FLOOR / scale)
            shift = int(30 - np.ceil(np.log2((real / scale).max())))
            factors = np.rint(real / scale * 2.0**shift)
            slope = np.rint(real / scale * SLOPE * 2.0**shift)
            scale_in, zero_in = scale, zero
        arrays[f"positive{i}"], arrays[f"negative{i}"] = factors.astype(np.int32), slope.astype(np.int32)
        shifts.append(shift)
        zeros.append(zero)
    assert arrays["scale"].shape == (SIZE,)
    return arrays | {"shift": np.array(shifts, np.uint8), "zero": np.array(zeros, np.uint8)}
