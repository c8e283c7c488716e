"""Front ends that hear words in a stream: C sources, constants, and the Python twin of each (`FRONT_ENDS`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features import Extractor
from tmlcd_core.features.voice import Take
from tmlcd_core.features.voice.words import BELIEVED_DB
from tmlcd_core.mcu import listening as hearing
from tmlcd_core.mcu.listening import HOP, N_FFT, RING, WINDOW, Frames, Span, Spectrum
from tmlcd_core.mcu.sound import Tables, as_int16, filter_tables, stem_features
from tmlcd_core.mcu.speech_int8 import (
    arena_bytes,
    load_int8_network,
    longest_kernel,
    longest_row,
    speech_features,
    speech_spectrum,
)
from tmlcd_core.mcu.word_features import COUNT, MOST, word_features, word_tables

MARGIN = (hearing.PAUSE + 5) * HOP  # samples of silence around a take
APART = 6  # frames next to a word that are not background
FEWEST_QUIET = 5  # frames of background
FINDER_BYTES = 104 + 8  # static variables of finder.c, and the counters of listen.c
# Noise in which takes are laid into a stream: root mean square in steps of int16. A common MEMS microphone (INMP441:
# full scale at 120 dB SPL, signal-to-noise ratio 61 dB at 94 dB SPL) has -87 dB of full scale.
NOISE = 1.5
LEAD_IN, BETWEEN = 0.4, 0.6  # seconds of noise before the first take and after each one


@dataclass(frozen=True, eq=False)
class HeardWord:
    """Word in a stream of sound, as tml_hear of the C code reports it.

    Parameters
    ----------
    x
        Features, float32 (n_features,).
    start, stop, end
        First sample of the word, first sample after it, and number of samples that were heard when it ended.
    decibels
        Level of its loudest frame above the background.
    """

    x: NDArray[np.float32]
    start: int
    stop: int
    end: int
    decibels: float


@dataclass(frozen=True, eq=False)
class CTable:
    """Constant of the C code: declaration and values."""

    declaration: str
    values: NDArray

    @property
    def floating(self) -> bool:
        """True if the values are floats."""
        return self.values.dtype == np.float32


class FrontEnd(ABC):
    """Front end at 16 kHz with the word finder of finder.c.

    Examples
    --------
    >>> rng, time = np.random.default_rng(0), np.arange(32_000) / 16_000
    >>> hum = 3_000 * np.sin(2_000 * time) * ((time > 0.5) & (time < 1.0)) + rng.normal(0, 3, 32_000)
    >>> words = FRONT_ENDS["word"].hear(hum.astype(np.int16))
    >>> [(round(word.start / 16_000, 1), round(word.stop / 16_000, 1), len(word.x)) for word in words]
    [(0.5, 1.0, 192)]
    """

    name: str
    title: str
    sources: tuple[str, ...]  # C files beside those of all of them
    n_features: int
    every = 1  # one of so many frames is kept

    @property
    def page(self) -> str:
        """Name of the page's extractor with the same features."""
        return self.name

    @property
    @abstractmethod
    def spectrum(self) -> Spectrum:
        """Constants of the frames."""

    @abstractmethod
    def features(self, frames: Frames, span: Span) -> NDArray[np.float32]:
        """Return the features of a word of a stream, float32 (n_features,)."""

    @abstractmethod
    def own_tables(self) -> list[CTable]:
        """Return the constants of its own C sources."""

    def hear(self, samples: NDArray[np.int16]) -> list[HeardWord]:
        """Return the words of a stream, int16 (n,) at 16 kHz, with the bits of the C code."""
        frames = hearing.frames_of(samples, self.spectrum)
        return [
            HeardWord(self.features(frames, span), *span.samples, span.end * HOP + WINDOW, span.level / hearing.STEPS)
            for span in hearing.find_spans(frames)
        ]

    def transform(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        """Return the features of n takes with the positions of their words, float32 (n, n_features).

        The arithmetic is that of the device, but the word is where the page has found it, and the background is that
        of the recording.
        """
        return np.stack([self._of_take(take) for take in takes])

    def hear_takes(self, takes: Sequence[Take]) -> NDArray[np.float32]:
        """Return the features of n takes as the board hears them in one stream (`lay_out`), float32 (n, n_features).

        A take in which no word is heard has the features of `transform`; of several words the longest counts.
        """
        return self.hear_parts(lay_out([as_int16(take.samples) for take in takes]), takes)

    def hear_parts(self, parts: Sequence[NDArray[np.int16]], takes: Sequence[Take]) -> NDArray[np.float32]:
        """Return the features of n consecutive parts of a stream, shape (m,) each, as `hear_takes`, shape (n, d).

        `takes` has the take of each part.
        """
        ends = np.cumsum([len(part) for part in parts])
        X = np.zeros((len(takes), self.n_features), np.float32)
        longest = np.zeros(len(takes), int)
        for word in self.hear(np.concatenate(parts)):
            number = int(np.searchsorted(ends, (word.start + word.stop) // 2, side="right"))
            if word.stop - word.start > longest[number]:
                longest[number], X[number] = word.stop - word.start, word.x
        for number in np.flatnonzero(longest == 0).tolist():
            X[number] = self._of_take(takes[number])
        return X

    def _of_take(self, take: Take) -> NDArray[np.float32]:
        sound = as_int16(take.samples)
        frames = hearing.frames_of(np.pad(sound, MARGIN), self.spectrum)
        start, stop = (round(seconds * hearing.VOICE_RATE) + MARGIN for seconds in (take.start, take.stop))
        first = round((start - hearing.CENTRE - hearing.SMEAR) / HOP)
        last = round((stop - hearing.CENTRE + hearing.SMEAR) / HOP)
        last = max(first + hearing.SHORTEST, min(last, first + hearing.LONGEST - 1))
        rows = np.arange(len(frames.mel))
        whole = (rows * HOP >= MARGIN) & (rows * HOP + WINDOW <= MARGIN + len(sound))  # frames without padding
        quiet = whole & ((rows < first - APART) | (rows > last + APART))
        background = np.zeros(frames.mel.shape[1], np.float32)
        if quiet.sum() >= FEWEST_QUIET:
            background = hearing.power_of_level()[frames.mel[quiet]].mean(axis=0, dtype=np.float32)
        return self.features(frames, Span(first, last, last + hearing.PAUSE, 0, background))

    def defines(self) -> list[tuple[str, Any]]:
        """Return the constants of config.h as (name, value)."""
        return [
            ("TML_WINDOW", WINDOW),
            ("TML_MELS", len(self.spectrum.first)),
            ("TML_MEL_WEIGHTS", len(self.spectrum.weights)),
            ("TML_MEL_OFFSET", f"({self.spectrum.offset})"),
            ("TML_RING", RING),
            ("TML_EVERY", self.every),
            *((f"TML_{name}", getattr(hearing, name)) for name in FINDER_TIMES),
        ]

    def tables(self) -> list[CTable]:
        """Return the constants of model.c."""
        s = self.spectrum
        return [
            CTable("const float tml_window[TML_WINDOW]", s.window),
            CTable("const float tml_twiddle[TML_N_FFT / 2][2]", s.twiddle),
            CTable("const uint16_t tml_finder_edges[7]", hearing.finder_edges()),
            CTable("const uint8_t tml_mel_first[TML_MELS]", s.first),
            CTable("const uint8_t tml_mel_count[TML_MELS]", s.width),
            CTable("const float tml_mel_weight[TML_MEL_WEIGHTS]", s.weights),
            *self.own_tables(),
        ]

    def memory(self) -> list[tuple[str, str, int, bool, str]]:
        """Return the rows of the memory table, as the fields of `Row`: name, size, bytes, in the paper's sum, note."""
        kept, bands = RING // self.every, len(self.spectrum.first)
        return [
            ("Audio", f"1x{WINDOW}", 2 * WINDOW, True, "one window"),
            ("Levels", f"{kept}x{bands}", kept * bands, True, "the last 1.9 s, in half decibels"),
            *self.own_memory(),
            ("Word finder", "", FINDER_BYTES, False, "background, and the sound that may be a word"),
        ]

    @abstractmethod
    def own_memory(self) -> list[tuple[str, str, int, bool, str]]:
        """Return the rows of its own C sources."""

    @property
    def table_bytes(self) -> int:
        """Bytes of the constants in flash."""
        return sum(_item_bytes(t.declaration) * t.values.size for t in self.tables())


FINDER_TIMES = ("START", "SHORTEST", "CLOSURE", "ATTACK", "PAUSE", "LONGEST", "STEADY")
_ITEM_BYTES = {"float": 4, "uint8_t": 1, "int8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4}


def _item_bytes(declaration: str) -> int:
    return _ITEM_BYTES[declaration.split()[1]]


class WordFrontEnd(FrontEnd):
    """Cepstra of the word: the page's extractor `word`, streamed."""

    name, title = "word", "Cepstra of the word"
    sources = ("word.c",)
    n_features = 192

    @property
    def spectrum(self) -> Spectrum:
        return word_tables().spectrum

    def features(self, frames: Frames, span: Span) -> NDArray[np.float32]:
        return word_features(frames, span)

    def own_memory(self) -> list[tuple[str, str, int, bool, str]]:
        return [
            ("Cepstra", f"{MOST}x{COUNT}", 4 * MOST * COUNT, True, "of the longest word"),
            ("Steps", f"{MOST}", 4 * MOST, True, "between its cepstra"),
            ("Background", f"{hearing.BANDS}", 4 * hearing.BANDS + 4, True, "mean power, subtracted from the word"),
        ]

    def own_tables(self) -> list[CTable]:
        tables = word_tables()
        return [
            CTable("const float tml_power[256]", hearing.power_of_level()),
            CTable("const float tml_cosine[12][TML_MELS]", tables.cosines),
            CTable("const float tml_smoothing[4]", tables.smoothing),
        ]


class SpeechFrontEnd(FrontEnd):
    """Network trained on speech: the page's extractor `speech` in 8 bits."""

    name, title = "speech", "Network trained on speech"
    sources = ("simd.h", "speech.c")
    n_features = 96

    @property
    def spectrum(self) -> Spectrum:
        return speech_spectrum()

    def features(self, frames: Frames, span: Span) -> NDArray[np.float32]:
        return speech_features(frames, span)

    def own_memory(self) -> list[tuple[str, str, int, bool, str]]:
        layers = load_int8_network().layers
        row, packed = longest_row(layers), longest_kernel(layers) // 2
        return [
            ("Energies", f"{RING}", 4 * RING, True, "of these frames"),
            ("Arena", "", arena_bytes(layers), True, "the last three rows of each layer of the network, 8 bits"),
            ("Rows", f"2x{row}", 2 * row, True, "between two layers"),
            ("Packed inputs", f"4x{packed}", 16 * packed, False, "of four positions, for the SIMD instructions"),
            ("Network state", "", 4 * len(layers) + 4 * self.n_features, False, "row counts, and sums of the output"),
        ]

    def defines(self) -> list[tuple[str, Any]]:
        layers = load_int8_network().layers
        return [
            *super().defines(),
            ("TML_LAYERS", len(layers)),
            ("TML_CHANNELS", sum(len(layer.bias) for layer in layers)),
            ("TML_WEIGHTS", sum(layer.weights.size for layer in layers)),
            ("TML_ARENA", arena_bytes(layers)),
            ("TML_ROW", longest_row(layers)),
            ("TML_PACKED", longest_kernel(layers) // 2),
        ]

    def own_tables(self) -> list[CTable]:
        network = load_int8_network()
        layers = network.layers
        shapes = [
            (layer.weights.shape[3], len(layer.bias), layer.width, int(layer.weights.shape[1] > 1), *layer.pool,
             layer.shift, layer.zero)
            for layer in layers
        ]  # fmt: skip
        weights = np.concatenate([layer.weights.ravel() for layer in layers])
        return [
            CTable("const uint16_t tml_layers[TML_LAYERS][8]", np.array(shapes)),
            CTable("const uint32_t tml_weights[TML_WEIGHTS / 4]", weights.view("<u4")),
            CTable("const int32_t tml_layer_bias[TML_CHANNELS]", np.concatenate([layer.bias for layer in layers])),
            CTable("const int32_t tml_positive[TML_CHANNELS]", np.concatenate([layer.positive for layer in layers])),
            CTable("const int32_t tml_negative[TML_CHANNELS]", np.concatenate([layer.negative for layer in layers])),
            CTable("const float tml_output_scale[TML_FEATURES]", network.scale),
            CTable("const float tml_output_mean[TML_FEATURES]", network.mean),
        ]


class FilterFrontEnd(FrontEnd):
    """The paper's filter on the spectrogram of the word: 255 frequencies every 20 ms of a second.

    As on the page, the second begins with the word, and silence follows; the word is at 16 kHz instead of 22.05 kHz.
    """

    name, title = "filter", "The paper's filter"
    sources = ("audio.h", "stem.c", "filter.c")
    bins, columns, every = N_FFT // 2 - 1, 50, 2
    map_shape = 64, 13
    n_features = 64 * 13
    top = 80 * hearing.STEPS  # below the loudest cell
    page = "aligned"

    @property
    def spectrum(self) -> Spectrum:
        return _bin_spectrum()

    def features(self, frames: Frames, span: Span) -> NDArray[np.float32]:
        first = (max(span.start - hearing.LEAD, 0) + self.every // 2) // self.every
        last = (span.stop + hearing.TAIL) // self.every
        word = frames.mel[first * self.every : last * self.every + 1 : self.every][: self.columns].astype(np.int64)
        levels = np.zeros((self.columns, self.bins), np.int64)
        above = np.maximum(word - word.max() + self.top, 0)
        levels[: len(word)] = np.minimum(256 * above // self.top, 255)
        return stem_features(levels.T, _filter_tables())

    def defines(self) -> list[tuple[str, Any]]:
        return [
            *super().defines(),
            ("TML_BINS", self.bins),
            ("TML_FRAMES", self.columns),
            ("TML_FILTERS", 1),
            ("TML_MAP_ROWS", self.map_shape[0]),
            ("TML_MAP_COLUMNS", self.map_shape[1]),
            ("TML_FUSED", 1),
        ]

    def own_memory(self) -> list[tuple[str, str, int, bool, str]]:
        return [
            ("Spectrogram", f"{self.bins}x{self.columns}", self.bins * self.columns, True, "levels of the word"),
        ]

    def own_tables(self) -> list[CTable]:
        tables = _filter_tables()
        return [
            CTable("const float tml_bias[TML_FILTERS]", tables["bias"]),
            CTable("const float tml_fused[TML_FILTERS][49][256]", tables["fused"]),
        ]


@lru_cache(maxsize=1)
def _bin_spectrum() -> Spectrum:
    """Frames whose bands are the single bins 1 to 255."""
    return hearing.spectrum_of(np.eye(N_FFT // 2 + 1)[1:-1], 0)


@lru_cache(maxsize=1)
def _filter_tables() -> Tables:
    return filter_tables(Extractor(), fused=True)


FRONT_ENDS: dict[str, FrontEnd] = {one.name: one for one in (WordFrontEnd(), SpeechFrontEnd(), FilterFrontEnd())}
SHARED_SOURCES = ("frontend.h", "fft.h", "finder.h", "finder.c", "listen.h", "listen.c")
LISTENING = {"sample_rate": hearing.VOICE_RATE, "n_fft": N_FFT, "hop": HOP}


def lay_out(sounds: Sequence[NDArray[np.int16]], noise: float = NOISE) -> list[NDArray[np.int16]]:
    """Return sounds, each int16 (n,), as consecutive parts of a stream: noise before the first and after each one.

    It has the median level of the sounds' own backgrounds, at least `noise` (root mean square, in steps of int16); this
    least noise is also added to the sounds, since a word that is cut close has no background.
    """
    rng = np.random.default_rng(0)
    level = float(np.median([_background_level(sound, noise) for sound in sounds])) if sounds else noise
    parts = []
    for number, sound in enumerate(sounds):
        before, after = round(LEAD_IN * hearing.VOICE_RATE) if number == 0 else 0, round(BETWEEN * hearing.VOICE_RATE)
        part = np.pad(np.full(len(sound), noise), (before, after), constant_values=level)
        part *= rng.normal(size=len(part))
        part[before : before + len(sound)] += sound
        parts.append(np.rint(part).clip(-32_768, 32_767).astype(np.int16))
    return parts


def _background_level(sound: NDArray[np.int16], least: float) -> float:
    """Root mean square of the quietest frames of a sound; `least` if it is trimmed: they are near the loudest ones."""
    frames = sound[: len(sound) // HOP * HOP].reshape(-1, HOP).astype(np.float64)
    if not len(frames):
        return least
    powers = np.sort(np.square(frames).mean(axis=1))
    quiet = powers[: max(1, len(powers) // 10)].mean()
    trimmed = quiet > powers[-1] * 10 ** (-BELIEVED_DB / 10)
    return least if trimmed else float(max(least, np.sqrt(quiet)))
