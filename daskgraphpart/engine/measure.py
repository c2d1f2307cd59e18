"""Run a command in a fresh process; measure wall time and peak memory of its process tree."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS_BETWEEN_SAMPLES = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one command."""

    seconds: float  # wall time
    peak_bytes: int  # peak of the tree's resident memory, sampled twenty times a second


def measure(command: Sequence[str]) -> tuple[Measurement, int, str]:
    """Run a command; return its measurement, exit code and output."""
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
    """Resident memory of a process and its children; shared pages count for each.

    Reads a small file per thread: walking page tables would slow down what is measured.
    """
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
        # children are listed with the thread that started them
        lists = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (OSError, IndexError):
        return 0
    return resident + sum(tree_bytes(int(child)) for children in lists for child in children.split())
