"""Packages of somebody else, in `third_party`, and the command line where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart import registry

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent


def install(package: str, made: pytest.TempPathFactory) -> Path:
    """Let pip install an example into a directory of its own."""
    source, target = made.mktemp("source") / "package", made.mktemp("installed")
    shutil.copytree(HERE / "third_party" / package, source)
    how = ("--quiet", "--no-deps", "--no-build-isolation", "--target", str(target), str(source))
    subprocess.run([sys.executable, "-m", "pip", "install", *how], check=True, capture_output=True)
    return target


def forget_packages() -> None:
    """Look for packages again."""
    for cached in (
        registry._found,
        registry._imported,
        registry._warn,
        registry.warn_of_unknown_groups,
        registry.plugin_names,
    ):
        cached.cache_clear()


def call(installed: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line where packages of a directory are installed."""
    before = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(HERE.parent), before])}
    command = [sys.executable, "-m", "daskgraphpart", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def run_suite(installed: Path, directory: Path, code: str) -> None:
    """Run a module of tests, as the author of an installed package would."""
    (directory / "test_suite.py").write_text(code)
    how = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(directory), str(directory))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(HERE.parent)])}
    command = [sys.executable, "-m", "pytest", *how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
