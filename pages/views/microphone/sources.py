"""Sources of sound: the browser's microphone, files, ready-made clips, the server's microphone."""

from contextlib import suppress

import streamlit as st

from pages.components.recorder import arrived, recorder
from pages.shell.uploads import forget
from pages.shell.url_widgets import as_text
from pages.shell.visitor import offers_server_devices
from pages.views.microphone.actions.sounds import receive, receive_clip, receive_each_word, receive_random_words
from pages.views.microphone.hearing import hearing_path
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import AudioError
from tmlcd_core.features.server_microphone import input_device, record
from tmlcd_core.live import LiveSession
from tmlcd_core.live.drifts import spoken_for

RECORDER, FILES = "mic:recorder", "mic:files"
SOUNDS = ["wav", "flac", "ogg", "mp3"]
MAX_MB = 10
SECONDS, LONG_SECONDS = 1.5, 10.0  # s, of a recording with the server's microphone
SEVERAL = 10  # ready-made clips to answer with one click
UNKNOWN, NOISE = "unknown", "noise"  # bars after those of the words
A_FEW = 3  # ready-made clips of each word to teach with one click


@st.cache_resource(show_spinner=False)
def server_device() -> str | None:
    """Return the name of the server's microphone, or None."""
    return input_device()


def take_in(tab: TabState, teaching: bool) -> None:
    """Receive files and what the recorder has just sent; call it before anything is drawn."""
    for place in (True, False):
        receive_files(tab, place)
    recording = arrived(RECORDER)
    if recording is None:
        return
    tab.messages.clear()
    with tab.exclusive() as session:
        if recording.id in recording.done:  # sent again while another thread worked on it
            return
        asked = recording.word if recording.word in session.words else ""
        if teaching:
            hear_room(session, recording.room)
        # A long recording always begins in step 1, but the user may have left it meanwhile.
        receive(
            tab, recording.wav, teaching or recording.long, long=recording.long, asked=asked, pressed=recording.pressed
        )
        recording.acknowledge()
        if not teaching:  # after the answer, which must come soon
            hear_room(session, recording.room)


def hear_room(session: LiveSession, room: bytes) -> None:
    """Learn the background class from a second of the room, if the recorder has sent one."""
    if room:
        with suppress(AudioError):  # an empty sound: the room stays as it was
            session.hear_room(room)


def show_recorder(tab: TabState, teaching: bool) -> None:
    """Draw the recorder; while teaching, also the messages about the last event (else they are in the answer)."""
    word = tab.teach.word if teaching else tab.say.prompted if tab.say.prompting else ""
    given = None if teaching else tab.say.answer
    recorder(
        RECORDER, prompt=prompt(tab, teaching), word=word, blocked=blocked(tab, teaching), long=teaching,
        answer="" if given is None else given.id, bars=() if teaching else bars(tab),
        hearing="" if teaching or blocked(tab, teaching) else hearing(tab),
    )  # fmt: skip
    if teaching:
        show_messages(tab)


def show_messages(tab: TabState) -> None:
    """Draw the messages about the last event."""
    for kind, text in tab.messages.shown:
        {"info": st.info, "warning": st.warning}[kind](as_text(text))


def hearing(tab: TabState) -> str:
    """Return the address that answers with the votes for a word while it is said; a draft has none."""
    return "" if tab.handle.stored is None else f"{hearing_path()}?session={tab.handle.stored.token}"


def bars(tab: TabState) -> list[tuple[str, float]]:
    """Return the probability of each word in the last answer, of an unknown word, and of the background."""
    given = tab.say.answer
    if given is None:
        return [(word, 0.0) for word in (*tab.session.words, UNKNOWN, NOISE)]
    shares = given.shares()
    rest = max(0.0, 1 - sum(shares.values()))
    words = [(word, shares.get(word, 0.0)) for word in tab.session.words]
    return [*words, (UNKNOWN, 0.0 if given.noise else rest), (NOISE, rest if given.noise else 0.0)]


def prompt(tab: TabState, teaching: bool) -> str:
    """Return what to say next, or an empty text while recording is blocked."""
    if teaching:
        return f"Say “{tab.teach.word}”"
    if blocked(tab, teaching):
        return ""
    if not tab.say.prompting:
        often = " or ".join(f"“{spoken_for(tab.session, word)}”" for word in tab.drift.often)
        return f"Say {often} every second time" if often else "Say one of the words"
    word = tab.say.prompted
    spoken = spoken_for(tab.session, word)
    return f"Say “{spoken}”" + ("" if spoken == word else f", which now means “{word}”")


def blocked(tab: TabState, teaching: bool) -> str:
    """Return why nothing can be recorded in this step, or an empty text."""
    return "" if teaching else tab.session.missing() or ""


def show_others(tab: TabState, teaching: bool) -> None:
    """Draw the other sources in an expander."""
    with st.expander("No microphone? Ready-made clips and files", key="mic:others", icon=":material/library_music:"):
        ready(tab, teaching)
        files(tab, teaching)
        if offers_server_devices() and (device := server_device()):
            server(tab, teaching, device)


def ready(tab: TabState, teaching: bool) -> None:
    """Draw buttons for ready-made clips."""
    session, use = tab.session, "teach" if teaching else "say"
    st.caption("Ready-made clips, spoken by a computer voice.")
    with st.container(horizontal=True):
        for word in session.words:
            st.button(
                as_text(word), key=f"mic:ready:{use}:{word}", icon=":material/play_circle:", on_click=tab.run_action,
                args=(receive_clip, tab, word, teaching), disabled=bool(blocked(tab, teaching)),
            )  # fmt: skip
        if teaching:
            st.button(
                f"{A_FEW} of each word", key="mic:few", icon=":material/auto_awesome:", on_click=tab.run_action,
                args=(receive_each_word, tab, A_FEW), help="Teaches every word with ready-made clips, to try the page.",
            )  # fmt: skip
        else:
            st.button(
                f"{SEVERAL} random words", key="mic:several", icon=":material/fast_forward:",
                on_click=tab.run_action, args=(receive_random_words, tab, SEVERAL),
                disabled=bool(blocked(tab, teaching)),
                help="Says words in random order and judges each answer correctly.",
            )  # fmt: skip


def files_key(tab: TabState, teaching: bool) -> str:
    """Return the key of the uploader of sound files: an own one for teaching, and a new one after each upload."""
    return f"{FILES}:{'teach' if teaching else 'say'}:{tab.uploads}"


def files(tab: TabState, teaching: bool) -> None:
    """Draw an uploader of sound files; `receive_files` receives them."""
    what = f"Files of “{tab.teach.word}”" if teaching else "Files, each of one word"
    st.file_uploader(
        as_text(what), SOUNDS, accept_multiple_files=True, key=files_key(tab, teaching), max_upload_size=MAX_MB,
        help="wav, flac, ogg or mp3: one word, up to 5 seconds"
        + (", or repetitions of it, up to 30 seconds." if teaching else "."),
    )  # fmt: skip


def receive_files(tab: TabState, teaching: bool) -> None:
    """Receive the uploaded sound files as what they were chosen for, also if the user has left that step meanwhile."""
    key = files_key(tab, teaching)
    sent = st.session_state.get(key)
    if not sent:
        return
    with tab.exclusive():
        if key != files_key(tab, teaching):  # received by another thread meanwhile
            return
        tab.messages.clear()
        word = tab.teach.word if teaching else ""  # for all files; the page may select the next word meanwhile
        for file in sent:
            if file.size > MAX_MB * 2**20:  # the limit of the uploader is checked in the browser only
                tab.messages.warn(f"{file.name}: {file.size / 2**20:.0f} MB; the limit is {MAX_MB} MB")
                continue
            receive(tab, file.getvalue(), teaching, name=file.name, word=word)
        tab.uploads += 1  # before any call of Streamlit: a click may end the run there, and the files are received
    forget(sent)


def server(tab: TabState, teaching: bool, device: str) -> None:
    """Draw buttons that record with the server's microphone `device`."""
    st.caption(f"Server microphone “{as_text(device)}”, on the computer that runs the app.")
    with st.container(horizontal=True):
        key = f"mic:server:{'teach' if teaching else 'say'}"
        word = st.button(f"Record {SECONDS:g} s on the server", key=key, icon=":material/mic:")
        long = teaching and st.button(f"Record {LONG_SECONDS:g} s (several words) on the server", key="mic:server:long")
    if word or long:
        tab.messages.clear()
        with st.spinner("Speak now …"), tab.messages.catch_errors():
            receive(tab, record(LONG_SECONDS if long else SECONDS), teaching, long=bool(long))
        st.rerun()
