"""`python -m tmlcd_core`."""

import sys

from tmlcd_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
