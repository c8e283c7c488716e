"""Peak memory of runs over tables that are larger than memory: a CSV and a Parquet file of N GB each, to their ends.

python -m benchmarks.large_tables            # 2 GB each, in the system's temporary folder, deleted afterwards

The rows are one block of random numbers, repeated, with labels that swap half-way.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

COLUMNS = 200
BLOCK = 20_000  # rows
LEARNER = "tandem"


def blocks() -> tuple[pa.Table, pa.Table]:
    """Return a block of rows before and after the labels swap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, BLOCK)
    X = (rng.normal(size=(BLOCK, COLUMNS)) + 0.3 * y[:, None]).round(6)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(COLUMNS)])
    return tuple(
        pa.Table.from_pandas(frame.assign(label=np.where(y == first, "first", "second")), preserve_index=False)
        for first in (0, 1)
    )


def write(path: Path, size: float) -> int:
    """Write a table of at least `size` bytes; return its number of rows."""
    before, after = blocks()
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, before.schema, use_dictionary=False, compression="none") as file:
            file.write_table(before)
            one = file.file_handle.tell()
            count = max(2, -(-int(size) // one))
            for number in range(1, count):
                file.write_table(before if 2 * number < count else after)
        return count * BLOCK
    texts = []
    for block in (before, after):
        buffer = io.BytesIO()
        pa_csv.write_csv(block, buffer, pa_csv.WriteOptions(include_header=False))
        texts.append(buffer.getvalue())
    count = max(2, -(-int(size) // len(texts[0])))
    with open(path, "wb") as file:
        file.write(",".join(before.column_names).encode() + b"\n")
        for number in range(count):
            file.write(texts[2 * number >= count])
    return count * BLOCK


def run(path: Path) -> tuple[int, float, float, int]:
    """Run the learner over the table in a process of its own; return samples, accuracy, seconds and peak MB."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tmlcd_core", "run", "--table", str(path), "--label", "label"]
    process = subprocess.Popen([*command, "--learners", LEARNER, "--json"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    told = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    accuracy = told["learners"][LEARNER]["accuracy"]["mean"]
    return told["scenario"]["length"], accuracy, time.monotonic() - began, used.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=float, default=2.0, help="size of each file in 10^9 bytes (%(default)s)")
    parser.add_argument("--forms", nargs="+", default=["csv", "parquet"], choices=["csv", "parquet"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for form in options.forms:
            path = Path(folder) / f"large.{form}"
            rows = write(path, options.gb * 1e9)
            size = path.stat().st_size / 1e9
            samples, accuracy, seconds, peak = run(path)
            path.unlink()
            print(
                f"{form}: {size:.2f} GB, {rows:,} rows x {COLUMNS} columns; {samples:,} samples, "
                f"accuracy {accuracy:.3f}, {seconds:.0f} s; peak {peak} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
