"""Node runs the JavaScript of tmlcd_core/web, fed with JSON."""

import json
import shutil
import subprocess
from importlib import resources
from typing import Any

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def node(program: str, given: object) -> Any:
    """Run a module with the standard input `given`; return its output. `WEB/` in an import is tmlcd_core/web."""
    text = program.replace('"WEB/', f'"file://{resources.files("tmlcd_core.web")}/')
    command = [NODE, "--input-type=module", "-e", text]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
