"""A machine whose disk and clock can be made bad, and the one judgement of every fault.

A fault is judged by `Trial`: it is one clear error; what is left is said not to be whole; the same command ends well
when the fault is gone, with the bytes of an undisturbed run, and what it wrote is found whole.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from faults.judge import expect_not_whole, expect_one_error, expect_whole
from faults.kills import hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faults.jobs import Job

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CONTINUE = "Run the same command again to continue, or add --restart to start over"


class Machine:
    """The process of driver.py, with shim.c compiled and preloaded."""

    def __init__(self, directory: Path) -> None:
        compiler, library = shutil.which("cc"), directory / "shim.so"
        if compiler is None or sys.platform != "linux":
            pytest.skip("no C compiler, or no Linux: calls of the system cannot be made to fail")
        flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run([compiler, *flags, str(HERE / "shim.c"), "-ldl"], check=True)
        paths = os.pathsep.join(str(ROOT / name) for name in ("", "tests"))
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "driver.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "LD_PRELOAD": str(library)},
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        assert self._stdout.readline() == "ready\n"

    def run(self, arguments: list[str], **request: Any) -> dict[str, Any]:
        """Run a command: exit code, what it wrote, passes, calls by pass, and calls that were struck."""
        print(json.dumps({"arguments": arguments, **request}), file=self._stdin, flush=True)
        found: dict[str, Any] = json.loads(self._stdout.readline())
        return found

    def close(self) -> None:
        """End it."""
        self._stdin.close()
        self._process.wait()
        self._stdout.close()


@dataclass
class Trial:
    """One job in a directory of its own; hashes, and calls by pass (``"read the-input"``) of an undisturbed run."""

    machine: Machine
    job: Job
    inputs: Path
    root: Path
    expected: dict[str, str] = field(default_factory=dict)
    calls: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the directories, and what the job changes in place."""
        (self.root / "the-output").mkdir(parents=True)
        (self.root / "the-workspace").mkdir()

    @property
    def out(self) -> Path:
        """What the command writes."""
        return self.root / "the-output" / self.job.out

    def words(self, template: tuple[str, ...]) -> list[str]:
        """Put the directories into a command."""
        places = {"in": str(self.inputs), "out": str(self.out), "work": str(self.root / "the-workspace")}
        return [word.format(**places) for word in template]

    def run(self, more: Sequence[str] = (), **request: Any) -> dict[str, Any]:
        """Run the job, with further options."""
        return self.machine.run([*self.words(self.job.words), *more], sizes=self.job.sizes, **request)

    def undisturbed(self) -> tuple[dict[str, str], dict[str, dict[str, int]], list[str]]:
        """Run it with a good disk: hashes, calls by pass, and passes in their order."""
        found = self.run()
        assert found["code"] == 0, found["message"]
        return hashes(self.root / "the-output"), found["calls"], found["passes"]

    def judge(self, words: Sequence[str]) -> tuple[int, str]:
        """Run the command that judges."""
        found = self.machine.run(list(words))
        for path in self.out.parent.glob("*-judged*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return found["code"], found["message"]

    def fail(self, *words: str, code: int = 3, **request: Any) -> str:
        """Run it into a fault: one clear error, and nothing that looks whole; what was said."""
        found = self.run(**request)
        message: str = found["message"]
        assert found["code"] == code, (found["code"], message)
        expect_one_error(message, *words)
        self.check_not_whole()
        return message

    def check_not_whole(self) -> None:
        """What is left is said not to be whole."""
        expect_not_whole(self.words(self.job.judge), self.judge)

    def finish(self) -> dict[str, Any]:
        """Run it again, without the fault: the bytes of an undisturbed run, which are found whole."""
        found = self.run()
        assert found["code"] == 0, found["message"]
        self.check_whole()
        return found

    def check_whole(self) -> None:
        """The bytes are those of an undisturbed run, and are found whole; no temporary file is left."""
        there = hashes(self.root / "the-output")
        assert sorted(there) == sorted(self.expected)
        assert [name for name in there if there[name] != self.expected[name]] == []
        assert list((self.root / "the-workspace").iterdir()) == []
        expect_whole(self.words(self.job.judge), self.judge)
