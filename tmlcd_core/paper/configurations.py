"""Configurations of the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tmlcd_core.datasets import SOURCES
from tmlcd_core.experiments.experiment import Experiment

RUNS = 20  # paper, Sec. 7.3
CLASSES = (2, 3, 5)  # λ of Table 1
TABLE_LEARNERS = ("svm", "nn-fc1-static", "nn-fc1-centred", "static", "condensed")
FIGURE_LEARNERS = ("cit", "active", "hybrid", "nn-fc1")
BOARD_SIZE = 50  # |T| on the boards (paper, Sec. 7.6)
LOW_RATE = {"sample_rate": 4410, "n_fft": 128, "hop": 128}  # extractor of the STM32F401 (paper, Sec. 7.6)
TABLE_TEST = 750  # test samples per class; not given in the paper
IMAGES = 1000  # images per class in a stream, half of them before the change (paper, Sec. 7.3); digits have fewer


@dataclass(frozen=True)
class PaperConfiguration:
    """Experiment of one panel, with a name and a title."""

    name: str
    title: str
    experiment: Experiment


def figure_configurations() -> list[PaperConfiguration]:
    """Return the five panels of the algorithm figure; `digits` replaces ImageNet."""

    def speech(drift: str, classes: int) -> Experiment:
        return Experiment("speech", classes, drift=drift, learners=FIGURE_LEARNERS)

    return [
        PaperConfiguration("speech-class-change-2", "Speech, a class changes, 2 classes", speech("class-change", 2)),
        PaperConfiguration("speech-class-change-3", "Speech, a class changes, 3 classes", speech("class-change", 3)),
        PaperConfiguration("speech-class-change-5", "Speech, a class changes, 5 classes", speech("class-change", 5)),
        PaperConfiguration("speech-noise-2", "Speech, noise, 2 classes", speech("noise", 2)),
        *(
            PaperConfiguration(f"{name}-class-change-2", f"Images ({name}), a class changes, 2 classes", experiment)
            for name, experiment in _images("class-change", 2, FIGURE_LEARNERS)
        ),
    ]


def approximation_configurations() -> list[PaperConfiguration]:
    """Return the panels of the approximation figure: Hybrid, with |T| = 50, and with |T| = 50 at 4,410 Hz."""
    found = []
    for classes in (2, 3):
        baseline = Experiment("speech", classes, learners=("hybrid",))
        small = replace(baseline, settings={"hybrid.max_size": BOARD_SIZE})
        slow = replace(small, extractor=LOW_RATE)
        found += [
            PaperConfiguration(f"baseline-{classes}", f"Hybrid, |T| = {100 * classes}, {classes} classes", baseline),
            PaperConfiguration(f"small-{classes}", f"Hybrid, |T| = {BOARD_SIZE}, {classes} classes", small),
            PaperConfiguration(f"slow-{classes}", f"Hybrid, |T| = {BOARD_SIZE}, 4,410 Hz, {classes} classes", slow),
        ]
    return found


def table_configurations() -> list[PaperConfiguration]:
    """Return the configurations of Table 1: no drift, and no learning during the stream."""
    found = []
    for classes in CLASSES:
        experiment = Experiment("speech", classes, drift="none", per_class=TABLE_TEST, learners=TABLE_LEARNERS)
        found.append(PaperConfiguration(f"speech-{classes}", f"Speech, {classes} classes", experiment))
        found += [
            PaperConfiguration(f"{name}-{classes}", f"Images ({name}), {classes} classes", images)
            for name, images in _images("none", classes, TABLE_LEARNERS)
        ]
    return found


def _images(drift: str, classes: int, learners: tuple[str, ...]) -> list[tuple[str, Experiment]]:
    """One experiment for each installed image dataset."""
    names = [name for name, info in SOURCES.items() if info.kind == "image" and info.missing() is None]
    return [(name, Experiment(name, classes, drift=drift, per_class=IMAGES, learners=learners)) for name in names]
