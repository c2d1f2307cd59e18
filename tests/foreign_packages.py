"""Packages of somebody else, in `third_party`, and the command line where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def call(installed: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line where packages of a directory are installed."""
    environment = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{HERE.parent}"}
    command = [sys.executable, "-m", "daskgraphpart", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
