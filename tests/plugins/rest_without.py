"""Run the tests in a copy of the repository without one plug-in: its folder, its lines in pyproject.toml, its tests.

`python tests/plugins/rest_without.py PLUGIN [arguments of pytest]` prints how many passed, how many need the plug-in,
and ends as pytest does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
OTHERS = ("build", "dist", ".venv-dgl-1.1.3", ".venv-dgl-2.1.0", ".venv-graphstorm")


def copy_without(plugin: str, copy: Path) -> None:
    """Copy what git knows and lists as new, without the plug-in; and write what pip would tell of it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    gone = (f"daskgraphpart/plugins/{plugin}/", f"tests/plugins/{plugin}/")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(gone):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    project = copy / "pyproject.toml"
    home = re.compile(rf'.* = "daskgraphpart\.plugins\.{plugin}[.:].*"')
    lines = [line for line in project.read_text().splitlines() if not home.fullmatch(line)]
    project.write_text("\n".join(lines) + "\n")
    for name in OTHERS:
        if (ROOT / name).exists():
            (copy / name).symlink_to(ROOT / name)
    program = f"from installed_copy import write_metadata; write_metadata({str(copy)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=copy, env=environment(copy, plugin), check=True)


def environment(copy: Path, plugin: str) -> dict[str, str]:
    """Let Python find the package in the copy, and its entry points."""
    paths = (copy, copy / "tests", copy / "tests" / "plugins")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PLUGIN_THAT_IS_GONE": plugin}


def run(plugin: str, arguments: list[str]) -> int:
    """Make the copy and run the tests there."""
    with tempfile.TemporaryDirectory(prefix=f"without-{plugin}-") as directory:
        copy = Path(directory)
        copy_without(plugin, copy)
        command = [sys.executable, "-m", "pytest", "-p", "skip_what_is_gone", "-q", *arguments]
        return subprocess.run(command, cwd=copy, env=environment(copy, plugin), check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
