"""The C core compiled to WebAssembly, for pages without a server."""

from importlib import resources


def module(name: str) -> bytes:
    """Return a WebAssembly module; `build.py` compiles it from the firmware's sources.

    `learners` and `tandem` take feature vectors; the name of a front end (`word`, `speech`) is that front end with a
    learner.
    """
    return resources.files(__package__).joinpath(f"{name}.wasm").read_bytes()
