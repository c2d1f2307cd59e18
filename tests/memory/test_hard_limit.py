"""The main job under a hard limit of memory: the benchmark of it, small."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.mark.memory
def test_an_input_of_eight_budgets_is_partitioned_in_one_budget_and_what_libraries_take(tmp_path: Path) -> None:
    shutil.copytree(BENCHMARKS, tmp_path / "benchmarks", ignore=shutil.ignore_patterns("results", "__pycache__"))
    script = tmp_path / "benchmarks" / "hard_limit.py"
    options = ("--memory", "48MB", "--margin", "384MB", "--directory", str(tmp_path))
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    methods = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert methods == ["method", "---", "nothing", "random", "fennel"]
