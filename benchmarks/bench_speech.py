"""Benchmark of the speech source: time to make the features of three words by stage, and from the cache."""

from __future__ import annotations

import os
import tempfile
import time
from itertools import pairwise

from tmlcd_core.datasets import FeatureCache, load
from tmlcd_core.datasets.speech import SpeechSource
from tmlcd_core.features import Extractor

WORDS = ("yes", "no", "up")
CLIPS = 1_600  # of each word
AIM, CACHED_AIM = 30.0, 0.5  # s on two cores: all stages; from the cache
AGAIN = 5  # loads from the cache; the median is printed


def now() -> tuple[float, float]:
    """Return wall-clock seconds and processor seconds, child processes included."""
    times = os.times()
    return time.perf_counter(), times.user + times.system + times.children_user + times.children_system


def main() -> None:
    """Print wall and processor time by stage."""
    source, extractor = SpeechSource(WORDS), Extractor()
    clock = [now()]
    source.prepare()
    clock.append(now())
    clips = [source.media(word, range(CLIPS)) for word in WORDS]
    clock.append(now())
    for part in clips:
        extractor.transform(part)
    clock.append(now())
    print(f"{len(WORDS)} words x {CLIPS:,} clips, synthesis to features{'wall':>15}{'CPU':>10}")
    stages = [("speak, two at a time", *clock[:2]), ("mix with noise", *clock[1:3]), ("extract", *clock[2:])]
    for stage, start, end in [*stages, ("all", clock[0], clock[-1])]:
        print(f"  {stage:<43}{end[0] - start[0]:9.2f} s{end[1] - start[1]:8.2f} s")
    print(f"  target: under {AIM:g} s of wall time on two idle cores")
    with tempfile.TemporaryDirectory() as folder:
        cache = FeatureCache(folder)
        load(source, WORDS, CLIPS, extractor, cache=cache)
        clock = [now()]
        for _ in range(AGAIN):
            load(SpeechSource(WORDS), WORDS, CLIPS, Extractor(), cache=cache)
            clock.append(now())
    wall, cpu = (sorted(end[k] - start[k] for start, end in pairwise(clock))[AGAIN // 2] for k in (0, 1))
    print(f"  {'from the cache':<43}{wall:9.2f} s{cpu:8.2f} s\n  target: under {CACHED_AIM:g} s")


if __name__ == "__main__":
    main()
