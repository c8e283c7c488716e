"""`make classroom`: serve the app to the local network over https, so that the students' microphones work."""

import argparse
import os
import socket
import sys
from pathlib import Path

from pages.classroom import ADDRESSES
from pages.classroom.network import lan_addresses
from pages.shell.host_names import host_name, typed_name
from pages.shell.start_options import HOSTS

ROOT = Path(__file__).parents[2]
# Names for the teacher's own browser, added to the certificate.
LOCAL = ("localhost", "127.0.0.1")
# As in .streamlit/config.toml; repeated here so that a user's own configuration cannot weaken them.
SAFE = {
    "server.maxUploadSize": "20",
    "server.enableXsrfProtection": "true",
    "server.enableCORS": "true",
    "client.showErrorDetails": "none",
    "client.toolbarMode": "viewer",
    "server.headless": "true",
    "browser.gatherUsageStats": "false",
}
TOLD = """
  Students in the same network open   {first}
  {others}or scan the code on the Home page.

  Their browser warns about an unknown certificate, because this machine created it itself:
  "Advanced", then "Proceed" (Chrome, Edge), "Accept the Risk" (Firefox), "visit this website" (Safari).
  SHA-256 of the certificate: {fingerprint}

  If they cannot connect, the firewall of this machine or the wireless network blocks port {port}.
"""


def main() -> None:
    """Find the addresses, create the certificate and run the server."""
    parser = argparse.ArgumentParser(prog="make classroom", description=__doc__)
    parser.add_argument("--port", type=port_number, default=8501)
    parser.add_argument(
        "--address",
        type=own_name,
        action="append",
        default=[],
        help="address or name of this machine to show first",
    )
    chosen = parser.parse_args()
    found = list(dict.fromkeys([*chosen.address, *lan_addresses()]))
    if not found:
        sys.exit("This machine has no network address. Connect it, or name one: make classroom ADDRESS=192.168.1.5")
    try:
        check_port(chosen.port)
    except OSError as fault:
        parser.error(f"port {chosen.port} cannot be used ({fault.strerror}); choose another: make classroom PORT=8502")

    from pages.classroom.certificate import certificate
    from tmlcd_core.datasets.cache import cache_folder

    host = host_name(socket.gethostname().split(".")[0])
    names = list(dict.fromkeys([*found, *((host, f"{host}.local") if host else ()), *LOCAL]))
    made = certificate(names, cache_folder() / "classroom")
    urls = [f"https://{f'[{name}]' if ':' in name else name}:{chosen.port}" for name in found]
    others = "".join(f"or {url}\n  " for url in urls[1:])
    print(TOLD.format(first=urls[0], others=others, fingerprint=made.fingerprint, port=chosen.port), flush=True)

    settings = SAFE | {
        "server.address": "0.0.0.0",
        "server.port": str(chosen.port),
        "server.sslCertFile": str(made.file),
        "server.sslKeyFile": str(made.key_file),
        "browser.serverAddress": found[0],
    }
    command = [sys.executable, "-m", "pages.shell.serve"]
    for name, value in settings.items():
        command += [f"--{name}", value]
    hosts = " ".join([*names, os.environ.get(HOSTS, "")])
    os.chdir(ROOT)
    os.execve(sys.executable, command, os.environ | {ADDRESSES: " ".join(urls), HOSTS: hosts})


def port_number(text: str) -> int:
    """Return a TCP port (1 to 65535) from the command line."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; choose a number from 1 to 65535, such as 8501")
    return int(text)


def own_name(text: str) -> str:
    """Return an IP address or host name of this machine from the command line."""
    name = typed_name(text)
    has_port = ":" in text and ":" not in name
    if not name or has_port:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address of this machine; write an IP address such as 192.168.1.5, or a host name in "
            "ASCII letters, without https:// and port"
        )
    return name


def check_port(port: int) -> None:
    """Raise OSError if the server cannot listen on this port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        probe.bind(("0.0.0.0", port))
        probe.listen(1)


if __name__ == "__main__":
    main()
