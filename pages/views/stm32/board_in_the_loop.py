"""Board in the loop: a connected or emulated board beside its Python twin on the player, every decision compared."""

from pathlib import Path

import streamlit as st

from pages.components.player import player
from pages.shell.background_command import BackgroundCommand
from pages.shell.start_options import start_options
from pages.shell.url_widgets import faults_as_messages, table
from pages.shell.visitor import is_local_visitor, offers_server_devices
from tmlcd_core.mcu.qemu import missing_tools
from tmlcd_core.viz.board_loop import BoardSteps, board_run, read_steps, step_table

# A drift within a minute: two words swap halfway, and the change test has short batches.
CLIPS = 120
DRIFT = f"--samples {CLIPS} --swap --threshold 6 --batch 10 --warmup 20".split()
EMULATED, CONNECTED = "Emulated board", "Connected board"
LIVE = "steps.jsonl"
SHOWN = 5  # decisions in the table while it runs


def show_board_in_the_loop() -> None:
    """Show the controls of a connected or emulated board, and its run on the player."""
    st.markdown(
        "The exported firmware is taught and watched live beside its Python twin, and every decision is compared. "
        "Flash a Nucleo board with the C project (its README has the steps), or let QEMU emulate one."
    )
    missing = missing_tools()
    emulates = missing is None and (is_local_visitor() or start_options().reproduce)
    if missing:
        st.info(f"Without a board, QEMU can emulate one. {missing}.", icon=":material/info:")
    elif not emulates:
        st.info("This server does not emulate boards for visitors. On your own computer: tmlcd board --emulate.")
    devices = [EMULATED] * emulates + [CONNECTED] * offers_server_devices()
    if not devices:
        st.code("python -m tmlcd_core board --port /dev/ttyACM0 --project tmlcd-firmware", language="sh")
        return
    work = BackgroundCommand.of_visitor("the board", "board.json", "board.json")
    device = st.radio("Board", devices, horizontal=True, key="board:device", label_visibility="collapsed")
    arguments = _emulated() if device == EMULATED else _connected()
    if arguments is None:
        return

    def show() -> None:
        with faults_as_messages():
            found = read_steps(work.folder / LIVE)
            if found is not None:
                _show_steps(found)

    work.controls(["board", *arguments, *DRIFT, f"--live={work.folder / LIVE}"], show)
    if not work.running() and work.process is not None:
        if work.process.returncode > 0:
            st.error(work.last_line().removeprefix("error: "))
        show()


def _emulated() -> list[str]:
    st.caption(
        f"An STM32F405 under QEMU hears {CLIPS} clips of “yes” and “no” over its serial line. After {CLIPS // 2} clips "
        "the two words swap their meaning."
    )
    return ["--emulate"]


def _connected() -> list[str] | None:
    with st.container(horizontal=True):
        port = st.text_input("Port", "/dev/ttyACM0", help="Also COM3, or socket://HOST:PORT.", key="board:port")
        project = st.text_input("Folder of the C project", "tmlcd-firmware", key="board:project")
    st.caption(f"Sends {CLIPS} samples of the project's stream.bin; after half of them its first two words swap.")
    folder = Path(project).expanduser()
    if not (folder / "stream.bin").is_file():
        st.info(f"There is no stream.bin in {folder.absolute()}: give the folder of the project that you flashed.")
        return None
    return [f"--port={port}", f"--project={folder.absolute()}"]


def _show_steps(found: BoardSteps) -> None:
    with st.container(horizontal=True):
        st.metric("Samples", f"{len(found.steps):,}", width="content")
        st.metric("Decisions that differ from Python", f"{found.different:,}", width="content")
        st.metric("Alarms", found.alarms, width="content")
        if found.mean_cost is not None:
            st.metric(found.unit, f"{found.mean_cost:,.0f}", width="content")
        st.metric("Deepest stack, bytes", found.stack, width="content")
    run = board_run(found)
    if run is not None:
        player(run, "board")
    if found.steps:
        table(step_table(found, SHOWN), "Sample")
