"""Make tmlcd_core/mcu/speech_int8.npz: the speech network in 8 bits, calibrated on recorded words.

    python -m docs.make_speech_int8 FOLDER

FOLDER holds files word_speaker_take, as AudioMNIST. The first half of the speakers calibrate the ranges of the
activations; `tmlcd compare-extractors --extractors speech,speech-chip` compares the accuracies.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tmlcd_core.datasets.folder import FolderSource
from tmlcd_core.features.voice import open_take, speech_network
from tmlcd_core.live.speakers import find_speakers
from tmlcd_core.mcu import speech_int8
from tmlcd_core.mcu.front_ends import lay_out
from tmlcd_core.mcu.listening import find_spans, frames_of
from tmlcd_core.mcu.sound import as_int16

TAKES = 3  # per word and speaker
CALIBRATION_NOISE = 1.0  # of the streams, as in `lay_out`
BEYOND = 1e-5  # share of the activations that are cut off


def main(folder: str) -> None:
    """Calibrate on the first half of the speakers and write the file."""
    people = find_speakers(FolderSource(folder))
    chosen = list(people)[: len(people) // 2]
    files = [file for person in chosen for takes in people[person].values() for file in sorted(takes)[:TAKES]]
    parts = lay_out([as_int16(open_take(file).samples) for file in files], CALIBRATION_NOISE)
    frames = frames_of(np.concatenate(parts), speech_int8.speech_spectrum())
    heard = [speech_int8.network_input(frames, span) for span in find_spans(frames)]
    outputs = [speech_network.layer_outputs(one[None].astype(np.float32) / np.float32(20)) for one in heard]
    largest = []
    for layer in range(len(outputs[0]) - 1):
        values = np.concatenate([out[layer].ravel() for out in outputs])
        largest.append(float(np.quantile(values, 1 - BEYOND)))
    network = speech_network.load_speech_network()
    arrays = speech_int8.quantise_network(
        [w.numpy() for w, _ in network.layers], [b.numpy() for _, b in network.layers], largest, network.mean
    )
    target = Path(speech_int8.__file__).with_name(speech_int8.FILE)
    with target.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    print(f"{target}: {target.stat().st_size:,} bytes; {len(heard)} words of speakers {', '.join(chosen)}")


if __name__ == "__main__":
    main(sys.argv[1])
