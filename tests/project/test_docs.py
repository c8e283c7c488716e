"""Documents and Dockerfile: commands parse, paths and names exist, limits and layers match the code, examples run."""

import ast
import dataclasses
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from importlib import metadata
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from docs import readme_results
from pages.shell import computation, uploads
from pages.shell.navigation import HOME, PAGES
from pages.shell.start_options import StartOptions, parse_start_options
from pages.views.drift_lab import choose, upload
from tests.project.test_project import LAYERS
from tests.support.appserver import free_port, wait_until_healthy
from tmlcd_core import Experiment, __version__
from tmlcd_core.cli import command
from tmlcd_core.datasets import cache
from tmlcd_core.detectors.benchmark import DETECTORS
from tmlcd_core.paper.findings import shipped_findings
from tmlcd_core.streams import stream

ROOT = Path(__file__).resolve().parents[2]
README, CONTRIBUTING, CHANGELOG, SECURITY = (
    (ROOT / f"{name}.md").read_text("utf-8") for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")
)
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
ALL = {"README": README, "CONTRIBUTING": CONTRIBUTING, "CHANGELOG": CHANGELOG, "SECURITY": SECURITY}
MADE_BY_COMMANDS = {".venv", "firmware"}
COMMAND = re.compile(r"(?:tmlcd|(?:\S*/)?python -m tmlcd_core) (.+)")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


# ---------------------------------------------------------------- what is named exists


@pytest.mark.parametrize("name", ALL)
def test_files_and_pictures_that_are_named_exist(name):
    text = re.sub(r"^```.*?^```$", "", ALL[name], flags=re.M | re.S)
    named = set(re.findall(r"`([\w./-]+)`", text)) | set(re.findall(r"!\[[^]]*\]\(([^)]+)\)", text))
    paths = {
        n for n in named if "/" in n or re.search(r"\.(md|py|txt|toml)$", n) or n in ("Dockerfile", "LICENSE", "NOTICE")
    }
    assert paths
    missing = {p for p in paths - MADE_BY_COMMANDS if not (ROOT / p).exists() and "SECTION" not in p}
    assert not missing


@pytest.mark.parametrize("name", ALL)
def test_targets_of_make_exist(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    code = re.findall(r"`([^`\n]+)`", ALL[name]) + "\n".join(blocks(ALL[name], "sh")).splitlines()
    named = {word for line in code if line.startswith("make ") for word in line.split("#")[0].split()[1:]}
    assert named <= targets


@pytest.mark.parametrize("name", ["README", "CONTRIBUTING"])
def test_commands_parse(name):
    code = re.findall(r"`([^`\n]+)`", ALL[name]) + "\n".join(blocks(ALL[name], "sh")).splitlines()
    asked = [found[1] for line in code if (found := COMMAND.match(line.split("#")[0]))]
    assert asked
    for line in asked:
        command.parser_of_commands().parse_args(shlex.split(line))  # SystemExit if it does not parse
    for module in re.findall(r"-m (benchmarks\.\w+)", ALL[name]):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()


def test_names_of_the_library_exist():
    """`tmlcd_core.name` and `Class.name` in the README can be imported."""
    for name in re.findall(r"`tmlcd_core\.(\w+)`", README):
        assert (ROOT / f"tmlcd_core/{name}.py").exists() or (ROOT / f"tmlcd_core/{name}").is_dir(), name
    for name in re.findall(r"`(?:Experiment|experiment)\.(\w+)\(", README):
        assert callable(getattr(Experiment, name)), name


def test_layers_are_those_of_the_import_test():
    block = CONTRIBUTING.partition("## Layers\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^tmlcd_core/(\w+)", block, re.M)
    assert listed == [*LAYERS, "reference"]


def test_limits_in_security_are_those_of_the_code():
    """Each number of the section on limits stands in the code under the name given here."""
    stated = SECURITY.partition("## Limits\n")[2].partition("\n## ")[0]
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    budget = upload.BUDGET
    for words in (
        f"{config['server']['maxUploadSize']} MB per file",
        f"{uploads.MOST_OF_TAB >> 20} MB per tab",
        f"{uploads.MOST_OF_ALL >> 30} GB in all",
        f"{upload.LIMIT >> 20} MB",
        f"{budget.files:,} files",
        f"{budget.bytes >> 20} MB unpacked",
        f"{budget.pixels // 10**6} megapixels",
        f"{budget.values // 10**6} million audio samples",
        f"{budget.seconds:g} s of processor time",
        f"{upload.MOST_OF_VISITOR >> 20} MB unpacked per browser",
        f"{upload.MOST_OF_ALL >> 20:,} MB in all",
        f"longer than {computation.LONG:g} s",
        f"{computation.MOST_PROCESSES} processes",
        f"{cache.LIMIT_MB:,} MB",
        f"{choose.MOST_SAMPLES:,} rows and {stream.MOST_BYTES >> 20} MB of features",
    ):
        assert words in stated, words
    assert "TMLCD_CACHE_MB" in stated


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("bench_*.py")), ids=lambda path: path.stem)
def test_a_benchmark_loads_and_its_files_exist(path):
    module = importlib.import_module(f"benchmarks.{path.stem}")
    assert callable(module.main) and module.__doc__
    assert all(value.exists() for value in vars(module).values() if isinstance(value, Path))


def test_every_page_is_in_the_readme_and_the_changelog():
    for page in PAGES:
        assert page is HOME or f"**{page.title}**" in README, page.title
        assert page.title in CHANGELOG, page.title


def test_the_readme_has_its_parts_in_order_and_stays_short():
    wanted = ["In five minutes", "The paper in five sentences", "Against the paper"]
    wanted += ["One experiment, three forms", "Your own data"]
    wanted += ["The library in ten lines", "Add your own", "Where things are", "Limits", "Licence and citation"]
    assert [h for h in re.findall(r"^## (.+)$", README, re.M) if h in wanted] == wanted
    paper = README.partition("## The paper in five sentences\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"\.(?=\s)", paper)) == 5
    library = blocks(README.partition("## The library in ten lines\n")[2], "python")[0]
    assert sum(line.startswith((">>>", "...")) for line in library.splitlines()) <= 11
    assert len(README.splitlines()) < 300


def test_the_readme_counts_the_notebooks_and_the_detectors():
    words = ["six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    notebooks = words[len(list((ROOT / "notebooks").glob("*.ipynb"))) - 6]
    assert f"{notebooks.capitalize()} notebooks" in README
    assert f"{words[len(DETECTORS) - 6]} detectors at one false-alarm rate" in README


def test_the_glossary_page_is_the_glossary_of_the_app():
    from tmlcd_core.glossary import GLOSSARY, markdown_table

    assert (ROOT / "docs/glossary.md").read_text("utf-8").endswith(f"\n\n{markdown_table()}\n")
    assert {"T", "W", "h", "n", "ξ", "ϖ", "λ"} <= {term.symbol for term in GLOSSARY}
    words = {"class", "label", "concept", "drift", "initial samples", "bound", "detector", "alarm", "take"}
    assert words <= {term.word for term in GLOSSARY}
    assert len({term.word for term in GLOSSARY}) == len(GLOSSARY)


def test_the_changelog_knows_the_version():
    versions = re.findall(r"^## \[([^]]+)\](?: - (\d{4}-\d\d-\d\d))?$", CHANGELOG, re.M)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == __version__ and versions[1][1]
    for one in CHANGELOG.split("\n## [")[1:]:
        kinds = re.findall(r"^### (.+)$", one, re.M)
        assert len(set(kinds)) == len(kinds), f"a version has each heading once: {kinds}"
        assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_notice_names_what_is_not_ours():
    notice, stem = (ROOT / "NOTICE").read_text("utf-8"), (ROOT / "tmlcd_core/features/STEM.md").read_text("utf-8")
    for path in re.findall(r"[\w/]+\.(?:npz|md|py)\b", notice):
        assert (ROOT / path).exists(), path
    for words in ("ResNet18_Weights.IMAGENET1K_V1", "BSD 3-Clause", "viridis", "eSpeak NG", "GPL-3.0-or-later"):
        assert words in notice
    assert "Redistribution and use in source and binary forms" in stem, "the licence of the weights goes with them"
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("BSD 3-Clause License")


def test_notice_names_every_requirement_under_the_gpl_or_lgpl():
    notice = (ROOT / "NOTICE").read_text("utf-8")
    found = {}
    for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name = line.partition("==")[0]
            known = metadata.metadata(name)
            stated = " ".join([known.get("License-Expression") or "", *known.get_all("Classifier", [])])
            if "GPL" in stated or "General Public" in stated:
                found[name] = known.get("License-Expression")
    assert "soxr" in found
    for name, licence in found.items():
        assert f"{name} ({licence})" in notice
    assert "libsndfile (LGPL-2.1-or-later)" in notice, "soundfile's wheel brings it"


# ---------------------------------------------------------------- numbers


def test_the_results_are_those_of_the_data():
    written = README.partition(readme_results.BEGIN)[2].partition(readme_results.END)[0]
    assert written == readme_results.results(), "run python -m docs.readme_results"


def test_the_readme_has_every_finding():
    """`tests/paper/test_findings.py` checks that they are true of the data."""
    text = " ".join(README.split())
    for one in shipped_findings():
        assert f"**{one.title}.** {one.text}" in text


def test_one_experiment_in_its_three_forms_gives_one_number(tmp_path):
    """The README's link, command and Python expression; `pytest README.md` runs the expression and its output."""
    section = README.partition("## One experiment, three forms\n")[2].partition("\n## ")[0]
    [link] = re.findall(r"<(http\S+)>", section)
    [line] = blocks(section, "sh")
    [code] = blocks(section, "python")
    experiment = eval(re.search(r"outcome = (Experiment\(.*\))\.run\(\)", code)[1])
    stated = ast.literal_eval(re.search(r"^{.*}$", code, re.M)[0])
    assert Experiment.from_link(link) == experiment
    assert experiment.command() == line.strip()

    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    for key, values in parse_qs(urlsplit(link).query).items():
        page.query_params[key] = values
    page.switch_page("pages/drift_lab.py").run()
    shown = page.session_state["lab good"]
    assert not page.exception and not page.error and shown.experiment == experiment
    assert {name: round(float(shown.metrics[name].accuracy), 3) for name in stated} == stated

    answer = json.loads(run(["-m", "tmlcd_core", *COMMAND.match(line)[1].split(), "--json"], tmp_path))
    assert {name: round(one["accuracy"]["mean"], 3) for name, one in answer["learners"].items()} == stated


# ---------------------------------------------------------------- examples of adding things

ADDED = re.findall(
    r"^```python\n# (\w+\.py)\n(.*?)^```\n```sh\ntmlcd (.*?)\n```$", README, re.M | re.S
)  # file, code, command
NEW = {"sliding.py": "sliding", "ten_in_a_row.py": "active-ten", "rotation.py": "labels-rotated", "coins.py": "coins",
       "nucleo_l476.py": "stm32l476"}  # fmt: skip
OFFERED = """
from streamlit.testing.v1 import AppTest
at = AppTest.from_file("app.py", default_timeout=120).run()
at.switch_page("pages/drift_lab.py").run()
at.selectbox(key="data").set_value("coins").run()
at.selectbox(key="drift").set_value("rotation").run()
at.multiselect(key="learners").set_value(["hybrid", "sliding"]).run()
assert not at.exception and not at.error, at
print(at.session_state["lab good"].experiment)
at.switch_page("pages/stm32.py").run()
assert not at.exception
print(at.selectbox(key="target").options)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A folder with the files of the README's examples."""
    folder = tmp_path_factory.mktemp("plugins")
    for file, code, _ in ADDED:
        (folder / file).write_text(code, encoding="utf-8")
    return folder


def run(arguments: list[str], where: Path, **environment: str) -> str:
    env = os.environ | {"TMLCD_CACHE": str(where / "cache"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env |= {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run([sys.executable, *arguments], cwd=where, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_an_example_of_each():
    assert [file for file, _, _ in ADDED] == list(NEW)


@pytest.mark.parametrize(("file", "code", "asked"), ADDED, ids=["learner", "detector", "drift", "dataset", "board"])
def test_an_example_works_with_worker_processes(file, code, asked, written):
    jobs = ["--jobs", "2"] if asked.startswith("run ") else []
    answer = json.loads(run(["-m", "tmlcd_core", *shlex.split(asked), "--json", *jobs], written))
    assert NEW[file] in json.dumps(answer).lower()
    if file == "ten_in_a_row.py":
        assert answer["learners"]["active-ten"]["delay"]["runs"] > 0, "the learner receives its alarms"
        assert answer["learners"]["active-ten"]["settings"]["detector"] == "TenInARow"


def test_the_app_offers_what_was_added(written):
    plugins = os.pathsep.join(str(written / file) for file in NEW)
    told = run(["-c", f"import os; os.chdir({str(ROOT)!r})\n{OFFERED}"], written, TMLCD_PLUGINS=plugins)
    assert "Experiment('coins', drift='rotation', per_class=750, learners=('hybrid', 'sliding'), seed=1)" in told
    assert "STM32L476" in told


def test_the_command_for_your_own_stream_runs_on_the_table_of_the_example(tmp_path):
    """`pytest README.md` runs the Python lines and compares their output."""
    section = README.partition("## Your own data")[2].partition("\n## ")[0]
    [asked] = [line.split("#")[0] for line in section.splitlines() if "--table" in line]
    lines = [line.removeprefix(">>> ") for line in section.splitlines() if line.startswith(">>> ")][:4]
    run(["-c", "\n".join([*lines, lines[-1].partition("# ")[2]])], tmp_path)
    answer = json.loads(run(["-m", "tmlcd_core", *shlex.split(asked)[1:], "--json", "--runs", "1"], tmp_path))
    assert answer["scenario"]["recorded"] == 100 and answer["scenario"]["length"] == 1150
    assert all(one["delay"]["mean"] is None and one["accuracy"]["mean"] > 0.6 for one in answer["learners"].values())


# ---------------------------------------------------------------- on a server


def instructions(name: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^{name} (.*)$", joined, re.M)


def copied() -> list[str]:
    return [source for line in instructions("COPY") for source in line.split()[:-1]]


def test_start_options_are_as_documented():
    rows = re.findall(r"^\| `(--[^`]+)` \| `(TMLCD_[A-Z_]+)(?:=(\w+))?` \|", SECURITY, re.M)
    assert [shlex.split(row[0])[0] for row in rows] == [
        f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(StartOptions)
    ]
    for option, variable, value in rows:
        words = shlex.split(option)
        assert (
            parse_start_options(words, {}) == parse_start_options([], {variable: value or words[1]}) != StartOptions()
        )
    named, command_line = re.findall(r"`streamlit run app.py -- ([^`]+)`", README)
    assert parse_start_options(shlex.split(named), {}) == StartOptions(plugin=("FILE.py",))
    [variable] = re.findall(r"-e (TMLCD_HOSTS=\S+) tmlcd`", README)
    asked = parse_start_options(shlex.split(command_line), {})
    assert asked == parse_start_options([], dict([variable.split("=")])) == StartOptions(hosts=("lab.example.org",))


def test_the_image_copies_what_exists_and_is_not_ignored():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").split() if line.startswith("!")}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for source in copied():
        assert (ROOT / source).exists()
        assert source in allowed, f"{source} does not reach the build"
        assert any(path == source or path.startswith(f"{source}/") for path in tracked)
    assert allowed == set(copied())


def test_the_image_runs_as_nobody_special_and_pins_what_the_tests_use():
    order = re.findall(r"^(FROM|USER|CMD|HEALTHCHECK|EXPOSE)\b", DOCKERFILE, re.M)
    assert order == ["FROM", "USER", "EXPOSE", "HEALTHCHECK", "CMD"]
    assert instructions("USER") == ["lab"]
    assert instructions("FROM") == ["python:3.11-slim"]
    assert any("-r requirements.txt" in line for line in instructions("RUN"))
    assert all("==" in line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and line[0] != "#")


def test_the_copied_files_serve_the_app_with_the_images_command(tmp_path):
    """The image's own command and health check, on another port, in a folder with what the image has."""
    for source in copied():
        place = tmp_path / source
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)
    port = free_port()
    start = [word.replace("8501", str(port)) for word in json.loads(instructions("CMD")[0])]
    check = [
        word.replace("8501", str(port)) for word in json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    ]
    assert start[0] == check[0] == "python"
    assert subprocess.run([sys.executable, *check[1:]], capture_output=True).returncode != 0, "nobody is there yet"
    log = tmp_path / "log"
    env = os.environ | {"HOME": str(tmp_path), "TMLCD_HOSTS": "lab.example.org"}
    with log.open("wb") as out:
        server = subprocess.Popen([sys.executable, *start[1:]], cwd=tmp_path, env=env, stdout=out, stderr=out)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", server, log)
        subprocess.run([sys.executable, *check[1:]], check=True)
        for host in (f"localhost:{port}", "lab.example.org"):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/stm32", headers={"Host": host})
            with urllib.request.urlopen(request, timeout=10) as page:
                assert b"<title>" in page.read()
        request.add_header("Host", "evil.example")
        with pytest.raises(HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=10)
        assert "External URL" not in log.read_text(), "no other host is asked for this one's address"
    finally:
        server.terminate()
        server.wait(10)


def test_a_host_finds_the_app_where_it_looks():
    """Streamlit's Community Cloud asks http://localhost:8501 and installs requirements.txt unless another file wins."""
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert config["server"]["port"] == 8501
    assert config["server"]["address"] in ("127.0.0.1", "0.0.0.0")
    assert not any((ROOT / name).exists() for name in ("uv.lock", "Pipfile", "environment.yml"))


@pytest.mark.skipif(shutil.which("apt-cache") is None, reason="not Debian")
def test_debian_has_the_packages():
    names = (ROOT / "packages.txt").read_text("utf-8").split()
    assert names
    for name in names:
        known = subprocess.run(["apt-cache", "show", "--no-all-versions", name], capture_output=True, text=True)
        if (
            "No packages found" in known.stderr
            and not subprocess.run(["apt-cache", "pkgnames", "libc6"], capture_output=True, text=True).stdout
        ):
            pytest.skip("this machine has no package lists")
        assert f"Package: {name}" in known.stdout


def test_the_readme_opens_with_a_short_animation_of_the_lab():
    from PIL import Image

    text = (ROOT / "README.md").read_text("utf-8")
    alt, place = re.search(r"!\[([^\]]+)\]\(([^)]+)\)", text).groups()
    assert text.index(place) < text.index("```"), "before anything else"
    file = ROOT / place
    with Image.open(file) as animation:
        assert animation.n_frames > 20 and animation.info["loop"] == 0
    assert file.stat().st_size < 2_000_000 and "Drift lab" in alt
