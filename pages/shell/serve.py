"""`make run`: `streamlit run app.py` with a clean exit on Ctrl-C (one line, exit code 130)."""

import sys
from pathlib import Path

from tmlcd_core.interrupts import leave_on_interrupt

APP = Path(__file__).parents[2] / "app.py"


def serve() -> None:
    """Run the server with the command-line arguments of `streamlit run`."""
    leave_on_interrupt()  # the server shuts down cleanly, then raises the signal again
    from pages.shell.streamlit_internals import main

    main(["run", str(APP), *sys.argv[1:]])


if __name__ == "__main__":
    serve()
