"""Code shared by the notebooks: the library on the path, and the number of repetitions."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def runs(full: int, fast: int) -> int:
    """Return the number of repetitions: `fast` if TMLCD_FAST is set, as in the tests."""
    return fast if os.environ.get("TMLCD_FAST") else full
