"""A scenario is data: what the stream begins with, and one drift after the other, in one list.

A concept says, for each label, where its samples come from: which class of the data (a word, a kind of image) and what
disturbs it. A drift makes a new concept out of an old one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from tmlcd_core.errors import ConfigError
from tmlcd_core.streams.draws import CLASSES, Draws
from tmlcd_core.validation import real_number, whole_number

TRAIN = 100  # samples per class to begin with (paper, Sec. 7.3)
VERY_NOISY = "very noisy"  # the noisy variant of the speech commands, the paper's second drift
NO_EFFECT = ""
LABELS = ("old", "first", "second")  # what of a drift names a label that is there before it


@dataclass(frozen=True)
class Origin:
    """Where the samples of one label come from: a class of the data, and what disturbs it, if anything."""

    word: str
    effect: str = NO_EFFECT
    strength: float = 0.0


Origins = dict[str, Origin]  # one concept: each label's origin


@dataclass(frozen=True)
class Concept:
    """What the stream begins with.

    Parameters
    ----------
    classes : tuple of str, or int
        Their names, or how many are to be drawn by the seed of each run.
    named : tuple of str
        The first of those that are drawn, where only some are named.
    """

    classes: tuple[str, ...] | int = 2
    named: tuple[str, ...] = ()

    kind: ClassVar[str] = "concept"

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", tuple(self.named))
        if isinstance(self.classes, str) or not np.iterable(self.classes):
            object.__setattr__(self, "classes", whole_number("classes", self.classes, 2))
            if len(set(self.named)) != len(self.named) or len(self.named) > self.classes:
                raise ConfigError(f"{self.classes} classes, of which {list(self.named)} are named; name each once")
            return
        object.__setattr__(self, "classes", tuple(self.classes))
        if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
            raise ConfigError(f"classes={list(self.classes)}; name at least two, and none twice")

    @property
    def size(self) -> int:
        return self.classes if isinstance(self.classes, int) else len(self.classes)


STEPS: dict[str, type[Concept] | type[Drift]] = {Concept.kind: Concept}


@dataclass(frozen=True)
class Drift:
    """What changes, and when.

    Parameters
    ----------
    at
        Index of the first sample of the new concept.
    over
        Over this many samples the probability that a sample is of the new concept grows from 0 to 1; 0 is abrupt.
    """

    at: int
    over: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "drift"
    brings: ClassVar[int] = 0  # classes of the data that it takes besides those that are there

    def __init_subclass__(cls) -> None:
        STEPS[cls.kind] = cls  # a drift of one's own can be read from JSON too

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", whole_number("at", self.at, 1))
        object.__setattr__(self, "over", whole_number("over", self.over, 0))
        for name in self.named():
            if not isinstance(name, str):
                raise ConfigError(f"{_told(self)} is about {name!r}; classes are named by text")

    def named(self, roles: Sequence[str] = (*LABELS, "new")) -> list[str]:
        """The names given to these roles; not those that are left open."""
        found = [getattr(self, role, None) for role in roles]
        return [name for name in found if name]

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        """The new concept; `concepts` are all before it, the last one being replaced."""
        raise NotImplementedError

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        """The same drift with the names that were left open filled in, new ones taken from `spare`."""
        return self


@dataclass(frozen=True)
class ClassChange(Drift):
    """Another class takes the place, and the label, of one of the classes: the paper's "one class changes".

    Parameters
    ----------
    old, new
        A label of the concept, and a class of the data; the first label, and a drawn class, unless given.
    """

    old: str | None = None
    new: str | None = None

    kind = "class-change"
    brings = 1

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        return replace(self, old=self.old or names[0], new=self.new or _draw(spare, self, names))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept = concepts[-1]
        changed = replace(_of(concept, self.old, self), word=str(self.new))
        _refuse_again(concept, changed.word, self)
        return {**concept, self.old: changed}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Noise(Drift):
    """From now on every sample is disturbed: a microphone or a camera fails.

    Parameters
    ----------
    effect
        "very noisy", the noisy variant of the speech commands as in the paper, or a name of
        `tmlcd_core.features.EFFECTS`.
    strength
        From 0 (as before) to 1 (fully).
    """

    effect: str = VERY_NOISY
    strength: float = 1.0

    kind = "noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        real_number("strength", self.strength, 0.0, 1.0)
        from tmlcd_core.features import EFFECTS

        if self.effect != VERY_NOISY and self.effect not in EFFECTS:
            raise ConfigError(f"effect={self.effect!r} is not known: choose {VERY_NOISY}, {', '.join(EFFECTS)}")

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        effect, strength = (self.effect, float(self.strength)) if self.strength > 0 else (NO_EFFECT, 0.0)
        return {label: Origin(origin.word, effect, strength) for label, origin in concepts[-1].items()}


@dataclass(frozen=True)
class ClassAdded(Drift):
    """A label that was never there; a drawn class unless `new` is given."""

    new: str | None = None

    kind = "class-added"
    brings = 1

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        return replace(self, new=self.new or _draw(spare, self, names))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept, new = concepts[-1], str(self.new)
        if new in concept:
            raise ConfigError(f"{_told(self)} adds {new!r}, which is there already")
        _refuse_again(concept, new, self)
        first = next(iter(concept.values()))  # what disturbs the others disturbs the new one
        return {**concept, new: replace(first, word=new)}


@dataclass(frozen=True)
class ClassRemoved(Drift):
    """A label that does not come any more; the first one unless `old` is given."""

    old: str | None = None

    kind = "class-removed"

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        return replace(self, old=self.old or names[0])

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept = concepts[-1]
        _of(concept, self.old, self)
        if len(concept) < 3:
            raise ConfigError(
                f"the drift {self.kind!r} needs at least 3 classes; there are {len(concept)}", remedy={"classes": 3}
            )
        return {label: origin for label, origin in concept.items() if label != self.old}


@dataclass(frozen=True)
class LabelsSwapped(Drift):
    """Two labels change places: what was called one is now called the other. The first two unless given."""

    first: str | None = None
    second: str | None = None

    kind = "labels-swapped"

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        first = self.first or next(name for name in names if name != self.second)
        return replace(self, first=first, second=self.second or next(name for name in names if name != first))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept = concepts[-1]
        one, other = _of(concept, self.first, self), _of(concept, self.second, self)
        if self.first == self.second:
            raise ConfigError(f"{_told(self)} swaps {self.first!r} with itself; name two labels")
        return {**concept, self.first: other, self.second: one}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Return(Drift):
    """An earlier concept comes back: concept number `to`, 0 being what the stream began with."""

    to: int = 0

    kind = "return"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", whole_number("to", self.to, 0))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        if self.to >= len(concepts):
            raise ConfigError(f"{_told(self)} goes back to concept {self.to}; there are 0 to {len(concepts) - 1}")
        return dict(concepts[self.to])


ScenarioStep = Concept | Drift


@dataclass(frozen=True)
class Scenario:
    """A stream in words: what it begins with, its drifts in the order of time, and how long it is.

    Parameters
    ----------
    steps
        A `Concept`, then drifts.
    length
        Samples of the stream.
    train
        Samples per class to begin with.

    Examples
    --------
    >>> scenario = Scenario([Concept(("yes", "no")), ClassChange(1500, "yes", "up"), Noise(3000)], length=4500)
    >>> scenario.concepts()[1]["yes"].word, scenario.changes
    ('up', (1500, 3000))
    >>> Scenario.from_json(scenario.to_json()) == scenario
    True
    >>> Scenario([Concept(2), ClassChange(1500)], 3000).complete(["yes", "no", "up"], seed=1).names
    ('up', 'yes', 'no')
    """

    steps: tuple[ScenarioStep, ...]
    length: int
    train: int = TRAIN

    def __post_init__(self) -> None:
        steps = tuple(self.steps)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "length", whole_number("length", self.length, 1))
        object.__setattr__(self, "train", whole_number("train", self.train, 1))
        if not steps or not isinstance(steps[0], Concept) or not all(isinstance(s, Drift) for s in steps[1:]):
            raise ConfigError("a scenario is a Concept and then drifts, such as [Concept(2), ClassChange(at=1500)]")
        for number, drift in enumerate(self.drifts):
            after = self.drifts[number + 1] if number + 1 < len(self.drifts) else None
            if drift.at >= self.length:
                raise ConfigError(f"{_told(drift)} comes after the end: the stream has {self.length} samples")
            if after is not None and after.at < drift.at:
                raise ConfigError(f"{_told(after)} comes before {_told(drift)}: list the drifts in the order of time")
            end = self.length if after is None else after.at
            if drift.at + drift.over > end:
                raise ConfigError(f"{_told(drift)} takes {drift.over} samples, but ends at sample {end} at the latest")
        if isinstance(self.start.classes, tuple) and not self.is_open:
            self.concepts()

    @property
    def start(self) -> Concept:
        return self.steps[0]  # type: ignore[return-value]

    @property
    def drifts(self) -> tuple[Drift, ...]:
        return self.steps[1:]  # type: ignore[return-value]

    @property
    def changes(self) -> tuple[int, ...]:
        """Where new concepts begin; drifts at the same time are one change."""
        return tuple(sorted({drift.at for drift in self.drifts}))

    @property
    def ends(self) -> tuple[int, ...]:
        """For each change, from where on the new concept is alone."""
        return tuple(max(d.at + d.over for d in self.drifts if d.at == at) for at in self.changes)

    @property
    def classes_needed(self) -> int:
        """How many classes of the data a run takes."""
        return self.start.size + sum(drift.brings for drift in self.drifts)

    @property
    def is_open(self) -> bool:
        """Whether a run has names to draw."""
        return isinstance(self.start.classes, int) or any(
            value is None for drift in self.drifts for value in vars(drift).values()
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every class that is named, labels and classes of the data alike."""
        found = list(self.start.classes if isinstance(self.start.classes, tuple) else self.start.named)
        for drift in self.drifts:
            found += drift.named()
        return tuple(dict.fromkeys(found))

    def complete(self, available: Sequence[str], seed: int, drawn_from: Sequence[str] | None = None) -> Scenario:
        """The scenario of one run, with the names that were left open.

        They are drawn from `drawn_from`, which is a part of `available`, all of it unless given.
        """
        unknown = [name for name in self.names if name not in available]
        if unknown:
            raise ConfigError(f"there is no class {unknown[0]!r}; there are {_listed(available)}")
        shuffled = Draws(seed, CLASSES).shuffled(list(available if drawn_from is None else drawn_from))
        spare = [name for name in shuffled if name not in self.names]
        classes = self.start.classes
        if isinstance(classes, int):
            kept: list[str] = list(self.start.named)
            added: set[str | None] = set()
            for drift in self.drifts:
                kept += [name for name in drift.named(LABELS) if name not in added and name not in kept]
                if isinstance(drift, ClassAdded):
                    added.add(drift.new)
            if classes - len(kept) > len(spare):
                fewer = len(available) - sum(drift.brings for drift in self.drifts)
                raise ConfigError(
                    f"{classes} classes are wanted; the data have {len(available)}: {_listed(available)}",
                    remedy={"classes": fewer} if fewer >= 2 else None,
                )
            while len(kept) < classes:
                kept.append(spare.pop(0))
            classes = tuple(kept[:classes])
        concepts, drifts = [_first_concept(classes)], []
        for drift in self.drifts:
            drifts.append(drift.complete(list(concepts[-1]), spare))
            concepts.append(drifts[-1].apply(concepts))
        return replace(self, steps=(Concept(classes), *drifts))

    def concepts(self) -> list[Origins]:
        """The concepts, one after the other; the drifts must have their names."""
        if isinstance(self.start.classes, int) or self.is_open:
            raise ConfigError("this scenario leaves names open: complete(available, seed) draws them")
        concepts = [_first_concept(self.start.classes)]
        for drift in self.drifts:
            concepts.append(drift.apply(concepts))
        return concepts

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file or a link."""
        steps = [{"kind": step.kind, **asdict(step)} for step in self.steps]
        return json.loads(json.dumps({"steps": steps, "length": self.length, "train": self.train}))

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str) -> Scenario:
        """The scenario that `to_json` gave; a `ConfigError` says what is wrong with any other."""
        try:
            found = json.loads(data) if isinstance(data, str) else data
            steps = [_step(step) for step in found["steps"]]
            return cls(tuple(steps), found["length"], found.get("train", TRAIN))
        except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
            raise ConfigError(f"this is not a scenario ({type(error).__name__}: {error})") from error


def _first_concept(classes: Sequence[str]) -> Origins:
    return {name: Origin(name) for name in classes}


def _step(data: Mapping[str, Any]) -> ScenarioStep:
    values = dict(data)
    name = values.pop("kind")
    if name not in STEPS:
        raise ConfigError(f"there is no step {name!r}; there are {', '.join(STEPS)}")
    kind = STEPS[name]
    allowed = {f.name for f in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is MISSING}
    if unknown := set(values) - allowed:
        raise ConfigError(f"a step {name!r} has no {sorted(unknown)[0]!r}; it has {', '.join(sorted(allowed))}")
    if missing := needed - set(values):
        raise ConfigError(f"a step {name!r} needs {sorted(missing)[0]!r}")
    for name in ("classes", "named"):
        if isinstance(values.get(name), list):
            values[name] = tuple(values[name])
    return kind(**values)


def _of(concept: Origins, label: str | None, drift: Drift) -> Origin:
    if label not in concept:
        raise ConfigError(f"{_told(drift)} is about {label!r}; the labels then are {_listed(concept)}")
    return concept[label]


def _refuse_again(concept: Origins, word: str, drift: Drift) -> None:
    """Nobody could tell two labels of one class of the data apart."""
    for label, origin in concept.items():
        if origin.word == word:
            raise ConfigError(f"{_told(drift)} brings in {word!r}, which the label {label!r} has already")


def _draw(spare: list[str], drift: Drift, names: Sequence[str]) -> str:
    if not spare:
        fewer = {"classes": len(names) - 1} if len(names) > 2 else None
        raise ConfigError(
            f"the drift {drift.kind!r} needs a class more than the data have; take fewer classes or another drift",
            remedy=fewer,
        )
    return spare.pop(0)


def _told(drift: Drift) -> str:
    return f"the drift {drift.kind!r} at sample {drift.at}"


def _listed(names: Sequence[str] | Mapping[str, Any], most: int = 40) -> str:
    shown = list(names)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
