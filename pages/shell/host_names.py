"""Host names of requests: parsing, and the check against the allowed names."""

import ipaddress
import re
from collections.abc import Collection

ANY = "*"  # disables the check
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::[0-9]{1,5})?")


def host_name(host: str) -> str:
    """Return the lower-case name in a Host header without port and final dot; "" if it is malformed.

    >>> [host_name(host) for host in ("Lab.Example.org.:8501", "[0:0::1]:80", "user@lab.example.org")]
    ['lab.example.org', '::1', '']
    """
    found = _HOST.fullmatch(host.lower())
    name = found[1].strip("[]") if found else ""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return "" if ":" in name else name


def typed_name(text: str) -> str:
    """Return a host name from a command line (IPv6 without brackets is allowed); "" if it is malformed."""
    return host_name(f"[{text}]" if text.count(":") > 1 and "[" not in text else text)


def origin_name(origin: str) -> str:
    """Return the host name in an Origin header; "" if it has none.

    >>> [origin_name(origin) for origin in ("https://lab.example.org:8443", "null")]
    ['lab.example.org', '']
    """
    return host_name(origin.partition("://")[2])


def is_loopback(name: str) -> bool:
    """True if a host name or IP address is a loopback address (this machine)."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def is_allowed(name: str, hosts: Collection[str]) -> bool:
    """True if a name is this machine or matches `hosts`: names, *.DOMAIN for its subdomains, or * for any.

    >>> [is_allowed(name, ["*.example.org"]) for name in ("127.0.0.1", "lab.example.org", "example.org", "")]
    [True, True, False, False]
    """
    below = (host[1:] for host in hosts if host.startswith("*."))
    return ANY in hosts or is_loopback(name) or name in hosts or any(name.endswith(domain) for domain in below)
