"""A command of tmlcd_core in a process beside the pages: start, progress, cancel, and its result."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import streamlit as st

from pages.shell.computation import Busy, Computation, claim, keep
from pages.shell.url_widgets import show_fault

ROOT = Path(__file__).parents[2]
EVERY = 1.0  # s between two looks


class BackgroundCommand:
    """One long command of one visitor.

    The command runs in a group of processes of its own, writes into a temporary folder and tells how far it is on
    standard error; the page looks at its last line once a second. All tabs of a browser see the same work, also after a
    reload; process and folder go when the last tab has gone.

    Parameters
    ----------
    what
        Its name, as the visitor knows it.
    """

    def __init__(self, what: str) -> None:
        self.process: subprocess.Popen | None = None
        self.place = Computation(what, self.running, is_process=True)
        self._folder: tempfile.TemporaryDirectory | None = None

    @classmethod
    def of_visitor(cls, what: str) -> "BackgroundCommand":
        """This visitor's work of that name."""
        return keep(what, lambda: cls(what))

    @property
    def folder(self) -> Path:
        """A folder that is made when it is first needed."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tmlcd-")
        return Path(self._folder.name)

    @property
    def log(self) -> Path:
        return self.folder / "progress.txt"

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, arguments: list[str]) -> None:
        """Start the command unless it runs; `Busy` while another long computation of the visitor does."""
        if self.running():
            return
        claim(self.place)
        command = [sys.executable, "-m", "tmlcd_core", *arguments, "--out", str(self.folder / "out")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )

    def cancel(self) -> None:
        """Stop the command and the processes that it has started."""
        if self.process is None or not self.running():
            return
        if os.name == "posix":
            os.killpg(self.process.pid, signal.SIGTERM)
        else:
            self.process.terminate()
        self.process.wait()

    def close(self) -> None:
        """Stop, and remove the folder."""
        self.cancel()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = [line.replace("\x1b[K", "").strip() for line in lines if line.strip()]
        return said[-1] if said else "Making the features …"

    def result(self) -> str | None:
        """What the last finished command wrote."""
        if self.process is None or self.process.poll() != 0:
            return None
        path = self.folder / "out" / "reproduction.json"
        return path.read_text(encoding="utf-8") if path.exists() else None

    def controls(self, arguments: list[str]) -> None:
        """A button to start, and while it runs its progress and a button to cancel."""
        with st.container(horizontal=True):
            wanted = st.button("Run", icon=":material/play_arrow:", disabled=self.running())
            st.button("Cancel", icon=":material/close:", on_click=self.cancel, disabled=not self.running())
        if wanted:
            try:
                self.start(arguments)
                st.rerun()
            except Busy as fault:
                show_fault(fault)
        if self.running():
            self._watch()
        elif self.process is not None and self.process.returncode:
            st.info("Stopped before the end; the results above are as they were.", icon=":material/info:")

    def _watch(self) -> None:
        @st.fragment(run_every=EVERY)
        def look() -> None:
            if self.running():
                st.code(self.last_line(), language=None)
            else:
                st.rerun()

        look()
