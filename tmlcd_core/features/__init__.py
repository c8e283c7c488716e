"""Sound and images to features: the gates where they enter, the extractor, and drift at the source."""

from tmlcd_core.features.extractor import AudioStages, Extractor, ImageStages, fit_length, select_filters
from tmlcd_core.features.images import fit_image
from tmlcd_core.features.stem import load_stem, torch_stem

__all__ = [
    "AudioStages",
    "Extractor",
    "ImageStages",
    "fit_image",
    "fit_length",
    "load_stem",
    "select_filters",
    "torch_stem",
]
