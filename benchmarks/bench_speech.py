"""How long it takes to get from nothing to the features of three words, stage by stage."""

from __future__ import annotations

import time
from itertools import pairwise

from tmlcd_core.datasets.speech import SpeechSource
from tmlcd_core.features import Extractor

WORDS = ("yes", "no", "up")
CLIPS = 1_600  # of each word
AIM = 30.0  # s on two cores, all stages


def main() -> None:
    source, extractor = SpeechSource(WORDS), Extractor()
    clock = [time.perf_counter()]
    source.prepare()
    clock.append(time.perf_counter())
    clips = [source.media(word, range(CLIPS)) for word in WORDS]
    clock.append(time.perf_counter())
    for part in clips:
        extractor.transform(part)
    clock.append(time.perf_counter())
    total = clock[-1] - clock[0]
    print(f"{len(WORDS)} words x {CLIPS:,} clips, from nothing to features")
    for stage, (start, end) in zip(("speak", "mix with noise", "extract"), pairwise(clock), strict=True):
        print(f"  {stage:<15}{end - start:7.2f} s  {(end - start) / total:4.0%}")
    print(f"  {'total':<15}{total:7.2f} s  (aim: under {AIM:g} s)")


if __name__ == "__main__":
    main()
