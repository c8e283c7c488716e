"""Picture of a run for the player: all samples in two dimensions, and the training set T of each learner over time.

Points in the plane are drawn as they are, with the decision regions of each learner; other samples are projected to two
dimensions by a fixed projection that is fitted on the initial training set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.viz.palette import GREY, OLIVE, PINK, PURPLE, SKY

if TYPE_CHECKING:  # importing the learners takes long
    from tmlcd_core.learners.membership import Membership

# Classes: colours not used by the paper's learners, and shapes for colour-blind readers.
CLASSES = (PURPLE, SKY, OLIVE, PINK, GREY)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
COMPONENTS = 20  # principal components among which the discriminant axes are found
SPARE, ITERATIONS = 10, 6  # further directions and steps of the iteration that finds the components
SHRINKAGE = 0.1  # share of the mean variance that is added to the scatter within the classes


@dataclass(frozen=True)
class Picture:
    """Samples of a run in two dimensions, and T of each learner over time.

    Parameters
    ----------
    points
        Initial samples, then the stream, shape (n0 + n, 2).
    labels
        Label of each of them, shape (n0 + n,).
    initial
        Number of initial samples, n0.
    title
        What the two dimensions are.
    regions
        True if the points are the features themselves, so that the decision regions of a kNN can be drawn.
    said
        Learner -> prediction for each sample of the stream, shape (n,).
    members
        Learner -> `Membership`; learners without one show no T.
    votes
        Learner -> number of neighbours (0: the square root of |T|) and True for votes by distance.
    can_play
        True if samples have a sound or a picture to ask for.

    Examples
    --------
    >>> picture = Picture(np.zeros((3, 2)), np.array(["a", "b", "a"]), initial=1, title="The plane")
    >>> picture.classes
    ['a', 'b']
    """

    points: NDArray[np.floating]
    labels: NDArray
    initial: int
    title: str
    regions: bool = False
    said: Mapping[str, NDArray] = field(default_factory=dict)
    members: Mapping[str, Membership] = field(default_factory=dict)
    votes: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    can_play: bool = False

    @property
    def classes(self) -> list[str]:
        """All labels, sorted."""
        return [str(label) for label in np.unique(self.labels)]

    def header(self, learners: Sequence[str], put: Callable[[ArrayLike | None, str], Any]) -> dict[str, Any]:
        """Return the picture as JSON values; `put` stores an array (n,) and returns its reference."""
        classes = np.unique(self.labels)

        def codes(labels: NDArray) -> NDArray[np.integer]:
            return np.searchsorted(classes, labels)

        def member(name: str) -> dict[str, Any]:
            said, held = self.said.get(name), self.members.get(name)
            k, by_distance = self.votes.get(name, (0, False))
            found: dict[str, Any] = {"said": None if said is None else put(codes(said), "u1"), "T": None}
            if held is not None:
                place = np.where(held.sample >= 0, held.sample + self.initial, -1 - held.sample)
                found["T"] = {
                    "place": put(place, "i4"),
                    "label": put(codes(held.label), "u1"),
                    "enters": put(held.enters, "i4"),
                    "leaves": put(held.leaves, "i4"),
                }
            return found | {"k": k, "by_distance": by_distance}

        return {
            "title": self.title,
            "regions": self.regions,
            "initial": self.initial,
            "can_play": self.can_play,
            "classes": [look(number, str(label)) for number, label in enumerate(classes)],
            "x": put(self.points[:, 0], "f4"),
            "y": put(self.points[:, 1], "f4"),
            "label": put(codes(self.labels), "u1"),
            "learners": [member(name) for name in learners],
        }


def look(number: int, name: str) -> dict[str, str]:
    """Return name, colour and shape of a class by its number; no two of the first 25 are alike."""
    colour, again = number % len(CLASSES), number // len(CLASSES)
    return {"name": name, "colour": CLASSES[colour], "shape": SYMBOLS[(colour + again) % len(SYMBOLS)]}


@dataclass(frozen=True)
class Projection:
    """Linear projection to two dimensions: `(x - mean) @ axes`, with `mean` (d,) and `axes` (d, 2)."""

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    def __call__(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the positions of samples X (n, d), float32 (n, 2)."""
        X = np.asarray(X, np.float32)
        return X @ self.axes.astype(np.float32) - (self.mean @ self.axes).astype(np.float32)


def fit_projection(X: NDArray[np.floating], y: NDArray) -> Projection:
    """Fit a projection that shows the classes apart: linear discriminant axes among the first principal components.

    Two classes have one discriminant axis; the second is then the direction of the largest variance within the classes.

    Parameters
    ----------
    X, y
        Initial samples, shape (n, d), and their labels, shape (n,).

    Returns
    -------
    Projection
        With axes of the same scale: the standard deviation within the classes is about 1 along the discriminant axes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 30)) + 3 * y[:, None]
    >>> placed = fit_projection(X, y)(X)
    >>> bool(placed[y == 1, 0].min() > placed[y == 0, 0].max() or placed[y == 1, 0].max() < placed[y == 0, 0].min())
    True
    """
    X = np.asarray(X, np.float64)
    mean = X.mean(axis=0)
    centred = X - mean
    basis = _principal(centred, max(1, min(COMPONENTS, len(X) // 3)))  # (d, keep)
    keep = basis.shape[1]
    Z = centred @ basis
    means = {label: Z[y == label].mean(axis=0) for label in np.unique(y)}
    inside = Z - np.array([means[label] for label in y])
    within = inside.T @ inside / len(Z)
    within += SHRINKAGE * np.trace(within) / keep * np.eye(keep) + 1e-12 * np.eye(keep)
    values, vectors = np.linalg.eigh(within)
    whiten = vectors / np.sqrt(values)
    between = np.array([means[label] for label in y]) @ whiten
    _, strength, axes = np.linalg.svd(between, full_matrices=False)
    found = [whiten @ axis for axis, one in zip(axes[:2], strength[:2], strict=False) if one > 1e-6 * strength[0]]
    for vector in vectors.T[::-1]:  # the largest variance within the classes fills the place of a missing axis
        if len(found) >= 2:
            break
        left = vector - sum(axis * (axis @ vector) / (axis @ axis) for axis in found)
        if np.linalg.norm(left) > 1e-6:
            found.append(left / max(np.std(Z @ left), 1e-12))
    while len(found) < 2:
        found.append(np.zeros(keep))
    chosen = np.stack(found, axis=1)
    chosen *= np.where(chosen.sum(axis=0) < 0, -1.0, 1.0)  # the sign of an axis is arbitrary
    return Projection(mean, basis @ chosen)


def _principal(centred: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The first principal directions of centred samples (n, d), at most `most` and at least one, as columns.

    Subspace iteration: with 1,000 samples of 715 features, ten times as fast as a singular value decomposition.
    """
    start = np.random.default_rng(0).normal(size=(centred.shape[1], min(most + SPARE, *centred.shape)))
    basis = np.linalg.qr(start)[0]
    for _ in range(ITERATIONS):
        basis = np.linalg.qr(centred.T @ (centred @ basis))[0]
    _, size, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    keep = max(1, min(most, int((size > 1e-9 * max(size[0], 1e-300)).sum())))
    return basis @ turned[:keep].T
