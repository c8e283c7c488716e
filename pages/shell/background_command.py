"""Background process for a tmlcd_core command: start, progress, cancel and result."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages.shell.computation import Busy, Computation, claim, keep
from pages.shell.url_widgets import show_fault

ROOT = Path(__file__).parents[2]
EVERY = 1.0  # s between two progress updates


class BackgroundCommand:
    """One long command of one visitor.

    The command runs in its own process group, writes its results to a temporary folder and its progress to standard
    error; the page shows the last line once a second. All tabs of a browser share the command, also after a reload.
    Process and folder are removed after the last tab is closed.

    Parameters
    ----------
    what : str
        Name of the command in messages to the visitor.
    out, answer : str
        Value of the command's option `--out`, and the JSON file that it writes; both inside the temporary folder.
    """

    def __init__(self, what: str, out: str = "out", answer: str = "out/reproduction.json") -> None:
        self.process: subprocess.Popen | None = None
        self.out, self.answer = out, answer
        self.place = Computation(what, self.running, is_process=True)
        self._folder: tempfile.TemporaryDirectory | None = None

    @classmethod
    def of_visitor(cls, what: str, *files: str) -> "BackgroundCommand":
        """Return this visitor's command of that name; `files` are the parameters `out` and `answer`."""
        return keep(what, lambda: cls(what, *files))

    @property
    def folder(self) -> Path:
        """Temporary folder of the command, created on first use."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tmlcd-")
        return Path(self._folder.name)

    @property
    def log(self) -> Path:
        """File with the standard error of the command."""
        return self.folder / "progress.txt"

    def running(self) -> bool:
        """True while the process runs."""
        return self.process is not None and self.process.poll() is None

    def start(self, arguments: list[str]) -> None:
        """Start the command unless it runs; `Busy` if the visitor already has another long computation."""
        if self.running():
            return
        claim(self.place)
        command = [sys.executable, "-m", "tmlcd_core", *arguments, "--out", str(self.folder / self.out)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )

    def cancel(self) -> None:
        """Stop the command and its child processes."""
        if self.process is None or not self.running():
            return
        if os.name == "posix":
            os.killpg(self.process.pid, signal.SIGTERM)
        else:
            self.process.terminate()
        self.process.wait()

    def close(self) -> None:
        """Stop the command and remove its folder."""
        self.cancel()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def last_line(self) -> str:
        """Return the last line of progress."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = [line.replace("\x1b[K", "").strip() for line in lines if line.strip()]
        return said[-1] if said else "Computing the features …"

    def result(self) -> str | None:
        """Return the JSON text that the command wrote; None if it has not finished successfully."""
        if self.process is None or self.process.poll() != 0:
            return None
        path = self.folder / self.answer
        return path.read_text(encoding="utf-8") if path.exists() else None

    def controls(self, arguments: list[str], show: Callable[[], None] | None = None) -> None:
        """Show the buttons Run and Cancel, and the progress while the command runs, with what `show` draws below it."""
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
            self._watch(show)
        elif self.process is not None and self.process.returncode:
            st.info("Stopped before the end. The results above did not change.", icon=":material/info:")

    def _watch(self, show: Callable[[], None] | None) -> None:
        @st.fragment(run_every=EVERY)
        def look() -> None:
            if self.running():
                st.code(self.last_line(), language=None)
                if show is not None:
                    show()
            else:
                st.rerun()

        look()
