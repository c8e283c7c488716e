"""One experiment: data, a drift, learners and a seed. The Drift lab, the command line and Python all run this."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from itertools import product
from typing import Any

from tmlcd_core.datasets import FeatureCache, load_pack
from tmlcd_core.datasets.pack import pack_key
from tmlcd_core.errors import ConfigError, TmlcdError
from tmlcd_core.experiments import link as links
from tmlcd_core.experiments.runs import Run, as_learner, prequential
from tmlcd_core.features import Extractor
from tmlcd_core.learners.registry import LEARNERS, PAPER, learner_entry, make_learner, settings_of
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.draws import LARGEST_SEED
from tmlcd_core.streams.drifts import PER_CLASS, DriftDetails, drift_kind, make_scenario
from tmlcd_core.streams.feature_pools import FeaturePool, SourcePool, pack_pool
from tmlcd_core.streams.scenario import TRAIN, VERY_NOISY, Scenario
from tmlcd_core.streams.sizes import Fit, fitting_scenario
from tmlcd_core.streams.stream import Stream, compose, order_labels
from tmlcd_core.validation import real_number, whole_number

PACK = "pack"  # the data that come with the project
EXTRACTOR_SETTINGS = ("filters", "sample_rate", "n_fft", "hop")
USUAL_NOISE = {"audio": "white noise", "image": "image noise", "vector": VERY_NOISY}
SHARES = ("at", "over", "strength")  # settings from 0 to 1
NUMBERS = ("classes", *SHARES, "per_class", "train")  # settings of the experiment itself that `grid` can vary
DIGITS = 6  # decimals of a share that count


PROGRAM = """\
from tmlcd_core import Experiment
outcome = {experiment}.run()
print({{name: run.metrics.accuracy for name, run in outcome.learners.items()}})
"""


@dataclass(frozen=True, repr=False)
class Experiment:
    """Data, a drift, learners and a seed.

    Parameters
    ----------
    data : str or Path
        "pack", a name of `tmlcd_core.datasets.SOURCES`, or a folder.
    classes : int, or sequence of str
        λ: how many classes to begin with, or which.
    words : sequence of str
        Names of the first of them; the others are drawn by the seed. The first class is the one that changes.
    new : str or None
        The class that appears; drawn unless given.
    drift : str
        A name of `DRIFTS`.
    at, over : float
        When the drift begins, as a share of the stream, and how long it lasts, as a share of the rest; 0 is abrupt.
    effect, strength : str, float
        The noise and its strength from 0 to 1; the usual one of the data unless named.
    per_class, train : int
        Samples of the stream and initial samples, for each class; fewer where the data have fewer (`prepare`).
    scenario : Scenario or None
        A scenario of one's own instead of all of the above but the data.
    learners : sequence
        Names of `LEARNERS`, or objects that `prequential` takes.
    settings : mapping
        Settings of all learners that have them (`threshold`, `k`, …) or of one (`hybrid.max_size`).
    extractor : mapping
        Settings of `Extractor` that differ from the paper's.
    seed, runs : int
        Draws classes, order and media; further runs, for `sweep`, take the seeds that follow.

    Examples
    --------
    >>> experiment = Experiment("points", classes=3, drift="labels-swapped", per_class=400, train=20)
    >>> outcome = experiment.run()
    >>> round(outcome.learners["hybrid"].metrics.accuracy, 2), len(outcome.learners["hybrid"].trace)
    (0.93, 1200)
    >>> experiment.link()
    '/drift-lab?data=points&lambda=3&drift=labels-swapped&per_class=400&train=20'
    >>> Experiment.from_link(experiment.link()) == experiment
    True
    >>> experiment
    Experiment('points', classes=3, drift='labels-swapped', per_class=400, train=20)
    >>> experiment.command()
    'tmlcd run --data points --classes 3 --drift labels-swapped --per-class 400 --train 20 --runs 1'
    """

    data: str = "speech"
    classes: int = 2
    words: tuple[str, ...] = ()
    new: str | None = None
    drift: str = "class-change"
    at: float = 0.5
    over: float = 0.0
    effect: str = ""
    strength: float = 1.0
    per_class: int = PER_CLASS
    train: int = TRAIN
    scenario: Scenario | None = None
    learners: tuple[Any, ...] = PAPER
    settings: Any = ()  # kept as pairs in the order of their names
    extractor: Any = ()
    seed: int = 0
    runs: int = 1

    def __post_init__(self) -> None:
        classes: Any = self.classes
        words = tuple(self.words)
        if self.scenario is not None:
            classes = self.scenario.start.size
        elif not isinstance(classes, str) and isinstance(classes, Sequence):
            classes, words = len(classes), tuple(classes)
        drift_kind(self.drift)
        plain = {
            "data": str(self.data),  # a folder may come as a Path
            "classes": whole_number("classes", classes, 2),
            "words": words[:classes],
            "new": self.new or (words[classes] if len(words) > classes else None),
            "learners": tuple(self.learners),
            "per_class": whole_number("per_class", self.per_class, 1),
            "train": whole_number("train", self.train, 1),
            "seed": whole_number("seed", self.seed, 0, LARGEST_SEED),
            "runs": whole_number("runs", self.runs, 1),
            "extractor": _pairs(self.extractor),
        }
        plain |= {name: round(real_number(name, getattr(self, name), 0.0, 1.0), DIGITS) for name in SHARES}
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        names = self.learner_names
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"learners={list(names)}; name at least one, and none twice")
        object.__setattr__(self, "settings", _relevant(_pairs(self.settings), self._named_learners))
        for name in self._named_learners:
            settings_of(name, 1, changed=self._changed(name))
        for name, _ in self.extractor:
            if name not in EXTRACTOR_SETTINGS:
                raise ConfigError(f"the extractor has no setting {name!r}; it has {', '.join(EXTRACTOR_SETTINGS)}")
        self._extractor()

    # -- the stream --------------------------------------------------------------------------------------------------

    def feature_pool(self, cache: FeatureCache | None = None) -> FeaturePool:
        """The features that the stream is made of; `cache` is the user's unless given."""
        if self.data == PACK:
            return pack_pool(load_pack())
        names = self.scenario.names if self.scenario else (*self.words, *([self.new] if self.new else []))
        return SourcePool(self.data, names, self._extractor(), cache)

    def _extractor(self) -> Extractor | None:
        return Extractor(**dict(self.extractor)) if self.extractor else None

    def prepare(self, feature_pool: FeaturePool, progress: Progress = silent) -> Scenario:
        """The scenario with its classes drawn, as long as asked for or as the data allow.

        The features are made on the way, which shows how many media of a folder are of use.
        """
        counts: dict[str, int] = {}
        while True:
            scenario = self.drawn(feature_pool, counts)
            order = order_labels(scenario, self.seed)
            fewer = {}
            for origin in order.origins if isinstance(feature_pool, SourcePool) else ():
                found = len(feature_pool.pool(origin, order.needed[origin.word], progress)[0])  # type: ignore[call-arg]
                if found < order.needed[origin.word]:
                    fewer[origin.word] = found
            if not fewer or self.scenario is not None:
                return scenario
            counts |= fewer

    def drawn(self, feature_pool: FeaturePool, usable: Mapping[str, int] | None = None) -> Scenario:
        """The scenario with its classes drawn, by what the data say they have, or by how many are `usable`."""
        return self.fit(feature_pool, usable).scenario

    def fit(self, feature_pool: FeaturePool, usable: Mapping[str, int] | None = None) -> Fit:
        """The same, and the class that makes the stream shorter than asked for, if one does."""
        if self.scenario is not None:
            return Fit(self.scenario.complete(feature_pool.classes, self.seed))
        words, new = self.words, self.new
        if self.data == PACK and not words:  # made for one change: of its first word into its last
            words, new = feature_pool.classes[:-1][: self.classes], new or feature_pool.classes[-1]
        effect = self.effect or (VERY_NOISY if self.data == "speech" else USUAL_NOISE[feature_pool.kind])
        details = DriftDetails(new, effect, 1.0 if effect == VERY_NOISY else self.strength)

        def make(per_class: int, train: int) -> Scenario:
            where = {"at": self.at, "over": self.over, "words": words, "details": details}
            return make_scenario(self.drift, self.classes, per_class, train, **where)  # type: ignore[arg-type]

        counts = {word: feature_pool.count(word) for word in feature_pool.classes} | dict(usable or {})
        return fitting_scenario(make, (self.per_class, self.train), counts, feature_pool.name, self.seed)

    def stream(self, feature_pool: FeaturePool | None = None, progress: Progress = silent) -> Stream:
        """The samples of the run."""
        feature_pool = feature_pool or self.feature_pool()
        return compose(self.prepare(feature_pool, progress), feature_pool, self.seed)

    def remedied(self, feature_pool: FeaturePool, fault: TmlcdError) -> Experiment | None:
        """The experiment with the settings that an error offers as its remedy; None if it could not run either."""
        if not fault.remedy:
            return None
        try:
            better = replace(self, **fault.remedy)
            better.drawn(feature_pool)
        except TmlcdError:
            return None
        return better

    # -- the learners ------------------------------------------------------------------------------------------------

    @property
    def learner_names(self) -> tuple[str, ...]:
        """Names of the learners; an object goes by its class."""
        return tuple(one if isinstance(one, str) else type(one).__name__ for one in self.learners)

    @property
    def _named_learners(self) -> tuple[str, ...]:
        return tuple(one for one in self.learners if isinstance(one, str))

    def _changed(self, name: str) -> dict[str, Any]:
        """What is set for a learner: for it alone, or else for all."""
        allowed = learner_entry(name).defaults()
        general = {key: value for key, value in self.settings if key in allowed}
        own = {key.partition(".")[2]: value for key, value in self.settings if key.startswith(f"{name}.")}
        return general | own

    def learner_settings(self, name: str, scenario: Scenario) -> dict[str, Any]:
        """All settings of a learner by name in a run of this scenario."""
        return settings_of(name, scenario.train * scenario.start.size, self.seed, self._changed(name))

    def learner(self, name: str, scenario: Scenario) -> Any:
        """A new learner, ready to fit."""
        for one in self.learners:
            if not isinstance(one, str) and type(one).__name__ == name:
                return as_learner(copy.deepcopy(one))
        return make_learner(name, scenario.train * scenario.start.size, self.seed, self._changed(name))

    def run(self, feature_pool: FeaturePool | None = None, progress: Progress = silent) -> Run:
        """One run: every learner over the same samples."""
        return self.run_stream(self.stream(feature_pool, progress))

    def run_stream(self, stream: Stream) -> Run:
        """The same over a stream that is there already."""
        *_, (_, run) = self.steps(stream)
        assert run is not None
        return run

    def steps(self, stream: Stream) -> Iterator[tuple[str, Run | None]]:
        """A run in steps, so that a caller can stop in between: the learner that is done, and in the end the run."""
        names = self.learner_names
        turn = self.seed % len(names)  # the first learner pays for the distances that all share: each in its turn
        found = {}
        for name in (*names[turn:], *names[:turn]):
            found[name] = prequential(self.learner(name, stream.scenario), stream)
            done = len(found) == len(names)
            yield name, Run(self.seed, stream.scenario, {one: found[one] for one in names}) if done else None

    # -- the same experiment in other forms --------------------------------------------------------------------------

    def link(self, base: str = "") -> str:
        """The address that opens this experiment in the Drift lab of the server at `base`."""
        return links.link_of(self, base)

    @classmethod
    def from_link(cls, url: str) -> Experiment:
        """The experiment of a Drift lab's address."""
        return cls(**links.fields_of(url))

    def command(self) -> str:
        """The command line that runs this experiment."""
        return links.command_of(self)

    def __repr__(self) -> str:
        """The Python expression that makes this experiment, with what is not as usual."""
        given = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default or one.name == "data":
                value = dict(value) if one.name in ("settings", "extractor") else value
                given.append(repr(value) if one.name == "data" else f"{one.name}={value!r}")
        return f"Experiment({', '.join(given)})"

    def program(self) -> str:
        """A Python program of three lines that runs this experiment."""
        return PROGRAM.format(experiment=self)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a file."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found["scenario"] = self.scenario.to_json() if self.scenario else None
        found["settings"], found["extractor"] = dict(self.settings), dict(self.extractor)
        try:
            return json.loads(json.dumps(found))
        except TypeError as error:
            raise ConfigError(
                f"this experiment cannot be written down ({error}): name such a learner with register_learner, "
                "or leave out the folder"
            ) from error

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Experiment:
        """The experiment that `to_json` gave."""
        scenario = Scenario.from_json(found["scenario"]) if found["scenario"] else None
        return cls(**{**found, "scenario": scenario})

    @property
    def base(self) -> Experiment:
        """The experiment without its seed: runs of one base differ by chance alone."""
        return replace(self, seed=0, runs=1)

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.runs)

    def key(self, data_key: str = "") -> str:
        """Names this run, on data of this key, among all runs."""
        one = replace(self, runs=1)
        try:
            text = json.dumps([one.to_json(), data_key], sort_keys=True)
        except ConfigError:  # learners that are objects: unique in this process
            text = repr((one, data_key))
        return blake2b(text.encode(), digest_size=10).hexdigest()

    def stream_key(self) -> str:
        """Text that is the same for experiments over the same samples."""
        return repr(replace(self, learners=PAPER, settings=(), runs=1))

    def data_key(self) -> str:
        """Changes whenever the same experiment would give other samples: other files, another recipe or extractor."""
        feature_pool = self.feature_pool()
        if not isinstance(feature_pool, SourcePool):
            return pack_key()
        stem = feature_pool.extractor.key if feature_pool.extractor is not None else ""
        return f"{feature_pool.source.key} {stem}".strip()


def _pairs(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Settings in the order of their names, with Python's numbers for numpy's and tuples for lists."""
    return tuple(sorted((name, _plain(value)) for name, value in dict(values).items()))


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(value) if isinstance(value, list) else value


def _relevant(settings: tuple[tuple[str, Any], ...], learners: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The settings that make a difference: of these learners, and other than their defaults."""
    kept = []
    given = dict(settings)
    for key, value in settings:
        owner, _, setting = key.rpartition(".")
        owners = [owner] if owner else list(LEARNERS)
        having = [name for name in owners if setting in learner_entry(name).defaults()]
        if not having:
            raise ConfigError(f"no learner has a setting {key!r}: see its class for those that it has")
        having = [name for name in having if name in learners]
        overrides = bool(owner) and setting in given
        if having and (overrides or any(_differs(name, setting, value) for name in having)):
            kept.append((key, value))
    return tuple(kept)


def _differs(name: str, setting: str, value: Any) -> bool:
    entry = learner_entry(name)
    if setting in entry.settings(0, 0):  # depends on the data: what is given counts
        return True
    usual = entry.defaults()[setting]
    return usual != value or isinstance(usual, bool) != isinstance(value, bool)


def grid(base: Experiment, axes: Mapping[str, Sequence[Any]]) -> list[Experiment]:
    """Every combination of settings: `threshold` is set for all learners that have it, `hybrid.threshold` for one,
    `extractor.sample_rate` for the extractor, `train` or any other number of the experiment itself.

    Examples
    --------
    >>> found = grid(Experiment("digits", drift="none"), {"threshold": [10.0, 25.0], "hybrid.max_size": [50, 100]})
    >>> len(found), found[1].settings, found[-1].settings
    (4, (('hybrid.max_size', 100), ('threshold', 10.0)), (('hybrid.max_size', 100),))
    """
    for name, values in axes.items():
        if isinstance(values, str) or not len(values):
            raise ConfigError(f"{name}={values!r}; give a list of at least one value")
    return [_with(base, dict(zip(axes, values, strict=True))) for values in product(*axes.values())]


def _with(base: Experiment, chosen: Mapping[str, Any]) -> Experiment:
    own = {name: value for name, value in chosen.items() if name in NUMBERS}
    extractor = {name.partition(".")[2]: value for name, value in chosen.items() if name.startswith("extractor.")}
    settings = {n: v for n, v in chosen.items() if n not in own and not n.startswith("extractor.")}
    for name in settings:
        owner, _, key = name.rpartition(".")
        owners = [owner] if owner else base._named_learners
        if not any(one in base._named_learners and key in learner_entry(one).defaults() for one in owners):
            raise ConfigError(f"no learner of {', '.join(base.learner_names)} has a setting {name!r}")
    own["settings"], own["extractor"] = dict(base.settings) | settings, dict(base.extractor) | extractor
    return replace(base, **own)
