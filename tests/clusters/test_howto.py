"""The commands of the how-to pages run as they stand there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("page", ["laptop", pytest.param("cluster", marks=pytest.mark.long)])
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    for program in ("daskgraphpart", "dask"):
        (bin_directory / program).write_text(f'#!/bin/sh\nexec {sys.executable} -m {program} "$@"\n')
        (bin_directory / program).chmod(0o755)
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text()
    blocks = [block.removeprefix("bash\n") for block in text.split("```")[1::2] if block.startswith("bash\n")]
    commands = "\n".join(blocks)
    if page == "cluster":
        commands = f"daskgraphpart generate graph --nodes 1e4 --edges 1e5\n{commands}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_directory}:{os.environ['PATH']}"}
    script = f"set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "partitions" / "part3" / "graph.dgl").is_file()
