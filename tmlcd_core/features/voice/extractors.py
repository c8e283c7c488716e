"""Feature extractors for spoken words: the paper's filter as the reference, and better ones for voices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.audio import fit_length
from tmlcd_core.features.extractor import PAPER_FILTER, Extractor
from tmlcd_core.features.stem import N_FILTERS
from tmlcd_core.features.voice import speech_network
from tmlcd_core.features.voice.cepstra import EPSILON, cosines, mel_power, resampled, smoothed
from tmlcd_core.features.voice.take import Take
from tmlcd_core.features.voice.words import VOICE_RATE
from tmlcd_core.optional_packages import missing_package, require

LEAD = 0.03  # seconds kept before and after the word, for its softest sounds
FADE = 0.01  # seconds of the fade-in and fade-out
LEVEL = 0.1  # root mean square of the normalised word
NETWORK_SECONDS, NETWORK_LEVEL = 1.6, 0.05  # clip of the speech network, and root mean square of the word in it
QUIET = VOICE_RATE // 20  # fewest samples (50 ms) before or after the word that are used as background …
EDGE = 3  # … without this many frames at both ends, which are partly empty
DECIBELS = 10 / np.log(10)


def aligned(take: Take, rate: int = VOICE_RATE) -> NDArray[np.float32]:
    """Return one second, float32 (rate,), that begins with the trimmed and normalised word, followed by silence.

    Examples
    --------
    >>> from tmlcd_core.features.voice import open_take
    >>> sound = np.sin(np.arange(8_000) * 0.2) * (np.arange(8_000) > 3_000)
    >>> clip = aligned(open_take((sound, 8_000)))
    >>> len(clip), round(float(np.abs(clip).max()), 2)
    (16000, 0.15)
    """
    word = trimmed(take)
    if rate != VOICE_RATE:
        require("soxr")
        import soxr

        word = soxr.resample(word, VOICE_RATE, rate)
    clip = np.zeros(rate, np.float32)
    clip[: len(word)] = word[:rate]
    return clip


def trimmed(take: Take) -> NDArray[np.float32]:
    """Return the word with LEAD before and after it, float32 (n,), level-normalised, with fades at the cuts."""
    first, last = _span(take)
    word = take.samples[first:last] * np.float32(gain(take))
    size = min(round(FADE * VOICE_RATE), len(word) // 2)
    ramp = np.linspace(0, 1, size, dtype=np.float32)
    if first > 0:
        word[:size] *= ramp
    if last < len(take.samples):
        word[len(word) - size :] *= ramp[::-1]
    return word


def centred(take: Take) -> NDArray[np.float32]:
    """Return 1.6 seconds of the recording with the word in the middle, float32 (25600,), level-normalised."""
    size = round(NETWORK_SECONDS * VOICE_RATE)
    begin = round((take.start + take.stop) / 2 * VOICE_RATE) - size // 2  # below 0 if the recording begins later
    first, last = max(begin, 0), min(begin + size, len(take.samples))
    clip = np.zeros(size, np.float32)
    clip[first - begin : last - begin] = take.samples[first:last] * np.float32(gain(take) * NETWORK_LEVEL / LEVEL)
    return clip


def gain(take: Take) -> float:
    """Return the factor that normalises the word to LEVEL."""
    first, last = _span(take)
    power = float(np.mean(np.square(take.samples[first:last], dtype=np.float64)))
    return LEVEL / max(power**0.5, 1e-9)


def _span(take: Take) -> tuple[int, int]:
    first = max(0, round((take.start - LEAD) * VOICE_RATE))
    return first, min(len(take.samples), round((take.stop + LEAD) * VOICE_RATE))


class VoiceExtractor(ABC):
    """Base class of extractors from takes to feature vectors for a Euclidean kNN.

    Parameters
    ----------
    name, title, explain
        Key in `VOICE_EXTRACTORS`, name on pages, and help text of one sentence.

    Examples
    --------
    >>> from tmlcd_core.features.voice import VOICE_EXTRACTORS, open_take
    >>> take = open_take((np.random.default_rng(0).normal(0, 0.1, 8_000), 16_000))
    >>> {name: e.transform([take]).shape[1] for name, e in VOICE_EXTRACTORS.items()}["paper"]
    715
    """

    name: str
    title: str
    explain: str
    packages: tuple[str, ...] = ()  # optional packages that it needs

    def missing(self) -> str | None:
        """Return a message with the install command of a package that is missing; None if all are installed."""
        return next((message for name in self.packages if (message := missing_package(name))), None)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features of a take."""

    @abstractmethod
    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        """Return the features of n takes, float32 (n, n_features)."""

    @abstractmethod
    def picture(self, take: Take) -> NDArray[np.float32]:
        """Return the spectrogram behind the features, for a chart: (frequency, time), low frequencies first."""


class FilterVoice(VoiceExtractor):
    """The paper's extractor with one or more filters of ResNet-18, on the recording or on the aligned word."""

    def __init__(self, name: str, title: str, explain: str, filters: tuple[int, ...], align: bool) -> None:
        self.name, self.title, self.explain = name, title, explain
        self.extractor = Extractor(filters)
        self.align = align

    @property
    def n_features(self) -> int:
        return self.extractor.n_features

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        return self.extractor.transform(np.stack([self.clip(take) for take in takes]))

    def picture(self, take: Take) -> NDArray[np.float32]:
        return self.extractor.stages(self.clip(take)).decibels

    def clip(self, take: Take) -> NDArray[np.float32]:
        """Return the second of sound that is passed to the extractor, float32 (samples,)."""
        rate = self.extractor.sample_rate
        if self.align:
            return aligned(take, rate)
        require("soxr")
        import soxr

        return fit_length(soxr.resample(take.samples, VOICE_RATE, rate), rate)


class LogMelVoice(VoiceExtractor):
    """Log-mel spectrogram of the aligned word: mel bands in decibels, every 20 ms of one second."""

    name, title = "log-mel", "Log-mel spectrogram"
    explain = "32 mel bands in decibels of the aligned word, every 20 ms of one second."
    bands, hop, range_db = 32, 320, 60.0

    @property
    def n_features(self) -> int:
        return self.bands * (VOICE_RATE // self.hop + 1)

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        return np.stack([self.picture(take).ravel() for take in takes])

    def picture(self, take: Take) -> NDArray[np.float32]:
        decibels = DECIBELS * np.log(mel_power(aligned(take), self.bands, self.hop))
        return np.maximum(decibels - decibels.max(), -self.range_db).T.astype(np.float32)


class WordVoice(VoiceExtractor):
    """Cepstra of the word after background subtraction, at a fixed number of points in time.

    The design was chosen on three of the six speakers of the Free Spoken Digit Dataset and on five synthetic telephone
    voices with variation: subtracting the mean of the cepstra costs 1.5 points of accuracy, differences in time and the
    length of the word do not help, and higher cepstra need more weight.
    """

    name, title = "word", "Cepstra of the word"
    explain = "12 cepstra of the trimmed word without the background, at 16 points in time."
    bands, count, moments = 32, 12, 16
    range_db = 30.0  # below the word's maximum: lower levels count as background
    smooth = 13  # frames of 5 ms
    by_change = 0.5
    residue = 0.1  # share of the background's power that remains at least after the subtraction
    lifter = 0.5  # cepstrum i has the weight i^0.5

    @property
    def n_features(self) -> int:
        return self.moments * self.count

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        return np.stack([self._vector(take) for take in takes])

    def picture(self, take: Take) -> NDArray[np.float32]:
        return self._decibels(take).T.astype(np.float32)

    def _decibels(self, take: Take) -> NDArray[np.float64]:
        power = mel_power(trimmed(take), self.bands)
        floor = self._background(take)
        power = np.maximum(power - floor, self.residue * floor)
        decibels = DECIBELS * np.log(power + EPSILON)
        return np.maximum(decibels - decibels.max(), -self.range_db)

    def _background(self, take: Take) -> NDArray[np.float64]:
        """Mean power of the background in each band, scaled like the word, shape (bands,); 0 if it is too short."""
        around = round((take.start - 2 * LEAD) * VOICE_RATE), round((take.stop + 2 * LEAD) * VOICE_RATE)
        parts = [part for part in (take.samples[: max(around[0], 0)], take.samples[around[1] :]) if len(part) >= QUIET]
        if not parts:
            return np.zeros(self.bands)
        power = np.concatenate([mel_power(part, self.bands)[EDGE:-EDGE] for part in parts]).mean(axis=0)
        return power * gain(take) ** 2

    def _vector(self, take: Take) -> NDArray[np.float32]:
        weights = np.arange(1, self.count + 1) ** self.lifter
        cepstra = smoothed(self._decibels(take), self.smooth) @ cosines(self.count, self.bands).T * weights
        return resampled(cepstra, self.moments, self.by_change).ravel().astype(np.float32)


class SpeechNetworkVoice(VoiceExtractor):
    """Mean vector of a network trained on speech (`speech_network`), centred and of unit length.

    Unit length makes the Euclidean distance of the kNN a function of the cosine. On the voices of AudioMNIST, plain kNN
    with one take of each of ten words: `tmlcd compare-extractors` prints the accuracy for the same and another voice.
    """

    name, title = "speech", "Network trained on speech"
    explain = "Google's speech_embedding: 20 convolutions that were trained on speech, mean over 1.6 seconds."
    packages = ("torch", "librosa")

    @property
    def n_features(self) -> int:
        return speech_network.SIZE

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        return np.stack([self._vector(take) for take in takes])  # a batch would change the last digits

    def _vector(self, take: Take) -> NDArray[np.float32]:
        mean = speech_network.load_speech_network().mean
        vector = speech_network.vectors(speech_network.mel_frames(centred(take))[None])[0].mean(axis=0) - mean
        return vector / np.maximum(np.linalg.norm(vector), np.float32(EPSILON))

    def picture(self, take: Take) -> NDArray[np.float32]:
        return speech_network.mel_frames(centred(take)).T


VOICE_EXTRACTORS: dict[str, VoiceExtractor] = {
    extractor.name: extractor
    for extractor in (
        FilterVoice(
            "paper",
            "The paper's filter",
            "One filter of ResNet-18 on the spectrogram of the recording's first second, as in the paper.",
            (PAPER_FILTER,),
            align=False,
        ),
        FilterVoice(
            "aligned",
            "The paper's filter, aligned",
            "The same filter on one second that begins with the trimmed and level-normalised word.",
            (PAPER_FILTER,),
            align=True,
        ),
        FilterVoice(
            "filters",
            "All 64 filters, aligned",
            "All filters of ResNet-18's first layer on the aligned word.",
            tuple(range(N_FILTERS)),
            align=True,
        ),
        LogMelVoice(),
        WordVoice(),
        SpeechNetworkVoice(),
    )
}
DEFAULT_VOICE, BEST_VOICE = "word", "speech"  # of `LiveSession`; of the page, once its network is loaded


def default_voice() -> str:
    """Return the name of the best extractor that is ready: "speech" once `load_best_voice` has run, else "word"."""
    ready = speech_network.is_loaded() and VOICE_EXTRACTORS[BEST_VOICE].missing() is None
    return BEST_VOICE if ready else DEFAULT_VOICE


def load_best_voice() -> None:
    """Load the speech network and its packages (seconds), so that `default_voice` is "speech".

    Does nothing if a package is missing.
    """
    if VOICE_EXTRACTORS[BEST_VOICE].missing() is None:
        frames = speech_network.mel_frames(np.zeros(round(NETWORK_SECONDS * VOICE_RATE), np.float32))
        speech_network.vectors(frames[None])  # last: the network counts as loaded from here on
