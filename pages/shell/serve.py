"""`make run`: `streamlit run app.py` that ends on Ctrl-C with one line and exit code 130."""

import sys
from pathlib import Path

from tmlcd_core.interrupts import leave_on_interrupt

APP = Path(__file__).parents[2] / "app.py"


def serve() -> None:
    """Become the server; the arguments are those of `streamlit run`."""
    leave_on_interrupt()  # also the end of the server: it stops in peace, then hands the signal back
    from pages.shell.streamlit_internals import main

    main(["run", str(APP), *sys.argv[1:]])


if __name__ == "__main__":
    serve()
