"""Data sources (synthetic speech, images, folders, points) and their features."""

from tmlcd_core.datasets.cache import CacheWarning, FeatureCache, cache_folder
from tmlcd_core.datasets.dataset import Dataset, Kind, PartialSource, PreparedSource, Source
from tmlcd_core.datasets.folder import FolderSource
from tmlcd_core.datasets.images import DigitsSource, DownloadedSource, ImagenetteSource
from tmlcd_core.datasets.load import load
from tmlcd_core.datasets.pack import Pack, load_pack, make_pack
from tmlcd_core.datasets.registry import SOURCES, SourceInfo, open_source
from tmlcd_core.datasets.upload import UploadBudget, extract_upload

__all__ = [
    "SOURCES",
    "CacheWarning",
    "Dataset",
    "DigitsSource",
    "DownloadedSource",
    "FeatureCache",
    "FolderSource",
    "ImagenetteSource",
    "Kind",
    "Pack",
    "PartialSource",
    "PreparedSource",
    "Source",
    "SourceInfo",
    "UploadBudget",
    "cache_folder",
    "extract_upload",
    "load",
    "load_pack",
    "make_pack",
    "open_source",
]
