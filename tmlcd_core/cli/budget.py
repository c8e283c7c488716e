"""`budget`: the memory of a configuration on the microcontrollers, beginning with the paper's Table 2."""

from __future__ import annotations

import argparse
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError

SETTINGS = ("sample_rate", "n_fft", "hop", "filters", "samples", "layout", "store", "learner")
OWN_BOARD = ("ram", "flash", "core", "mhz")


def register(commands: Any) -> None:
    parser = add_command(commands, "budget", "what fits on a microcontroller: the paper's Table 2 and beyond", _budget)
    parser.add_argument("--board", help="one board only (stm32h743, stm32f767, stm32f401), or the name of your own")
    own = parser.add_argument_group("a board of your own")
    own.add_argument("--ram", type=int, metavar="KB", help="RAM in KB of 1,024 bytes")
    own.add_argument("--flash", type=int, metavar="KB", help="flash in KB (512)")
    own.add_argument("--core", help="cortex-m4 or cortex-m7 (cortex-m4)")
    own.add_argument("--mhz", type=float, help="clock (84)")
    one = parser.add_argument_group("one configuration instead of the paper's two")
    one.add_argument("--sample-rate", type=int, metavar="HZ", help="22050")
    one.add_argument("--n-fft", type=int, metavar="N", help="512")
    one.add_argument("--hop", type=int, metavar="N", help="512")
    one.add_argument("--filters", type=int, metavar="N", help="1 of the 64")
    one.add_argument("--samples", type=int, metavar="N", help="|T|, 50")
    one.add_argument("--layout", help="paper, compact or streamed")
    one.add_argument("--store", help="type of T: float32, int16 or uint8")
    one.add_argument("--learner", help="hybrid, active, cit, static or incremental")


def _budget(options: argparse.Namespace) -> Report:
    from tmlcd_core.mcu import FULL_RATE_F401, PAPER_CONFIGURATIONS, FirmwareConfiguration, budget, time_rows, what_fits

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
        lines.append(f"  {'Total':<31} {table.total:>11,}  as the paper counts")
        lines.append(f"  {'Needed':<31} {table.needed:>11,}  with what its sum leaves out (+)")
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
        lines += ["", "Instructions measured under emulation; milliseconds estimated from them; the paper's as printed"]
        lines.append(f"  {'':<36} {'':<12} {'instructions':>12} {'1 cycle':>9} {'its pace':>9} {'paper':>7}")
        for t in times:
            lines.append(
                f"  {t.board + ', ' + t.case:<36} {t.stage:<12} {t.instructions:>12,} "
                f"{t.one_cycle_ms:>9.2f} {t.paper_pace_ms:>9.2f} {t.paper:>7}"
            )
    return Report({"tables": tables, "times": times}, "\n".join(lines).lstrip())


def _boards(options: argparse.Namespace) -> list[Any]:
    from tmlcd_core.mcu import BOARDS, board, find_board
    from tmlcd_core.mcu.boards import KB

    if all(getattr(options, name) is None for name in OWN_BOARD):
        return list(BOARDS.values()) if options.board is None else [find_board(options.board)]
    if options.ram is None:
        raise ConfigError("a board of your own needs its RAM: give --ram in KB")
    given = {name: value for name in OWN_BOARD if (value := getattr(options, name)) is not None}
    settings: dict[str, Any] = {"flash": 512, "core": "cortex-m4", "mhz": 84.0} | given
    in_bytes = {name: settings[name] * KB for name in ("ram", "flash")}
    return [board(options.board or "mine", **settings | in_bytes)]
