"""Scenario of a stream: the initial concept and a list of drifts, convertible to JSON.

A concept maps each label to the origin of its samples: a class of the data (a word, a kind of image) and an effect such
as noise. A drift turns one concept into the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from tmlcd_core.draws import CLASSES, Draws
from tmlcd_core.errors import ConfigError
from tmlcd_core.validation import real_number, whole_number

TRAIN = 100  # initial samples per class (paper, Sec. 7.3)
VERY_NOISY = "very noisy"  # the noisy variant of the speech commands, the paper's second drift
NO_EFFECT = ""
LABELS = ("old", "first", "second")  # fields of a drift that name an existing label


@dataclass(frozen=True)
class Origin:
    """Origin of the samples of a label: a class of the data, and an optional effect with its strength (0..1)."""

    word: str
    effect: str = NO_EFFECT
    strength: float = 0.0


Origins = dict[str, Origin]  # one concept: label to origin


@dataclass(frozen=True)
class Concept:
    """Initial concept of a stream.

    Parameters
    ----------
    classes : tuple of str, or int
        Names of the classes, or their number if they are drawn at random in each run.
    named : tuple of str
        Names of the first classes, if `classes` is a number; the others are drawn.
    """

    classes: tuple[str, ...] | int = 2
    named: tuple[str, ...] = ()

    kind: ClassVar[str] = "concept"

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", tuple(self.named))
        if isinstance(self.classes, str) or not np.iterable(self.classes):
            object.__setattr__(self, "classes", whole_number("classes", self.classes, 2))
            if len(set(self.named)) != len(self.named) or len(self.named) > self.classes:
                raise ConfigError(
                    f"{self.classes} classes named {list(self.named)}; give at most {self.classes} different names"
                )
            return
        object.__setattr__(self, "classes", tuple(self.classes))
        if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
            raise ConfigError(f"classes={list(self.classes)}; give at least two different names")

    @property
    def size(self) -> int:
        """Number of classes."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)


STEPS: dict[str, type[Concept] | type[Drift]] = {Concept.kind: Concept}


@dataclass(frozen=True)
class Drift:
    """Base class of drifts: a change from one concept to the next.

    Parameters
    ----------
    at : int
        Index of the first sample of the new concept.
    over : int
        Number of samples over which the probability of the new concept grows from 0 to 1; 0 is abrupt.
    """

    at: int
    over: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "drift"
    brings: ClassVar[int] = 0  # number of new classes that the drift needs

    def __init_subclass__(cls) -> None:
        STEPS[cls.kind] = cls  # makes custom drifts readable from JSON

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", whole_number("at", self.at, 1))
        object.__setattr__(self, "over", whole_number("over", self.over, 0))
        for name in self.named():
            if not isinstance(name, str):
                raise ConfigError(f"{_told(self)} has the class name {name!r}; give a string")

    def named(self, roles: Sequence[str] = (*LABELS, "new")) -> list[str]:
        """Return the class names in these fields, without those that are None."""
        found = [getattr(self, role, None) for role in roles]
        return [name for name in found if name]

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        """Return the new concept (label to `Origin`), given all concepts before it."""
        raise NotImplementedError

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        """Return the drift with all class names filled in.

        `names` are the labels before the drift; new classes are removed from the list `spare`.
        """
        return self


@dataclass(frozen=True)
class ClassChange(Drift):
    """Drift that replaces the samples of one label by those of another class: "one class changes" in the paper.

    Parameters
    ----------
    old : str or None
        Label that changes; the one at `place` if None.
    new : str or None
        Class of the data that appears; drawn at random if None.
    place : int
        Position of the label that changes, counted from 0, if `old` is None.
    """

    old: str | None = None
    new: str | None = None
    place: int = field(default=0, kw_only=True)

    kind = "class-change"
    brings = 1

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        return replace(self, old=self.old or _from_place(names, self)[0], new=self.new or _draw(spare, self, names))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept = concepts[-1]
        changed = replace(_of(concept, self.old, self), word=str(self.new))
        _refuse_again(concept, changed.word, self)
        return {**concept, self.old: changed}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Noise(Drift):
    """Drift that applies an effect to every sample, like a broken microphone or camera.

    Parameters
    ----------
    effect : str
        "very noisy", the noisy variant of the speech commands used in the paper, or a name of
        `tmlcd_core.features.EFFECTS`.
    strength : float
        Strength of the effect, from 0 (none) to 1 (full).
    """

    effect: str = VERY_NOISY
    strength: float = 1.0

    kind = "noise"

    def __post_init__(self) -> None:
        super().__post_init__()
        real_number("strength", self.strength, 0.0, 1.0)
        from tmlcd_core.features import EFFECTS

        if self.effect != VERY_NOISY and self.effect not in EFFECTS:
            raise ConfigError(f"effect={self.effect!r} is unknown: choose {VERY_NOISY}, {', '.join(EFFECTS)}")

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        effect, strength = (self.effect, float(self.strength)) if self.strength > 0 else (NO_EFFECT, 0.0)
        return {label: Origin(origin.word, effect, strength) for label, origin in concepts[-1].items()}


@dataclass(frozen=True)
class ClassAdded(Drift):
    """Drift that adds the class `new`; a class drawn at random if None."""

    new: str | None = None

    kind = "class-added"
    brings = 1

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        return replace(self, new=self.new or _draw(spare, self, names))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept, new = concepts[-1], str(self.new)
        if new in concept:
            raise ConfigError(f"{_told(self)} adds {new!r}, which already exists: choose another class")
        _refuse_again(concept, new, self)
        first = next(iter(concept.values()))  # the new class gets the same effect as the others
        return {**concept, new: replace(first, word=new)}


@dataclass(frozen=True)
class ClassRemoved(Drift):
    """Drift that removes the label `old`; the first one if None."""

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
    """Drift that swaps the labels `first` and `second`; if None, the labels at `place` and after it.

    Simultaneous swaps at the places 0, 1, …, m - 2 rotate the first m labels.
    """

    first: str | None = None
    second: str | None = None
    place: int = field(default=0, kw_only=True)

    kind = "labels-swapped"

    def complete(self, names: Sequence[str], spare: list[str]) -> Self:
        later = names if self.first or self.second else _from_place(names, self)
        first = self.first or next(name for name in later if name != self.second)
        return replace(self, first=first, second=self.second or next(name for name in later if name != first))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        concept = concepts[-1]
        one, other = _of(concept, self.first, self), _of(concept, self.second, self)
        if self.first == self.second:
            raise ConfigError(f"{_told(self)} swaps {self.first!r} with itself; name two labels")
        return {**concept, self.first: other, self.second: one}  # type: ignore[dict-item]


@dataclass(frozen=True)
class Return(Drift):
    """Drift back to an earlier concept: number `to`, where 0 is the initial concept."""

    to: int = 0

    kind = "return"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "to", whole_number("to", self.to, 0))

    def apply(self, concepts: Sequence[Origins]) -> Origins:
        if self.to >= len(concepts):
            raise ConfigError(f"{_told(self)} returns to concept {self.to}; choose 0..{len(concepts) - 1}")
        return dict(concepts[self.to])


ScenarioStep = Concept | Drift


@dataclass(frozen=True)
class Scenario:
    """Description of a stream: initial concept, drifts in the order of time, and length.

    Parameters
    ----------
    steps : sequence of Concept and Drift
        One `Concept`, followed by drifts.
    length : int
        Number of samples of the stream.
    train : int
        Initial training samples per class.
    recorded : int
        Number of initial samples of a recorded stream, whose samples keep their order and whose changes are unknown;
        0 for a composed stream.
    past, kept : Scenario or None, int
        Scenario whose initial samples and first `kept` samples this one repeats: its drifts from there on came later
        (`add_drift`). It has no open class names.

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
    recorded: int = 0
    past: Scenario | None = None
    kept: int = 0

    def __post_init__(self) -> None:
        steps = tuple(self.steps)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "length", whole_number("length", self.length, 1))
        object.__setattr__(self, "train", whole_number("train", self.train, 1))
        object.__setattr__(self, "recorded", whole_number("recorded", self.recorded, 0))
        if not steps or not isinstance(steps[0], Concept) or not all(isinstance(s, Drift) for s in steps[1:]):
            raise ConfigError("a scenario is a Concept followed by drifts, such as [Concept(2), ClassChange(at=1500)]")
        for number, drift in enumerate(self.drifts):
            after = self.drifts[number + 1] if number + 1 < len(self.drifts) else None
            if drift.at >= self.length:
                raise ConfigError(
                    f"{_told(drift)} lies after the end of the stream; choose a sample below {self.length}"
                )
            if after is not None and after.at < drift.at:
                raise ConfigError(f"{_told(after)} starts before {_told(drift)}: list the drifts in the order of time")
            if after is not None and (after.at, after.over) == (drift.at, drift.over):
                continue  # one change: checked with the last of them
            end = self.length if after is None else after.at
            if drift.at + drift.over > end:
                raise ConfigError(f"{_told(drift)} lasts {drift.over} samples; it must end at sample {end} or earlier")
        if isinstance(self.start.classes, tuple) and not self.is_open:
            self.concepts()
        if self.past is not None:
            self._check_past(self.past)

    def _check_past(self, past: Scenario) -> None:
        whole_number("kept", self.kept, 1, min(self.length, past.length))
        if past.is_open or (past.start, past.train) != (self.start, self.train):
            raise ConfigError("the past of a scenario has the same initial classes and samples, and no open class name")

    @property
    def history(self) -> tuple[Scenario, ...]:
        """This scenario, its past, the past of that one, and so on."""
        return (self, *(self.past.history if self.past is not None else ()))

    @property
    def start(self) -> Concept:
        """Initial concept."""
        return self.steps[0]  # type: ignore[return-value]

    @property
    def drifts(self) -> tuple[Drift, ...]:
        """Drifts in the order of time."""
        return self.steps[1:]  # type: ignore[return-value]

    @property
    def changes(self) -> tuple[int, ...]:
        """Indices of the first sample of each new concept; simultaneous drifts count as one change."""
        return tuple(sorted({drift.at for drift in self.drifts}))

    @property
    def ends(self) -> tuple[int, ...]:
        """Index after the last sample of each change: from there on all samples come from the new concept."""
        return tuple(max(d.at + d.over for d in self.drifts if d.at == at) for at in self.changes)

    @property
    def known_changes(self) -> tuple[int, ...] | None:
        """`changes`, or None for a recorded stream, whose changes nobody knows."""
        return None if self.recorded else self.changes

    @property
    def initial(self) -> int:
        """Number of initial training samples of all classes."""
        return self.recorded or self.train * self.start.size

    @property
    def classes_needed(self) -> int:
        """Number of classes of the data that a run needs."""
        return self.start.size + sum(drift.brings for drift in self.drifts)

    @property
    def is_open(self) -> bool:
        """True if some class names are still to be drawn."""
        return isinstance(self.start.classes, int) or any(
            value is None for drift in self.drifts for value in vars(drift).values()
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All class names in the scenario, without repetition: labels and classes of the data."""
        found = list(self.start.classes if isinstance(self.start.classes, tuple) else self.start.named)
        for drift in self.drifts:
            found += drift.named()
        return tuple(dict.fromkeys(found))

    def complete(self, available: Sequence[str], seed: int, drawn_from: Sequence[str] | None = None) -> Scenario:
        """Return the scenario of one run, with all open class names drawn at random.

        Parameters
        ----------
        available : sequence of str
            All classes of the data.
        seed : int
            Seed of the draw.
        drawn_from : sequence of str or None
            Subset of `available` from which open names are drawn; all of it if None.
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
                    f"{classes} classes were requested; the data have {len(available)}: {_listed(available)}",
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
        """Return the concepts in the order of time, each a dict from label to `Origin`; all names must be drawn."""
        if isinstance(self.start.classes, int) or self.is_open:
            raise ConfigError("this scenario has open class names: draw them with complete(available, seed)")
        concepts = [_first_concept(self.start.classes)]
        for drift in self.drifts:
            concepts.append(drift.apply(concepts))
        return concepts

    def to_json(self) -> dict[str, Any]:
        """Return the scenario as a dict of JSON values."""
        steps = [{"kind": step.kind, **asdict(step)} for step in self.steps]
        more: dict[str, Any] = {"recorded": self.recorded} if self.recorded else {}
        if self.past is not None:
            more |= {"past": self.past.to_json(), "kept": self.kept}
        return json.loads(json.dumps({"steps": steps, "length": self.length, "train": self.train, **more}))

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | str) -> Scenario:
        """Return the scenario of a dict or JSON text made by `to_json`; anything else is a `ConfigError`."""
        try:
            found = json.loads(data) if isinstance(data, str) else data
            steps = [_step(step) for step in found["steps"]]
            past = cls.from_json(found["past"]) if found.get("past") else None
            sizes = found["length"], found.get("train", TRAIN), found.get("recorded", 0)
            return cls(tuple(steps), *sizes, past, found.get("kept", 0))
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
        raise ConfigError(f"{_told(drift)} names the label {label!r}; choose from {_listed(concept)}")
    return concept[label]


def _refuse_again(concept: Origins, word: str, drift: Drift) -> None:
    """Refuse a class that already has a label: two labels of the same class cannot be distinguished."""
    for label, origin in concept.items():
        if origin.word == word:
            raise ConfigError(
                f"{_told(drift)} adds the class {word!r}, which already has the label {label!r}: choose another class"
            )


def _draw(spare: list[str], drift: Drift, names: Sequence[str]) -> str:
    if not spare:
        fewer = {"classes": len(names) - 1} if len(names) > 2 else None
        raise ConfigError(
            f"the drift {drift.kind!r} needs one more class than the data have; use fewer classes or another drift",
            remedy=fewer,
        )
    return spare.pop(0)


def _from_place(names: Sequence[str], drift: ClassChange | LabelsSwapped) -> Sequence[str]:
    """The labels from the drift's `place` on: at least one to change, or two to swap."""
    last = len(names) - (2 if isinstance(drift, LabelsSwapped) else 1)
    return names[whole_number("place", drift.place, 0, last) :]


def _told(drift: Drift) -> str:
    return f"the drift {drift.kind!r} at sample {drift.at}"


def _listed(names: Sequence[str] | Mapping[str, Any], most: int = 40) -> str:
    shown = list(names)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
