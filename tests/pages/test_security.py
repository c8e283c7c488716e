"""Requests that a server refuses, what it gives to whom, and the headers of its answers; with real servers."""

import asyncio
import base64
import doctest
import hashlib
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.classroom.network import lan_addresses
from pages.shell import host_names, start_options, visitor
from pages.shell.host_names import host_name, is_allowed, is_loopback
from pages.shell.navigation import PAGES
from pages.shell.start_options import StartOptions, parse_start_options
from pages.shell.visitor import is_local
from pages.views.drift_lab.upload import local_folder
from tests.support.appserver import serve
from tests.support.visitor import Visitor
from tmlcd_core.errors import DataError

PUBLIC = "lab.example.org"
EVIL = "evil.example"
STREAM = "/_stcore/stream"
UNKNOWN = "does not know the host name"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server as `make run` starts it."""
    with serve() as address:
        yield address


@pytest.fixture(scope="module")
def public() -> Iterator[str]:
    """A server with public names behind a proxy."""
    with serve(options=["--", "--hosts", f"{PUBLIC},*.school.example"]) as address:
        yield address


def send(address: str, lines: list[str]) -> tuple[int, dict[str, str], str]:
    """Send a raw request; return status, headers by lower-case name, and body."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        head = b""
        while b"\r\n\r\n" not in head and (part := connection.recv(65536)):
            head += part
        head, _, body = head.partition(b"\r\n\r\n")
        status, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        while len(body) < int(headers.get("content-length", 0)) and (part := connection.recv(65536)):
            body += part
    return int(status.split()[1]), headers, body.decode("utf-8", "replace")


def ask(address: str, path: str, host: str | None, method: str = "GET", **headers: str) -> tuple[int, dict, str]:
    """Request a path under any Host; websockets for the path of the stream."""
    given = {"Host": host} if host is not None else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    given |= UPGRADE if path == STREAM else {"Connection": "close"}
    return send(address, [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())])


def static_file(address: str) -> str:
    return "/" + re.search(r'src="\./(static/js/[^"]+)"', ask(address, "/", "localhost")[2])[1]


# ---------------------------------------------------------------- Host and Origin


def test_a_foreign_host_gets_nothing(server):
    paths = ["/", "/drift-lab", "/no-such-page", "/_stcore/health", "/_stcore/host-config", static_file(server), STREAM]
    for path in paths:
        assert ask(server, path, "localhost")[0] in (200, 101), path
        status, _, body = ask(server, path, EVIL)
        assert status == 400 and UNKNOWN in body and EVIL in body and "--hosts" in body, path
    for method, path in [("PUT", "/_stcore/upload_file/session/file"), ("GET", "/media/clip.wav"), ("DELETE", "/")]:
        assert UNKNOWN not in ask(server, path, "localhost", method)[2]
        assert UNKNOWN in ask(server, path, EVIL, method)[2]


@pytest.mark.parametrize("path", ["/", STREAM])
@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8501", "localhost.", "127.0.0.1:1", "127.8.9.1", "[::1]", "[0:0::1]:8501"]
)
def test_names_of_this_machine_are_known_with_any_port(path, host, server):
    assert ask(server, path, host)[0] in (200, 101)


@pytest.mark.parametrize("path", ["/", STREAM])
@pytest.mark.parametrize(
    "host",
    ["", "localhost.evil.example", "localhost@evil.example", "evil.example@localhost", "localhost, evil.example",
     "127.0.0.1.evil.example", "[::1", "[::2]", "0.0.0.0", "192.0.2.77", "localhost:port", "..", "lo\u00e7alhost"],
)  # fmt: skip
def test_names_that_only_look_like_this_machine_are_foreign(path, host, server):
    status, _, body = ask(server, path, host)
    assert status == 400 and UNKNOWN in body


def test_a_host_that_is_missing_doubled_or_hidden_in_the_target_is_refused(server):
    for lines in (
        ["GET / HTTP/1.0"],
        ["GET / HTTP/1.1", "Connection: close"],
        ["GET / HTTP/1.1", "Host: localhost", f"Host: {EVIL}", "Connection: close"],
        ["GET http://localhost/ HTTP/1.1", f"Host: {EVIL}", "Connection: close"],
    ):
        assert send(server, lines)[0] == 400, lines


@pytest.mark.parametrize("path", ["/", STREAM])
def test_a_proxys_headers_change_no_host(path, server):
    assert ask(server, path, EVIL, X_Forwarded_Host="localhost", Forwarded="host=localhost")[0] == 400
    assert ask(server, path, "localhost", X_Forwarded_Host=EVIL)[0] in (200, 101)


@pytest.mark.parametrize("path", ["/", "/_stcore/health", STREAM])
def test_a_foreign_origin_is_refused_and_no_other_host_is_asked(path, server):
    for origin in (
        f"http://{EVIL}",
        "null",
        "file://",
        "https://localhost.evil.example",
        "http://localhost@evil.example",
    ):
        status, _, body = ask(server, path, "localhost", Origin=origin)
        assert status == 400 and "does not answer pages of" in body, origin
    for origin in ("http://localhost", "https://127.0.0.1:8501", "http://[::1]:8501"):
        assert ask(server, path, urlsplit(origin).netloc, Origin=origin)[0] in (200, 101), origin


@pytest.mark.parametrize("path", ["/", "/_stcore/health", STREAM])
def test_public_names_are_those_of_the_start_option(path, public):
    for host in (PUBLIC, f"{PUBLIC.upper()}.:443", "room7.school.example", "127.0.0.1"):
        assert ask(public, path, host, Origin=f"https://{host}")[0] in (200, 101), host
    for host in (EVIL, "school.example", "evilschool.example", f"{PUBLIC}.{EVIL}"):
        assert ask(public, path, host)[0] == 400, host
        assert ask(public, path, PUBLIC, Origin=f"https://{host}")[0] == 400, host


def test_public_names_come_from_the_environment_and_from_the_secrets_of_a_host(tmp_path, monkeypatch):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('TMLCD_HOSTS = "cloud.example"\n')
    with serve(options=["--secrets.files", str(secrets)]) as address:
        assert [ask(address, "/", host)[0] for host in ("cloud.example", EVIL)] == [200, 400]
    monkeypatch.setenv("TMLCD_HOSTS", "*")
    with serve() as address:
        assert [ask(address, path, EVIL)[0] for path in ("/", STREAM)] == [200, 101]


@given(st.text(st.characters(max_codepoint=255), max_size=30))
def test_a_name_is_read_once_and_only_from_what_a_host_header_may_be(text):
    name = host_name(text)
    assert host_name(f"[{name}]" if ":" in name else name) == name
    assert not name or re.fullmatch(r"[a-z0-9._:-]+", name)
    assert is_allowed(name, ()) == is_loopback(name)


@pytest.mark.parametrize(
    ("given_", "read"),
    [
        ("Lab.Example.org, b.example", ("lab.example.org", "b.example")),
        ("*.b\u00fccher.example", ("*.xn--bcher-kva.example",)),
        ("lab.example.org:443", ("lab.example.org",)),
        ("[2001:db8::1]", ("2001:db8::1",)),
        ("*", ("*",)),
        ("", ()),
    ],
)
def test_host_names_of_a_start_option_are_as_browsers_send_them(given_, read):
    assert parse_start_options(["--hosts", given_], {}).hosts == read
    assert parse_start_options([], {"TMLCD_HOSTS": given_}).hosts == read


@pytest.mark.parametrize(
    ("option", "value"),
    [("--hosts", "https://lab.example.org"), ("--hosts", "b@c"), ("--hosts", "*example.org"), ("--hosts", "a..b"),
     ("--frame-ancestors", "'self'; script-src *"), ("--frame-ancestors", "a,b"), ("--frame-ancestors", " ")],
)  # fmt: skip
def test_a_bad_start_option_names_its_value(option, value, capsys):
    with pytest.raises(SystemExit) as stop:
        parse_start_options([option, value], {})
    assert stop.value.code == 2
    assert f"{option}: {value!r}" in capsys.readouterr().err


@pytest.mark.parametrize("module", [host_names, start_options], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings_hold(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


# ---------------------------------------------------------------- folders and microphone of the server


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder whose class names must not reach a visitor from elsewhere; the page says that one has too few images."""
    place = tmp_path_factory.mktemp("private")
    for label in ("canary 1", "canary 2"):
        (place / label).mkdir()
        Image.new("RGB", (32, 32)).save(place / label / "a.png")
    return place


def seen(address: str, folder: Path, origin: str = "", **headers: str) -> tuple[bool, bool]:
    """Whether the Drift lab, opened at `origin`, offers folders, and whether a link to one shows what is in it."""
    url = urlsplit(address)
    link = {"data": "Folder on this computer", "folder": str(folder), "drift": "Two labels swap"}

    async def look() -> tuple[bool, bool]:
        place = {"host": url.hostname, "port": url.port}  # where to connect, whatever the Host is
        async with Visitor(origin or address, origin=origin or None, additional_headers=headers, **place) as guest:
            await guest.open("drift-lab", **link)
            offered = any("Folder on this computer" in box.options for box in guest.all("selectbox"))
            return offered, "canary" in str(guest.elements)

    return asyncio.run(look())


def test_a_visitor_on_this_machine_is_offered_its_folders(server, folder):
    for origin in (server, server.replace("127.0.0.1", "localhost")):
        assert seen(server, folder, origin) == (True, True)


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "x-forwarded-host", "Via"])
def test_a_proxy_on_this_machine_closes_its_folders(header, server, folder):
    assert seen(server, folder, server, **{header: "127.0.0.1"}) == (False, False)


def test_a_program_without_an_origin_is_offered_no_folders(server, folder):
    assert seen(server, folder) == (False, False)


def test_a_server_with_public_names_offers_no_folders(public, folder):
    assert seen(public, folder, f"http://{PUBLIC}") == (False, False)
    assert seen(public, folder, public) == (False, False), "its proxy may say that it is localhost"


@pytest.mark.skipif(not lan_addresses(), reason="this machine is in no network")
def test_a_forged_localhost_from_the_network_is_offered_no_folders(folder):
    with serve(options=["--server.address", "0.0.0.0", "--browser.serverAddress", "localhost"]) as address:
        far = address.replace("127.0.0.1", lan_addresses()[0])
        assert seen(far, folder, "http://localhost") == (False, False)


def test_the_start_option_gives_folders_to_everybody(folder):
    with serve(options=["--", "--server-devices", "--hosts", PUBLIC]) as address:
        assert seen(address, folder, f"http://{PUBLIC}", **{"X-Forwarded-For": "203.0.113.9"}) == (True, True)


HERE = {"host": "localhost:8501", "origin": "http://localhost:8501"}


@pytest.mark.parametrize(
    ("peer", "headers", "local"),
    [
        ("127.0.0.1", HERE, True),
        ("::1", {"host": "[::1]:8501", "origin": "http://[::1]:8501"}, True),
        ("::ffff:127.0.0.1", HERE, True),
        ("192.168.1.7", HERE, False),
        ("::ffff:192.168.1.7", HERE, False),
        ("", HERE, False),
        ("127.0.0.1", HERE | {"host": PUBLIC}, False),
        ("127.0.0.1", HERE | {"origin": f"https://{PUBLIC}"}, False),
        ("127.0.0.1", HERE | {"origin": "null"}, False),
        ("127.0.0.1", {"host": "localhost"}, False),
        ("127.0.0.1", {"origin": "http://localhost"}, False),
        ("127.0.0.1", HERE | {"x-real-ip": "127.0.0.1"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_a_visitor_is_local_if_peer_host_and_origin_are(peer, headers, local):
    assert is_local(peer, headers) is local


@pytest.mark.parametrize(
    ("address", "options", "offered"),
    [
        ("127.0.0.1", StartOptions(), True),
        ("0.0.0.0", StartOptions(), False),
        (None, StartOptions(), False),
        ("127.0.0.1", StartOptions(hosts=(PUBLIC,)), False),
        ("0.0.0.0", StartOptions(hosts=(PUBLIC,), server_devices=True), True),
    ],
)
def test_only_a_server_of_this_machine_offers_its_devices(address, options, offered, monkeypatch, tmp_path):
    monkeypatch.setattr(visitor.st, "get_option", {"server.address": address}.get)
    monkeypatch.setattr(visitor, "start_options", lambda: options)
    monkeypatch.setattr(visitor, "is_local_visitor", lambda: True)
    assert visitor.offers_server_devices() is offered
    if offered:
        assert local_folder(str(tmp_path)) == str(tmp_path.resolve())
    else:
        with pytest.raises(DataError, match="upload a zip"):
            local_folder(str(tmp_path))


def test_a_session_without_a_connection_is_not_local():
    def script():
        import streamlit

        from pages.shell.visitor import offers_server_devices

        streamlit.text(offers_server_devices())

    assert AppTest.from_function(script).run().text[0].value == "False"


# ---------------------------------------------------------------- headers


class InlineScripts(HTMLParser):
    """Collects the scripts of a page that have no src."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "script" and "src" not in dict(attributes)

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found.append(data)


def policy(headers: dict[str, str]) -> dict[str, list[str]]:
    parts = (part.split() for part in headers["content-security-policy"].split(";"))
    return {name: sources for name, *sources in parts}


@pytest.mark.parametrize("path", [*(f"/{page.url}" for page in PAGES), "/paper?presenter=true", "/no-such-page"])
def test_the_policy_has_the_hashes_of_the_scripts_that_are_served(path, server):
    status, headers, body = ask(server, path, "localhost")
    digests = [hashlib.sha256(script.encode()).digest() for script in InlineScripts(body).found]
    hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    allowed = policy(headers)["script-src"]
    assert status == 200 and hashes and hashes <= set(allowed)
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "data:", "https:"} & set(allowed)


def test_every_answer_has_the_headers_refusals_too(server):
    for path, host in [("/", "localhost"), ("/_stcore/health", "localhost"), (static_file(server), "localhost"),
                       ("/media/none", "localhost"), ("/", EVIL), (STREAM, EVIL)]:  # fmt: skip
        _, headers, _ = ask(server, path, host)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        found = policy(headers)
        assert found["frame-ancestors"] == found["base-uri"] == ["'self'"]
        assert found["object-src"] == ["'none'"]


def test_sites_that_may_frame_the_app_are_a_start_option():
    with serve(options=["--", "--frame-ancestors", "'self' https://moodle.example.org"]) as address:
        _, headers, _ = ask(address, "/", "localhost")
    assert policy(headers)["frame-ancestors"] == ["'self'", "https://moodle.example.org"]
