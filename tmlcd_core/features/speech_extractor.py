"""Extractor of sound with a network trained on speech, and the choice between the extractors by name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.features.extractor import Extractor, as_waves
from tmlcd_core.features.voice import VOICE_EXTRACTORS, VOICE_RATE, Take, open_take, restore_take, speech_network

PAPER_NAME, SPEECH_NAME = "paper", "speech"
EXTRACTORS = {name: VOICE_EXTRACTORS[name].title for name in (PAPER_NAME, SPEECH_NAME)}  # titles by name
RECIPE = 1  # version, part of `key`: increase it if the same clip would give other features


@dataclass(frozen=True)
class SpeechExtractor:
    """Extractor of spoken words: Google's speech_embedding network, 96 numbers per clip.

    The word is found in the clip and handed to the network as on the Microphone page; a clip without a clear word is
    used whole. Needs torch and librosa. The last digits depend on torch and the processor.

    Examples
    --------
    >>> time = np.arange(16_000) / 16_000
    >>> tone = 0.3 * np.sin(2 * np.pi * 440 * time) * ((time > 0.3) & (time < 0.7))
    >>> SpeechExtractor().transform(tone).shape
    (1, 96)

    References
    ----------
    Lin, Kilgour, Roblek, Sharifi: Training keyword spotters with limited and synthesized speech data, ICASSP 2020.
    """

    sample_rate: ClassVar[int] = VOICE_RATE
    n_features: ClassVar[int] = speech_network.SIZE

    @property
    def key(self) -> str:
        """Digest of the recipe and the weights; used in cache names."""
        network = speech_network.load_speech_network()
        weights = b"".join(weight.numpy().tobytes() for layer in network.layers for weight in layer)
        return hashlib.sha256(f"speech {RECIPE}".encode() + weights + network.mean.tobytes()).hexdigest()[:16]

    def transform(self, clips: ArrayLike) -> NDArray[np.float32]:
        """Return the features, float32 (n, 96), of clips (n, samples) at 16 kHz; one clip (samples,) gives n = 1."""
        return VOICE_EXTRACTORS[SPEECH_NAME].transform([word_of(clip) for clip in as_waves(clips)])

    def transform_images(self, images: Any) -> NDArray[np.float32]:
        """Refuse images with a `ConfigError`; never returns, shape (n, 96)."""
        raise ConfigError(f"the network for speech cannot use images: choose extractor={PAPER_NAME!r}")


def word_of(clip: NDArray[np.float32]) -> Take:
    """Return the word of a clip (samples,) at 16 kHz as a take; the whole clip if no word is found."""
    try:
        return open_take((clip, VOICE_RATE))
    except AudioError:
        return restore_take(clip, 0.0, len(clip) / VOICE_RATE, ())


def make_extractor(settings: Mapping[str, Any]) -> Extractor | SpeechExtractor:
    """Return the extractor of these settings: `name`, "paper" if absent or "speech", and those of `Extractor`.

    >>> make_extractor({"norm": "clip"}).norm, make_extractor({"name": "speech"}).n_features
    ('clip', 96)
    """
    others = {name: value for name, value in settings.items() if name != "name"}
    name = settings.get("name", PAPER_NAME)
    if name not in EXTRACTORS:
        raise ConfigError(f"there is no extractor {name!r}: choose {' or '.join(map(repr, EXTRACTORS))}")
    if name == PAPER_NAME:
        return Extractor(**others)
    if others:
        raise ConfigError(f"extractor={SPEECH_NAME!r} has no setting {next(iter(others))!r}: leave it out")
    return SpeechExtractor()
