"""Public functions spell out every option, as its dataclass states it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_headers_docstrings_and_bodies_are_as_the_options_say() -> None:
    script = Path(__file__).with_name("signatures.py")
    compared = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert compared.returncode == 0, f"run {script} --write: {compared.stdout}{compared.stderr}"
