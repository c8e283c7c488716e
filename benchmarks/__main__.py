"""`python -m benchmarks [NAME …]`: run all benchmarks, or those named (core, features, …)."""

import importlib
import sys
from pathlib import Path

names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
unknown = set(sys.argv[1:]) - set(names)
if unknown:
    sys.exit(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(names)}")
for name in sys.argv[1:] or names:
    print(f"\n== {name}", flush=True)
    importlib.import_module(f"benchmarks.bench_{name}").main()
