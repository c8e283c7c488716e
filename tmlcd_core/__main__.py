"""`python -m tmlcd_core`."""

import sys
from typing import NoReturn

from tmlcd_core.interrupts import INTERRUPTED, leave_on_interrupt, raise_on_interrupt


def run() -> NoReturn:
    """Run one command as a process of its own: Ctrl-C never prints a traceback, not even while modules are imported."""
    leave_on_interrupt()
    from tmlcd_core.cli import main

    raise_on_interrupt()
    code = main()
    leave_on_interrupt(told=code == INTERRUPTED)  # whatever ends with the interpreter
    sys.exit(code)


if __name__ == "__main__":
    run()
