"""A command of tmlcd_core running beside the page: started, watched, cancelled, its result kept for the session."""

import subprocess
import sys
import tempfile
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).parents[2]
EVERY = 1.0  # s between two looks


class Work:
    """One long command of one visitor.

    The command runs in a process of its own, writes into a temporary folder that goes with the session, and tells how
    far it is on standard error; the page looks at its last line once a second.
    """

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="tmlcd-")
        self.process: subprocess.Popen | None = None

    def __del__(self) -> None:
        self.cancel()

    @classmethod
    def of_session(cls, name: str) -> "Work":
        return st.session_state.setdefault(f"work:{name}", cls())

    @property
    def log(self) -> Path:
        return Path(self.folder.name) / "progress.txt"

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, arguments: list[str]) -> None:
        command = [sys.executable, "-m", "tmlcd_core", *arguments, "--out", str(Path(self.folder.name) / "out")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=log)

    def cancel(self) -> None:
        if self.running() and self.process is not None:
            self.process.terminate()
            self.process.wait()

    def last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
        said = [line.replace("\x1b[K", "").strip() for line in lines if line.strip()]
        return said[-1] if said else "Making the features …"

    def result(self) -> str | None:
        """What the last finished command wrote."""
        path = Path(self.folder.name) / "out" / "reproduction.json"
        done = self.process is not None and self.process.poll() == 0
        return path.read_text(encoding="utf-8") if done and path.exists() else None

    def controls(self, arguments: list[str]) -> None:
        """A button to start, and while it runs its progress and a button to cancel."""
        with st.container(horizontal=True):
            st.button(
                "Run", icon=":material/play_arrow:", on_click=self.start, args=(arguments,), disabled=self.running()
            )
            st.button("Cancel", icon=":material/close:", on_click=self.cancel, disabled=not self.running())
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
