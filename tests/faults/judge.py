"""The one judgement of what a fault leaves and of what comes of it: said not to be whole, then whole, by the commands.

`verify` judges partitions, what reads them judges other outputs; it runs in this process, or wherever the test runs
commands.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

from commands import call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Run = Callable[[Sequence[str]], tuple[int, str]]


def run_here(words: Sequence[str]) -> tuple[int, str]:
    """Run a command in this process: exit code, and what it wrote."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        code = call(*words)
    return code, written.getvalue()


def judging(graph: Path, out: Path, command: str) -> list[str]:
    """The command that judges what another has written: `verify`, or what reads an assignment."""
    if command != "assign":
        return ["verify", str(graph), str(out), "--quiet", "--cluster", "sync"]
    how = ("--quiet", "--memory", "64MB", "--overwrite", "--cluster", "sync")
    return ["dispatch", str(graph), str(out), f"{out}-judged", *how]


def expect_not_whole(words: Sequence[str], run: Run = run_here) -> None:
    """What is there is said not to be whole: no success, and no traceback."""
    code, message = run(words)
    assert code in (1, 2), (code, message)
    if code == 1:
        assert "wrong" in message or "fault" in message, message
        assert "Traceback" not in message, message
    else:
        expect_one_error(message)


def expect_whole(words: Sequence[str], run: Run = run_here) -> None:
    """What is there is found whole."""
    code, message = run(words)
    assert code == 0, (code, message)


def expect_one_error(message: str, *words: str) -> None:
    """One error, without a traceback, with these words."""
    assert "Traceback" not in message, message
    assert "bug in daskgraphpart" not in message, message
    assert message.count("error: ") == 1, message
    for word in words:
        assert word in message, (word, message)
