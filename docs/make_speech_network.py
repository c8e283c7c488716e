"""Make tmlcd_core/features/voice/speech_network.npz and the reference outputs of its test.

The weights are read from `embedding_model.onnx` in the PyPI package openwakeword 0.5.1, Google's speech_embedding
network with its batch normalisation folded into the convolutions. This script needs the packages onnx and onnxruntime,
which the project itself does not:

    pip install onnx onnxruntime && pip download --no-deps openwakeword==0.5.1
    python -m docs.make_speech_network openwakeword-0.5.1-py3-none-any.whl
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.espeak import SAMPLE_RATE, Utterance, speak
from tmlcd_core.datasets.speech import WORDS
from tmlcd_core.draws import MEDIA, Draws
from tmlcd_core.features.voice import open_take
from tmlcd_core.features.voice import speech_network as network
from tmlcd_core.features.voice.extractors import centred
from tmlcd_core.features.voice.words import VOICE_RATE

MODELS = "openwakeword/resources/models/"
SHA256 = {  # of the files in the wheel
    "embedding_model.onnx": "70d164290c1d095d1d4ee149bc5e00543250a7316b59f31d056cff7bd3075c1f",
    "melspectrogram.onnx": "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f",
}
VOICES = ("en", "en-gb-x-gbclan", "en-gb-scotland", "en-us", "en-029", "en+f2", "en-us+f4", "en+m3", "en-us+m7")
CLIPS, CLIP_SECONDS = 100, 1.6
REFERENCE = Path("tests/features/speech_network_reference.npz")


def weights(model: bytes) -> dict[str, NDArray[np.float32]]:
    """Return the weights and biases of the 20 convolutions by name, float32."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(model).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    found = {}
    for i, node in enumerate(one for one in graph.node if one.op_type == "Conv"):
        kernel = stored[node.input[1]]
        found[f"weights{i}"] = kernel
        found[f"bias{i}"] = stored[node.input[2]] if len(node.input) > 2 else np.zeros(len(kernel), np.float32)
    return found


def mean_vector() -> NDArray[np.float32]:
    """Return the mean of the vectors of synthetic words in nine voices, float32 (96,)."""
    found = []
    for word in WORDS:
        spoken = speak([Utterance(word, voice, 50, 130) for voice in VOICES])
        clips = np.stack([centred(open_take((sound / 32_768, SAMPLE_RATE))) for sound in spoken])
        found.append(network.vectors(np.stack([network.mel_frames(clip) for clip in clips])).mean(axis=1))
    return np.concatenate(found).mean(axis=0)


def reference_clip(number: int) -> NDArray[np.float32]:
    """Return a reproducible test clip, float32 (25600,): a gliding tone with harmonics and noise, of varied level."""
    draws = Draws(number, MEDIA)
    time = np.arange(round(CLIP_SECONDS * VOICE_RATE)) / VOICE_RATE
    pitch, glide, level, noise = draws.uniform(4)
    phase = 2 * np.pi * (80 + 200 * pitch) * time * (1 + (glide - 0.5) * time)
    tone = sum(np.sin(i * phase) * loud for i, loud in enumerate(draws.uniform(11), 1))
    random = draws.uniform(len(time)) - 0.5
    envelope = np.sin(np.pi * np.clip((time - 0.4) / 0.8, 0, 1))
    return (10 ** (-2 * level) * (0.1 * tone * envelope + 0.2 * noise * random)).astype(np.float32)


def reference(mel_model: bytes, model: bytes) -> dict[str, NDArray[np.float32]]:
    """Return what the original networks give for the test clips: vectors of the first window and their means."""
    import onnxruntime

    mel = onnxruntime.InferenceSession(mel_model)
    embed = onnxruntime.InferenceSession(model)
    first, mean = [], []
    for number in range(CLIPS):
        decibels = mel.run(None, {"input": reference_clip(number)[None] * np.float32(network.INT16)})[0]
        frames = np.squeeze(decibels) / 10 + 2
        starts = range(0, len(frames) - network.WINDOW + 1, network.WINDOW_HOP)
        windows = np.stack([frames[i : i + network.WINDOW] for i in starts])
        out = embed.run(None, {"input_1": windows[..., None]})[0].reshape(len(windows), network.SIZE)
        first.append(out[0])
        mean.append(out.mean(axis=0))
    return {"first": np.array(first, np.float32), "mean": np.array(mean, np.float32)}


def main(wheel: str) -> None:
    """Write the weights and the reference outputs."""
    with ZipFile(wheel) as archive:
        files = {name: archive.read(MODELS + name) for name in SHA256}
    for name, content in files.items():
        if sha256(content).hexdigest() != SHA256[name]:
            sys.exit(f"{name} has another sha256 than expected: use openwakeword 0.5.1")
    place = Path(network.__file__).with_name(network.FILE)
    arrays = weights(files["embedding_model.onnx"])
    np.savez_compressed(place, mean=np.zeros(network.SIZE, np.float32), **arrays)
    network.load_speech_network.cache_clear()
    np.savez_compressed(place, mean=mean_vector(), **arrays)
    np.savez_compressed(REFERENCE, **reference(files["melspectrogram.onnx"], files["embedding_model.onnx"]))


if __name__ == "__main__":
    main(sys.argv[1])
