"""The `budget` command: memory of a configuration on the microcontrollers, as in the paper's Table 2."""

from __future__ import annotations

import argparse
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError

SETTINGS = ("sample_rate", "n_fft", "hop", "filters", "samples", "layout", "store", "learner")
OWN_BOARD = ("ram", "flash", "core", "mhz")


def register(commands: Any) -> None:
    """Add the command `budget`."""
    parser = add_command(commands, "budget", "memory budget on a microcontroller, as in the paper's Table 2", _budget)
    parser.add_argument(
        "--board", help="board name: stm32h743, stm32f767, stm32f401 or a custom name (default: all three)"
    )
    own = parser.add_argument_group("custom board")
    own.add_argument("--ram", type=int, metavar="KB", help="RAM in KB of 1,024 bytes")
    own.add_argument("--flash", type=int, metavar="KB", help="flash in KB (default: 512)")
    own.add_argument("--core", help="CPU core: cortex-m4 or cortex-m7 (default: cortex-m4)")
    own.add_argument("--mhz", type=float, help="clock in MHz (default: 84)")
    one = parser.add_argument_group("custom configuration, instead of the paper's")
    one.add_argument("--sample-rate", type=int, metavar="HZ", help="sampling rate (default: 22050)")
    one.add_argument("--n-fft", type=int, metavar="N", help="samples per FFT frame (default: 512)")
    one.add_argument("--hop", type=int, metavar="N", help="samples between frames (default: 512)")
    one.add_argument(
        "--filters", type=int, metavar="N", help="number of convolution filters used, 1 to 64 (default: 1)"
    )
    one.add_argument("--samples", type=int, metavar="N", help="samples in the training set, |T| (default: 50)")
    one.add_argument("--layout", help="buffer layout: paper, compact or streamed (default: paper)")
    one.add_argument("--store", help="data type of the stored samples: float32, int16 or uint8 (default: float32)")
    one.add_argument("--learner", help="hybrid, active, cit, static or incremental (default: hybrid)")


def _budget(options: argparse.Namespace) -> Report:
    from tmlcd_core.mcu import FULL_RATE_F401, PAPER_CONFIGURATIONS, FirmwareConfiguration, budget, time_rows, what_fits
    from tmlcd_core.mcu.board_choices import board_choices

    boards = _boards(options)
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    configurations = [FirmwareConfiguration(**given)] if given else [*PAPER_CONFIGURATIONS, FULL_RATE_F401]
    tables, lines = [], []
    for c in configurations:
        table, fits = budget(c), what_fits(c, boards)
        lines += [
            "",
            f"{c.sample_rate:,} Hz, n_fft {c.n_fft}, hop {c.hop}, |T| = {c.samples}, {c.layout}, T in {c.store}",
        ]
        for row in table.rows:
            mark = " " if row.in_paper else "+"
            lines.append(f"{mark} {row.name:<18} {row.size:>12} {row.bytes:>11,}  {row.note}".rstrip())
        lines.append(f"  {'Total':<31} {table.total:>11,}  as counted in the paper")
        lines.append(
            f"  {'Needed':<31} {table.needed:>11,}  including the rows marked +, which the paper does not count"
        )
        for fit in fits:
            state = f"fits, {fit.free:,} bytes free" if fit.fits else f"does not fit, {-fit.free:,} bytes short"
            lines.append(f"  {fit.board.title:<12} {fit.board.ram:>9,} bytes: {state}; largest |T| {fit.largest:,}")
        tables.append(
            {
                "configuration": c,
                "rows": table.rows,
                "total": table.total,
                "needed": table.needed,
                "boards": [
                    {"board": f.board.name, "ram": f.board.ram, "fits": f.fits, "free": f.free, "largest": f.largest}
                    for f in fits
                ],
            }
        )
    names = {b.title for b in boards}
    times = [] if given else [row for row in time_rows() if row.board in names]
    if times:
        lines += [
            "",
            "Instructions measured under emulation, milliseconds estimated from them, and the paper's milliseconds",
        ]
        lines.append(f"  {'':<36} {'':<12} {'instructions':>12} {'1 cycle':>9} {'paper pace':>10} {'paper':>7}")
        for t in times:
            lines.append(
                f"  {t.board + ', ' + t.case:<36} {t.stage:<12} {t.instructions:>12,} "
                f"{t.one_cycle_ms:>9.2f} {t.paper_pace_ms:>10.2f} {t.paper:>7}"
            )
    choices = [] if given else board_choices(boards)
    if choices:
        lines += ["", *_choices_in_words(choices)]
    found = {"tables": tables, "times": times, "front_ends": choices}
    return Report(found, "\n".join(lines).lstrip())


def _choices_in_words(choices: list[Any]) -> list[str]:
    lines = [
        "Front ends with T in uint8 and |T| = 50; * = the most accurate that fits and answers in two seconds",
        f"  {'':<22} {'RAM':>7} {'flash':>8} {'largest |T|':>11} {'per word':>12} {'estimate':>9} "
        f"{'same voice':>10} {'other voice':>11}",
    ]
    for c in choices:
        name = f"{c.board.title} {c.front_end}{' *' if c.best else ''}"
        largest = f"{c.largest:,}" if c.fits else "no room"
        lines.append(
            f"  {name:<22} {c.ram:>7,} {c.flash:>8,} {largest:>11} {c.instructions.word:>12,} {c.seconds:>7.3f} s "
            f"{c.accuracy.same_voice:>10.3f} {c.accuracy.other_voice:>11.3f}"
        )
    lines += [
        f"  accuracy: {choices[0].accuracy.how}",
        "  per word: instructions, and seconds at one cycle per instruction",
    ]
    return lines


def _boards(options: argparse.Namespace) -> list[Any]:
    from tmlcd_core.mcu import BOARDS, board, find_board
    from tmlcd_core.mcu.boards import KB

    if all(getattr(options, name) is None for name in OWN_BOARD):
        return list(BOARDS.values()) if options.board is None else [find_board(options.board)]
    if options.ram is None:
        raise ConfigError("a custom board needs its RAM size: give --ram in KB")
    given = {name: value for name in OWN_BOARD if (value := getattr(options, name)) is not None}
    settings: dict[str, Any] = {"flash": 512, "core": "cortex-m4", "mhz": 84.0} | given
    in_bytes = {name: settings[name] * KB for name in ("ram", "flash")}
    return [board(options.board or "mine", **settings | in_bytes)]
