"""Download and open a session, export its takes or a fitted model, and remove all recordings."""

from collections.abc import Callable

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone.session_store import session_store
from pages.views.microphone.tab_address import open_stored, remove_session
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import TmlcdError
from tmlcd_core.live import LiveSession, session_project
from tmlcd_core.mcu import BOARDS, Board
from tmlcd_core.viz.palette import styles
from tmlcd_core.web.words_page import words_page

OPEN = "mic:open"
FIRST_BOARD = "stm32f401"  # the smallest one, with room for the takes of a session
MAX_MB = 20  # the server's upload limit; enough for MOST_TAKES recordings of two seconds


def save_and_load(tab: TabState) -> None:
    """Draw the buttons and uploaders to save, open, export and remove the session."""
    with st.expander("Save and export", icon=":material/save:"):
        open_file(tab)
        if tab.handle.stored is None:
            st.caption("Record a take first. Then you can download the session here, with all takes.")
            return
        session = tab.session
        download(tab, "Session", LiveSession.save, "words.session.zip", ":material/save:",
                 "Takes, answers and settings. You can open the file again above.")  # fmt: skip
        if session.labels():
            download(tab, "Takes as wav folders", LiveSession.wav_folder, "words.zip", ":material/folder_zip:",
                     "One folder of wav files per word, for the Drift lab and the command line.")  # fmt: skip
        stm32(tab)
        st.caption(
            "You can reload this page: its address names the session. The server keeps it for one day after the last "
            "take. Anyone who has the address can open it."
        )
        st.button(
            "Forget my recordings", key="mic:forget", icon=":material/delete_forever:", on_click=remove_session,
            args=(tab,), help="Removes all takes of this session from the server now. This cannot be undone.",
        )  # fmt: skip


def download(tab: TabState, label: str, make: Callable[[LiveSession], bytes], name: str, icon: str, help: str) -> None:
    """Draw a download button; the zip file `name` is made when the button is clicked."""
    st.download_button(
        label, tab.export(make), name, "application/zip", icon=icon, help=help, on_click="ignore", width="stretch"
    )


def open_sent(tab: TabState) -> TabState:
    """Open the session file that was just uploaded, as a copy under a new address; return the tab to draw.

    Call it before anything is drawn: the first call that draws ends the run if the user has clicked meanwhile.
    """
    sent = st.session_state.get(f"{OPEN}:{tab.uploads}")
    tab.refused = ""
    if sent is None:
        return tab
    try:
        session = LiveSession.open(sent.getvalue())
    except TmlcdError as error:
        tab.refused = f"{sent.name}: {error}"
        return tab
    stored = session_store().create(session)  # the session that was open before keeps its own address
    stored.mark_changed()
    return open_stored(stored)


def open_file(tab: TabState) -> None:
    """Draw an uploader for a session file, and why the file in it cannot be opened."""
    st.file_uploader("Open a session", "zip", key=f"{OPEN}:{tab.uploads}", max_upload_size=MAX_MB)
    if tab.refused:
        st.error(as_text(tab.refused), icon=":material/error:")


def stm32(tab: TabState) -> None:
    """Draw the export of a fitted learner as a C project; its download is shown until the session changes."""
    session = tab.session
    if session.missing():
        return
    looks = styles(session.learners)
    boards = sorted(BOARDS.values(), key=lambda board: board.name != FIRST_BOARD)
    titles = {board.title: board for board in boards}
    board = titles[st.selectbox("Board", list(titles), key="mic:board", help="Target board of the exported model.")]
    learner = st.selectbox(
        "Learner", session.learners, index=len(session.learners) - 1, key="mic:exported",
        format_func=lambda name: looks[name].name, help="Learner to export.",
    )  # fmt: skip
    st.caption(
        "The board hears words with the page's extractor; so does the web page. The project shows both accuracies."
    )
    wanted = (tab.handle.seen, board.name, learner)
    one_page(tab, board, learner)
    if st.button("Create C project for the STM32", key="mic:stm32", icon=":material/memory:", width="stretch"):
        try:
            with st.spinner("Computing the board's features of all takes …"):
                tab.project = (wanted, session_project(session, board, learner))
        except TmlcdError as error:
            st.error(as_text(str(error)), icon=":material/error:")
    if tab.project is not None and tab.project[0] == wanted:
        project = tab.project[1]
        archive = project.zip()
        st.download_button(
            f"words-{board.name}.zip, {len(archive) / 1000:.0f} kB", archive, f"words-{board.name}.zip",
            "application/zip", icon=":material/download:", on_click="ignore", width="stretch",
        )  # fmt: skip
        st.caption(f"{project.stored} takes in T. {as_text(project.remark)}")


def one_page(tab: TabState, board: Board, learner: str) -> None:
    """Draw the export of the session as one HTML file; its download is shown until the session changes."""
    everything = st.checkbox(
        "With all recordings", key="mic:page:all",
        help="A larger file that hands the whole session back. Without it, the file has only a few recordings.",
    )  # fmt: skip
    wanted = (tab.handle.seen, board.name, learner, everything)
    if st.button(
        "Create web page for your phone", key="mic:page", icon=":material/smartphone:", width="stretch",
        help="One HTML file that listens, answers and learns without a server, with the code of the board.",
    ):  # fmt: skip
        try:
            with st.spinner("Computing the board's features of all takes …"):
                tab.page = (wanted, words_page(tab.session, board, learner, all_sounds=everything).encode())
        except TmlcdError as error:
            st.error(as_text(str(error)), icon=":material/error:")
    if tab.page is not None and tab.page[0] == wanted:
        st.download_button(
            f"words.html, {len(tab.page[1]) / 1000:.0f} kB", tab.page[1], "words.html", "text/html",
            icon=":material/download:", on_click="ignore", width="stretch",
        )  # fmt: skip
        st.caption(
            "Open it from disk, or put it on a web host with https: phones give a file no microphone. Its saved "
            "session can be opened above."
        )
