"""Configurations of the paper's experiments, as printed and as the authors' code runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tmlcd_core.datasets import SOURCES, open_source
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.variants import CODE, CODE_HYBRID_THRESHOLDS, PRINTED, variant_of

CLASSES = (2, 3, 5)  # λ of Table 1
TABLE_LEARNERS = ("svm", "nn-fc1-static", "static", "condensed")
FIGURE_LEARNERS = ("cit", "active", "hybrid", "nn-fc1")
BOARD_SIZE = 50  # |T| on the boards (paper, Sec. 7.6)
LOW_RATE = {"sample_rate": 4410, "n_fft": 128, "hop": 128}  # extractor of the STM32F401 (paper, Sec. 7.6)
TABLE_TEST = 750  # test samples per class; not given in the paper
IMAGES = 1000  # images per class in a stream, half of them before the change (paper, Sec. 7.3); digits have fewer
IMAGE_DATA = ("imagenette", "cifar10", "digits")  # the first that is installed replaces ImageNet
IMAGENET_CLASS = re.compile(r"n\d{8}")  # name of a class folder of ImageNet


@dataclass(frozen=True)
class PaperConfiguration:
    """Experiment of one panel or table column, with a name and a title."""

    name: str
    title: str
    experiment: Experiment


def image_data(folder: str | Path | None = None) -> str | None:
    """Return the data of the image experiments: the folder, or the first installed dataset of `IMAGE_DATA`.

    A folder has one sub-folder of images per class, or `train/` with these, as ImageNet; other contents are a
    `ConfigError`. None if no image dataset can be read.
    """
    if folder is not None:
        source = open_source(folder)
        if source.kind != "image":
            raise ConfigError(f"{str(folder)!r} holds {source.kind}; give a folder with one folder of images per class")
        if len(source.classes) < max(CLASSES):
            raise ConfigError(f"{str(folder)!r} has {len(source.classes)} classes of images; give at least 5")
        return str(Path(folder).expanduser().resolve())
    return next((name for name in IMAGE_DATA if SOURCES[name].missing() is None), None)


def describe_images(data: str | None) -> dict[str, Any]:
    """Return name and description of the image data, and whether they are ImageNet's classes."""
    if data is None:
        return {"data": None, "about": "no image data", "imagenet": False}
    if data in SOURCES:
        return {"data": data, "about": SOURCES[data].about, "imagenet": data == "imagenette"}
    classes = open_source(data).classes
    about = f"{len(classes)} classes of images in the folder {Path(data).name}"
    return {
        "data": Path(data).name,
        "about": about,
        "imagenet": all(IMAGENET_CLASS.fullmatch(name) for name in classes),
    }


def figure_configurations(images: str | None = "digits") -> list[PaperConfiguration]:
    """Return the five panels of the algorithm figure; the data `images` replace ImageNet."""

    def speech(drift: str, classes: int) -> Experiment:
        return Experiment("speech", classes, drift=drift, learners=FIGURE_LEARNERS)

    found = [
        PaperConfiguration("speech-class-change-2", "Speech, a class changes, 2 classes", speech("class-change", 2)),
        PaperConfiguration("speech-class-change-3", "Speech, a class changes, 3 classes", speech("class-change", 3)),
        PaperConfiguration("speech-class-change-5", "Speech, a class changes, 5 classes", speech("class-change", 5)),
        PaperConfiguration("speech-noise-2", "Speech, noise, 2 classes", speech("noise", 2)),
    ]
    if images is not None:
        experiment = Experiment(images, 2, per_class=IMAGES, learners=FIGURE_LEARNERS)
        title = f"Images ({Path(images).name}), a class changes, 2 classes"
        found.append(PaperConfiguration("images-class-change-2", title, experiment))
    return found


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


def table_configurations(images: str | None = "digits") -> list[PaperConfiguration]:
    """Return the configurations of Table 1: no drift, and no learning during the stream."""
    found = []
    for classes in CLASSES:
        experiment = Experiment("speech", classes, drift="none", per_class=TABLE_TEST, learners=TABLE_LEARNERS)
        found.append(PaperConfiguration(f"speech-{classes}", f"Speech, {classes} classes", experiment))
        if images is not None:
            title = f"Images ({Path(images).name}), {classes} classes"
            shown = Experiment(images, classes, drift="none", per_class=IMAGES, learners=TABLE_LEARNERS)
            found.append(PaperConfiguration(f"images-{classes}", title, shown))
    return found


def crossed_configurations() -> dict[str, list[PaperConfiguration]]:
    """Return NN-FC1 on speech without drift with the settings of one variant, except one of the other's.

    "norm" is as printed with the code's batch normalisation, "training" as printed with the code's optimiser. Each is a
    list by number of classes; together with Table 1 they show which of the two makes NN-FC1 learn.
    """
    code = variant_of(CODE)
    plain = {
        n: Experiment("speech", n, drift="none", per_class=TABLE_TEST, learners=("nn-fc1-static",)) for n in CLASSES
    }
    changed = {
        "norm": {n: replace(one, extractor=code.extractor(one.data)) for n, one in plain.items()},
        "training": {n: replace(code.apply(one), extractor=()) for n, one in plain.items()},
    }
    return {
        kind: [PaperConfiguration(f"crossed-{kind}-{n}", f"NN-FC1, {n} classes", one) for n, one in ones.items()]
        for kind, ones in changed.items()
    }


def in_variant(configurations: Sequence[PaperConfiguration], variant: str) -> list[PaperConfiguration]:
    """Return the configurations with the settings of a variant, "printed" or "code"."""
    return [replace(one, experiment=variant_of(variant).apply(one.experiment)) for one in configurations]


def at_threshold(configurations: Sequence[PaperConfiguration], threshold: float) -> list[PaperConfiguration]:
    """Return the configurations that run Hybrid, with Hybrid alone at another alarm level h."""
    return [
        replace(
            one,
            experiment=replace(
                one.experiment,
                learners=("hybrid",),
                settings={**dict(one.experiment.settings), "hybrid.threshold": threshold},
            ),
        )
        for one in configurations
        if "hybrid" in one.experiment.learners
    ]


def paper_experiment(name: str, variant: str = PRINTED, threshold: float | None = None) -> Experiment:
    """Return one of the paper's experiments by the name of its configuration.

    `variant` is "printed" or "code"; a `threshold` returns Hybrid alone at this alarm level, such as one of
    `CODE_HYBRID_THRESHOLDS`. An unknown name is a `ConfigError`.

    >>> paper_experiment("speech-noise-2").drift
    'noise'
    >>> dict(paper_experiment("small-2", "code", threshold=50.0).settings)["hybrid.threshold"]
    50.0
    """
    every = [*table_configurations(), *figure_configurations(), *approximation_configurations()]
    chosen = in_variant([one for one in every if one.name == name], variant)
    if threshold is not None:
        chosen = at_threshold(chosen, threshold)
    if not chosen:
        names = ", ".join(one.name for one in every)
        raise ConfigError(f"the paper has no experiment {name!r} with these learners; choose one of {names}")
    return chosen[0].experiment


__all__ = [
    "CODE_HYBRID_THRESHOLDS",
    "PaperConfiguration",
    "approximation_configurations",
    "at_threshold",
    "crossed_configurations",
    "describe_images",
    "figure_configurations",
    "image_data",
    "in_variant",
    "paper_experiment",
    "table_configurations",
]
