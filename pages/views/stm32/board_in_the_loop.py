"""Board in the loop: an emulated board beside its Python twin, every decision compared."""

import json
from typing import Any

import streamlit as st

from pages.shell.background_command import BackgroundCommand
from pages.shell.start_options import start_options
from pages.shell.url_widgets import faults_as_messages
from pages.shell.visitor import is_local_visitor
from tmlcd_core.mcu.qemu import missing_tools
from tmlcd_core.viz import mcu as viz

# A drift within a minute: two words swap halfway, and the change test has short batches.
CLIPS = 120
COMMAND = f"board --emulate --samples {CLIPS} --swap --threshold 6 --batch 10 --warmup 20".split()
OWN_BOARD = "python -m tmlcd_core board --port /dev/ttyACM0 --project tmlcd-firmware"


def show_board_in_the_loop() -> None:
    """Show the emulated board's controls and its last run."""
    st.markdown(
        "The exported firmware is taught and watched live beside its Python twin, and every decision is compared. "
        "With a Nucleo board, flash the C project (its README has the steps) and run:"
    )
    st.code(OWN_BOARD, language="sh")
    if missing := missing_tools():
        st.info(f"Without a board, QEMU can emulate one. {missing}.", icon=":material/info:")
        return
    if not (is_local_visitor() or start_options().reproduce):
        st.info("This server does not emulate boards for visitors. On your own computer: tmlcd board --emulate.")
        return
    work = BackgroundCommand.of_visitor("the emulated board", "board.json", "board.json")
    st.caption(
        f"Without a board: an STM32F405 under QEMU hears {CLIPS} clips of “yes” and “no” over its serial line. After "
        f"{CLIPS // 2} clips the two words swap their meaning."
    )
    work.controls(COMMAND)
    if text := work.result():
        with faults_as_messages():
            _show_run(json.loads(text))


def _show_run(found: dict[str, Any]) -> None:
    with st.container(horizontal=True):
        st.metric("Samples", f"{found['samples']:,}", width="content")
        st.metric("Decisions that differ from Python", f"{found['different']:,}", width="content")
        st.metric("Alarms", len(found["alarms"]), width="content")
        if found["cost"]:
            st.metric("Instructions per sample (emulated)", f"{found['cost']['mean']:,.0f}", width="content")
        st.metric("Deepest stack, bytes", found["stack"], width="content")
    st.plotly_chart(
        viz.loop_figure(found),
        key="board-loop",
        config={"displaylogo": False, "displayModeBar": False},
        alt=f"|T| and g of the board over {found['samples']} samples, with {len(found['alarms'])} alarms.",
    )
