"""Start options of the app: `streamlit run app.py -- --hosts lab.example.org`, or environment variables."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pages.shell.host_names import ANY, typed_name

HOSTS = "TMLCD_HOSTS"


@dataclass(frozen=True)
class StartOptions:
    """Start options of the server.

    Parameters
    ----------
    hosts
        Public host names of this server, besides this machine's own; *.example.org for all subdomains, * for any.
        TMLCD_HOSTS.
    frame_ancestors
        Sites that may embed the app, as in the directive `frame-ancestors`. TMLCD_FRAME_ANCESTORS.
    server_devices
        Offer folders and the microphone of the server to every visitor. TMLCD_SERVER_DEVICES=1.
    reproduce
        Let visitors of a public server start `reproduce`. TMLCD_REPRODUCE=1.
    plugin
        Python files with your own learners, drifts, data or boards. TMLCD_PLUGINS, separated as in PATH.
    """

    hosts: tuple[str, ...] = ()
    frame_ancestors: str = "'self'"
    server_devices: bool = False
    reproduce: bool = False
    plugin: tuple[str, ...] = ()


def parse_start_options(arguments: Sequence[str], environment: Mapping[str, str]) -> StartOptions:
    """Return the `StartOptions` of the command line; an argument overrides its environment variable.

    >>> found = parse_start_options(["--hosts", "lab.example.org,lab.local"], {"TMLCD_REPRODUCE": "1"})
    >>> found.hosts, found.reproduce, found.plugin
    (('lab.example.org', 'lab.local'), True, ())
    """
    parser = argparse.ArgumentParser(prog="streamlit run app.py --", description="Start options of TML-CD Lab.")
    parser.add_argument(
        "--hosts", default=environment.get(HOSTS, ""), help="public host names of this server, separated by commas"
    )
    parser.add_argument(
        "--frame-ancestors",
        default=environment.get("TMLCD_FRAME_ANCESTORS", "'self'"),
        help="sites that may embed the app in a frame",
    )
    for flag, about in (
        ("--server-devices", "offer folders and the microphone of the server to every visitor"),
        ("--reproduce", "let visitors of a public server start `reproduce`"),
    ):
        variable = f"TMLCD_{flag[2:].replace('-', '_').upper()}"
        parser.add_argument(flag, action="store_true", default=environment.get(variable) == "1", help=about)
    parser.add_argument("--plugin", action="append", help="a Python file with your own learners, drifts, …")
    found = parser.parse_args(arguments)
    hosts = tuple(_host(parser, host) for host in found.hosts.replace(",", " ").split())
    if not found.frame_ancestors.strip() or set(found.frame_ancestors) & set(";,\r\n"):
        parser.error(f"--frame-ancestors: {found.frame_ancestors!r} is not a list of sites; separate them with spaces")
    plugins = tuple(found.plugin or filter(None, environment.get("TMLCD_PLUGINS", "").split(os.pathsep)))
    return StartOptions(hosts, found.frame_ancestors, found.server_devices, found.reproduce, plugins)


def _host(parser: argparse.ArgumentParser, given: str) -> str:
    """Return a host name as browsers send it (IDNA); exit with an error if it is malformed."""
    wildcard, name = ("*.", given[2:]) if given.startswith("*.") else ("", given)
    try:
        found = typed_name(name.encode("idna").decode())
    except UnicodeError:
        found = ""
    if not found and given != ANY:
        parser.error(f"--hosts: {given!r} is not a host name; write lab.example.org, *.example.org, or * for any")
    return wildcard + found if found else ANY


def start_options() -> StartOptions:
    """Return the start options of this server."""
    started = os.path.basename(sys.argv[0]) == "app.py"  # False in tests and benchmarks
    return parse_start_options(sys.argv[1:] if started else [], os.environ)


def load_plugins() -> None:
    """Load the plugins of the start options; without plugins nothing is imported."""
    if plugins := start_options().plugin:
        from tmlcd_core.experiments.plugins import load_plugin

        for path in plugins:
            load_plugin(path)
