"""Packages of somebody else, in `third_party`, and the command line where one is installed."""

from __future__ import annotations

import atexit
import json
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


COMMANDS = """
import contextlib, io, json, sys
from daskgraphpart.cli.main import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(json.loads(line))
        except SystemExit as ended:
            exit_code = ended.code
    print(json.dumps([exit_code, out.getvalue(), err.getvalue()]), flush=True)
"""
_processes: dict[Path, subprocess.Popen[str]] = {}


def call(installed: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that sees the packages of a directory, and lasts until there is another one."""
    if installed not in _processes:
        end_processes()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(HERE.parent)])}
        command = [sys.executable, "-c", COMMANDS]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        _processes[installed] = subprocess.Popen(command, env=environment, text=True, **pipes)
    process, words = _processes[installed], [*map(str, arguments)]
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps(words), file=process.stdin, flush=True)
    return subprocess.CompletedProcess(words, *json.loads(process.stdout.readline()))


@atexit.register
def end_processes() -> None:
    """End the process of the directory that was asked for last."""
    while _processes:
        _processes.popitem()[1].communicate()  # closes its stdin, so that it ends


def run_suite(installed: Path, directory: Path, code: str) -> None:
    """Run a module of tests, as the author of an installed package would."""
    (directory / "test_suite.py").write_text(code)
    how = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(directory), str(directory))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(HERE.parent)])}
    command = [sys.executable, "-m", "pytest", *how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
