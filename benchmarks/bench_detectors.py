"""Benchmark of the compiled drift detectors: 10,000 streams of 2,000 errors, against river's own objects."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from tmlcd_core.detectors.benchmark import DETECTORS, WARMUP, bernoulli, calibrate, first_alarms

STREAMS, SAMPLES = 10_000, 2000
OBJECTS = 8  # streams that river's objects read: KSWIN's take more than a second each
RATE = 0.01


def main() -> None:
    """Print seconds of the calibration and of one pass on all cores, and the ratio to one of river's objects."""
    errors = bernoulli(0.8, streams=STREAMS, samples=SAMPLES).errors
    print(f"{STREAMS:,} streams of {SAMPLES:,} errors, calibrated to {RATE:.0%} false alarms")
    whole = 0.0
    for name, detector in DETECTORS.items():
        calibrate(detector, errors[:200], RATE, WARMUP)  # compile
        start = time.perf_counter()
        level, _, _ = calibrate(detector, errors, RATE, WARMUP)
        search = time.perf_counter() - start
        whole += search
        start = time.perf_counter()
        found = first_alarms(detector, level, errors, WARMUP)
        each = (time.perf_counter() - start) / STREAMS
        original = replace(detector, compiled=None)
        first_alarms(original, level, errors[:1, :200])  # import river
        start = time.perf_counter()
        objects = first_alarms(original, level, errors[:OBJECTS], WARMUP)
        ratio = (time.perf_counter() - start) / OBJECTS / each
        assert np.array_equal(found[:OBJECTS], objects)
        passes = f"one pass {each * STREAMS:5.1f} s, {ratio:6.0f} times as fast as the object"
        print(f"{name:<15} calibration {search:5.1f} s, {passes}")
    print(f"all calibrations {whole:.0f} s")
