"""Benchmark of the microcontroller code: bytes, instructions, and accuracy with integer features on speech."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from tmlcd_core.datasets.speech import SpeechSource
from tmlcd_core.features import Extractor
from tmlcd_core.features.audio import make_clip
from tmlcd_core.knn.storage import grid_of, quantise
from tmlcd_core.learners import HybridTinyKNN
from tmlcd_core.mcu import BOARDS, CASES, PAPER_CONFIGURATIONS, budget, export_firmware, largest_store
from tmlcd_core.mcu.accuracy import Accuracy
from tmlcd_core.mcu.device import HostLibrary
from tmlcd_core.mcu.timing import count_instructions

# Two words; half-way the third replaces the second under the same label (paper, Sec. 7.2).
TRIPLES = (
    ("yes", "no", "up"), ("left", "right", "go"), ("on", "off", "stop"), ("cat", "dog", "bird"),
    ("one", "two", "three"), ("happy", "house", "wow"), ("bed", "tree", "zero"), ("down", "four", "six"),
)  # fmt: skip
# Streams per triple: one changed decision changes T and everything after it, so many streams are averaged.
ORDERS = 10
TRAIN = 100  # clips per word
HALF = 300  # clips per word before the change, and after it
SIZES = (10, 25, 50, 100, 200)
RATES = {22_050: Extractor(), 4_410: Extractor(sample_rate=4_410, n_fft=128, hop=128)}
STORES = ("float32", "int16", "uint8")  # float32 uses Python's features, the others those of the C code
REFERENCE = (22_050, "float32", 200)
AIM = 0.01  # largest accepted loss of accuracy with 16-bit sound and T in uint8


def memory() -> None:
    """Print the bytes of each layout and type of T, and the largest |T| on the STM32F401."""
    f401 = BOARDS["stm32f401"]
    print(f"bytes at 22,050 Hz with |T| = 50, and the largest |T| on the {f401.title}")
    for layout in ("paper", "compact", "streamed"):
        for store in ("float32", "int16", "uint8"):
            c = replace(PAPER_CONFIGURATIONS[0], layout=layout, store=store)
            print(f"  {layout:<9} {store:<8} {budget(c).needed:>9,} {largest_store(c, f401):>5}")


def instructions() -> None:
    """Print the instructions per stage, counted under emulation."""
    print("instructions per stage, zig's clang -O2, counted under emulation")
    found = {case: count_instructions(case) for case in CASES}
    for case, n in found.items():
        print(
            f"  {case.board} {case.name:<24} spectrogram {n.spectrogram:>9,}  features {n.features:>9,}  "
            f"kNN(10) {n.knn_10:>7,}  kNN(50) {n.knn_50:>7,}  slowest update {n.worst:>7,}"
        )
    plain, fused = (n for case, n in found.items() if case.configuration.layout == "compact")
    print(f"  the fused colour table saves {1 - fused.features / plain.features:.0%} of the feature stage")


def accuracy(triples: Sequence[tuple[str, str, str]], orders: int) -> list[Accuracy]:
    """Measure the prequential accuracy of Hybrid over a class change, for every sample rate, type and size of T."""
    scores: dict[tuple[int, str, int], list[float]] = {}
    differing = []
    for number, words in enumerate(triples):
        features = _features(words)
        for order in range(orders):
            rows, y = _stream(np.random.default_rng((number, order)))
            train, stream = rows[: 2 * TRAIN], rows[2 * TRAIN :]
            for rate, store, size in product(RATES, STORES, SIZES):
                X = features[rate, store == "float32"]
                fitted = HybridTinyKNN(max_size=size).fit(X[train], y[: 2 * TRAIN])
                grid = grid_of(fitted.samples_, store, sound=True)
                stored, heard = (quantise(part, store, *grid) for part in (fitted.samples_, X[stream]))
                model = HybridTinyKNN(max_size=size, condense=False).fit(stored, fitted.labels_)
                if (rate, store, size) == (22_050, "uint8", 50):
                    differing.append(np.mean(model.predict(heard) != fitted.predict(X[stream])))
                predictions = model.run(heard, y[2 * TRAIN :]).predictions
                scores.setdefault((rate, store, size), []).append(float(np.mean(predictions == y[2 * TRAIN :])))
    found = [_row(key, values, scores[REFERENCE]) for key, values in scores.items()]
    print(f"accuracy over {len(differing)} class changes of speech, {4 * HALF:,} samples each; lost against |T| = 200")
    for row in found:
        print(
            f"  {row.sample_rate:>6} Hz  T {row.store:<8} |T| = {row.samples:<4} {row.accuracy:.4f}"
            f"   lost {row.lost:+.4f} +- {row.error:.4f}"
        )
    full, small = (np.array(scores[22_050, store, 50]) for store in ("float32", "uint8"))
    error = (full - small).std(ddof=1) / np.sqrt(len(full))
    print(f"  16-bit sound, streamed, and T in uint8 cost {np.mean(full - small):+.4f} +- {error:.4f} (target {AIM})")
    print(f"  with T as fitted, uint8 changes {np.mean(differing):.2%} of the decisions")
    return found


def _row(key: tuple[int, str, int], values: list[float], reference: list[float]) -> Accuracy:
    lost = np.subtract(reference, values)
    error = lost.std(ddof=1) / np.sqrt(len(lost))
    return Accuracy(*key, len(values), float(np.mean(values)), float(lost.mean()), float(error))


def _features(words: tuple[str, str, str]) -> dict[tuple[int, bool], np.ndarray]:
    """Return the features of all clips of the words in turn, by (sample rate, True for Python or False for C)."""
    source = SpeechSource(words)
    counts = (TRAIN + 2 * HALF, TRAIN + HALF, HALF)
    clips = np.concatenate([source.media(word, range(n)) for word, n in zip(words, counts, strict=True)])
    found = {}
    for rate, extractor in RATES.items():
        heard = clips if rate == 22_050 else np.stack([make_clip(clip, 22_050, rate) for clip in clips])
        found[rate, True] = extractor.transform(heard)
        with tempfile.TemporaryDirectory() as folder:
            model = HybridTinyKNN(max_size=2).fit(found[rate, True][:2], [0, 1])
            library = HostLibrary(export_firmware(model, extractor, layout="streamed").write(folder))
            sound = np.round(heard * 32767).clip(-32768, 32767).astype(np.int16)
            found[rate, False] = np.stack([library.features(clip, extractor.n_features) for clip in sound])
    return found


def _stream(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the features in stream order, training first, and their labels."""
    first, second, third = np.split(np.arange(2 * TRAIN + 4 * HALF), np.cumsum([TRAIN + 2 * HALF, TRAIN + HALF]))
    first, second, third = (rng.permutation(part) for part in (first, second, third))
    parts = [
        np.concatenate([first[:TRAIN], second[:TRAIN]]),
        np.concatenate([first[TRAIN : TRAIN + HALF], second[TRAIN:]]),
        np.concatenate([first[TRAIN + HALF :], third]),
    ]
    rows = np.concatenate([rng.permutation(part) for part in parts])
    return rows, (rows >= len(first)).astype(np.int64)


def record() -> None:
    """Measure all accuracies and write them to the file that the STM32 page reads (four minutes)."""
    import tmlcd_core.mcu.accuracy as home

    Path(home.__file__).with_name(home.RECORDED).write_text(home.as_csv(accuracy(TRIPLES, ORDERS)), encoding="utf-8")


def main() -> None:
    """Print memory, instructions and a short version of the accuracies."""
    memory()
    instructions()
    accuracy(TRIPLES[:2], 4)


if __name__ == "__main__":
    main()
