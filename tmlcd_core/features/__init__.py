"""Features from sound and images: loading, the feature extractor, and effects that simulate drift."""

from tmlcd_core.features.audio import check_audio, fit_length, load_clip, make_clip
from tmlcd_core.features.effects import EFFECTS, Effect
from tmlcd_core.features.extractor import AudioStages, Extractor, ImageStages, select_filters
from tmlcd_core.features.images import fit_image, image_size, load_fitted, load_image
from tmlcd_core.features.noise import babble, coloured_noise
from tmlcd_core.features.speech_extractor import EXTRACTORS, SpeechExtractor, make_extractor
from tmlcd_core.features.stem import load_stem, torch_stem

__all__ = [
    "EFFECTS",
    "EXTRACTORS",
    "AudioStages",
    "Effect",
    "Extractor",
    "ImageStages",
    "SpeechExtractor",
    "babble",
    "check_audio",
    "coloured_noise",
    "fit_image",
    "fit_length",
    "image_size",
    "load_clip",
    "load_fitted",
    "load_image",
    "load_stem",
    "make_clip",
    "make_extractor",
    "select_filters",
    "torch_stem",
]
