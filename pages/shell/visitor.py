"""Detection of local visitors, who may use folders and the microphone of the server."""

from collections.abc import Mapping

import streamlit as st

from pages.shell.host_names import host_name, is_loopback, origin_name
from pages.shell.start_options import start_options

FORWARDED = ("forwarded", "x-forwarded", "x-real-ip", "via")  # prefixes of proxy headers


def offers_server_devices() -> bool:
    """True if this visitor may use folders and the microphone of the server.

    The start option --server-devices gives them to every visitor. Without it the server must serve this machine only
    (bound to loopback, no public host names), and the visitor must be on it.
    """
    options = start_options()
    if options.server_devices:
        return True
    serves_this_machine_only = not options.hosts and is_loopback(st.get_option("server.address") or "")
    return serves_this_machine_only and is_local_visitor()


def is_local_visitor() -> bool:
    """True if the browser of this session runs on the server's machine, with no proxy in between."""
    headers = {name.lower(): " ".join(st.context.headers.get_all(name)) for name in st.context.headers}
    return is_local(st.context.ip_address or "localhost", headers)  # Streamlit's address of a loopback peer is None


def is_local(peer: str, headers: Mapping[str, str]) -> bool:
    """True if a request comes from this machine: peer, Host and Origin are loopback, and there is no proxy header.

    Parameters
    ----------
    peer : str
        IP address of the client.
    headers : mapping
        Lower-case header name -> value.
    """
    names = [peer, host_name(headers.get("host", "")), origin_name(headers.get("origin", ""))]
    return all(map(is_loopback, names)) and not any(name.startswith(FORWARDED) for name in headers)
