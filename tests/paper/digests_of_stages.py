"""Program of test_same_numbers.py: a small reproduction that prints a digest of every stage as JSON.

The stages go from the media to the statistic of the test, for speech and digits and all learners of the paper.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numba
import numpy as np

from tmlcd_core import TinyKNN
from tmlcd_core.datasets import open_source
from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.experiments import Experiment
from tmlcd_core.features import EFFECTS, Extractor, spectrogram
from tmlcd_core.learners import NNFC1, SupportVectorMachine
from tmlcd_core.paper import digests
from tmlcd_core.paper.configurations import FIGURE_LEARNERS, LOW_RATE, TABLE_LEARNERS

WORDS = ("yes", "no", "up")
CLIPS = 40  # per word
SMALL = {"train": 30, "per_class": 120}


def digest(*arrays) -> str:
    """SHA-256 of the bytes of arrays."""
    return digests.digest(arrays)


def media() -> dict[str, str]:
    """Digests from the clips and images to their features."""
    found = {}
    digits = open_source("digits")
    found["images"] = digest(digits.media("3", range(20)))
    found["features of digits"] = digest(Extractor().transform_images(digits.media("3", range(20))))
    for name in ("speech", "speech-very-noisy"):
        source = open_source(name, WORDS)
        clips = np.concatenate([source.media(word, range(CLIPS)) for word in WORDS])
        found[f"clips of {name}"] = digest(clips)
        if name == "speech":
            found |= effects(clips[:3]) | models(Extractor().transform(clips))
        for title, extractor in (("", Extractor()), (" at a low rate", Extractor(**LOW_RATE))):
            db = spectrogram.decibels(clips[:, : extractor.samples], extractor.n_fft, extractor.hop)
            found[f"decibels of {name}{title}"] = digest(db)
            found[f"levels of {name}{title}"] = digest(spectrogram.stretch(db)[1])
            found[f"features of {name}{title}"] = digest(extractor.transform(clips))
    found["window"] = digest(spectrogram.hann(512))
    return found


def effects(clips) -> dict[str, str]:
    """Digests of the clips with each effect."""
    return {name: digest(effect(clips, 0.7)) for name, effect in EFFECTS.items() if effect.kind == "audio"}


def models(X) -> dict[str, str]:
    """Digests of what learners compute before their decisions, in which one other bit shows."""
    y = np.repeat(np.arange(len(WORDS)), CLIPS)
    start, rest = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    svm = SupportVectorMachine().fit(X[start], y[start])._svc
    network = NNFC1().fit(X[start], y[start])
    network.run(X[rest], y[rest])
    votes = TinyKNN(weights="distance").fit(X[start], y[start])
    return {
        "SVM coefficients": digest(svm.dual_coef_, svm.intercept_, svm.support_),
        "NN-FC1 weights": digest(network.weights_),
        "distances": digest(votes.neighbours(X[rest]).distances),
        "votes": digest(votes.predict_proba(X[rest])),
    }


def runs() -> dict[str, str]:
    """Digests of the traces of every learner."""
    found = {}
    table = Experiment("speech", 3, drift="none", learners=TABLE_LEARNERS, **SMALL)
    figure = Experiment("speech", 2, drift="class-change", learners=FIGURE_LEARNERS, **SMALL)
    for title, experiment in {
        "table speech": table,
        "table digits": replace(table, data="digits"),
        "figure speech": figure,
        "figure digits": replace(figure, data="digits"),
        "noise": replace(figure, drift="noise"),
        "boards": replace(figure, learners=("hybrid",), settings={"hybrid.max_size": 50}, extractor=LOW_RATE),
    }.items():
        for name, run in experiment.run().learners.items():
            trace = run.trace
            found[f"{title}: {name}"] = digest(
                np.asarray(trace.predictions).astype("U"), trace.sizes, trace.detections, trace.change_points
            )
            if not np.isnan(trace.statistic).all():
                found[f"{title}: {name}, statistic"] = digest(trace.statistic)
    test = GeneralizedCusum()
    values = [test.statistic for hit in np.arange(2000) % 7 < 5 if test.update(hit) or True]
    found["statistic of the CUSUM test"] = digest(np.array(values))
    return found


if __name__ == "__main__":
    processor = {
        "numba": numba.core.codegen.get_host_cpu_features() if numba.config.CPU_NAME is None else numba.config.CPU_NAME,
        "numpy": [name for name, found in np._core._multiarray_umath.__cpu_features__.items() if found],
    }
    print(json.dumps({"processor": processor, "digests": media() | runs()}))
