"""A test that is skipped for a reason that nobody has listed is a failure in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import skips

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import pytest
def test_a():
    pytest.skip("REASON")
def test_b():
    pytest.skip("no python3.99")
"""


@pytest.mark.parametrize(("reason", "code"), [("no disk here", 1), ("no ParMETIS: none", 0)])
def test_ci_fails_on_a_skip_whose_reason_is_not_listed(reason: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS.replace("REASON", reason))
    environment = {**os.environ, "CI": "true", "PYTHONPATH": os.path.dirname(skips.__file__)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "skips", "-p", "no:cacheprovider", "test_some.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "2 skipped" in done.stdout and "1 x no python3.99\n" in done.stdout
    assert (f"1 x {reason}  [not in tests/skips.py" in done.stdout) == bool(code)
