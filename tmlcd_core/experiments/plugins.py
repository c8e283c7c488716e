"""Plugins: Python files that register learners, drifts and data, also in worker processes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tmlcd_core.datasets import SOURCES
from tmlcd_core.errors import ConfigError
from tmlcd_core.learners.registry import LEARNERS
from tmlcd_core.streams.drifts import DRIFTS

REGISTRIES: tuple[dict[str, Any], ...] = (LEARNERS, DRIFTS, SOURCES)
BUILT_IN = tuple(frozenset(registry) for registry in REGISTRIES)


def load_plugin(path: str | Path) -> None:
    """Run a Python file that registers learners, drifts, data or boards; later calls for the same file do nothing."""
    file = Path(path).expanduser().resolve()
    name = f"tmlcd_plugin_{file.stem}"
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ConfigError(f"the plugin {path} cannot be read: give a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"the plugin {path} failed with {type(error).__name__}: {error}") from error
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)  # other processes cannot import the module


def pack(task: Any) -> bytes:
    """Pickle a task for another process, together with everything that plugins registered; return the bytes."""
    import cloudpickle

    added = [
        {name: one for name, one in registry.items() if name not in known}
        for registry, known in zip(REGISTRIES, BUILT_IN, strict=True)
    ]
    try:
        return cloudpickle.dumps((added, task))
    except Exception as error:
        raise ConfigError(
            f"a learner or drift cannot be pickled for another process ({error}): use --jobs 1"
        ) from error


def unpack(packed: bytes) -> Any:
    """Unpickle a task of `pack`, register what came with it, and return the task."""
    import cloudpickle

    added: list[Mapping[str, Any]]
    added, task = cloudpickle.loads(packed)
    for registry, entries in zip(REGISTRIES, added, strict=True):
        registry.update(entries)
    return task
