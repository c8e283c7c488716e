"""Experiment: data, drift, learners and seed. The Drift lab, the command line and Python all use this class."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from hashlib import blake2b
from itertools import product
from typing import Any

from tmlcd_core.datasets import FeatureCache, load_pack
from tmlcd_core.datasets.pack import pack_key
from tmlcd_core.datasets.tables import is_table, open_table
from tmlcd_core.displays import notebook, settings_table
from tmlcd_core.draws import LARGEST_SEED
from tmlcd_core.errors import ConfigError, TmlcdError
from tmlcd_core.experiments import link as links
from tmlcd_core.experiments.labels import Supervision, Teacher
from tmlcd_core.experiments.runs import LearnerRun, Run, as_learner, follow_blocks, prequential
from tmlcd_core.features import Extractor, SpeechExtractor, make_extractor
from tmlcd_core.features.speech_extractor import PAPER_NAME
from tmlcd_core.learners.registry import CHANGE, LEARNERS, PAPER, learner_entry, make_learner, settings_of
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.drifts import PER_CLASS, DriftDetails, drift_kind, make_scenario
from tmlcd_core.streams.feature_pools import FeaturePool, SourcePool, pack_pool
from tmlcd_core.streams.foreign import foreign_recording, is_foreign, is_generator
from tmlcd_core.streams.recordings import INITIAL, ORDERS, FolderRecording, Recording
from tmlcd_core.streams.scenario import TRAIN, VERY_NOISY, Scenario
from tmlcd_core.streams.sizes import FittedScenario, fitting_addition, fitting_scenario
from tmlcd_core.streams.stream import Stream, compose, order_labels
from tmlcd_core.streams.tables import SCALES, TableRecording
from tmlcd_core.validation import one_of, real_number, shown, whole_number

PACK = "pack"  # dataset included in the project
EXTRACTOR_SETTINGS = ("name", "filters", "sample_rate", "n_fft", "hop", "norm")
USUAL_NOISE = {"audio": "white noise", "image": "image noise", "vector": VERY_NOISY}
SHARES = ("at", "over", "strength", "labels", "wrong_labels")  # fields from 0 to 1
NUMBERS = (  # fields of Experiment that `grid` can vary
    "classes", "affected", *SHARES, "per_class", "train", "initial", "label_delay", "max_bytes",
)  # fmt: skip
BYTES = "max_bytes"  # setting of the learners whose memory can be limited in bytes
MOST_ADDED = 10  # drifts added while a stream ran
LARGEST_COUNT = 10**12  # of classes, samples and runs; a float holds such a number exactly
DIGITS = 6  # decimals to which fractions are rounded


PROGRAM = """\
from tmlcd_core import Experiment
outcome = {experiment}.run()
print({{name: run.metrics.accuracy for name, run in outcome.learners.items()}})
"""


@dataclass(frozen=True, repr=False)
class Experiment:
    """Configuration of an experiment: data, drift, learners and seed.

    Parameters
    ----------
    data : str or Path
        "pack", a name of `tmlcd_core.datasets.SOURCES`, or a folder; or a recorded stream: a table (CSV, TSV, ARFF,
        Parquet or NPZ file) with its column `label`, a stream such as "river:Phishing" or "capymoa:SEA", or a folder
        with `order`.
    classes : int, or sequence of str
        Number of initial classes (λ), or their names.
    words : sequence of str
        Names of the first classes; the others are drawn at random. The first class is the one that changes.
    new : str or None
        Class that appears; drawn at random if None.
    drift : str
        A name of `DRIFTS`.
    affected : int
        Number of classes that change, or whose labels rotate (m); 0 for the default of the drift (1 class, 2 labels).
    at, over : float
        Start of the drift, as a fraction of the stream, and its length, as a fraction of the rest; 0 is abrupt.
    effect, strength : str, float
        Noise effect and its strength from 0 to 1; the default effect of the kind of data if empty.
    added : sequence of str
        Drifts added while the stream ran, in the order of time, each as "NAME@SAMPLE" with a name of `DRIFTS`: the
        samples before it stay as they are, and what had not changed until there does not change (`add_drift`).
    per_class, train : int
        Stream samples and initial training samples per class; fewer if the data have fewer (`prepare`).
    scenario : Scenario or None
        Custom scenario; replaces all parameters above except `data`.
    learners : sequence
        Names of `LEARNERS`, or learner objects accepted by `prequential`.
    settings : mapping
        Settings of all learners (`threshold`, `k`, …) or of one learner (`hybrid.max_size`).
    max_bytes : int or None
        Memory of every learner on the device, in bytes, counted as its `memory_bytes`: T, and W of Active, hold as many
        samples as fit; `max_size` and `window` are then ignored. None: each learner has its own limit.
    extractor : str or mapping
        "speech" for the network trained on speech, or settings of `Extractor` that differ from the paper's.
    seed, runs : int
        Seed of classes, order and media, and number of runs; run i of `sweep` has the seed `seed + i`.
    label, scale : str
        Label column of a table; scaling of its numbers: "z-score", "min-max" or "none" (`streams.tables.Encoder`).
    order : str
        Use the files of a folder in the order of their "name" or "date".
    initial, samples : int
        Initial samples of a recorded stream, and number of samples to use, the initial ones included; 0 for all.
    labels, label_delay, wrong_labels : float, int, float
        Labels that the learners get, see `Supervision`: share, delay in samples, share of wrong ones.

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
    affected: int = 0
    at: float = 0.5
    over: float = 0.0
    effect: str = ""
    strength: float = 1.0
    added: tuple[str, ...] = ()
    per_class: int = PER_CLASS
    train: int = TRAIN
    scenario: Scenario | None = None
    learners: tuple[Any, ...] = PAPER
    settings: Any = ()  # stored as pairs sorted by name
    extractor: Any = ()
    seed: int = 0
    runs: int = 1
    label: str = ""
    scale: str = SCALES[0]
    order: str = ""
    initial: int = INITIAL
    samples: int = 0
    labels: float = 1.0
    label_delay: int = 0
    wrong_labels: float = 0.0
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        classes: Any = self.classes
        words = _several(self.words)
        if self.scenario is not None:
            classes = self.scenario.start.size
        elif not isinstance(classes, str) and isinstance(classes, Sequence):
            classes, words = len(classes), tuple(classes)
        kind = drift_kind(self.drift)
        affected = whole_number("affected", self.affected, 0, LARGEST_COUNT)
        plain = {
            "data": str(self.data),  # a folder may come as a Path
            "classes": whole_number("classes", classes, 2, LARGEST_COUNT),
            "words": words[:classes],
            "new": self.new or (words[classes] if len(words) > classes else None),
            "affected": affected if kind.affects and affected != kind.affects else 0,
            "learners": _several(self.learners),
            "added": tuple(f"{name}@{at}" for name, at in map(_added_drift, _several(self.added))),
            "per_class": whole_number("per_class", self.per_class, 1, LARGEST_COUNT),
            "train": whole_number("train", self.train, 1, LARGEST_COUNT),
            "seed": whole_number("seed", self.seed, 0, LARGEST_SEED),
            "runs": whole_number("runs", self.runs, 1, LARGEST_COUNT),
            "extractor": _extractor_pairs(self.extractor),
            "scale": one_of("scale", self.scale, SCALES),
            "order": one_of("order", self.order, ("", *ORDERS)),
            "initial": whole_number("initial", self.initial, 1, LARGEST_COUNT),
            "samples": whole_number("samples", self.samples, 0, LARGEST_COUNT),
            "label_delay": whole_number("label_delay", self.label_delay, 0, LARGEST_COUNT),
        }
        plain |= {name: round(real_number(name, getattr(self, name), 0.0, 1.0), DIGITS) for name in SHARES}
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        self._check_added()
        names = self.learner_names
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"learners={list(names)}; give at least one, all different")
        if self.max_bytes is not None:
            object.__setattr__(self, "max_bytes", whole_number("max_bytes", self.max_bytes, 1))
            if unbounded := [n for n, one in zip(names, self.learners, strict=True) if not _has_bytes(one)]:
                raise ConfigError(
                    f"max_bytes={self.max_bytes}: the memory of {', '.join(unbounded)} cannot be limited to a number "
                    "of bytes; leave out these learners, or max_bytes"
                )
        object.__setattr__(self, "settings", _relevant(_pairs(self.settings), self._named_learners))
        for name in self._named_learners:
            settings_of(name, 1, changed=self._changed(name))
        for name, _ in self.extractor:
            if name not in EXTRACTOR_SETTINGS:
                raise ConfigError(f"unknown extractor setting {name!r}; choose from {', '.join(EXTRACTOR_SETTINGS)}")
        self._extractor()

    # -- the stream --------------------------------------------------------------------------------------------------

    @property
    def is_recorded(self) -> bool:
        """True for a recorded stream: a table, a river stream, or a folder in the order of its files."""
        return bool(self.label or self.order) or is_foreign(self.data)

    def _check_added(self) -> None:
        places = [at for _, at in self._added]
        if len(places) > MOST_ADDED or places != sorted(set(places)):
            raise ConfigError(
                f"added={list(self.added)}: give at most {MOST_ADDED} drifts, each at a later sample than the last one"
            )
        if places and (self.is_recorded or self.scenario is not None):
            raise ConfigError(f"added={list(self.added)}: a drift cannot be added to a recorded stream or a scenario")

    @property
    def _added(self) -> list[tuple[str, int]]:
        """Name and first sample of each added drift."""
        return [_added_drift(text) for text in self.added]

    @property
    def is_random(self) -> bool:
        """True if the run depends on the seed."""
        return not self.is_recorded or is_generator(self.data) or self.supervision.is_random

    @property
    def supervision(self) -> Supervision:
        """Which labels the learners get, and when."""
        return Supervision(self.labels, self.label_delay, self.wrong_labels)

    def feature_pool(self, cache: FeatureCache | None = None, progress: Progress = silent) -> FeaturePool:
        """Return the feature pool of the data, a `Recording` if it is recorded.

        `cache` is the default feature cache if None; `progress` reports the first pass over a table.
        """
        if is_foreign(self.data):
            return foreign_recording(self.data, self.initial, self.samples, self.scale, self.seed, progress)
        if self.label:
            return TableRecording(self.data, self.label, self.initial, self.samples, self.scale, progress)
        if self.order:
            return FolderRecording(self.data, self.order, self.initial, self.samples, self._extractor(), cache)
        if is_table(self.data):
            raise ConfigError(f"data={self.data!r} is a table: name its label column, with label= or --label")
        if self.data == PACK:
            if self.extractor_name != PAPER_NAME:
                raise ConfigError(
                    f"data={PACK!r} holds features of the paper's filter, not the clips: choose data='speech' for "
                    f"extractor={self.extractor_name!r}"
                )
            return pack_pool(load_pack())
        names = self.scenario.names if self.scenario else (*self.words, *([self.new] if self.new else []))
        return SourcePool(self.data, names, self._extractor(), cache)

    def _extractor(self) -> Extractor | SpeechExtractor | None:
        return make_extractor(dict(self.extractor)) if self.extractor else None

    @property
    def extractor_name(self) -> str:
        """Name of the extractor in `EXTRACTORS`: "paper" or "speech"."""
        return str(dict(self.extractor).get("name", PAPER_NAME))

    def prepare(self, feature_pool: FeaturePool, progress: Progress = silent) -> Scenario:
        """Compute the features and return the scenario of the run, with its classes drawn.

        The stream is as long as requested, or as the usable media allow; unusable files are found while the features
        are computed.
        """
        counts: dict[str, int] = {}
        while True:
            scenario = self.drawn(feature_pool, counts)
            fewer = {}
            for part in reversed(scenario.history) if isinstance(feature_pool, SourcePool) else ():
                order = order_labels(part, self.seed)
                for origin in order.origins:
                    needed = order.needed[origin.word]
                    found = len(feature_pool.pool(origin, needed, progress)[0])  # type: ignore[call-arg]
                    if found < needed:
                        fewer[origin.word] = found
            if not fewer or self.scenario is not None:
                return scenario
            counts |= fewer

    def drawn(self, feature_pool: FeaturePool, usable: Mapping[str, int] | None = None) -> Scenario:
        """Return the scenario with its classes drawn; `usable` overrides the number of media of some classes."""
        return self.fit(feature_pool, usable).scenario

    def fit(self, feature_pool: FeaturePool, usable: Mapping[str, int] | None = None) -> FittedScenario:
        """Return the `FittedScenario`: the scenario of `drawn`, and the class that limits its length, if any."""
        if isinstance(feature_pool, Recording):
            return FittedScenario(feature_pool.scenario())
        if self.scenario is not None:
            return FittedScenario(self.scenario.complete(feature_pool.classes, self.seed))
        words, new = self.words, self.new
        if self.data == PACK and not words:  # the pack is made for a change of its first word into its last
            words, new = feature_pool.classes[:-1][: self.classes], new or feature_pool.classes[-1]
        effect = self.effect or (VERY_NOISY if self.data == "speech" else USUAL_NOISE[feature_pool.kind])
        details = DriftDetails(new, effect, 1.0 if effect == VERY_NOISY else self.strength, self.affected)

        def make(per_class: int, train: int) -> Scenario:
            where = {"at": self.at, "over": self.over, "words": words, "details": details}
            return make_scenario(self.drift, self.classes, per_class, train, **where)  # type: ignore[arg-type]

        counts = {word: feature_pool.count(word) for word in feature_pool.classes} | dict(usable or {})
        found = fitting_scenario(make, (self.per_class, self.train), counts, feature_pool.name, self.seed)
        details = replace(details, new=None, affected=0)
        for number, (drift, at) in enumerate(self._added):
            try:
                found = fitting_addition(found, drift, at, details, counts, self.seed)
            except TmlcdError as fault:
                fault.remedy = {"added": self.added[:number]}
                raise
        return found

    def stream(self, feature_pool: FeaturePool | None = None, progress: Progress = silent) -> Stream:
        """Return the samples of the run as a `Stream`."""
        feature_pool = feature_pool or self.feature_pool()
        return compose(self.prepare(feature_pool, progress), feature_pool, self.seed)

    def remedied(self, feature_pool: FeaturePool, fault: TmlcdError) -> Experiment | None:
        """Return the experiment with the remedy of an error applied; None if there is none or it cannot run either."""
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
        """Names of the learners; the class name for an object."""
        return tuple(one if isinstance(one, str) else type(one).__name__ for one in self.learners)

    @property
    def _named_learners(self) -> tuple[str, ...]:
        return tuple(one for one in self.learners if isinstance(one, str))

    def _changed(self, name: str) -> dict[str, Any]:
        """Settings given for a learner: its own override those for all learners."""
        allowed = learner_entry(name).defaults()
        general = {key: value for key, value in self.settings if key in allowed}
        own = {key.partition(".")[2]: value for key, value in self.settings if key.startswith(f"{name}.")}
        equal = {} if self.max_bytes is None else {BYTES: self.max_bytes}
        return equal | general | own

    def _given(self, name: str, scenario: Scenario) -> dict[str, Any]:
        """Settings of a learner in a run: the time of the first change, if it has to know it, and those given."""
        told = {CHANGE: scenario.changes[0] + 1} if scenario.changes else {}
        return {key: at for key, at in told.items() if key in learner_entry(name).defaults()} | self._changed(name)

    def learner_settings(self, name: str, scenario: Scenario) -> dict[str, Any]:
        """Return all settings of a learner in a run of this scenario, by name."""
        return settings_of(name, scenario.initial, self.seed, self._given(name, scenario))

    def learner(self, name: str, scenario: Scenario) -> Any:
        """Return a new, unfitted learner."""
        for one in self.learners:
            if not isinstance(one, str) and type(one).__name__ == name:
                found = copy.deepcopy(one)
                if self.max_bytes is not None:
                    setattr(found, BYTES, self.max_bytes)
                return as_learner(found)
        return make_learner(name, scenario.initial, self.seed, self._given(name, scenario))

    def run(
        self, feature_pool: FeaturePool | None = None, progress: Progress = silent, keep_traces: bool = True
    ) -> Run:
        """Run every learner over the same stream; return the `Run`.

        A recorded stream is read in blocks; without `keep_traces` a run over any number of samples needs little memory.
        """
        feature_pool = feature_pool or self.feature_pool(progress=progress)
        if not isinstance(feature_pool, Recording):
            return self.run_stream(self.stream(feature_pool, progress))
        scenario = feature_pool.scenario()
        learners = {name: self.learner(name, scenario) for name in self.learner_names}
        teacher = partial(Teacher, self.supervision, feature_pool.classes, self.seed)
        found = follow_blocks(learners, feature_pool.blocks(progress), teacher, keep_traces)
        return Run(self.seed, scenario, {name: one.result(scenario.known_changes) for name, one in found.items()})

    def run_stream(self, stream: Stream) -> Run:
        """Run every learner over a given stream; return the `Run`."""
        *_, (_, run) = self.steps(stream)
        assert run is not None
        return run

    def learner_run(self, name: str, stream: Stream) -> LearnerRun:
        """Run one learner over a given stream; return its `LearnerRun`."""
        learner = self.learner(name, stream.scenario)
        return prequential(learner, stream, supervision=self.supervision, seed=self.seed)

    def steps(self, stream: Stream) -> Iterator[tuple[str, Run | None]]:
        """Run learner by learner, so that the caller can stop in between.

        Yields the name of each finished learner with None, and with the last one the `Run`.
        """
        names = self.learner_names
        turn = self.seed % len(names)  # the first learner computes the shared distances: rotate, for a fair run time
        found = {}
        for name in (*names[turn:], *names[:turn]):
            found[name] = self.learner_run(name, stream)
            done = len(found) == len(names)
            yield name, Run(self.seed, stream.scenario, {one: found[one] for one in names}) if done else None

    # -- conversions ---------------------------------------------------------------------------------------------------

    def link(self, base: str = "") -> str:
        """Return the link (URL) that opens this experiment in the Drift lab of the server at `base`."""
        return links.link_of(self, base)

    @classmethod
    def from_link(cls, url: str) -> Experiment:
        """Return the experiment of a Drift lab link."""
        return cls(**links.fields_of(url))

    def command(self) -> str:
        """Return the `tmlcd run` command line of this experiment."""
        return links.command_of(self)

    def __repr__(self) -> str:
        """Return the Python expression of this experiment, without default values."""
        given = []
        for one in fields(self):
            value = getattr(self, one.name)
            if value != one.default or one.name == "data":
                value = dict(value) if one.name in ("settings", "extractor") else value
                value = value["name"] if one.name == "extractor" and "name" in value else value
                given.append(repr(value) if one.name == "data" else f"{one.name}={value!r}")
        return f"Experiment({', '.join(given)})"

    def play(self, **options: Any) -> Any:
        """Run once; return the player with its story and the picture of T as a Jupyter widget.

        The options are those of `tmlcd_core.viz.notebook.player_widget`.
        """
        return notebook().experiment_widget(self, **options)

    def _repr_html_(self) -> str:
        """Return the settings that are not defaults, and the command, as HTML for notebooks."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        changed = {one.name: given[one.name] for one in fields(self) if given[one.name] != one.default}
        told = {
            "data": self.data,
            "drift": self.drift,
            "classes": self.classes,
            "learners": ", ".join(self.learner_names),
        }
        command = {} if self.scenario else {"command": self.command()}
        return settings_table("Experiment", told | {k: v for k, v in changed.items() if k not in told} | command)

    def program(self) -> str:
        """Return a Python program of three lines that runs this experiment."""
        return PROGRAM.format(experiment=self)

    def to_json(self) -> dict[str, Any]:
        """Return the experiment as a dict of JSON values."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found["scenario"] = self.scenario.to_json() if self.scenario else None
        found["settings"], found["extractor"] = dict(self.settings), dict(self.extractor)
        for name, unused in (("max_bytes", None), ("added", ())):
            if found[name] == unused:
                del found[name]  # runs of earlier versions keep their key
        try:
            return json.loads(json.dumps(found))
        except TypeError as error:
            raise ConfigError(
                f"this experiment cannot be saved ({error}): register its learner objects with register_learner, "
                "or leave out the folder"
            ) from error

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Experiment:
        """Return the experiment of a dict made by `to_json`."""
        scenario = Scenario.from_json(found["scenario"]) if found["scenario"] else None
        return cls(**{**found, "scenario": scenario})

    @property
    def base(self) -> Experiment:
        """The experiment with seed 0 and one run: equal for all runs that differ only by their seed."""
        return replace(self, seed=0, runs=1)

    @property
    def seeds(self) -> range:
        """Seeds of the runs."""
        return range(self.seed, self.seed + self.runs)

    def key(self, data_key: str = "") -> str:
        """Return the unique key (hexadecimal digest) of this run on data with this `data_key`."""
        one = replace(self, runs=1)
        try:
            text = json.dumps([one.to_json(), data_key], sort_keys=True)
        except ConfigError:  # learner objects: unique only within this process
            text = repr((one, data_key))
        return blake2b(text.encode(), digest_size=10).hexdigest()

    def stream_key(self) -> str:
        """Return a text that is equal for experiments over the same stream."""
        learned = replace(self, labels=1.0, label_delay=0, wrong_labels=0.0)
        return repr(replace(learned, learners=PAPER, settings=(), runs=1, max_bytes=None))

    def data_key(self) -> str:
        """Return a key of the data that changes with its files, its generator version or the extractor."""
        if is_foreign(self.data):
            return self.data
        if self.label:
            return open_table(self.data).key
        feature_pool = self.feature_pool()
        if isinstance(feature_pool, Recording):
            return feature_pool.key
        if not isinstance(feature_pool, SourcePool):
            return pack_key()
        stem = feature_pool.extractor.key if feature_pool.extractor is not None else ""
        return f"{feature_pool.source.key} {stem}".strip()


def _has_bytes(learner: Any) -> bool:
    """True if the memory of a learner, by name or as an object, can be limited to a number of bytes."""
    return BYTES in learner_entry(learner).defaults() if isinstance(learner, str) else hasattr(learner, BYTES)


def _extractor_pairs(extractor: str | Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Settings of the extractor as pairs, of a name or a mapping; the paper's has no name."""
    found = {"name": extractor} if isinstance(extractor, str) else dict(extractor)
    return _pairs({name: value for name, value in found.items() if (name, value) != ("name", PAPER_NAME)})


def _several(values: Any) -> tuple[Any, ...]:
    """A sequence as a tuple; a text, or an object that is no sequence, counts as one value."""
    return tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else (values,)


def _added_drift(text: Any) -> tuple[str, int]:
    """Name and first sample of an added drift, written "NAME@SAMPLE"."""
    name, _, at = str(text).partition("@")
    if not at.isdecimal() or len(at) > len(str(LARGEST_COUNT)):
        raise ConfigError(f"added={shown(text)}: write NAME@SAMPLE, such as labels-swapped@1000")
    return drift_kind(name).name, int(at)


def _pairs(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Settings sorted by name, with NumPy scalars as Python numbers and lists as tuples."""
    return tuple(sorted((name, _plain(value)) for name, value in dict(values).items()))


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(value) if isinstance(value, list) else value


def _relevant(settings: tuple[tuple[str, Any], ...], learners: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The settings that apply to these learners and differ from the defaults."""
    kept = []
    given = dict(settings)
    for key, value in settings:
        owner, _, setting = key.rpartition(".")
        owners = [owner] if owner else list(LEARNERS)
        having = [name for name in owners if setting in learner_entry(name).defaults()]
        if not having:
            raise ConfigError(f"no learner has a setting {key!r}: see the parameters of the learner's class")
        having = [name for name in having if name in learners]
        overrides = bool(owner) and setting in given
        if having and (overrides or any(_differs(name, setting, value) for name in having)):
            kept.append((key, value))
    return tuple(kept)


def _differs(name: str, setting: str, value: Any) -> bool:
    entry = learner_entry(name)
    if setting in entry.settings(0, 0):  # its default depends on the data
        return True
    usual = entry.defaults()[setting]
    return usual != value or isinstance(usual, bool) != isinstance(value, bool)


def grid(base: Experiment, axes: Mapping[str, Sequence[Any]]) -> list[Experiment]:
    """Return an experiment for every combination of settings (grid search).

    Parameters
    ----------
    base : Experiment
        Experiment to vary.
    axes : mapping
        Values by name: `threshold` for all learners that have it, `hybrid.threshold` for one learner,
        `extractor.sample_rate` for the extractor, `train` or another number for the experiment itself.

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
            raise ConfigError(
                f"none of the learners {', '.join(base.learner_names)} has a setting {name!r}: correct its name"
            )
    own["settings"], own["extractor"] = dict(base.settings) | settings, dict(base.extractor) | extractor
    return replace(base, **own)
