"""Synthetic streams of points with a known change point: Gaussian classes, rotating hyperplane, SEA."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.optional_packages import require
from tmlcd_core.portable_math import cos_of_turns, sin_of_turns
from tmlcd_core.validation import whole_number

SEA_CONCEPTS = 4  # thresholds 8, 9, 7, 9.5 on the sum of the first two of three attributes (Street & Kim, 2001)


@dataclass(frozen=True)
class SyntheticStream:
    """Points in the order of time: `X` (n, d), labels `y` (n,), and `changes`, the first index of each new concept."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.str_]
    changes: tuple[int, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Sorted labels."""
        return tuple(np.unique(self.y).tolist())


def gaussian_stream(
    n: int = 2000,
    classes: int = 2,
    dim: int = 2,
    drift: Literal["mean", "covariance", "none"] = "mean",
    at: int | None = None,
    strength: float = 1.0,
    width: int = 0,
    seed: int = 0,
) -> SyntheticStream:
    """Return a `SyntheticStream` of Gaussian classes on a circle; the first class drifts.

    `mean`: the mean of the first class moves by `strength` times the distance to the mean of the next class, which is
    3 standard deviations away. `covariance`: its standard deviation along the line to the next class grows by the
    factor `1 + 3 strength`; its mean stays.

    Parameters
    ----------
    n, classes, dim : int
        Number of points, classes ("0", "1", …) and attributes.
    drift : str
        "mean", "covariance" or "none".
    at : int or None
        First index of the new concept; n // 2 if None.
    strength : float
        From 0 (no drift) to 1.
    width : int
        Number of points over which the drift grows from 0 to `strength`; 0 is abrupt.
    seed : int
        Seed of the points.

    Examples
    --------
    >>> stream = gaussian_stream(2000, drift="mean", seed=0)
    >>> before, after = stream.X[:1000], stream.X[1000:]
    >>> gone = after[stream.y[1000:] == "0"].mean(axis=0) - before[stream.y[:1000] == "0"].mean(axis=0)
    >>> stream.changes, round(float(np.linalg.norm(gone)), 1)
    ((1000,), 2.9)
    """
    at = n // 2 if at is None else at
    _check(n, at, strength, seed)
    if classes < 2 or dim < 2:
        raise ConfigError(f"classes={classes} and dim={dim}; both must be at least 2")
    if width < 0:
        raise ConfigError(f"width={width}; give 0 for an abrupt drift or a number of points")
    if drift not in ("mean", "covariance", "none"):
        raise ConfigError(f"drift={drift!r}; choose mean, covariance or none")
    rng = np.random.default_rng(seed)
    means = np.zeros((classes, dim))
    # Adjacent means on the circle are 3 standard deviations apart for any number of classes.
    circle = [turn(np.arange(classes), classes) for turn in (cos_of_turns, sin_of_turns)]
    means[:, :2] = 1.5 / sin_of_turns(1, 2 * classes) * np.column_stack(circle)
    label = rng.integers(classes, size=n)
    noise = rng.standard_normal((n, dim))
    t = np.arange(n)
    share = np.where(t < at, 0.0, np.minimum(1.0, (t - at + 1) / max(width, 1))) * strength
    share = np.where(label == 0, share, 0.0)[:, None]
    way = means[1] - means[0]
    centre = means[label]
    if drift == "mean":
        centre = centre + share * way
    elif drift == "covariance":
        along = way / np.sqrt((way**2).sum())
        noise = noise + 3 * share * (noise * along).sum(axis=1, keepdims=True) * along
    changed = drift != "none" and strength > 0 and at < n
    return SyntheticStream(
        f"gaussian-{drift}", (centre + noise).astype(np.float32), label.astype(str), (at,) if changed else ()
    )


def hyperplane_stream(
    n: int = 2000,
    dim: int = 10,
    at: int | None = None,
    speed: float = 0.01,
    noise: float = 0.05,
    seed: int = 0,
) -> SyntheticStream:
    """Return a `SyntheticStream` of River's rotating hyperplane, which rotates by `speed` per point from `at` on.

    `n` points with `dim` attributes; the fraction `noise` of the labels is flipped.

    Examples
    --------
    >>> stream = hyperplane_stream(500, seed=0)
    >>> stream.X.shape, stream.changes, int((stream.y == "1").sum())
    ((500, 10), (250,), 248)

    References
    ----------
    G. Hulten, L. Spencer, P. Domingos, "Mining time-changing data streams", KDD 2001.
    """
    at = n // 2 if at is None else at
    _check(n, at, speed, seed)
    if dim < 2:
        raise ConfigError(f"dim={dim}; it must be at least 2")
    _check_share("noise", noise)
    require("river")
    from river.datasets.synth import Hyperplane

    # sigma=0: the direction of rotation never reverses.
    plane = Hyperplane(
        seed=seed,
        n_features=dim,
        n_drift_features=dim // 2,
        mag_change=0.0,
        noise_percentage=noise,
        sigma=0.0,
    )
    points = iter(plane)
    still = list(islice(points, at))
    plane.mag_change = speed
    return _stream("hyperplane", still + list(islice(points, n - at)), (at,) if speed > 0 and at < n else ())


def sea_stream(n: int = 4000, concepts: int = 4, noise: float = 0.1, seed: int = 0) -> SyntheticStream:
    """Return a `SyntheticStream` of River's SEA: concepts of equal length with different thresholds on x0 + x1.

    `n` points with 3 attributes; the fraction `noise` of the labels is flipped.

    Examples
    --------
    >>> stream = sea_stream(400, seed=0)
    >>> stream.X.shape, stream.changes
    ((400, 3), (100, 200, 300))

    References
    ----------
    W. N. Street, Y. Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.
    """
    _check(n, 0, 0, seed)
    if not 1 <= concepts <= min(SEA_CONCEPTS, n):
        raise ConfigError(f"concepts={concepts}; SEA has 1 to {SEA_CONCEPTS}, each at least one point long")
    _check_share("noise", noise)
    require("river")
    from river.datasets.synth import SEA

    starts = [n * i // concepts for i in range(concepts + 1)]
    seeds = np.random.SeedSequence(seed).generate_state(concepts)
    points: list[tuple[dict[int, float], Any]] = []
    for variant in range(concepts):
        concept = SEA(variant=variant, noise=noise, seed=int(seeds[variant]))
        points += islice(iter(concept), starts[variant + 1] - starts[variant])
    return _stream("sea", points, tuple(starts[1:-1]))


def _stream(name: str, points: list[tuple[dict[int, float], Any]], changes: tuple[int, ...]) -> SyntheticStream:
    X = np.array([list(x.values()) for x, _ in points], np.float32)
    return SyntheticStream(name, X, np.array([str(int(y)) for _, y in points]), changes)


def _check(n: int, at: int, strength: float, seed: int) -> None:
    whole_number("n", n, 1)
    whole_number("seed", seed, 0)
    if not 0 <= at <= n:
        raise ConfigError(f"at={at} lies outside the stream; choose 0..{n}")
    _check_share("strength", strength)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name}={value}; it must lie in 0..1")
