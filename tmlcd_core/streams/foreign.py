"""Streams of other libraries as recorded streams: river's and CapyMOA's, by name or object."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from tmlcd_core.datasets.tables import RowTable
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.recordings import INITIAL
from tmlcd_core.streams.tables import SCALES, TableRecording
from tmlcd_core.validation import shown, whole_number

RIVER, CAPYMOA = "river:", "capymoa:"  # prefixes of the names of streams
CAPYMOA_GENERATORS = ("capymoa.stream.generator", "capymoa.stream.drift")  # modules of streams without an end
ENDLESS = 10_000  # samples of a generator that has no end

StreamRow = tuple[Mapping[Any, Any], Any]  # features by name, label


def is_foreign(stream: Any) -> bool:
    """Return True for a name of a river or CapyMOA stream, a river dataset or a CapyMOA stream."""
    if isinstance(stream, str):
        return stream.startswith((RIVER, CAPYMOA))
    return _is_river(stream) or _is_capymoa(stream)


def foreign_recording(
    stream: Any,
    initial: int = INITIAL,
    samples: int = 0,
    scale: str = SCALES[0],
    seed: int = 0,
    progress: Progress = silent,
) -> TableRecording:
    """Return the recorded stream of another library's stream.

    Parameters
    ----------
    stream : str or object
        A name such as "river:Phishing", "river:SEA" or "capymoa:SEA", a river dataset, or a CapyMOA stream.
    initial, samples : int
        As in `Recording`; an endless generator gives ENDLESS samples if `samples` is 0.
    scale : str
        As in `TableRecording`.
    seed : int
        Seed of a generator given by name.
    progress : Progress
        Called while the labels are counted.

    Examples
    --------
    >>> recording = foreign_recording("river:Phishing")
    >>> recording.counts, recording.scenario().length
    ({'False': 702, 'True': 548}, 1150)
    """
    whole_number("samples", samples, 0)
    if isinstance(stream, str):
        name, key = stream, f"{stream} {seed}"
        stream = named_stream(stream, seed)
    else:
        name, key = type(stream).__name__, ""
    rows = _capymoa_rows(stream) if _is_capymoa(stream) else _river_rows(stream, name)
    most = samples or (ENDLESS if _is_endless(stream) else None)
    table = RowTable(name, lambda: islice(rows(), most), f"{key} {most}" if key else "")
    return TableRecording(table, RowTable.LABEL, initial, samples, scale, progress)


def named_stream(name: str, seed: int = 0) -> Any:
    """Return the stream of a name such as "river:Phishing" or "capymoa:SEA"; `seed` is for generators."""
    kind = _named_class(name)
    parameters = inspect.signature(kind).parameters
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    needed = [one.name for one in parameters.values() if one.default is one.empty and one.kind == positional]
    if needed:
        raise ConfigError(f"{name} needs {', '.join(needed)}: create it in Python and pass it to prequential")
    settings = dict.fromkeys(_seeds(kind), seed) | ({"auto_download": False} if "auto_download" in parameters else {})
    try:
        return kind(**settings)
    except FileNotFoundError as error:
        raise DataError(_download(name, "capymoa", f"{kind.__name__}()")) from error


def named_length(name: str) -> int:
    """Return the number of samples of a named stream, 0 if it has no end or does not say."""
    return getattr(named_stream(name), "n_samples", None) or 0


def is_generator(name: str) -> bool:
    """Return True for the name of a stream whose samples depend on a seed."""
    return is_foreign(name) and bool(_seeds(_named_class(name)))


def _seeds(kind: Any) -> list[str]:
    """Parameters of a stream that are seeds, such as seed, seed_model or model_random_seed."""
    return [one for one in inspect.signature(kind).parameters if "seed" in one.split("_")]


def _named_class(name: str) -> Any:
    library, _, short = name.partition(":")
    if library == "river":
        require("river")
        from river import datasets

        places = (datasets, datasets.synth)
        known = {one: getattr(place, one) for place in places for one in place.__all__ if one[:1].isupper()}
    else:
        require("capymoa")
        from capymoa import datasets
        from capymoa.stream import generator

        places = (datasets, generator)
        known = {
            one: kind
            for place in places
            for one, kind in vars(place).items()
            if isinstance(kind, type) and kind.__module__.startswith(place.__name__) and one[:1].isupper()
        }
    if not isinstance(known.get(short), type):
        raise ConfigError(f"{library} has no stream {short!r}; there are {', '.join(sorted(known))}")
    return known[short]


def _download(name: str, library: str, call: str) -> str:
    return (
        f"{name} is not on this computer: download it once with "
        f'python -c "from {library} import datasets; datasets.{call}"'
    )


def _is_river(stream: Any) -> bool:
    return any(kind.__module__.startswith("river.datasets") for kind in type(stream).__mro__)


def _is_capymoa(stream: Any) -> bool:
    return all(hasattr(stream, name) for name in ("next_instance", "has_more_instances", "restart", "schema"))


def _is_endless(stream: Any) -> bool:
    if _is_capymoa(stream):
        inside: Any = getattr(stream, "moa_stream", None)
        java = str(inside.getClass().getName()) if hasattr(inside, "getClass") else ""
        return "generators" in java or type(stream).__module__ in CAPYMOA_GENERATORS
    return getattr(stream, "n_samples", None) in (None, float("inf"))


def _river_rows(stream: Any, name: str) -> Callable[[], Iterator[StreamRow]]:
    task = str(getattr(stream, "task", ""))
    if task and "classification" not in task.lower():
        raise ConfigError(f"{name} is for {task.lower()}: choose a stream for classification")
    if hasattr(stream, "is_downloaded") and not stream.is_downloaded:
        raise DataError(_download(name, "river", f"{type(stream).__name__}().download()"))
    return lambda: iter(copy.deepcopy(stream))  # a generator goes on from its last sample


def _capymoa_rows(stream: Any) -> Callable[[], Iterator[StreamRow]]:
    schema = stream.schema
    if not schema.is_classification():
        raise ConfigError(f"{shown(stream)} is for regression: choose a stream for classification")

    def rows() -> Iterator[StreamRow]:
        stream.restart()
        while stream.has_more_instances():
            one = stream.next_instance()
            yield dict(enumerate(one.x.tolist())), one.y_label

    return rows
