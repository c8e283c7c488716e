"""What the notebooks share: the library on the path, and how many runs they make."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def runs(full: int, fast: int) -> int:
    """How often to repeat something: `fast` where TMLCD_FAST is set, as in the tests."""
    return fast if os.environ.get("TMLCD_FAST") else full
