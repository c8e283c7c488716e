"""Turn sounds into takes: from the recorder, a file, the server's microphone or ready-made clips."""

from itertools import count

from pages.views.microphone.actions.say import answer_take, discard
from pages.views.microphone.actions.teach import teach_take
from pages.views.microphone.sample_clips import sample_clip
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.audio import read_sound
from tmlcd_core.features.voice import cut_words, open_take
from tmlcd_core.features.voice.take import LONGEST_TAKE
from tmlcd_core.live.drifts import in_force, spoken_for


def receive(
    tab: TabState,
    sound: bytes | tuple,
    teaching: bool,
    *,
    long: bool = False,
    name: str = "",
    word: str = "",
    asked: str = "",
    pressed: bool = True,
) -> None:
    """Teach a sound, cut it into words, or answer it; an error becomes a message.

    Parameters
    ----------
    tab
        The tab that has received the sound.
    sound
        Bytes of a sound file, or (samples, rate in Hz).
    teaching
        Whether to teach the sound rather than to answer it.
    long
        Whether it is a long recording with several words, to be cut; a long file is always cut.
    name
        Name of the file, for messages.
    word
        The word that was said, if it is certain.
    asked
        Otherwise the word that the page asked for during the recording; if it is empty, the one on the screen.
    pressed
        Whether the visitor has chosen this sound; False for a sound that was recorded because it was loud. Noise is
        then not taught.
    """
    with tab.messages.catch_errors(name), tab.exclusive():
        if teaching and (long or is_long(sound)):
            tab.teach.add_cut(cut_words(sound))
            return
        if not teaching:
            discard(tab)  # a sound that is refused must not leave the old answer on the screen
        take = open_take(sound)
        if teaching:
            teach_take(tab, take, word or asked or tab.teach.word, pressed)
        else:
            answer_take(tab, take, word, asked)
        for remark in take.remarks:
            tab.messages.info(f"The take was stored. Note: {remark}.")


def is_long(sound: bytes | tuple) -> bool:
    """Return whether a sound file is longer than one take; only its beginning is decoded."""
    return isinstance(sound, bytes) and read_sound(sound, 0.1)[2] > LONGEST_TAKE


def receive_clip(tab: TabState, word: str, teaching: bool, judged: bool = False) -> None:
    """Receive a ready-made clip of a word, each clip once; with `judged` its answer is judged at once.

    The clip follows the drift in progress: another word, another speaker, or a covered microphone.
    """
    session = tab.session
    with tab.messages.catch_errors():
        spoken = word if teaching else spoken_for(session, word)
        other, covered = (bool(in_force(session.events, kind)) and not teaching for kind in ("speaker", "cover"))
        known = {take.digest for take in session.takes.values()}
        clips = (sample_clip(spoken, number, other, covered) for number in count(session.number))
        clip = next(clip for clip in clips if open_take(clip).digest not in known)
        receive(tab, clip, teaching, word=word if teaching or judged or tab.say.prompting else "")


def receive_each_word(tab: TabState, clips: int) -> None:
    """Teach `clips` ready-made clips of each word."""
    for word in list(tab.session.words):
        for _ in range(clips):
            receive_clip(tab, word, teaching=True)


def receive_random_words(tab: TabState, clips: int) -> None:
    """Answer and judge `clips` ready-made clips of words in random order."""
    for _ in range(clips):
        tab.say.choose_prompt(tab.session, tab.drift)
        receive_clip(tab, tab.say.prompted, teaching=False, judged=True)
