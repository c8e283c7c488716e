"""Entry point of `python -m tmlcd_core`."""

import sys
from typing import NoReturn

from tmlcd_core.interrupts import INTERRUPTED, leave_on_interrupt, raise_on_interrupt


def run() -> NoReturn:
    """Run the command line and exit; Ctrl-C never prints a traceback, not even during imports."""
    leave_on_interrupt()
    from tmlcd_core.cli import main

    raise_on_interrupt()
    code = main()
    leave_on_interrupt(reported=code == INTERRUPTED)  # while the interpreter shuts down
    sys.exit(code)


if __name__ == "__main__":
    run()
