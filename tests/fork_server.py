"""A process that has imported everything and forks one for each command: 0.1 s for each instead of 2 s.

Requests and answers are lines of JSON. The script of a server calls `serve` with what a child does; a test talks to it
by a `ForkServer`. Each command has a limit of time; what it writes, and how much memory it takes, is in the answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).parent.parent
SECONDS = 60


class ForkServer:
    """The side of the tests.

    Parameters
    ----------
    script : path
        Program of the server.
    environment : mapping, optional
        Variables beside those of this process.
    """

    def __init__(self, script: Path, environment: Mapping[str, str] | None = None) -> None:
        paths = [str(ROOT / name) for name in ("", "tests", "benchmarks")]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request, wait for the answer: code, message, bytes by which memory grew, and what a child adds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve(run: Callable[[dict[str, Any], str], int]) -> None:
    """Answer requests until there are no more; does not import anything that a fork would lose.

    Parameters
    ----------
    run : callable
        What a child does with a request; it may write JSON to the path that it is given. Returns the exit code.
    """
    print("ready", flush=True)
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(_answer(run, json.loads(line), f"{scratch}/report")), flush=True)


def memory_bytes(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def _answer(run: Callable[[dict[str, Any], str], int], request: dict[str, Any], report: str) -> dict[str, Any]:
    """Fork, wait, kill what takes too long."""
    before = memory_bytes("VmRSS")
    child = os.fork()
    if child == 0:
        _be_child(run, request, report)
    until = time.monotonic() + SECONDS
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            return {"code": 98, "message": "takes too long", "grown": 0}
        time.sleep(0.002)
    message = Path(f"{report}.log").read_text(errors="replace")
    found = {"code": os.waitstatus_to_exitcode(status), "message": message, "grown": used.ru_maxrss * 1024 - before}
    with contextlib.suppress(FileNotFoundError):
        found.update(json.loads(Path(report).read_text()))
    return found


def _be_child(run: Callable[[dict[str, Any], str], int], request: dict[str, Any], report: str) -> None:
    """Run the command with its output in a file; does not return."""
    code = 99
    try:
        fd = os.open(f"{report}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - to the end of the process
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        code = run(request, report)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException as fault:
        print(f"Traceback: {fault!r}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)
