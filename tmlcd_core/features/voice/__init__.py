"""Spoken words: word detection in a recording, and feature extractors for a few takes of one voice."""

from tmlcd_core.features.voice.extractors import (
    BEST_VOICE,
    DEFAULT_VOICE,
    VOICE_EXTRACTORS,
    VoiceExtractor,
    aligned,
    default_voice,
    load_best_voice,
)
from tmlcd_core.features.voice.take import Take, cut_words, open_take, restore_take, whole_take
from tmlcd_core.features.voice.words import VOICE_RATE

__all__ = [
    "BEST_VOICE",
    "DEFAULT_VOICE",
    "VOICE_EXTRACTORS",
    "VOICE_RATE",
    "Take",
    "VoiceExtractor",
    "aligned",
    "cut_words",
    "default_voice",
    "load_best_voice",
    "open_take",
    "restore_take",
    "whole_take",
]
