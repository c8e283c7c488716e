"""Import of torchvision with a CPU build of torch.

The default wheel of torchvision is built for CUDA; with a CPU-only torch its compiled operators do not load, and
`import torchvision` fails with "operator torchvision::nms does not exist". Its models, datasets and transforms never
call these operators, so it is enough to declare them.
"""

from __future__ import annotations

from types import ModuleType

from tmlcd_core.optional_packages import require

MISSING = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)

# torch removes declared operators when the library object that declared them is garbage-collected.
_declared: list[object] = []


def import_torchvision() -> ModuleType:
    """Import and return torchvision; declares its missing operators only if the real ones cannot be loaded."""
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
