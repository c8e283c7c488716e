"""Registry of drifts by name, and the scenario of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from tmlcd_core.errors import ConfigError
from tmlcd_core.streams.scenario import (
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
from tmlcd_core.validation import real_number, whole_number

PER_CLASS = 1500  # samples of each class in a stream: 750 before and 750 after a change (paper, Sec. 7.3)


@dataclass(frozen=True)
class DriftDetails:
    """Options of a drift.

    Parameters
    ----------
    new : str or None
        Class that appears; drawn at random if None.
    effect, strength : str, float
        Noise effect and its strength (0..1).
    affected : int
        Number of classes that change or swap their labels; 0 for the default of the drift.
    """

    new: str | None = None
    effect: str = VERY_NOISY
    strength: float = 1.0
    affected: int = 0


DriftPart = Callable[..., Drift]  # returns one drift of a scenario, given `at` and `over`
DriftParts = Sequence[DriftPart | Sequence[DriftPart]]  # in order of time; an inner sequence has one time


@dataclass(frozen=True)
class DriftKind:
    """Entry of the drift registry.

    Parameters
    ----------
    name : str
        Identifier in links and on the command line.
    title : str
        Label in the interface.
    about : str
        One-line description.
    parts : callable
        Function of `DriftDetails` that returns the drifts in order, each as a callable of `at` and `over`, or as a
        list of callables if several take place at the same time. The first one starts where the experiment sets it;
        the others divide the rest of the stream evenly.
    disturbs : bool
        True if it changes the sounds or images themselves, so that it is not available for vectors.
    affects : int
        Number of classes that it affects by default, if `DriftDetails.affected` can change it; 0 otherwise.
    """

    name: str
    title: str
    about: str
    parts: Callable[[DriftDetails], DriftParts]
    disturbs: bool = False
    affects: int = 0


def _class_change(details: DriftDetails) -> list[DriftPart]:
    """Changes of the first classes at the same time; the given new class replaces the first one."""
    others = [partial(ClassChange, place=place) for place in range(1, details.affected)]
    return [partial(ClassChange, new=details.new), *others]


def _labels_swapped(details: DriftDetails) -> list[DriftPart]:
    """Rotation of the first labels, as simultaneous swaps of neighbours; two labels by default."""
    return [partial(LabelsSwapped, place=place) for place in range(max(1, details.affected - 1))]


def _noise(details: DriftDetails) -> DriftPart:
    return partial(Noise, effect=details.effect, strength=details.strength)


DRIFTS: dict[str, DriftKind] = {
    kind.name: kind
    for kind in (
        DriftKind(
            "class-change",
            "A class changes",
            "another class replaces one of the classes, as in the paper",
            lambda details: [_class_change(details)],
            affects=1,
        ),
        DriftKind(
            "noise",
            "Noise sets in",
            "every sample gets noise, like the broken microphone in the paper",
            lambda details: [_noise(details)],
            disturbs=True,
        ),
        DriftKind(
            "class-added",
            "A new class appears",
            "a class is added",
            lambda details: [partial(ClassAdded, new=details.new)],
        ),
        DriftKind("class-removed", "A class disappears", "a class is removed", lambda details: [ClassRemoved]),
        DriftKind(
            "labels-swapped",
            "Two labels swap",
            "two classes exchange their labels",
            lambda details: [_labels_swapped(details)],
            affects=2,
        ),
        DriftKind(
            "recurring",
            "Change and back again",
            "a class changes; later the first concept returns",
            lambda details: [_class_change(details), Return],
            affects=1,
        ),
        DriftKind(
            "several",
            "Three drifts in a row",
            "a class changes, then noise starts, then two labels swap",
            lambda details: [_class_change(details), _noise(details), LabelsSwapped],
            disturbs=True,
        ),
        DriftKind("none", "Nothing changes", "the stream has no drift", lambda details: []),
    )
}


def register_drift(kind: DriftKind) -> DriftKind:
    """Register a drift by its name for the Drift lab, the command line and Python; return it.

    Examples
    --------
    >>> def parts(details):
    ...     return [LabelsSwapped, LabelsSwapped]
    >>> kind = register_drift(DriftKind("twice", "Two swaps", "two labels swap, and back again", parts))
    >>> make_scenario("twice", per_class=100).changes
    (100, 150)
    >>> del DRIFTS["twice"]
    """
    DRIFTS[kind.name] = kind
    return kind


def drift_kind(name: str) -> DriftKind:
    """Return the drift of this name; a `ConfigError` lists the known names."""
    if name not in DRIFTS:
        raise ConfigError(f"there is no drift {name!r}; there are {', '.join(DRIFTS)}")
    return DRIFTS[name]


def check_affected(kind: DriftKind, affected: int, classes: int) -> None:
    """Raise a `ConfigError` unless a drift of this kind can affect so many of the classes; 0 is its default."""
    if affected and not kind.affects <= affected <= classes:
        raise ConfigError(
            f"the drift {kind.name!r} cannot affect {affected} of {classes} classes; "
            f"choose {kind.affects} to {classes}",
            remedy={"affected": min(max(affected, kind.affects), classes)},
        )


def make_scenario(
    drift: str,
    classes: int | Sequence[str] = 2,
    per_class: int = PER_CLASS,
    train: int = TRAIN,
    *,
    at: float = 0.5,
    over: float = 0.0,
    words: Sequence[str] = (),
    details: DriftDetails | None = None,
) -> Scenario:
    """Return the `Scenario` of a drift by name.

    Parameters
    ----------
    drift : str
        A name of `DRIFTS`.
    classes : int, or sequence of str
        Number of initial classes (λ), or their names.
    per_class : int
        Stream samples per initial class: the stream has `per_class` times λ samples.
    train : int
        Initial training samples per class.
    at : float
        Start of the drift, as a fraction of the stream.
    over : float
        Length of the drift, as a fraction of the stream up to the next drift; 0 is abrupt.
    words : sequence of str
        Names of the first classes, if `classes` is a number.
    details : DriftDetails
        The class that appears and the noise; by default a random class and the default noise.

    Examples
    --------
    >>> scenario = make_scenario("class-change", classes=3)
    >>> scenario.length, scenario.changes
    (4500, (2250,))
    >>> make_scenario("class-change", classes=3, details=DriftDetails(affected=2)).classes_needed
    5
    """
    kind, details = drift_kind(drift), details or DriftDetails()
    start = Concept(classes, tuple(words))  # type: ignore[arg-type]
    check_affected(kind, details.affected, start.size)
    length = whole_number("per_class", per_class, 1) * start.size
    first = min(max(1, round(real_number("at", at, 0.0, 1.0) * length)), length - 1)
    steps = _spread(kind.parts(details), first, length, real_number("over", over, 0.0, 1.0))
    return Scenario((start, *steps), length, train)


def add_drift(
    scenario: Scenario, drift: str, at: int, length: int | None = None, details: DriftDetails | None = None
) -> Scenario:
    """Return the `Scenario` in which a drift happens at sample `at` of a stream that has run until there.

    The samples before it stay as they are: `compose` gives the same ones. Drifts that had not begun do not happen; a
    gradual one that had begun is over. The new drift is abrupt.

    Parameters
    ----------
    scenario : Scenario
        Scenario of the stream so far, with its classes drawn.
    drift : str
        A name of `DRIFTS`.
    at : int
        Index of the first sample after the change.
    length : int or None
        Number of samples of the new stream; that of `scenario` if None.
    details : DriftDetails
        As in `make_scenario`.

    Examples
    --------
    >>> scenario = make_scenario("class-change", ("yes", "no")).complete(("yes", "no", "up"), seed=0)
    >>> add_drift(scenario, "labels-swapped", 400).changes, add_drift(scenario, "labels-swapped", 2000).changes
    ((400,), (1500, 2000))
    """
    length = scenario.length if length is None else length
    if not 0 < at < length:
        raise ConfigError(
            f"the drift {drift!r} at sample {at} lies outside the stream; choose a sample from 1 to {length - 1}"
        )
    begun = [replace(one, over=min(one.over, at - one.at)) for one in scenario.drifts if one.at < at]
    steps = _spread(drift_kind(drift).parts(details or DriftDetails()), at, length)
    return Scenario((scenario.start, *begun, *steps), length, scenario.train, past=scenario, kept=at)


def _spread(parts: DriftParts, first: int, length: int, lasts: float = 0.0) -> list[Drift]:
    """The parts of a drift, spread evenly from sample `first` on, each over the fraction `lasts` of its time."""
    bounds = [first + (length - first) * i // max(len(parts), 1) for i in range(len(parts) + 1)]
    return [
        one(begin, over=int(lasts * (end - begin)))
        for part, (begin, end) in zip(parts, pairwise(bounds), strict=False)
        for one in (part if isinstance(part, Sequence) else [part])
    ]
