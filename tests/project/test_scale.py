"""Several processes behind a proxy: the parts of compose.yaml, and a real nginx with two servers on loopback."""

import asyncio
import getpass
import re
import shutil
import subprocess
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests.support.appserver import free_port, serve
from tests.support.visitor import Visitor

ROOT = Path(__file__).resolve().parents[2]
CONF = (ROOT / "docs" / "nginx.conf").read_text("utf-8")
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def test_proxy_names_the_services_of_the_compose_file():
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    labs = {name for name, one in compose["services"].items() if "build" in one}
    assert set(re.findall(r"server ([\w-]+):8501;", CONF)) == labs == set(compose["services"]["proxy"]["depends_on"])
    port = re.search(r"listen (\d+);", CONF)[1]
    assert compose["services"]["proxy"]["ports"] == [f"{port}:{port}"]
    source, target, _ = compose["services"]["proxy"]["volumes"][0].split(":")
    assert (ROOT / source).is_file() and target == "/etc/nginx/nginx.conf"
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert "EXPOSE 8501" in dockerfile and all(compose["services"][name]["build"] == "." for name in labs)
    settings = compose["services"]["lab-1"]
    assert settings["environment"]["TMLCD_CACHE"] == settings["volumes"][0].partition(":")[2] == "/cache"
    assert "install --directory --owner lab /cache" in dockerfile and "USER lab" in dockerfile, (
        "the app may write there"
    )


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """Address of nginx in front of two servers, and its log."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    folder = tmp_path_factory.mktemp("nginx")
    with ExitStack() as stack:
        servers = [stack.enter_context(serve()).removeprefix("http://") for _ in range(2)]
        port, text = free_port(), CONF
        for name, server in zip(("lab-1:8501", "lab-2:8501"), servers, strict=True):
            text = text.replace(name, server)
        text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("/dev/stdout", f"{folder}/access.log")
        (folder / "nginx.conf").write_text(text)
        command = [NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", f"{folder}/error.log"]
        command += ["-g", f"daemon off; pid {folder}/pid; user {getpass.getuser()};"]
        process = stack.enter_context(subprocess.Popen(command))
        stack.callback(process.terminate)
        address = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                get(address)
                break
            except OSError:
                assert process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.05)
        yield address, folder / "access.log"


def get(address, cookie=""):
    request = urllib.request.Request(f"{address}/_stcore/health", headers={"Cookie": cookie} if cookie else {})
    with urllib.request.urlopen(request) as answer:
        assert answer.read() == b"ok"
        cookies = [text.partition(";")[0] for text in answer.headers.get_all("Set-Cookie")]
        return next(one for one in cookies if one.startswith("tmlcd_process="))


def servers_in(log, since):
    return [line.split()[0] for line in log.read_text().splitlines()[since:]]


@pytest.mark.slow
def test_visitor_stays_with_one_process_and_visitors_spread(proxy):
    address, log = proxy
    visitors = [get(address) for _ in range(40)]
    assert len(set(visitors)) == 40, "each has a cookie of its own"
    assert len(set(servers_in(log, -40))) == 2, "both processes have visitors"
    for cookie in visitors[:5]:
        assert {get(address, cookie) for _ in range(10)} == {cookie}
        assert len(set(servers_in(log, -10))) == 1


@pytest.mark.slow
def test_sessions_run_through_the_proxy(proxy):
    address, _ = proxy

    async def visit(seed):
        cookie = get(address)
        async with Visitor(address, additional_headers={"Cookie": cookie}) as visitor:
            await visitor.open("drift-lab", data="points", per_class=150, train=20, seed=seed)
            return visitor.player()["digest"]

    async def both():
        return await asyncio.gather(*(visit(seed) for seed in range(4)))

    assert len(set(asyncio.run(both()))) == 4
