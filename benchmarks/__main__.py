"""Run all benchmarks, or some by name: `python -m benchmarks [core features …]`."""

import importlib
import sys
from pathlib import Path

names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
unknown = set(sys.argv[1:]) - set(names)
if unknown:
    sys.exit(f"no benchmark is called {', '.join(sorted(unknown))}; choose from {', '.join(names)}")
for name in sys.argv[1:] or names:
    print(f"\n== {name}", flush=True)
    importlib.import_module(f"benchmarks.bench_{name}").main()
