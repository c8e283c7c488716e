"""The `calibrate` command: threshold h of the CUSUM test for a given false-alarm rate."""

from __future__ import annotations

import argparse
from typing import Any

from tmlcd_core.cli.command import Report, add_command


def register(commands: Any) -> None:
    """Add the command `calibrate`."""
    parser = add_command(commands, "calibrate", "choose the threshold of the CUSUM test", _calibrate)
    parser.add_argument(
        "--accuracy", type=float, required=True, help="accuracy of the classifier before the change, 0 to 1"
    )
    parser.add_argument("--accuracy-after", type=float, help="accuracy after the change (default: 0.2 less)")
    parser.add_argument("--batch", type=int, default=50, help="samples per step of the test, n (%(default)s)")
    parser.add_argument(
        "--warmup", type=int, default=100, help="samples used to estimate the accuracy, ξ (%(default)s)"
    )
    parser.add_argument(
        "--horizon", type=int, default=1000, help="samples over which false alarms are counted (%(default)s)"
    )
    parser.add_argument(
        "--false-alarms", type=float, default=0.01, help="probability of a false alarm within the horizon (%(default)s)"
    )
    parser.add_argument(
        "--direction",
        choices=("both", "down"),
        default="both",
        help="changes to detect: both (as Active) or down (as Hybrid) (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (%(default)s)")


def _calibrate(options: argparse.Namespace) -> Report:
    from tmlcd_core.detectors.calibration import calibrate_threshold, threshold_table

    test = {"batch": options.batch, "warmup": options.warmup, "horizon": options.horizon}
    test |= {"direction": options.direction, "random_state": options.seed}
    threshold = calibrate_threshold(options.accuracy, false_alarm_rate=options.false_alarms, **test)
    levels = sorted({5.0, 10.0, 25.0, 50.0, 100.0, threshold})
    rows = threshold_table(options.accuracy, options.accuracy_after, thresholds=levels, **test)
    lines = [
        f"h = {threshold:.1f}: false-alarm probability at most {options.false_alarms:g} in {options.horizon} samples",
        "       h  false alarms  mean delay  missed",
        *(
            f"{row.threshold:8.1f}  {row.false_alarm_rate:12.4f}  {row.mean_delay:10.0f}  {row.missed:6.3f}"
            for row in rows
        ),
    ]
    return Report({"threshold": threshold, "accuracy": options.accuracy, **test, "table": rows}, "\n".join(lines))
