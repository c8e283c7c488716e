"""The room that the recorder (JavaScript, in node) sends with a take: the last second in which nobody spoke."""

import base64
import io

import numpy as np
import soundfile

from tests.support.node import needs_node, node
from tmlcd_core.viz.recorder import recorder_script

RATE = 48_000
PROGRAM = (
    recorder_script().replace("export default function", "function main")
    + """
import fs from "node:fs";
globalThis.document = { hidden: false };
const recorder = Object.create(Recorder.prototype);
Object.assign(recorder, {
  data: { word: "yes", hearing: "" }, phase: "room", outbox: [], voice: new VoiceActivity(), root: { dataset: {} },
  free: { checked: true }, microphone: { rate: 48000 }, show() {}, votes: null,
});
const sent = [];
recorder.post = () => sent.push(recorder.outbox.shift());
recorder.reset();
const sound = JSON.parse(fs.readFileSync(0, "utf8"));
for (const [seconds, hertz, level] of sound)
  for (let at = 0; at < seconds * 48000; at += 480) {
    const noise = (i) => 0.0005 * ((((at + i) * 7919) % 1009) / 1009 - 0.5);
    const value = (i) => noise(i) + level * Math.sin(2 * Math.PI * hertz * (at + i) / 48000);
    recorder.take(Float32Array.from({ length: 480 }, (_, i) => value(i)));
    if (seconds > 5) recorder.roomAt = -1e9; // as if it was sent long ago
  }
console.log(JSON.stringify(sent));
"""
)
QUIET, WORD = (1.5, 0, 0.0), (0.4, 500, 0.3)


def rooms(sounds: list[tuple[float, float, float]]) -> list[np.ndarray | None]:
    """Rooms sent with the takes of sounds (seconds, Hz, level)."""
    found: list[np.ndarray | None] = []
    for take in node(PROGRAM, sounds):
        assert take["kind"] == "voice"
        room = take["room"] and soundfile.read(io.BytesIO(base64.b64decode(take["room"])))[0]
        found.append(room if len(room) else None)
    return found


@needs_node
def test_the_room_is_a_second_without_the_word_and_is_sent_once_in_a_while():
    first, second = rooms([QUIET, WORD, QUIET, WORD, QUIET])
    assert first is not None and len(first) == RATE and np.abs(first).max() < 0.001
    assert second is None


@needs_node
def test_the_room_follows_a_sound_that_lasts():
    _, later = rooms([QUIET, WORD, QUIET, (6.0, 300, 0.03), WORD, QUIET])
    assert later is not None
    spectrum = np.abs(np.fft.rfft(later))
    assert spectrum.argmax() == 300 and np.abs(later).max() < 0.05, "the tone, and not the word"
