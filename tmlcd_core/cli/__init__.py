"""The command line: `tmlcd COMMAND`, or `python -m tmlcd_core COMMAND`.

Every module of this package except `command` and `study_options` is one command: its `register(commands)` adds a parser
and a handler with `add_command`. A handler takes the parsed arguments and returns a `Report`; it raises a `TmlcdError`
for bad input.
"""

from tmlcd_core.cli.command import Report, add_command, main

__all__ = ["Report", "add_command", "main"]
