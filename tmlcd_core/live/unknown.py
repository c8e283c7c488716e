"""Unknown words and other people: takes far from every named take, or much softer than the last ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice import Take

# Largest distance of a take to the nearest one of its word, by extractor: chosen on six speakers of AudioMNIST, with
# three words taught. data/live_answers.json holds the rates of refused and accepted words on six other speakers.
LARGEST = {"word": 150.0, "speech": 0.9}
# The same relative to the mean distance of a taught take to the nearest other one of its word.
SPREAD = {"word": 1.4, "speech": 1.6}
WEIGHT = 15  # taught takes that count as much as LARGEST
STEEPNESS = 12.0  # of the probability of a known word against distance / largest distance
SOFTER_DB = 6.0  # below the median of the last LATELY named takes: 2 % of the takes of 12 speakers of AudioMNIST
LATELY = 5


def largest_distance(extractor: str, X: NDArray[np.float32], words: Sequence[str]) -> float:
    """Return the distance to the nearest take with a word beyond which a take is an unknown word.

    It is LARGEST, moved towards the leave-one-out distances of the taught takes as far as there are several of a word.

    Parameters
    ----------
    extractor : str
        Name of the extractor; for those without an entry in LARGEST no take is unknown, and the result is infinite.
    X, words : array (n, d), sequence of n str
        Features and words of the taught takes.

    Examples
    --------
    >>> X = np.array([[0, 0], [0.5, 0], [3, 0]], np.float32)
    >>> round(largest_distance("speech", X, ["yes", "yes", "no"]), 3)
    0.888
    """
    if extractor not in LARGEST:
        return float("inf")
    labels = np.array(words)
    between = np.where(labels[:, None] == labels[None], distances_between(X), np.inf)
    nearest = between.min(axis=1, initial=np.inf)
    nearest = nearest[np.isfinite(nearest)]
    return float((WEIGHT * LARGEST[extractor] + SPREAD[extractor] * nearest.sum()) / (WEIGHT + len(nearest)))


def probability_known(distance: float, largest: float) -> float:
    """Return the probability that a take is one of the taught words: a logistic function, 0.5 at the largest distance.

    Parameters
    ----------
    distance : float
        Distance to the nearest take with a word.
    largest : float
        Result of `largest_distance`; with an infinite one the probability is 1.

    Examples
    --------
    >>> [round(probability_known(distance, 0.9), 3) for distance in (0.6, 0.9, 1.2)]
    [0.982, 0.5, 0.018]
    """
    if math.isinf(largest):
        return 1.0
    return 1 / (1 + math.exp(min(STEEPNESS * (distance / largest - 1), 700.0)))


def is_softer(take: Take, named: Sequence[Take]) -> bool:
    """Return True if a take is much softer than the last of the `named` takes: probably another person, farther away.

    Examples
    --------
    >>> from tmlcd_core.features.voice import open_take
    >>> time = np.arange(16_000) / 16_000
    >>> sound = np.sin(2 * np.pi * 440 * time) * ((time > 0.3) & (time < 0.7))
    >>> loud, soft = (open_take((volume * sound, 16_000)) for volume in (0.3, 0.1))
    >>> is_softer(soft, [loud]), is_softer(loud, [soft]), is_softer(soft, [])
    (True, False, False)
    """
    return bool(named) and take.level < float(np.median([last.level for last in named[-LATELY:]])) - SOFTER_DB


def distances_between(X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the distances between the rows of X (n, d), shape (n, n), with an infinite diagonal."""
    between = np.array([np.linalg.norm(X - x, axis=1) for x in X], np.float64)
    np.fill_diagonal(between, np.inf)
    return between
