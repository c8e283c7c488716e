"""The paper's settings in two variants: as printed, and as the authors' published code runs.

The paper leaves settings open, and the code differs from its text in others. A `Variant` lists every such choice with
its source; it changes the settings of any experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tmlcd_core.datasets import SOURCES
from tmlcd_core.errors import ConfigError

if TYPE_CHECKING:
    from tmlcd_core.experiments.experiment import Experiment

PRINTED, CODE = "printed", "code"
SILENT = "the paper does not say"
SCRIPT = "the authors' published code"
CONDENSING = ("cit", "active", "hybrid", "condensed")  # the kNNs whose votes the code weighs by distance
TESTING = ("active", "hybrid")
NETWORKS = ("nn-fc1", "nn-fc1-static")
CODE_HYBRID_THRESHOLDS = (10.0, 20.0, 25.0, 50.0, 100.0)  # h of Hybrid; the code runs all, the paper does not say which
FEATURES_ONLY = "pack"  # data without clips: the extractor is fixed


@dataclass(frozen=True)
class Choice:
    """One choice of a variant: topic, value in words, source, and the settings of learners or extractor that apply it.

    `repeated` is False for a property of the authors' experiments that no setting repeats.
    """

    topic: str
    value: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    extractor: Mapping[str, Any] = field(default_factory=dict)
    repeated: bool = True


@dataclass(frozen=True)
class Variant:
    """Settings of the paper's experiments: a name, a title, and the choices with their sources."""

    name: str
    title: str
    choices: tuple[Choice, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of learners, as in `Experiment.settings`."""
        return {name: value for one in self.choices for name, value in one.settings.items()}

    def extractor(self, data: str) -> dict[str, Any]:
        """Return the settings of the extractor for this dataset; none if the dataset has features only."""
        if data == FEATURES_ONLY or (data in SOURCES and SOURCES[data].kind == "vector"):
            return {}
        return {name: value for one in self.choices for name, value in one.extractor.items()}

    def apply(self, experiment: Experiment) -> Experiment:
        """Return the experiment with these settings; settings that the experiment has already stay.

        >>> from tmlcd_core import Experiment
        >>> VARIANTS["code"].apply(Experiment("speech", learners=["active"]))
        ... # doctest: +NORMALIZE_WHITESPACE
        Experiment('speech', learners=('active',), settings={'active.likelihood': 'authors',
        'active.threshold': 100.0, 'active.weights': 'distance'}, extractor={'norm': 'clip'})
        """
        return replace(
            experiment,
            settings={**self.settings, **dict(experiment.settings)},
            extractor=self.with_extractor(experiment.data, dict(experiment.extractor)),
        )

    def with_extractor(self, data: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of an extractor with those of this variant; another network keeps its own."""
        return given if "name" in given else {**self.extractor(data), **given}

    def within(self, experiment: Experiment) -> bool:
        """Return True if the experiment has all settings of this variant that concern it, and there are any."""
        bare = replace(experiment, settings=(), extractor=())
        own = self.apply(bare)
        return own != bare and all(
            set(getattr(own, kind)) <= set(getattr(experiment, kind)) for kind in ("settings", "extractor")
        )


def _each(learners: tuple[str, ...], setting: str, value: Any) -> dict[str, Any]:
    return {f"{learner}.{setting}": value for learner in learners}


VARIANTS: dict[str, Variant] = {
    one.name: one
    for one in (
        Variant(
            PRINTED,
            "As printed",
            (
                Choice("Batch normalisation", "ImageNet's running statistics", f"{SILENT}; evaluation mode is usual"),
                Choice("Votes", "uniform", SILENT),
                Choice("Alarm level h of Active", "25", f"{SILENT}; one of the levels in {SCRIPT}"),
                Choice("Alarm level h of Hybrid", "25", f"{SILENT}; one of the levels in {SCRIPT}"),
                Choice("Statistic", "Eq. (4), with half of the logarithm", "Sec. 6.2, Eq. (4)"),
                Choice("NN-FC1", "SGD without momentum; the best learning rates of each run", "Sec. 7.4 and 7.5"),
                Choice("Clips after the change", "every clip is used once", SILENT),
                Choice("Order of the classes", "equally frequent between two changes", SILENT),
            ),
        ),
        Variant(
            CODE,
            "As the authors' code runs",
            (
                Choice(
                    "Batch normalisation",
                    "mean and variance of each clip's own map: the network is never put into evaluation mode",
                    SCRIPT,
                    extractor={"norm": "clip"},
                ),
                Choice(
                    "Votes",
                    "weighted by distance, in condensing too; uniform only for the plain kNN of Table 1",
                    SCRIPT,
                    _each(CONDENSING, "weights", "distance"),
                ),
                Choice("Alarm level h of Active", "100, the default", SCRIPT, {"active.threshold": 100.0}),
                Choice(
                    "Alarm level h of Hybrid",
                    "10, 20, 25, 50 and 100 all run; 25 where one is needed",
                    f"{SCRIPT}; which one the figures show is not known",
                ),
                Choice(
                    "Statistic", "with the whole logarithm", SCRIPT, _each(TESTING, "likelihood", "authors")
                ),
                Choice(
                    "NN-FC1",
                    "Adam with weight decay 1e-5, batches of 5, fresh state for the stream; one pair of learning rates "
                    "for all runs",
                    SCRIPT,
                    _each(NETWORKS, "optimizer", "adam"),
                ),
                Choice(
                    "Clips after the change",
                    "clips of the unchanged classes come again; not repeated here, because a learner would be tested "
                    "on samples that it has stored (CIT gains about 0.02 with 2 classes and 0.05 with 3 by this)",
                    SCRIPT,
                    repeated=False,
                ),
                Choice(
                    "Order of the classes",
                    "plain shuffle; not repeated here, because every run then has other class frequencies",
                    SCRIPT,
                    repeated=False,
                ),
            ),
        ),
    )
}  # fmt: skip


def variant_of(name: str) -> Variant:
    """Return the variant of this name; an unknown name is a `ConfigError`."""
    if name not in VARIANTS:
        raise ConfigError(f"there is no variant {name!r} of the paper's settings; choose {' or '.join(VARIANTS)}")
    return VARIANTS[name]
