"""The classroom: addresses, certificate, the real server over https, its QR code, and the presenter's view."""

import io
import os
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest
import zxingcpp
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.classroom import ADDRESSES
from pages.classroom import certificate as certificates
from pages.classroom.certificate import certificate
from pages.classroom.network import lan_addresses
from pages.shell.navigation import HOME, PAGES
from tests.support.appserver import chromium, free_port

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
NO_CHROMIUM = pytest.mark.skipif(shutil.which("chromium") is None, reason="*** NO CHROMIUM ***")


# ---------------------------------------------------------------- addresses and certificate


def test_addresses_belong_to_this_machine_and_are_no_loopback():
    for address in lan_addresses():
        assert not address.startswith(("127.", "169.254.", "0."))
        with socket.socket() as probe:
            probe.bind((address, 0))  # only an address of one's own can be bound


def test_a_certificate_is_kept_until_a_name_changes_or_it_ends(tmp_path, monkeypatch):
    names = ["192.168.7.8", "teacher", "localhost"]
    first = certificate(names, tmp_path / "kept")
    assert certificate(names, tmp_path / "kept") == first
    assert stat.S_IMODE(first.key_file.stat().st_mode) == 0o600
    moved = certificate(["192.168.7.9", *names[1:]], tmp_path / "kept")
    assert moved.fingerprint != first.fingerprint
    monkeypatch.setattr(certificates, "VALID", timedelta(hours=2))
    short = certificate(names, tmp_path / "short")
    assert certificate(names, tmp_path / "short").fingerprint != short.fingerprint, "it ends within a day"


def test_a_damaged_certificate_is_made_again(tmp_path):
    names = ["192.168.7.8"]
    first = certificate(names, tmp_path)
    first.file.write_text("nonsense")
    second = certificate(names, tmp_path)
    second.key_file.write_bytes(second.key_file.read_bytes()[:40])
    third = certificate(names, tmp_path)
    assert len({first.fingerprint, second.fingerprint, third.fingerprint}) == 3


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to read the certificate with")
def test_openssl_reads_what_a_browser_needs(tmp_path):
    made = certificate(["192.168.7.8", "teacher.local"], tmp_path)
    command = ["openssl", "x509", "-in", str(made.file), "-noout", "-text", "-fingerprint", "-sha256"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "IP Address:192.168.7.8, DNS:teacher.local" in told
    assert "TLS Web Server Authentication" in told
    assert "CA:FALSE" in told
    assert made.fingerprint in told
    ends = datetime.now(UTC) + timedelta(days=89)
    check = [
        "openssl",
        "x509",
        "-in",
        str(made.file),
        "-noout",
        "-checkend",
        str(int((ends - datetime.now(UTC)).total_seconds())),
    ]
    assert subprocess.run(check, capture_output=True).returncode == 0


# ---------------------------------------------------------------- the way in


def test_home_invites_only_in_a_classroom(monkeypatch):
    def home() -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
        assert not at.exception
        return at

    monkeypatch.delenv(ADDRESSES, raising=False)
    assert "Join" not in [s.value for s in home().subheader]
    monkeypatch.setenv(ADDRESSES, "https://192.168.1.2:8501 https://10.0.0.2:8501")
    at = home()
    assert "Join" in [s.value for s in at.subheader]
    assert [c.value for c in at.code] == ["https://192.168.1.2:8501\nhttps://10.0.0.2:8501"]


# ---------------------------------------------------------------- the server


@contextmanager
def classroom(home: Path) -> Iterator[tuple[str, Path]]:
    """`python -m pages.classroom` on a free port: the address it prints, and its certificate."""
    port = free_port()
    env = os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    env.pop("TMLCD_CACHE", None)
    # Looser settings of the user's own must not win.
    env |= {"STREAMLIT_SERVER_MAX_UPLOAD_SIZE": "5000", "STREAMLIT_CLIENT_SHOW_ERROR_DETAILS": "full"}
    log = home / "log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "pages.classroom", "--port", str(port), "--address", "127.0.0.1"]
        server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        pem = home / "cache" / "tmlcd" / "classroom" / "classroom.pem"
        address = f"https://127.0.0.1:{port}"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and server.poll() is None:
            try:
                fetch(f"{address}/_stcore/health", pem)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError(log.read_text(errors="replace"))
        yield address, pem
    finally:
        server.terminate()
        server.wait(10)


def fetch(url: str, pem: Path, **headers: str) -> str:
    """Over https, trusting this one certificate and the names in it."""
    trust = ssl.create_default_context(cafile=str(pem))
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=trust, timeout=10) as answer:
        return answer.read().decode()


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    with classroom(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium with a microphone."""
    with chromium("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream") as running:
        context = running.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 720})
        context.set_default_timeout(60_000)
        yield context


def in_the_room(address: str) -> list[str]:
    """The server's addresses: the loopback one, and those that neighbours use."""
    port = address.rpartition(":")[2]
    return [address, *(f"https://{lan}:{port}" for lan in lan_addresses())]


def test_the_server_answers_on_every_address_with_a_certificate_for_it(room):
    address, pem = room
    for url in in_the_room(address):
        assert fetch(f"{url}/_stcore/health", pem) == "ok"
    log = (pem.parents[3] / "log").read_text()
    assert f"open   {address}" in log and "Proceed" in log and "SHA-256" in log
    with pytest.raises(OSError, match=r"(?i)certificate.verify.failed"):
        urllib.request.urlopen(address, timeout=10)


def test_the_server_answers_to_its_own_names_only(room):
    address, pem = room
    name = socket.gethostname().split(".")[0]
    port = address.rpartition(":")[2]
    for host in (*lan_addresses(), "localhost", name.upper(), f"{name}.local:{port}"):
        assert "<title>" in fetch(f"{address}/paper", pem, Host=host)
    for path in ("paper", "_stcore/health"):
        with pytest.raises(HTTPError, match="400") as refused:
            fetch(f"{address}/{path}", pem, Host=f"evil.example:{port}")
        assert "--hosts" in refused.value.read().decode()


@pytest.mark.browser
@NO_CHROMIUM
def test_students_have_a_microphone_and_scan_the_code(room, browser):
    address, _ = room
    seen = in_the_room(address)[-1]  # from the local network where there is one
    browser.grant_permissions(["microphone"], origin=seen)
    page = browser.new_page()
    page.goto(seen)
    page.get_by_role("heading", name="Join").wait_for()
    assert page.evaluate("isSecureContext")
    heard = "navigator.mediaDevices.getUserMedia({audio: true}).then(s => s.getAudioTracks()[0].readyState)"
    assert page.evaluate(heard) == "live"

    page.get_by_test_id("stImage").locator("img").wait_for()
    projected = Image.open(io.BytesIO(page.screenshot())).convert("L")
    [code] = zxingcpp.read_barcodes(np.asarray(projected))
    assert code.text == address, "the code leads to the address shown first"

    page.goto(f"{seen}/drift-lab")
    page.get_by_label("Data", exact=False).first.wait_for()
    page.get_by_role("combobox").first.click()
    page.get_by_text("Upload a zip").first.wait_for()
    assert page.get_by_text("Folder on this computer").count() == 0, "nobody reads the teacher's folders"
    page.get_by_text("Upload a zip").click()
    page.get_by_text("10MB").first.wait_for()
    page.close()


def test_without_a_network_it_says_what_to_do(monkeypatch):
    from pages.classroom import __main__ as start

    monkeypatch.setattr(start, "lan_addresses", list)
    monkeypatch.setattr(sys, "argv", ["classroom"])
    with pytest.raises(SystemExit, match="ADDRESS="):
        start.main()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--port", "99999"), ("--port", "0"), ("--port", "-1"), ("--port", "http"), ("--port", "9" * 5000),
     ("--address", "klasse-\u00fc.local"), ("--address", "https://192.168.1.5"), ("--address", "192.168.1.5:8501"),
     ("--address", "two words"), ("--address", "")],
)  # fmt: skip
def test_a_bad_port_or_name_is_named_in_one_line(option, value, monkeypatch, capsys):
    from pages.classroom import __main__ as start

    monkeypatch.setattr(sys, "argv", ["classroom", f"{option}={value}"])
    monkeypatch.setattr(os, "execve", lambda *command: pytest.fail("it became the server"))
    with pytest.raises(SystemExit) as stop:
        start.main()
    *_, told = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2 and f"argument {option}: {value!r} is no" in told


def test_a_port_in_use_is_named_before_an_address_is_shown():
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "pages.classroom", "--port", port, "--address", "127.0.0.1"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=START_SECONDS)
    assert done.returncode == 2 and done.stdout == ""
    assert f"port {port} cannot be used" in done.stderr and "PORT=" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- the presenter's view


def test_the_presenters_view_is_in_the_address_and_stays_on_other_pages():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params["presenter"] = "true"
    at.run()
    for page in (HOME, *PAGES[-2:]):
        at.switch_page(page.file).run()
        assert not at.exception
        assert at.toggle(key="presenter").value is True, page.title
    at.toggle(key="presenter").set_value(False).run()
    assert at.switch_page(HOME.file).run().toggle(key="presenter").value is False


@pytest.mark.browser
@NO_CHROMIUM
def test_type_is_large_charts_are_sharp_and_clicks_land(room, browser):
    address, _ = room

    def measure(page, url: str) -> dict:
        page.goto(url)
        page.wait_for_selector(".player[data-time]")
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_timeout(500)
        canvas = page.locator("canvas.chart").first
        found = canvas.evaluate(
            "c => ({pixels: c.width, shown: c.getBoundingClientRect().width, root:"
            " parseFloat(getComputedStyle(document.documentElement).fontSize)})"
        )
        controls = page.locator(".player .controls").first.bounding_box()
        assert controls["y"] + controls["height"] <= 720.5, "the controls are in view"
        box = canvas.bounding_box()
        canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
        return found | {"time": int(page.locator(".player").first.get_attribute("data-time")), "wide": page.locator(
            "[data-testid=stMain]").evaluate("main => main.scrollWidth - main.clientWidth")}  # fmt: skip

    page = browser.new_page()
    plain, large = (measure(page, f"{address}/inside-cusum{query}") for query in ("", "?presenter=true"))
    assert large["root"] / plain["root"] == pytest.approx(1.25)
    for found in (plain, large):
        assert found["pixels"] == pytest.approx(found["shown"], abs=2), "a pixel of the chart is one of the screen"
        assert found["wide"] <= 0
    assert large["time"] == pytest.approx(plain["time"], abs=30), "the middle of the chart is the middle"
    page.get_by_role("button", name="Open sidebar").or_(page.get_by_test_id("stExpandSidebarButton")).first.click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Lessons").click()
    page.wait_for_url("**/lessons**")
    page.get_by_text("Five minutes each").first.wait_for()
    size = page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    assert size == large["root"], "the view stays on the next page"
    page.close()
