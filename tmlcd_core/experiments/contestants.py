"""Learners by name, with the settings that the paper's experiments give them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tmlcd_core.errors import ConfigError

Settings = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A learner that `run` and the app offer: where its class is, and its settings given 100·λ and the seed."""

    name: str
    about: str
    place: str  # class in tmlcd_core.learners
    settings: Callable[[int, int], Settings]

    @property
    def factory(self) -> Callable[..., Any]:
        return getattr(importlib.import_module("tmlcd_core.learners"), self.place)

    def parameters(self) -> list[str]:
        """Settings that can be given."""
        return list(inspect.signature(self.factory).parameters)


CONTESTANTS: dict[str, Contestant] = {
    c.name: c
    for c in (
        # ϖ = 100·λ (paper, Sec. 7.5); h, n, ξ are the classes' own defaults (design: the authors' experiments).
        Contestant(
            "cit", "Condensing-in-Time: errors join T", "CondensingInTime", lambda size, seed: {"random_state": seed}
        ),
        Contestant(
            "active",
            "Active Tiny kNN: T rebuilt after an alarm",
            "ActiveTinyKNN",
            lambda size, seed: {"window": size, "random_state": seed},
        ),
        Contestant(
            "hybrid",
            "Hybrid Tiny kNN: errors join T, alarms drop the old",
            "HybridTinyKNN",
            lambda size, seed: {"max_size": size, "random_state": seed},
        ),
        Contestant("static", "kNN that never learns", "StaticKNN", lambda size, seed: {}),
        Contestant("condensed", "kNN condensed once", "StaticKNN", lambda size, seed: {"condense": True}),
        Contestant("incremental", "kNN that stores everything", "IncrementalKNN", lambda size, seed: {}),
        Contestant("window", "kNN over the newest samples", "IncrementalKNN", lambda size, seed: {"max_size": size}),
    )
}
PAPER = ("cit", "active", "hybrid")


def contestant(name: str) -> Contestant:
    if name not in CONTESTANTS:
        raise ConfigError(f"there is no learner {name!r}; there are {', '.join(CONTESTANTS)}")
    return CONTESTANTS[name]


def settings_of(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Settings:
    """All settings of a learner: its class's defaults, the paper's for |T| = `size`, and what is `changed`.

    >>> settings = settings_of("hybrid", 200, changed={"threshold": 30.0})
    >>> settings["max_size"], settings["threshold"], settings["batch"]
    (200, 30.0, 50)
    """
    found = contestant(name)
    defaults = {
        p.name: p.default
        for p in inspect.signature(found.factory).parameters.values()
        if p.default is not inspect.Parameter.empty
    }
    changed = changed or {}
    for key in changed:
        if key not in defaults:
            raise ConfigError(f"{name} has no setting {key!r}; it has {', '.join(defaults)}")
    return {**defaults, **found.settings(size, seed), **changed}


def make_learner(name: str, size: int, seed: int = 0, changed: Mapping[str, Any] | None = None) -> Any:
    """A learner ready to `fit`."""
    return contestant(name).factory(**settings_of(name, size, seed, changed))
