"""Synthetic speech commands: any word, synthesised by eSpeak NG with noise, without a download.

The recipe follows the Synthetic Speech Commands Dataset (Buchner, 2017), which the paper used for its Table 1. Unknown
details (the noise recordings, how the authors cut the clips) are parameters of `Recipe`, chosen on half of the words to
reproduce Table 1; `benchmarks/tune_speech.py` reports the result on the other half.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.dataset import Kind
from tmlcd_core.datasets.espeak import FASTEST, SAMPLE_RATE, Utterance, speak
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features.noise import Colour, coloured_noise
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

SpeechVariant = Literal["clean", "normal", "very noisy"]
SPEECH_VARIANTS: tuple[SpeechVariant, ...] = get_args(SpeechVariant)

WORDS: tuple[str, ...] = (
    "bed", "bird", "cat", "dog", "down", "eight", "five", "four", "go", "happy", "house", "left", "marvin",
    "nine", "no", "off", "on", "one", "right", "seven", "sheila", "six", "stop", "three", "tree", "two", "up",
    "wow", "yes", "zero",
)  # fmt: skip
MAX_WORD = 40  # characters
CLIP = SAMPLE_RATE  # samples: one second
LONGEST = 1.2  # s: longer utterances are dropped, as in the original
FEWEST = 60  # utterances of a word that must remain; otherwise all are spoken faster
HASTE = (1.0, 1.7, 3.0)  # speed factors tried one after the other for long words
CLIPS = 10_000  # per word: more than any experiment uses
HEADROOM = 0.99  # of full scale: louder mixtures are scaled down, never clipped
WORKERS = 2  # words synthesised at the same time
BREATH = 0.1  # s between two reports while a word is synthesised
REMEMBERED = 32  # words whose utterances are cached: about 10 MB each
REVISION = 2  # version, part of the key: increase it if the code below gives other samples


@dataclass(frozen=True)
class Recipe:
    """Parameters of speech synthesis and noise.

    Parameters
    ----------
    voices, pitches, rates
        Every combination is one utterance of the word: eSpeak voice, pitch in 0..99, words per minute.
    onset
        Range of the word's start in seconds; below 0 its beginning is cut off, as in a recording that starts late.
    peak
        Range of the peak of the speech; full scale is 1.
    clean
        Share of the clips without noise.
    level
        Factor of all noise.
    factors
        The peak of the noise is its ceiling times one of these factors, times `level`.
    ceilings
        Colours of noise, equally likely, each with its ceiling.
    """

    voices: tuple[str, ...] = (
        "en", "en-gb-x-gbclan", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-us", "en-029",
    )  # fmt: skip
    pitches: tuple[int, ...] = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99)
    rates: tuple[int, ...] = (80, 100, 120, 140, 160)
    onset: tuple[float, float] = (-0.1, 0.01)
    peak: tuple[float, float] = (0.1, 0.5)
    clean: float = 0.6
    level: float = 0.7
    factors: tuple[float, ...] = (0.1, 0.3, 1.0)
    ceilings: tuple[tuple[Colour, float], ...] = (("white", 0.2), ("pink", 0.5))


NORMAL = Recipe()
RECIPES: dict[str, Recipe] = {
    "clean": replace(NORMAL, clean=1.0),
    "normal": NORMAL,
    # Levels of the original. The share without noise is unchanged: the paper's noise drift costs little accuracy.
    "very noisy": replace(NORMAL, peak=(0.05, 0.4), factors=(0.5, 1.0)),
}


class SpeechSource:
    """Source of synthetic speech: words in many voices, one-second clips at 22,050 Hz.

    Clip i of a word is reproducible and does not depend on other clips. The variants share voice and onset: clip i of
    `very noisy` is clip i of `clean` with noise (and another level). All utterances of a word are used once before any
    is used again.

    The original dataset has 16 kHz and was resampled to 22,050 Hz for the spectrogram; eSpeak generates 22,050 Hz, so
    nothing is resampled here and the clips contain frequencies up to 11 kHz.

    Parameters
    ----------
    words
        The classes: words of `WORDS`, or any text that can be spoken in one second.
    variant
        `clean`, `normal` (the paper's Table 1) or `very noisy` (the paper's noise drift, after the change).
    seed
        Seed of all random choices.
    recipe
        Used instead of the variant's recipe.

    Examples
    --------
    >>> source = SpeechSource(["yes", "no"], seed=0)
    >>> clips = source.media("yes", range(3))
    >>> clips.shape, bool((clips[2] == source.media("yes", [2])[0]).all())
    ((3, 22050), True)

    References
    ----------
    J. Buchner, Synthetic Speech Commands Dataset, 2017. P. Warden, Speech Commands, arXiv:1804.03209.
    """

    kind: Kind = "audio"
    sample_rate: int | None = SAMPLE_RATE

    def __init__(
        self,
        words: Sequence[str] = WORDS,
        variant: SpeechVariant = "normal",
        seed: int = 0,
        recipe: Recipe | None = None,
    ) -> None:
        if isinstance(words, str) or not words:
            raise ConfigError(f"words must be a list of at least one word, got {words!r}")
        if variant not in SPEECH_VARIANTS:
            raise ConfigError(f"speech has no variant {variant!r}: choose one of {', '.join(SPEECH_VARIANTS)}")
        texts = [spoken_text(word) for word in words]
        for i, text in enumerate(texts):
            if text in texts[:i]:
                raise ConfigError(f"{words[i]!r} is spoken like {words[texts.index(text)]!r}: choose different words")
        self.name = "speech" if variant == "normal" else f"speech-{variant.replace(' ', '-')}"  # as in SOURCES
        self.words = tuple(words)
        self.variant = variant
        self.seed = whole_number("seed", seed, 0)
        self.recipe = recipe or RECIPES[variant]
        self._texts = dict(zip(self.words, texts, strict=True))

    @property
    def key(self) -> str:
        """Digest of everything that determines the clips: revision, eSpeak version, seed and recipe."""
        try:
            speaker = version("espeakng-loader")
        except PackageNotFoundError:
            speaker = "none"
        identity = repr((REVISION, speaker, self.seed, astuple(self.recipe)))
        return blake2b(identity.encode(), digest_size=8).hexdigest()

    @property
    def classes(self) -> tuple[str, ...]:
        """The words, in the given order."""
        return self.words

    def count(self, label: str) -> int:
        """Return the number of clips of a word."""
        self._text(label)
        return CLIPS

    def prepare(self, labels: Sequence[str] | None = None, progress: Progress = silent) -> None:
        """Synthesise words in advance, at most REMEMBERED, two at a time; `media` does it one by one."""
        texts = [self._text(label) for label in labels or self.words][:REMEMBERED]
        pool = ThreadPoolExecutor(WORKERS)  # each thread waits for a process
        try:
            jobs = {pool.submit(_utterances, text, *self._manner): text for text in texts}
            waiting, spoken = set(jobs), 0
            while waiting:
                done, waiting = wait(waiting, BREATH, FIRST_COMPLETED)
                if not done:
                    progress(spoken, len(jobs), f"speaking “{jobs[next(iter(waiting))]}”")
                for job in done:
                    job.result()
                    spoken += 1
                    progress(spoken, len(jobs), f"speaking “{jobs[job]}”")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # a word that is being spoken takes a second at most

    def media(self, label: str, indices: Sequence[int]) -> NDArray[np.float32]:
        """Return clips of a word, float32 (n, 22050)."""
        text = self._text(label)
        clips = np.empty((len(indices), CLIP), np.float32)
        for row, index in enumerate(indices):
            if not 0 <= index < CLIPS:
                raise DataError(f"clip {index} of {label!r} does not exist: there are {CLIPS}")
            clips[row] = self._clip(text, int(index))
        return clips

    @property
    def _manner(self) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
        return self.recipe.voices, self.recipe.pitches, self.recipe.rates

    def _text(self, label: str) -> str:
        try:
            return self._texts[label]
        except KeyError:
            raise DataError(f"no class {label!r} in this source: it has {', '.join(self.words)}") from None

    def _clip(self, text: str, index: int) -> NDArray[np.float64]:
        recipe, identity = self.recipe, (self.seed, _number(text))
        utterances = _utterances(text, *self._manner)
        turn, place = divmod(index, len(utterances))
        word = utterances[_order(*identity, turn, len(utterances))[place]]
        # One random generator per clip, so that a clip does not depend on the others; the values that the variants
        # share are drawn first.
        rng = np.random.default_rng((*identity, index))
        onset = round(rng.uniform(*recipe.onset) * SAMPLE_RATE)
        peak = rng.uniform(*recipe.peak)
        noisy = rng.random() >= recipe.clean
        lost, onset = min(max(0, -onset), len(word) // 2), max(0, onset)
        word = word[lost:][: CLIP - onset].astype(np.float64)
        sound = np.zeros(CLIP)
        sound[onset:][: len(word)] = word * (peak / max(1.0, np.abs(word).max()))
        if noisy:
            colour, ceiling = recipe.ceilings[rng.integers(len(recipe.ceilings))]
            factor = recipe.factors[rng.integers(len(recipe.factors))]
            hiss = coloured_noise(colour, CLIP, SAMPLE_RATE, rng)
            sound += hiss * (ceiling * factor * recipe.level / np.abs(hiss).max())
        sound /= max(1.0, np.abs(sound).max() / HEADROOM)
        # 16 bits, as in the original; this also removes rounding differences between machines.
        return np.rint(sound * 32767) / 32768


def spoken_text(word: str) -> str:
    """Return the text to speak for a typed word: its letters, digits, apostrophes and hyphens."""
    if len(word) > MAX_WORD:
        raise DataError(f"{word[:MAX_WORD]!r}… has {len(word)} characters: use at most {MAX_WORD}")
    if any(unicodedata.category(c) in ("Cc", "Cs") and not c.isspace() for c in word):
        raise DataError(f"{word!r} contains control characters: type a word")
    kept = (c if c.isalnum() or c in "'’-" or unicodedata.category(c)[0] == "M" else " " for c in word)
    text = " ".join(unicodedata.normalize("NFC", "".join(kept)).split())
    if not any(c.isalnum() for c in text):
        raise DataError(f"{word!r} has no letter or digit: type a word")
    return text


@lru_cache(maxsize=REMEMBERED)
def _utterances(
    text: str, voices: tuple[str, ...], pitches: tuple[int, ...], rates: tuple[int, ...]
) -> list[NDArray[np.int16]]:
    """Utterances of the word in every voice, pitch and rate, int16 (length,) each, without those that are too long."""
    for haste in HASTE:
        spoken = speak(
            [
                Utterance(text, voice, pitch, min(FASTEST, round(rate * haste)))
                for voice in voices
                for pitch in pitches
                for rate in rates
            ]
        )
        if not any(s.any() for s in spoken):
            raise DataError(f"eSpeak NG generates no sound for {text!r}: type another word")
        fitting = [s for s in spoken if len(s) <= LONGEST * SAMPLE_RATE and s.any()]
        if len(fitting) >= min(FEWEST, len(spoken)):
            return fitting
    raise DataError(f"{text!r} takes more than a second even at the highest speed: type a shorter word")


def _number(text: str) -> int:
    """Integer hash of a text that, unlike `hash`, is the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=256)
def _order(seed: int, word: int, turn: int, size: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, word, CLIPS + turn)).permutation(size)
