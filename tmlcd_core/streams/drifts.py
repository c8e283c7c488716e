"""The drifts that experiments offer by name, and how to add one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    """What a drift may need to know: the class that appears, and the noise. None or "" is drawn or usual."""

    new: str | None = None
    effect: str = VERY_NOISY
    strength: float = 1.0


Part = Callable[..., Drift]  # makes one step of a scenario from `at` and `over`


@dataclass(frozen=True)
class DriftKind:
    """A drift by name.

    Parameters
    ----------
    name : str
        For links and the command line.
    title : str
        For people.
    about : str
        What happens, in one line.
    parts : callable
        Given `DriftDetails`, the steps of the scenario, each a callable of `at` and `over`. The first happens when the
        experiment says; the others divide the rest of the stream evenly.
    disturbs : bool
        Whether it changes the sound or the picture itself, so that vectors cannot have it.
    """

    name: str
    title: str
    about: str
    parts: Callable[[DriftDetails], Sequence[Part]]
    disturbs: bool = False


def _class_change(details: DriftDetails) -> Part:
    return partial(ClassChange, new=details.new)


def _noise(details: DriftDetails) -> Part:
    return partial(Noise, effect=details.effect, strength=details.strength)


DRIFTS: dict[str, DriftKind] = {
    kind.name: kind
    for kind in (
        DriftKind(
            "class-change",
            "A class changes",
            "another class takes the place of one: the paper's change",
            lambda details: [_class_change(details)],
        ),
        DriftKind(
            "noise",
            "Noise sets in",
            "every sample is disturbed: the paper's failing microphone",
            lambda details: [_noise(details)],
            disturbs=True,
        ),
        DriftKind(
            "class-added",
            "A new class appears",
            "one class more",
            lambda details: [partial(ClassAdded, new=details.new)],
        ),
        DriftKind("class-removed", "A class disappears", "one class less", lambda details: [ClassRemoved]),
        DriftKind("labels-swapped", "Two labels swap", "two labels change places", lambda details: [LabelsSwapped]),
        DriftKind(
            "recurring",
            "Change and back again",
            "a class changes, and later the first concept returns",
            lambda details: [_class_change(details), Return],
        ),
        DriftKind(
            "several",
            "Three drifts in a row",
            "a class changes, then noise sets in, then two labels swap",
            lambda details: [_class_change(details), _noise(details), LabelsSwapped],
            disturbs=True,
        ),
        DriftKind("none", "Nothing changes", "the stream stays as it begins", lambda details: []),
    )
}


def register_drift(kind: DriftKind) -> DriftKind:
    """Offer a drift to the lab, the command line and Python under its name; returns it.

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
    """The drift of this name; a `ConfigError` lists those that there are."""
    if name not in DRIFTS:
        raise ConfigError(f"there is no drift {name!r}; there are {', '.join(DRIFTS)}")
    return DRIFTS[name]


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
    """The scenario of a drift by name.

    Parameters
    ----------
    drift : str
        A name of `DRIFTS`.
    classes : int, or sequence of str
        How many to begin with, or which.
    per_class : int
        Samples of the stream for each class to begin with: it has `per_class` times as many samples as classes.
    train : int
        Initial samples of each class.
    at : float
        When the drift begins, as a share of the stream.
    over : float
        How long it lasts, as a share of what follows; 0 is abrupt.
    words : sequence of str
        Names of the first classes, where `classes` is a number.
    details : DriftDetails
        The class that appears and the noise, unless they are left to chance and custom.

    Examples
    --------
    >>> scenario = make_scenario("class-change", classes=3)
    >>> scenario.length, scenario.changes
    (4500, (2250,))
    """
    parts = drift_kind(drift).parts(details or DriftDetails())
    start = Concept(classes, tuple(words))  # type: ignore[arg-type]
    length = whole_number("per_class", per_class, 1) * start.size
    first = min(max(1, round(real_number("at", at, 0.0, 1.0) * length)), length - 1)
    bounds = [first + (length - first) * i // max(len(parts), 1) for i in range(len(parts) + 1)]
    lasts = real_number("over", over, 0.0, 1.0)
    steps = [
        part(begin, over=int(lasts * (end - begin)))
        for part, (begin, end) in zip(parts, pairwise(bounds), strict=False)
    ]
    return Scenario((start, *steps), length, train)
