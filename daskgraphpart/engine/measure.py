"""Run a command in a fresh process and measure wall time and peak memory of its whole process tree."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS_BETWEEN_SAMPLES = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one command."""

    seconds: float  # wall time
    peak_bytes: int  # most resident memory of all processes of the tree, summed, as sampled twenty times a second


def measure(command: Sequence[str]) -> tuple[Measurement, int, str]:
    """Run a command; return what it took, its exit code, and all it wrote."""
    peak, started = 0, time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603
        while True:
            try:
                code = process.wait(SECONDS_BETWEEN_SAMPLES)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, tree_bytes(process.pid))
        seconds = time.monotonic() - started
        output.seek(0)
        return Measurement(seconds, peak), code, output.read()


def tree_bytes(pid: int) -> int:
    """Resident memory of a process and its children, summed; pages that several share count for each.

    Small files are read, one for each thread: anything that walks page tables slows down what is measured.
    """
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
        # a child is listed with the thread that started it
        lists = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (OSError, IndexError):
        return 0
    return resident + sum(tree_bytes(int(child)) for children in lists for child in children.split())
