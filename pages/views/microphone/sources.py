"""Where sound comes from: the browser's microphone, files, ready-made clips, the server's microphone."""

import streamlit as st

from pages.components.recorder import arrived, recorder
from pages.shell.uploads import forget
from pages.shell.url_widgets import as_text
from pages.shell.visitor import offers_server_devices
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.server_microphone import input_device, record

RECORDER, FILES, TURN = "mic:recorder", "mic:files", "mic:files:turn"
SOUNDS = ["wav", "flac", "ogg", "mp3"]
MAX_MB = 10
SECONDS, LONG_SECONDS = 1.5, 10.0  # of a take of the server's microphone
SEVERAL = 10  # ready-made words at once
A_FEW = 3


@st.cache_resource(show_spinner=False)
def server_device() -> str | None:
    return input_device()


def take_in(tab: TabState, teaching: bool) -> None:
    """What has just come from the recorder, before anything is drawn."""
    recording = arrived(RECORDER)
    if recording is None:
        return
    tab.said.clear()
    with tab.alone() as session:
        if recording.id in recording.done:  # sent again while another thread worked on it
            return
        meant = recording.word if recording.word in session.words and (teaching or tab.asks) else ""
        # A long take was begun in the first step, which may have been left meanwhile.
        tab.receive(recording.wav, teaching or recording.long, long=recording.long, word=meant)
        recording.acknowledge()


def show_recorder(tab: TabState, teaching: bool) -> None:
    """The recorder, and what there is to say about the last take."""
    hold = "Tell it what you said; then it listens again." if not teaching and tab.waits_for_truth() else ""
    word = tab.word if teaching else tab.asked if tab.asks else ""
    recorder(
        RECORDER, prompt=prompt(tab, teaching), word=word, blocked=blocked(tab, teaching), hold=hold, long=teaching
    )
    for kind, sentence in tab.said:
        {"info": st.info, "warning": st.warning}[kind](as_text(sentence))


def prompt(tab: TabState, teaching: bool) -> str:
    if teaching:
        return f"Say “{tab.word}”"
    if blocked(tab, teaching):
        return ""
    if not tab.asks:
        often = None if tab.guide is None else tab.guide.often
        return f"Say “{tab.spoken_for(often)}” every second time" if often else "Say one of the words"
    spoken = tab.spoken_for(tab.asked)
    return f"Say “{spoken}”" + ("" if spoken == tab.asked else f", which now means “{tab.asked}”")


def blocked(tab: TabState, teaching: bool) -> str:
    return "" if teaching else tab.session.missing() or ""


def show_others(tab: TabState, teaching: bool) -> None:
    """The other sources, folded away."""
    with st.expander("No microphone? Ready-made clips and files", key="mic:others", icon=":material/library_music:"):
        ready(tab, teaching)
        files(tab, teaching)
        if offers_server_devices() and (device := server_device()):
            server(tab, teaching, device)


def ready(tab: TabState, teaching: bool) -> None:
    session = tab.session
    st.caption("Ready-made: the words as a computer voice says them.")
    with st.container(horizontal=True):
        for word in session.words:
            st.button(
                as_text(word), key=f"mic:ready:{word}", icon=":material/play_circle:", on_click=tab.act,
                args=(tab.ready, word, teaching), disabled=bool(blocked(tab, teaching)),
            )  # fmt: skip
        if teaching:
            st.button(
                f"{A_FEW} of each word", key="mic:few", icon=":material/auto_awesome:", on_click=tab.act,
                args=(few, tab), help="Teaches every word at once, to try the page out.",
            )  # fmt: skip
        else:
            st.button(
                f"{SEVERAL} at random, judged", key="mic:several", icon=":material/fast_forward:",
                on_click=tab.act, args=(tab.ready_words, SEVERAL), disabled=bool(blocked(tab, teaching)),
                help="Says words in random order and tells the truth about each.",
            )  # fmt: skip


def few(tab: TabState) -> None:
    for word in list(tab.session.words):
        for _ in range(A_FEW):
            tab.ready(word, teaching=True)


def files(tab: TabState, teaching: bool) -> None:
    turn = st.session_state.setdefault(TURN, 0)
    what = f"Files of “{tab.word}”" if teaching else "Files, each of one word"
    sent = st.file_uploader(
        as_text(what), SOUNDS, accept_multiple_files=True, key=f"{FILES}:{turn}", max_upload_size=MAX_MB,
        help="wav, flac, ogg or mp3 of one word, up to 5 seconds"
        + (", or of repetitions of it, up to 30 seconds." if teaching else "."),
    )  # fmt: skip
    if not sent:
        return
    tab.said.clear()
    word = tab.word if teaching else ""  # of all of them: its turn may pass on meanwhile
    for file in sent:
        if file.size > MAX_MB * 2**20:  # the browser's limit is the browser's
            tab.say_that("warning", f"{file.name}: {file.size / 2**20:.0f} MB; {MAX_MB} MB are the limit")
            continue
        tab.receive(file.getvalue(), teaching, name=file.name, word=word)
    forget(sent)
    st.session_state[TURN] = turn + 1  # an empty uploader: each file is taken once
    st.rerun()


def server(tab: TabState, teaching: bool, device: str) -> None:
    st.caption(f"Server microphone: “{as_text(device)}”, on the computer that runs this page.")
    with st.container(horizontal=True):
        word = st.button(f"Record {SECONDS:g} s there", key="mic:server", icon=":material/mic:")
        long = teaching and st.button(f"Long take of {LONG_SECONDS:g} s there", key="mic:server:long")
    if word or long:
        tab.said.clear()
        with st.spinner("Speak now …"), tab.faults_said():
            tab.receive(record(LONG_SECONDS if long else SECONDS), teaching, long=bool(long))
        st.rerun()
