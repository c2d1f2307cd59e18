"""Run a command in a fresh process and measure wall time and peak memory of its whole process tree."""

from __future__ import annotations

import os
import subprocess
import threading
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
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    peak = 0
    stop = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not stop.wait(SECONDS_BETWEEN_SAMPLES):
            peak = max(peak, tree_bytes(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - started
    stop.set()
    watcher.join()
    return Measurement(seconds, peak), process.returncode, output


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
