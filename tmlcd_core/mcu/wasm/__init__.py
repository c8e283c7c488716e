"""The C core compiled to WebAssembly, for pages without a server."""

from importlib import resources


def module() -> bytes:
    """Return the WebAssembly module of the learners; `build.py` compiles it from the firmware's sources."""
    return resources.files(__package__).joinpath("learners.wasm").read_bytes()
