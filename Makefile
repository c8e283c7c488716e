# Start with `make run` and `make test`. Both install again when a requirements file has changed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PYTHONDONTWRITEBYTECODE ?=
# One inner thread: on the learners' small arrays a thread pool is slower.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: run classroom test suite test-slow notebooks notebooks-refresh firmware-test arm-tools lint bench screenshots browser emulator \
	lock check compile capymoa-test forgetting equal-bytes docs clean

run: $(VENV)/.run
	$(BIN)/python -m pages.shell.serve

# Serve the local network over https. Choose address and port: `make classroom ADDRESS=192.168.1.5 PORT=8443`.
PORT ?= 8501
classroom: $(VENV)/.run
	$(BIN)/python -m pages.classroom --port $(PORT) $(if $(ADDRESS),--address $(ADDRESS))

# The style and types are checked beside the tests. Three workers on two cores, because browser tests mostly wait.
test: $(VENV)/.dev browser emulator compile
	$(MAKE) --jobs 2 lint suite

suite:
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations 30 -m "not slow"

test-slow: $(VENV)/.dev browser emulator
	$(BIN)/python -m pytest -n 2

# JupyterLab with the notebooks; `notebooks-refresh` runs them all and stores their output.
notebooks: $(VENV)/.notebooks
	$(BIN)/python -m jupyterlab --notebook-dir=notebooks

notebooks-refresh: $(VENV)/.notebooks
	$(BIN)/python notebooks/refresh.py

# Tests of the exported C code, also with GNU's compiler and QEMU; `make test` uses a compiler and an emulator from PyPI.
firmware-test: $(VENV)/.dev arm-tools
	$(BIN)/python -m pytest -n 2 tests/mcu

# Before a commit: style, types, and the fast tests of the algorithms and of the project.
FAST := tests/knn tests/detectors tests/learners tests/streams tests/experiments tests/viz/test_viz_cusum.py \
	tests/cli/test_compare_extractors.py tests/project/test_project.py tests/project/test_install.py
check: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not browser" $(FAST) tmlcd_core/knn tmlcd_core/detectors tmlcd_core/learners

# CapyMOA needs Java and pandas 2, so it has its own environment.
CAPYMOA := .venv-capymoa
capymoa-test: $(VENV)/.dev
	test -x $(CAPYMOA)/bin/python || $(PYTHON) -m venv $(CAPYMOA)
	$(CAPYMOA)/bin/python -m pip install --quiet --disable-pip-version-check ".[capymoa]"
	TMLCD_CAPYMOA_PYTHON=$(CAPYMOA)/bin/python $(BIN)/python -m pytest tests/learners/test_capymoa.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Compile the inner loops once, instead of in every process of the tests.
compile: $(VENV)/.dev
	$(BIN)/python -m tmlcd_core compile

# Lock requirements.txt and all dependencies, with hashes, for every Python from 3.11 and every system. torch and torchvision are
# left out, because their builds and hashes differ by index; their own dependencies (without CUDA) are included.
TORCH_NEEDS := filelock fsspec jinja2 networkx setuptools==80.9.0 sympy typing-extensions
lock: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	{ grep -v '^torch' requirements.txt; printf '%s\n' $(TORCH_NEEDS); } | $(BIN)/uv pip compile - --quiet --universal \
		--python-version 3.11 --fork-strategy fewest --generate-hashes --no-annotate --custom-compile-command "make lock" \
		--output-file requirements.lock

# The study "when does forgetting pay", with 20 runs; the Paper page and notebook 8 show its result.
forgetting: $(VENV)/.dev
	$(BIN)/python -m tmlcd_core forgetting --out results/forgetting
	cp results/forgetting/forgetting.json data/paper/

# Tandem beside the other learners with the same bytes; the Paper page and notebook 9 show its result. VOICES names a
# folder of recorded words to report on too, such as `make equal-bytes VOICES=~/voices`; RUNS is the number of draws.
RUNS ?= 10
equal-bytes: $(VENV)/.dev
	$(BIN)/python -m tmlcd_core equal-bytes --out results/equal-bytes --runs $(RUNS) \
	    --data speech --data digits --data points $(if $(VOICES),--data $(VOICES))
	cp results/equal-bytes/equal_bytes.json data/

# The documentation as a static site in build/site.
docs: $(VENV)/.dev
	$(BIN)/python -m docs.site build/site

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

screenshots: $(VENV)/.dev browser
	$(BIN)/python -m docs.screenshots

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is required, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m tmlcd_core compile
	@touch $@

$(VENV)/.notebooks: requirements.txt notebooks/requirements.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r notebooks/requirements.txt
	@touch $@

$(VENV)/.dev: requirements.txt notebooks/requirements.txt requirements-dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(VENV)/.run $(VENV)/.notebooks

# Install Debian's Chromium if apt-get can be used; otherwise the browser tests are skipped, with a message.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core libportaudio2 >/dev/null; } \
		|| echo "*** NO CHROMIUM: the browser tests will be skipped ***"

# Install QEMU if apt-get can be used; otherwise the tests of the emulated board are skipped, with a message. zig compiles.
emulator:
	@command -v qemu-system-arm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-system-arm >/dev/null; } \
		|| echo "*** NO qemu-system-arm: the tests of the emulated board will be skipped ***"

arm-tools:
	@{ command -v arm-none-eabi-gcc && command -v qemu-system-arm; } >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc-arm-none-eabi qemu-system-arm >/dev/null; } \
		|| echo "*** NO arm-none-eabi-gcc OR qemu-system-arm: their tests will be skipped ***"

clean:
	rm -rf $(VENV) $(CAPYMOA) .pytest_cache .mypy_cache .ruff_cache .hypothesis
