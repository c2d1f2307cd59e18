"""The lines of the front page print what stands there."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parent.parent.parent / "docs" / "index.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The block of a tab, whose lines are indented."""
    found = re.search(rf"^    ```{language}\n(.*?)^    ```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return dedent(found[1])


def run_commands(directory: Path) -> list[str]:
    """Run the commands of the page; the lines they print."""
    printed: list[str] = []
    for line in re.findall(r"^\$ daskgraphpart (.*)", block("console"), re.MULTILINE):
        words = [sys.executable, "-m", "daskgraphpart", *shlex.split(line)]
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=True)
        printed += (done.stdout + done.stderr).replace(f"{directory}/", "").splitlines()
    return printed


def test_the_front_page_prints_what_stands_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run_commands(tmp_path)
    shown = [line for line in block("console").splitlines() if not line.startswith("$")]
    assert [line for line in shown if line not in printed] == []
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(block("pycon"), {}, "index.md", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
