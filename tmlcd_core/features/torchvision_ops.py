"""Let torchvision be imported beside a CPU build of torch.

The wheel of torchvision that package indexes serve is built for CUDA; beside a CPU-only torch its compiled
operators do not load, and `import torchvision` fails with "operator torchvision::nms does not exist".
Declaring the two operators it looks for is enough for its models, datasets and transforms, which never call
them.
"""

from __future__ import annotations

from types import ModuleType

from tmlcd_core.optional_packages import require

MISSING = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)

# torch forgets declared operators as soon as the library object that declared them is collected.
_declared: list[object] = []


def import_torchvision() -> ModuleType:
    """torchvision, imported; declares its missing operators only where the real ones cannot be loaded."""
    require("torch")
    require("torchvision")
    try:
        import torchvision
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        _declare_operators()
        import torchvision
    return torchvision


def _declare_operators() -> None:
    from torch.library import Library

    library = Library("torchvision", "DEF")
    for schema in MISSING:
        library.define(schema)
    _declared.append(library)
