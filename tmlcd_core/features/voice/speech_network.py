"""Google's speech_embedding network: 20 small convolutions on a mel spectrogram, trained on speech.

SPEECH_NETWORK.md describes the origin of the weights. The network slides over time: it has no padding in time and its
pooling divides time by 8 in all, so one pass over a long spectrogram gives the same vectors as separate windows of 76
frames every 8 frames.

References
----------
Lin, Kilgour, Roblek, Sharifi: Training keyword spotters with limited and synthesized speech data, ICASSP 2020.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice.words import VOICE_RATE
from tmlcd_core.optional_packages import require

if TYPE_CHECKING:
    import torch

FILE = "speech_network.npz"
BANDS, FRAME_HOP = 32, 160  # mel bands; samples: 10 ms
FRAME, FFT = 400, 512  # samples: windows of 25 ms
LOWEST_HZ, HIGHEST_HZ = 60.0, 3_800.0
RANGE_DB, FLOOR = 80.0, 1e-10  # decibels below the maximum, and power below which it is cut off
INT16 = 32_768  # the network was trained on samples in 16-bit steps
WINDOW, WINDOW_HOP = 76, 8  # frames of one vector, and from one vector to the next
SIZE = 96  # numbers in a vector
SLOPE, LOWEST = 0.2, -0.4  # leaky ReLU, cut off below
POOLS = {2: (2, 2), 6: (1, 2), 10: (2, 2), 14: (1, 2), 18: (2, 2)}  # layer: max-pool after it (time, frequency)


class SpeechNetwork(NamedTuple):
    """Weights of the network.

    Parameters
    ----------
    layers
        Convolutions (weights (out, in, time, frequency), bias (out,)), 20 of them; the last has a bias of 0.
    mean
        Mean of word vectors, float32 (96,): over synthetic words, see docs/make_speech_network.py.
    """

    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    mean: NDArray[np.float32]


@lru_cache(maxsize=1)
def load_speech_network() -> SpeechNetwork:
    """Read the shipped weights; return the `SpeechNetwork`. Needs torch."""
    require("torch")
    import torch

    with resources.files(__package__).joinpath(FILE).open("rb") as file, np.load(file) as arrays:
        count = sum(name.startswith("weights") for name in arrays)
        layers = tuple(
            (torch.from_numpy(arrays[f"weights{i}"]), torch.from_numpy(arrays[f"bias{i}"])) for i in range(count)
        )
        return SpeechNetwork(layers, arrays["mean"])


def is_loaded() -> bool:
    """Return True if `load_speech_network` has read the weights."""
    return load_speech_network.cache_info().currsize > 0


def mel_frames(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the input of the network, decibels / 10 + 2, float32 (frames, 32), of samples (n,) at VOICE_RATE."""
    require("librosa")
    import librosa

    power = librosa.feature.melspectrogram(
        y=samples * np.float32(INT16), sr=VOICE_RATE, n_fft=FFT, hop_length=FRAME_HOP, win_length=FRAME, center=False,
        n_mels=BANDS, fmin=LOWEST_HZ, fmax=HIGHEST_HZ,
    )  # fmt: skip
    decibels = librosa.power_to_db(power, amin=FLOOR, top_db=RANGE_DB)
    return np.ascontiguousarray((decibels / 10 + 2).T, np.float32)


def layer_outputs(frames: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Return the output of every layer, each float32 (n, channels, time, frequency), of clips (n, frames, 32).

    Only a chart needs all of them; `vectors` returns the last one.
    """
    require("torch")
    import torch

    found = []
    with torch.inference_mode():
        x = torch.from_numpy(frames)[:, None]
        layers = load_speech_network().layers
        for i, (weights, bias) in enumerate(layers):
            x = torch.nn.functional.conv2d(x, weights, bias, padding=(0, weights.shape[3] // 2))
            if i + 1 < len(layers):
                x = torch.nn.functional.leaky_relu(x, SLOPE).clamp_(min=LOWEST)
            if i in POOLS:
                x = torch.nn.functional.max_pool2d(x, POOLS[i])
            found.append(x.numpy())
    return found


def vectors(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors of clips (n, frames, 32): float32 (n, windows, 96), one per 76 frames, every 8 frames."""
    return layer_outputs(frames)[-1][..., 0].transpose(0, 2, 1)
