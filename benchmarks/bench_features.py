"""Benchmark of the extractor against a plain pipeline of librosa, viridis and conv2d.

One thread; CPU time of the thread, best of several rounds. The candidates take turns, so that other load on the
machine affects all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features import Extractor, load_stem

CLIPS = 256
ROUNDS = 7


def plain_pipeline(extractor: Extractor) -> Callable[[NDArray], NDArray]:
    """Return the extractor written with librosa, matplotlib and torch; weights and colour map are loaded beforehand."""
    import librosa
    import torch
    from matplotlib import colormaps
    from torch.nn import functional as F

    viridis, stem, index = colormaps["viridis"], load_stem(), list(extractor.filters)
    kernels = torch.tensor(stem.conv1[index])
    norm = [torch.tensor(getattr(stem, n)[index]) for n in ("running_mean", "running_var", "weight", "bias")]

    def run(clip: NDArray) -> NDArray:
        spectrum = np.abs(librosa.stft(clip, n_fft=extractor.n_fft, hop_length=extractor.hop))
        db = librosa.amplitude_to_db(spectrum, ref=np.max, top_db=80)
        coloured = viridis((db - db.min()) / (db.max() - db.min()))[..., :3].astype(np.float32)
        with torch.inference_mode():
            image = torch.from_numpy(coloured.transpose(2, 0, 1)[None])
            response = F.batch_norm(F.conv2d(image, kernels, stride=2, padding=3), *norm, eps=1e-5)
            return F.max_pool2d(F.relu(response), 3, 2, 1).numpy().reshape(-1)

    return run


def measure(candidates: dict[str, tuple[Callable[[], Any], int]]) -> dict[str, float]:
    """Return the seconds per clip of each candidate, given as (function, number of clips)."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, (run, clips) in candidates.items():
            started = time.thread_time()
            run()
            best[name] = min(best[name], (time.thread_time() - started) / clips)
    return best


def main() -> None:
    """Print microseconds per clip and ratios for three extractors."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for title, extractor in {
        "22,050 Hz, filter 51": Extractor(),
        "4,410 Hz, filter 51": Extractor(sample_rate=4_410, n_fft=128, hop=128),
        "22,050 Hz, 16 filters": Extractor(filters=tuple(range(40, 56))),
    }.items():
        clips = np.random.default_rng(0).normal(0, 0.1, (CLIPS, extractor.sample_rate)).astype(np.float32)
        plain, by_torch = plain_pipeline(extractor), replace(extractor, engine="torch")
        assert np.abs(plain(clips[0]) - extractor.transform(clips[0])[0]).max() < 1e-5
        few = clips[: CLIPS // 4]
        seconds = measure(
            {
                "plain, clip by clip": (lambda few=few, f=plain: [f(c) for c in few], len(few)),
                "extractor, clip by clip": (
                    lambda few=few, e=extractor: [e.transform(c) for c in few],
                    len(few),
                ),
                "extractor, batched": (lambda clips=clips, e=extractor: e.transform(clips), CLIPS),
                "extractor, batched, torch": (lambda clips=clips, e=by_torch: e.transform(clips), CLIPS),
            }
        )
        print(f"{title}\n  {'':28}{'us/clip':>9}{'clips/s':>9}{'x plain':>9}")
        for name, value in seconds.items():
            ratio = seconds["plain, clip by clip"] / value
            print(f"  {name:28}{value * 1e6:9.0f}{1 / value:9.0f}{ratio:9.1f}")
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
