"""IPv4 addresses of this machine in the local network."""

import ipaddress
import socket
from contextlib import suppress

# Connecting a UDP socket sends nothing: it only looks up the source address in the routing table. The first target is
# on the internet, the others are in the private ranges (RFC 1918).
ASKED = ("198.51.100.1", "10.255.255.254", "172.31.255.254", "192.168.255.254")


def lan_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine in the local network, that of the default route first."""
    found = [_leaves_from(target) for target in ASKED]
    with suppress(OSError):  # the host name cannot be resolved
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    return [one for one in dict.fromkeys(found) if one and _reachable(one)]


def _leaves_from(target: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((target, 9))
        except OSError:  # no route
            return None
        return str(probe.getsockname()[0])


def _reachable(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    return not (ip.is_loopback or ip.is_link_local or ip.is_unspecified)
