"""Call METIS or KaMinPar on an exported graph in its own process, and check the result."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.owner_parts import use_every_part
from daskgraphpart.errors import EnvironmentFaultError, OptionError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from daskgraphpart.assignment.libraries.export import Exported

PACKAGES = {"metis": "pymetis", "kaminpar": "kaminpar"}


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call a library.

    KaMinPar takes `threads` (with several, results vary from run to run) and `compress`; METIS takes `recursive` and
    `objtype`.
    """

    library: str
    seed: int = 0
    threads: int = 1
    compress: bool = False
    recursive: bool = False
    objtype: str = "cut"

    def __str__(self) -> str:
        if self.library == "metis":
            return f"metis ({'recursive' if self.recursive else 'k-way'}, {self.objtype}, seed {self.seed})"
        how = f"default{', compressed' * self.compress}"
        return f"kaminpar ({how}, {self.threads} thread{'s' * (self.threads > 1)}, seed {self.seed})"


def has_library(library: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(PACKAGES[library]) is not None


def need_library(library: str) -> None:
    """Raise an `OptionError` with the package to install if a library is missing."""
    if not has_library(library):
        raise OptionError(
            f"{PACKAGES[library]} is not installed",
            place="--method",
            hint=f"pip install {PACKAGES[library]}, or use --method multilevel, fennel or random",
        )


def run_library(call: Call, exported: Exported, directory: Path) -> np.ndarray:
    """Run a library in its own process; return the part of each node, int32 (nodes,).

    Raises an `EnvironmentFaultError` if it crashes, runs out of memory, or returns an invalid partition.
    """
    name = f"{call.library}-{call.seed}"
    call_path, result = directory / f"{name}.json", directory / f"{name}.int32"
    with attach_path_to_error(call_path):
        content = {**asdict(exported), **asdict(call), "result": str(result)}
        call_path.write_text(json.dumps(content), encoding="utf-8")
    # by path and without the working directory, which may have modules of these names
    command = [sys.executable, "-P", str(Path(__file__).with_name("run.py")), str(call_path)]
    # closing standard input ends the process, whatever happens to this one
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]  # noqa: S603
        stderr = process.stderr.read()
        code = process.wait()
    if code != 0 or not result.is_file():
        lines = stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise EnvironmentFaultError(
            f"{call.library} failed",
            place=str(call),
            found=f"{how}{': ' + lines[-1] if lines else ''}",
            hint="signal 9 means out of memory: try --method multilevel, which needs less, or another seed",
        )
    with attach_path_to_error(result):
        parts: np.ndarray = np.fromfile(result, np.int32)
    if parts.shape != (exported.num_nodes,) or parts.min(initial=0) < 0 or parts.max(initial=0) >= exported.num_parts:
        raise EnvironmentFaultError(
            f"{call.library} returned an invalid partition",
            place=str(call),
            expected=f"{exported.num_nodes:,} parts in [0, {exported.num_parts})",
            found=f"{parts.size:,} in [{parts.min(initial=0)}, {parts.max(initial=0)}]",
            hint="try another seed or method",
        )
    use_every_part(parts, exported.num_parts)
    return parts
