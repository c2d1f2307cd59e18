"""A copy of the package in which plug-ins can be deleted or added, as if it were installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import daskgraphpart

PACKAGE = Path(daskgraphpart.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
GONE = os.environ.get("PLUGIN_THAT_IS_GONE", "")
"""The plug-in that `plugins/rest_without.py` has deleted."""
PLUGINS = sorted(path.name for path in (PACKAGE / "plugins").iterdir() if (path / "__init__.py").exists())


def write_metadata(
    root: Path,
    package: str = "daskgraphpart",
    version: str = PROJECT["version"],
    groups: dict[str, dict[str, str]] = PROJECT["entry-points"],
) -> None:
    """Write what pip would write about a package beside it: its entry points."""
    directory = Path(root) / f"{package.replace('-', '_')}-{version}.dist-info"
    directory.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}"]
    if package == PROJECT["name"]:
        lines += [f"Requires-Dist: {needed}" for needed in PROJECT["dependencies"]]
        for extra, of_extra in PROJECT["optional-dependencies"].items():
            lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in of_extra]
    (directory / "METADATA").write_text("\n".join(lines) + "\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {home}\n" for n, home in of.items()) for group, of in groups.items()]
    (directory / "entry_points.txt").write_text("\n".join(lines))


class InstalledCopy:
    """A directory with the package, and what pip would write about it."""

    def __init__(self, root: Path, *, without: str = "") -> None:
        self.root = root
        # with what Python and numba have compiled, but for what they are just writing
        shutil.copytree(PACKAGE, root / "daskgraphpart", ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp.*"))
        groups = {group: dict(names) for group, names in PROJECT["entry-points"].items()}
        if without:
            shutil.rmtree(root / "daskgraphpart" / "plugins" / without)
            for names in groups.values():
                for name in [name for name, home in names.items() if f".plugins.{without}" in home.replace(":", ".")]:
                    del names[name]
        self.register("daskgraphpart", PROJECT["version"], groups)

    def register(self, package: str, version: str, groups: dict[str, dict[str, str]]) -> None:
        """Write the metadata of a package with its entry points."""
        write_metadata(self.root, package, version, groups)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in a fresh process."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONSAFEPATH": "1"}
        return subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=self.root
        )

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in a fresh process."""
        return self.run("-m", "daskgraphpart", *arguments)
