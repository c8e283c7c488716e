"""Build hook: the wheel holds the repository's `data/` as `tmlcd_core/data`. Everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithData(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_tree("data", str(Path(self.build_lib, "tmlcd_core", "data")))


setup(cmdclass={"build_py": BuildWithData})
