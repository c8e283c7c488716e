"""One trial in plain values: what a link, a page and a script need to make the same run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tmlcd_core.datasets import Dataset, FeatureCache, Pack, load_pack, open_source
from tmlcd_core.drift import GeneralizedCusum
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments.contestants import CONTESTANTS, PAPER, contestant, settings_of
from tmlcd_core.experiments.material import DatasetMaterial, Material, SourceMaterial
from tmlcd_core.experiments.scenario import (
    DRIFTS,
    NO_EFFECT,
    PER_CLASS,
    TRAIN,
    VERY_NOISY,
    ClassAdded,
    ClassChange,
    ClassRemoved,
    Concept,
    Drift,
    LabelsSwapped,
    Noise,
    Return,
    Scenario,
)
from tmlcd_core.experiments.stream import Stream, compose, plan
from tmlcd_core.learners import StreamLearner
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import one_of, real_number, whole_number

PACK = "pack"  # the data that come with the project
# "gradual" is any of these that takes its time: `over`.
KINDS = tuple(kind for kind in DRIFTS if kind != "gradual")
NOISY = ("noise", "several")  # drifts that disturb the sound or the picture itself
FEWEST = 20  # samples per class of a stream; in fewer there is nothing to see
_CLASSES = 4  # names the random numbers that draw classes
GRID = ("spacing", "gap", "likelihood")  # settings of the test that learners take only with a test of their own


@dataclass(frozen=True)
class Trial:
    """Data, a drift, learners and a seed.

    Parameters
    ----------
    data
        "pack", a name of `tmlcd_core.datasets.SOURCES`, or a folder.
    classes
        λ: classes to begin with.
    words
        Their names: the first λ are there from the beginning and the first of them is the one that changes; the next
        is the class that comes in. Those that are not named are drawn by the seed.
    drift
        A kind of drift: a name of `DRIFTS`.
    at
        When it begins, as a share of the stream.
    over
        How long it takes, as a share of what follows; 0 is abrupt.
    effect, strength
        What the noise is, and how strong, from 0 to 1.
    per_class, train
        Samples of each class in the stream, and to begin with; fewer where the data have fewer.
    learners
        Names of `CONTESTANTS`.
    settings
        Of all learners that have them (`threshold`, `k`, …), of one (`hybrid.max_size`), and of the test's grid
        (`spacing`, `gap`, `likelihood`).
    seed
        Draws classes, order and media.

    Examples
    --------
    >>> trial = Trial("points", classes=3, per_class=200, train=20, settings=(("threshold", 15.0),))
    >>> stream = trial.stream(trial.material())
    >>> stream.X.shape, stream.changes
    ((600, 2), (300,))
    >>> trace = trial.learner("hybrid").fit(stream.X0, stream.y0).run(stream.X, stream.y)
    >>> round(float((trace.predictions == stream.y).mean()), 2)
    0.92
    """

    data: str = PACK
    classes: int = 2
    words: tuple[str, ...] = ()
    drift: str = "class-change"
    at: float = 0.5
    over: float = 0.0
    effect: str = NO_EFFECT
    strength: float = 1.0
    per_class: int = 2 * PER_CLASS["audio"]  # before and after the change
    train: int = TRAIN
    learners: tuple[str, ...] = PAPER
    settings: tuple[tuple[str, Any], ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", str(self.data))  # a folder may come as a Path
        one_of("drift", self.drift, KINDS)
        whole_number("classes", self.classes, 2)
        whole_number("per_class", self.per_class, FEWEST)
        whole_number("train", self.train, 1)
        whole_number("seed", self.seed, 0)
        for name in ("at", "over", "strength"):
            real_number(name, getattr(self, name), 0.0, 1.0)
        for name in self.learners:
            contestant(name)
        for key, _ in self.settings:
            owner, _, setting = key.rpartition(".")
            owners = [contestant(owner)] if owner else CONTESTANTS.values()
            if setting not in GRID and not any(setting in one.parameters() for one in owners):
                raise ConfigError(f"no learner has a setting {key!r}: see its class for those that it has")

    @property
    def about_stream(self) -> Trial:
        """The part that decides about the stream: trials that share it run over the same samples."""
        return replace(self, learners=(), settings=())

    # -- the stream --------------------------------------------------------------------------------------------------

    def material(self, cache: FeatureCache | None = None) -> Material:
        """What the stream is made of."""
        if self.data == PACK:
            return pack_material(load_pack())
        return SourceMaterial(self.data, self.words if self.data.startswith("speech") else (), cache=cache)

    def scenario(self, material: Material, limits: Mapping[str, int] | None = None) -> Scenario:
        """The scenario with all names drawn, as long as asked for or as the data allow.

        `limits` are the usable media of classes, where reading has shown that they are fewer than the data say.
        """
        train, length = self.train, self.per_class * self.classes
        while length >= FEWEST * self.classes:
            order = plan(self._scenario(material, length, train), _Endless(material), self.seed)
            have = {word: (limits or {}).get(word, material.count(word)) for word in order.needed}
            word = min(have, key=lambda word: have[word] / order.needed[word])
            if have[word] >= order.needed[word]:
                return order.scenario
            few = max(1, have[word] // 5)  # as `fitting_sizes` divides what there is
            if train > few:
                train = few
                continue
            first = train if word in order.scenario.worlds()[0] else 0
            length = int(length * (have[word] - first) / (order.needed[word] - first))
        least = min(have, key=lambda word: have[word])
        raise DataError(
            f"{material.name} has {have[least]} of {least!r}, too few for {self.classes} classes and the drift "
            f"{self.drift!r}: give at least {2 * FEWEST} of each class"
        )

    def prepare(self, material: Material, progress: Progress = silent) -> Scenario:
        """Make the features, which may take a while, and find out which media are usable: the scenario."""
        limits: dict[str, int] = {}
        while True:
            scenario = self.scenario(material, limits)
            order = plan(scenario, material, self.seed)
            fewer = {}
            for origin in order.origins:
                if isinstance(material, SourceMaterial):
                    X, _ = material.pool(origin, order.needed[origin.word], progress)
                    if len(X) < order.needed[origin.word]:
                        fewer[origin.word] = len(X)
            if not fewer:
                return scenario
            limits |= fewer

    def stream(self, material: Material, progress: Progress = silent) -> Stream:
        """The samples."""
        return compose(self.prepare(material, progress), material, self.seed)

    def _scenario(self, material: Material, length: int, train: int) -> Scenario:
        classes, new = self._names(material)
        effect = self.effect or _usual_effect(material)
        strength = 1.0 if effect == VERY_NOISY else self.strength
        makers: dict[str, list[Callable[..., Drift]]] = {
            "class-change": [partial(ClassChange, new=new)],
            "noise": [partial(Noise, effect=effect, strength=strength)],
            "class-added": [partial(ClassAdded, new=new)],
            "class-removed": [ClassRemoved],
            "labels-swapped": [LabelsSwapped],
            "none": [],
        }
        makers["recurring"] = [*makers["class-change"], Return]
        makers["several"] = [*makers["class-change"], *makers["noise"], LabelsSwapped]
        parts = makers[self.drift]
        first = min(max(1, round(self.at * length)), length - 1)
        starts = [first + (length - first) * i // len(parts) for i in range(len(parts))]
        ends = [*starts[1:], length]
        drifts = [
            part(start, over=int(self.over * (end - start)))
            for part, start, end in zip(parts, starts, ends, strict=False)
        ]
        return Scenario((Concept(classes), *drifts), length, train)

    def _names(self, material: Material) -> tuple[tuple[str, ...], str | None]:
        """The classes to begin with, and the one that comes in if it is named."""
        words = self.words
        if self.data == PACK:
            old, *others = material.classes  # the pack is made for one change: of its first word into its last
            words = (*(old, *others[:-1])[: self.classes], others[-1])
        unknown = [word for word in words if word not in material.classes]
        if unknown:
            raise ConfigError(f"there is no class {unknown[0]!r} in {material.name}")
        named = words[: self.classes]
        new = words[self.classes] if len(words) > self.classes else None
        others = [word for word in material.classes if word not in words]
        rng = np.random.default_rng([self.seed, _CLASSES])
        drawn = rng.permutation(np.array(others, dtype=object))[: self.classes - len(named)].tolist()
        if len(named) + len(drawn) < self.classes:
            raise ConfigError(f"λ = {self.classes} classes are wanted; {material.name} has {len(material.classes)}")
        return (*named, *map(str, drawn)), new

    # -- the learners ------------------------------------------------------------------------------------------------

    def learner_settings(self, name: str) -> dict[str, Any]:
        """All settings of a learner, those of its test's grid included, as plain values."""
        return dict(_learner_settings(self, name))

    def _settings(self, name: str) -> dict[str, Any]:
        allowed = contestant(name).parameters()
        tested = "detector" in allowed
        chosen: dict[str, Any] = {}
        for key, value in self.settings:
            owner, _, setting = key.rpartition(".")
            if owner in ("", name) and (setting in allowed or (tested and setting in GRID)):
                chosen[setting] = value
        grid = {key: chosen.pop(key) for key in GRID if key in chosen}
        return settings_of(name, self.classes * self.train, self.seed, chosen) | grid

    def learner(self, name: str) -> StreamLearner:
        """A learner ready to fit."""
        return contestant(name).factory(**_with_test(name, self.learner_settings(name)))


@lru_cache(maxsize=256)  # a page asks for them a dozen times a run
def _learner_settings(trial: Trial, name: str) -> dict[str, Any]:
    return trial._settings(name)


class _Endless:
    """Data with as many media as anyone asks for, to find out what a scenario would take."""

    def __init__(self, material: Material) -> None:
        self.name, self.kind, self.classes = material.name, material.kind, material.classes
        self.pool, self.medium = material.pool, material.medium

    def count(self, word: str) -> int:
        return sys.maxsize


def _with_test(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with those of the test's grid put into a test."""
    grid = {key: settings.pop(key) for key in GRID if key in settings}
    if not grid:
        return settings
    shared = {key: settings[key] for key in ("threshold", "batch", "warmup")}
    direction = "down" if name == "hybrid" else "both"
    return settings | {"detector": GeneralizedCusum(**shared, direction=direction, **grid)}


def _usual_effect(material: Material) -> str:
    if material.name == "speech":
        return VERY_NOISY
    return {"audio": "white noise", "image": "image noise"}.get(material.kind, VERY_NOISY)


def pack_material(pack: Pack) -> DatasetMaterial:
    """The ready-made pack, the word that changes first and the one that comes in last.

    Its clips are not in it, but speech makes the same ones again where it is installed.
    """
    stay = [word for word in pack.words if word != pack.old]
    words = (pack.old, *stay, pack.new)
    rows = np.concatenate([np.flatnonzero(pack.data.y == word) for word in words])
    try:
        source = open_source("speech", words)
    except DataError:
        source = None
    data = pack.data
    return DatasetMaterial(Dataset("the pack", data.X[rows], data.y[rows], data.index[rows], source))


# -- as a program ----------------------------------------------------------------------------------------------------

_PROGRAM = '''\
"""The run of the Drift lab, with tmlcd_core."""

{imports}

scenario = {scenario}
material = {material}
stream = compose(scenario, material, seed={seed})
learners = {{
{learners}
}}
traces = {{}}
for name, learner in learners.items():
    learner.fit(stream.X0, stream.y0)
    traces[name] = learner.run(stream.X, stream.y)
    print(name, "accuracy", (traces[name].predictions == stream.y).mean(), "alarms", traces[name].detections)
'''


def program(trial: Trial, scenario: Scenario, folder: str | None = None) -> str:
    """A Python program that makes this run. `scenario` is what `prepare` gave; `folder` stands in for a path that
    means nothing elsewhere.
    """
    steps = "".join(f"        {step!r},\n" for step in scenario.steps)
    shown = f"Scenario(\n    (\n{steps}    ),\n    length={scenario.length},\n    train={scenario.train},\n)"
    names = {"Scenario", "compose", *(type(step).__name__ for step in scenario.steps)}
    lines = []
    if trial.data == PACK:
        material = "pack_material(load_pack())"
        lines += ["from tmlcd_core.datasets import load_pack", "from tmlcd_core.experiments.trial import pack_material"]
    else:
        material = f"SourceMaterial({folder or trial.data!r}, scenario.names)"
        names.add("SourceMaterial")
    lines.append(f"from tmlcd_core.experiments import {', '.join(sorted(names))}")
    chosen = [contestant(name) for name in trial.learners]
    for module in {one.module for one in chosen}:
        lines.append(f"from {module} import {', '.join(sorted({c.place for c in chosen if c.module == module}))}")
    models = {name: _call(name, trial.learner_settings(name)) for name in trial.learners}
    if any("GeneralizedCusum" in text for text in models.values()):
        lines.append("from tmlcd_core.drift import GeneralizedCusum")
    learners = "\n".join(f"    {name!r}: {text}," for name, text in models.items())
    imports = "\n".join(sorted(lines))
    return _PROGRAM.format(imports=imports, scenario=shown, material=material, seed=trial.seed, learners=learners)


def _call(name: str, settings: dict[str, Any]) -> str:
    """The expression that makes a learner, with what differs from its defaults."""
    grid = {key: settings.pop(key) for key in GRID if key in settings}
    factory = contestant(name)
    defaults = settings_of(name, 0) | {"max_size": ..., "window": ...}
    changed = {key: value for key, value in settings.items() if value != defaults.get(key, ...)}
    changed = {k: v for k, v in changed.items() if k in factory.parameters()}
    text = [f"{key}={value!r}" for key, value in changed.items()]
    if grid:
        shared = {key: settings[key] for key in ("threshold", "batch", "warmup")}
        test = shared | {"direction": "down" if name == "hybrid" else "both"} | grid
        text.append(f"detector=GeneralizedCusum({', '.join(f'{k}={v!r}' for k, v in test.items())})")
    return f"{factory.place}({', '.join(text)})"
