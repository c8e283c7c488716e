"""Unknown words, page against chip: both compare a take with all takes that have a word.

It needs a folder of recorded words, WORD_SPEAKER_TAKE.flac, named by the environment variable TMLCD_VOICES; the second
half of the speakers is used, by whom no setting of a front end was chosen. Each session teaches one take of each of
`WORDS` words and judges `JUDGED` takes of each, with and without a swap of two words halfway; then page and chip hear
the rest of the takes and all takes of the other words.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from tmlcd_core.live import LiveSession, session_project
from tmlcd_core.live.drift_trials import read_voices
from tmlcd_core.mcu import BOARDS
from tmlcd_core.mcu.expected_output import twin_of
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.mcu.unknown import is_unknown

WORDS, JUDGED = 5, 6
LEARNER, BOARD = "hybrid", BOARDS["stm32f767"]


def session_of(voice: dict, words: list[str], extractor: str, swap: bool) -> LiveSession:
    """Return a session of one speaker: taught, judged, and with `swap` the first two words change places halfway."""
    session = LiveSession(words, extractor, (LEARNER,))
    for word in words:
        session.teach(word, voice[word][0])
    change = {words[0]: words[1], words[1]: words[0]}
    for number in range(JUDGED):
        for word in words:
            answer = session.say(voice[word][1 + number])
            session.judge(answer.id, change.get(word, word) if swap and number >= JUDGED // 2 else word)
    return session


def compare(folder: str, extractor: str, swap: bool) -> str:
    """Return a line with the shares of taught words refused and of other words accepted, by page and chip."""
    voices = read_voices(folder)
    page: list[bool] = []
    chip: list[bool] = []
    taught: list[bool] = []
    for number, speaker in enumerate(sorted(voices)[len(voices) // 2 :]):
        voice = voices[speaker]
        names = [str(word) for word in np.random.default_rng(number).permutation(sorted(voice))]
        session = session_of(voice, names[:WORDS], extractor, swap)
        project = session_project(session, BOARD, LEARNER, store="uint8")
        firmware, front_end = project.firmware, FRONT_ENDS[project.firmware.configuration.front_end]
        twin = twin_of(project.model, firmware.configuration, len(project.model), firmware.offset, firmware.scale)
        rest = [(take, word in names[:WORDS]) for word in names for take in voice[word]]
        rest = [(take, known) for take, known in rest if take.digest not in {t.digest for t in session.takes.values()}]
        heard = firmware.quantise(front_end.hear_takes([take for take, _ in rest]))
        chip += [is_unknown(twin, x, firmware.farthest, firmware.named) for x in heard]
        page += [session.hear(take).unknown for take, _ in rest]
        taught += [known for _, known in rest]
    on_page, on_chip, known = np.array(page), np.array(chip), np.array(taught)
    return (
        f"{extractor:<7}{'yes' if swap else 'no':<5}{known.sum():>7}{on_page[known].mean():>9.1%}"
        f"{on_chip[known].mean():>9.1%}{(~known).sum():>8}{(~on_page[~known]).mean():>9.1%}"
        f"{(~on_chip[~known]).mean():>9.1%}{(on_page != on_chip).mean():>9.1%}"
    )


def main() -> None:
    """Print a line per extractor, without and with a swap."""
    folder = os.environ.get("TMLCD_VOICES", "")
    if not folder:
        print("skipped: set TMLCD_VOICES to a folder of recorded words", file=sys.stderr)
        return
    print("       swap taught  refused: page, chip; others, accepted: page, chip; different")
    for extractor in ("word", "speech"):
        for swap in (False, True):
            print(compare(folder, extractor, swap), flush=True)


if __name__ == "__main__":
    main()
