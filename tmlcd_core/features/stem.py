"""Stem of ResNet-18, cut after its max-pool: the paper's extractor before filter selection.

The input is 8-bit levels and a table of 256 colours: a spectrogram is one plane of levels with the viridis table, a
photograph three planes with the ImageNet normalisation as table. So one kernel processes both, and it looks up the
colours while copying instead of writing a coloured image to memory first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.optional_packages import require

if TYPE_CHECKING:
    import torch

N_FILTERS = 64
KERNEL = 7  # conv1 is 7x7, stride 2, padding 3 (He et al., 2016); the max-pool 3x3, stride 2, padding 1
IMAGENET_MEAN = (0.485, 0.456, 0.406)  # torchvision's ResNet18_Weights.IMAGENET1K_V1, RGB, of values in 0..1
IMAGENET_STD = (0.229, 0.224, 0.225)
LOWEST = np.float32(-1e30)  # below every response of the convolution; finite, since the kernel assumes finite numbers


@dataclass(frozen=True, eq=False)
class Stem:
    """Weights of conv1 and bn1 and the viridis table; STEM.md describes their origin.

    Parameters
    ----------
    conv1
        Weights (64, 3, 7, 7).
    weight, bias, running_mean, running_var
        Parameters of bn1, shape (64,) each.
    eps
        Epsilon of bn1.
    viridis
        Colours (256, 3): red, green, blue in 0..1.

    Examples
    --------
    >>> stem = load_stem()
    >>> stem.conv1.shape, round(float(stem.conv1[51].sum()), 4)
    ((64, 3, 7, 7), -1.1619)

    References
    ----------
    He, Zhang, Ren, Sun: Deep residual learning for image recognition, CVPR 2016.
    """

    conv1: NDArray[np.float32]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    running_mean: NDArray[np.float32]
    running_var: NDArray[np.float32]
    eps: NDArray[np.float32]
    viridis: NDArray[np.float32]

    def folded(self, filters: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weights (f, 3, 7, 7) and offsets (f,) of the filters, with the batch normalisation folded in."""
        index = list(filters)
        gain = self.weight[index] / np.sqrt(self.running_var[index].astype(np.float64) + self.eps)
        offset = self.bias[index] - self.running_mean[index] * gain
        kernels = self.conv1[index] * gain[:, None, None, None]
        return np.ascontiguousarray(kernels, dtype=np.float32), offset.astype(np.float32)

    def rising(self, filters: tuple[int, ...]) -> NDArray[np.float32]:
        """Return weights (f, 3, 7, 7) of the filters, negated where bn1 has a negative gain.

        So the batch normalisation that follows is increasing, and the max-pool may come before it.
        """
        index = list(filters)
        signs = np.where(self.weight[index] < 0, np.float32(-1), np.float32(1))
        return self.conv1[index] * signs[:, None, None, None]


@lru_cache(maxsize=1)
def load_stem() -> Stem:
    """Return the shipped stem; the file is read once."""
    with resources.files(__package__).joinpath("stem.npz").open("rb") as file, np.load(file) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    for array in parts.values():
        array.setflags(write=False)
    return Stem(**parts)


def viridis_table() -> NDArray[np.float32]:
    """Return the colour of every level of a spectrogram, float32 (3, 256)."""
    return np.ascontiguousarray(load_stem().viridis.T)


def imagenet_table() -> NDArray[np.float32]:
    """Return the normalised value of every level of red, green and blue, float32 (3, 256)."""
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    mean, std = (np.array(part, np.float32)[:, None] for part in (IMAGENET_MEAN, IMAGENET_STD))
    return (levels - mean) / std


def output_size(size: int) -> int:
    """Return the number of rows or columns after the convolution and the max-pool."""
    for _ in range(2):
        size = (size - 1) // 2 + 1
    return size


def apply_stem(
    levels: NDArray[np.uint8],
    table: NDArray[np.float32],
    kernels: NDArray[np.float32],
    offset: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Apply the stem to levels (n, planes, rows, columns) with 1 or 3 planes; return the maps, float32 (n, f, h, w).

    `table` is the colour table (3, 256); `kernels` and `offset` come from `Stem.folded`.
    """
    maps = _empty_maps(levels, len(kernels))
    _convolve(levels, table, kernels, offset, np.float32(0), maps, np.empty((0, 0, 2)))
    return maps


def apply_stem_by_clip(
    levels: NDArray[np.uint8], table: NDArray[np.float32], kernels: NDArray[np.float32], filters: tuple[int, ...]
) -> NDArray[np.float32]:
    """Apply the stem with bn1 in training mode and batches of one: each map is normalised by its own mean and variance.

    `levels` and `table` as in `apply_stem`; `kernels` come from `Stem.rising`. Returns the maps, float32 (n, f, h, w).
    """
    stem, index = load_stem(), list(filters)
    maps, moments = _empty_maps(levels, len(kernels)), np.zeros((len(levels), len(kernels), 2))
    _convolve(levels, table, kernels, np.zeros(len(kernels), np.float32), LOWEST, maps, moments)
    mean, variance = moments[..., 0], np.maximum(moments[..., 1] - moments[..., 0] ** 2, 0)
    gain = np.abs(stem.weight[index]) / np.sqrt(variance + np.float64(stem.eps))
    offset = stem.bias[index] - mean * gain
    maps *= gain[..., None, None].astype(np.float32)
    maps += offset[..., None, None].astype(np.float32)
    return np.maximum(maps, 0, out=maps)


def _empty_maps(levels: NDArray[np.uint8], filters: int) -> NDArray[np.float32]:
    n, _, rows, columns = levels.shape
    return np.empty((n, filters, output_size(rows), output_size(columns)), np.float32)


# No fastmath: it would sum in another order, and fuse, on other processors.
@njit(cache=True, nogil=True, error_model="numpy")
def _convolve(levels: Any, table: Any, kernels: Any, offset: Any, lowest: Any, maps: Any, moments: Any) -> None:
    """Colour lookup, convolution and max-pool, clip by clip, in buffers that stay in the processor's cache.

    The maxima start at `lowest`: 0 is a ReLU. `moments` (n, f, 2) receives the mean of the responses and of their
    squares; an array of length 0 leaves them out.

    Even and odd columns are in separate buffers, so that the stride of 2 becomes contiguous reads and the compiler can
    use vector instructions; the seven taps of a kernel row are summed per read of the accumulator.
    """
    n, planes, rows, columns = levels.shape
    out_rows, out_columns = (rows + 1) // 2, (columns + 1) // 2
    pooled_rows, pooled_columns = maps.shape[2], maps.shape[3]
    even = np.zeros((rows + 6, 3, out_columns + 4), np.float32)  # columns 0, 2, … of the padded image
    odd = np.zeros((rows + 6, 3, out_columns + 4), np.float32)
    total = np.empty(out_columns, np.float32)
    sums, squares = np.empty(out_columns), np.empty(out_columns)  # by column, added up in a fixed order
    # The border column and the extra row are the padding of the pooling.
    highest = np.empty((pooled_rows + 1, out_columns + 2), np.float32)
    for i in range(n):
        for r in range(rows):
            for c in range(3):
                source, colours = levels[i, c if planes == 3 else 0, r], table[c]
                evens, odds = even[r + 3, c], odd[r + 3, c]
                for k in range(out_columns):
                    odds[k + 1] = colours[source[2 * k]]
                for k in range(columns // 2):
                    evens[k + 2] = colours[source[2 * k + 1]]
        for f in range(kernels.shape[0]):
            highest[:] = lowest
            sums[:] = 0
            squares[:] = 0
            for t in range(out_rows):
                total[:] = offset[f]
                for u in range(max(0, 3 - 2 * t), min(7, rows + 3 - 2 * t)):
                    for c in range(3):
                        e, o, w = even[2 * t + u, c], odd[2 * t + u, c], kernels[f, c, u]
                        w0, w1, w2, w3, w4, w5, w6 = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
                        for k in range(out_columns):
                            total[k] += (
                                w0 * e[k] + w2 * e[k + 1] + w4 * e[k + 2] + w6 * e[k + 3]
                                + w1 * o[k] + w3 * o[k + 1] + w5 * o[k + 2]
                            )  # fmt: skip
                if len(moments):
                    for k in range(out_columns):
                        response = np.float64(total[k])
                        sums[k] += response
                        squares[k] += response * response
                top = highest[t // 2]
                for k in range(out_columns):
                    top[k + 1] = max(top[k + 1], total[k])
                if t % 2:
                    top = highest[t // 2 + 1]
                    for k in range(out_columns):
                        top[k + 1] = max(top[k + 1], total[k])
            if len(moments):
                for k in range(out_columns):
                    moments[i, f, 0] += sums[k] / (out_rows * out_columns)
                    moments[i, f, 1] += squares[k] / (out_rows * out_columns)
            for j in range(pooled_rows):
                for k in range(pooled_columns):
                    top = highest[j]
                    maps[i, f, j, k] = max(top[2 * k], max(top[2 * k + 1], top[2 * k + 2]))


def torch_stem(filters: tuple[int, ...], norm: str = "imagenet") -> torch.nn.Sequential:
    """Return the stem as a torch module for coloured images (n, 3, rows, columns), for a GPU or ONNX.

    `norm` as in `Extractor`: with "clip" the module normalises each map by itself.
    """
    require("torch")
    from torch import nn, no_grad, tensor

    stem, index = load_stem(), list(filters)
    conv = nn.Conv2d(3, len(index), KERNEL, stride=2, padding=3, bias=False)
    options: dict[str, Any] = {"eps": float(stem.eps), "affine": True}
    own = norm == "clip"
    layer = nn.InstanceNorm2d(len(index), **options) if own else nn.BatchNorm2d(len(index), **options)
    with no_grad():
        conv.weight.copy_(tensor(stem.conv1[index]))
        for name in ("weight", "bias", *(() if own else ("running_mean", "running_var"))):
            getattr(layer, name).copy_(tensor(getattr(stem, name)[index]))
    return nn.Sequential(conv, layer, nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)).eval()
