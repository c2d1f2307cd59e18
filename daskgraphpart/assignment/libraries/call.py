"""METIS and KaMinPar on an exported graph: the call, its process, and the check of what comes back."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.fill_parts import use_every_part
from daskgraphpart.engine.malloc import give_memory_back
from daskgraphpart.errors import EnvironmentFaultError, OptionError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PACKAGES = {"metis": "pymetis", "kaminpar": "kaminpar"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to call a library.

    Parameters
    ----------
    library : str
        ``"metis"`` or ``"kaminpar"``.
    seed : int
        Seed.
    context : str
        Of KaMinPar: ``"default"``, ``"eco"``, ``"strong"``.
    threads : int
        Of KaMinPar; with more than one its result varies from run to run.
    compress : bool
        Whether KaMinPar compresses the graph while it loads it.
    recursive : bool
        Of METIS: recursive bisection instead of k-way.
    objtype : str
        Of METIS: ``"cut"`` or ``"vol"``.
    tightness : float
        Of METIS: share of each tolerance that is used; it exceeds tolerances when there are several.
    focus : int
        Of METIS: the one constraint that is kept while the others are loosened; -1 for all.
    looseness : float
        Of METIS: tolerance of the constraints that are not in focus.
    """

    library: str
    seed: int = 0
    context: str = "default"
    threads: int = 1
    compress: bool = False
    recursive: bool = False
    objtype: str = "cut"
    tightness: float = 1.0
    focus: int = -1
    looseness: float = 0.5

    def __str__(self) -> str:
        if self.library == "metis":
            loosened = f", loosened to {self.looseness:.0%}" if self.focus >= 0 else ""
            return f"metis ({'recursive' if self.recursive else 'k-way'}, {self.objtype}, seed {self.seed}{loosened})"
        how = f"{self.context}{', compressed' if self.compress else ''}"
        return f"kaminpar ({how}, {self.threads} thread{'s' * (self.threads > 1)}, seed {self.seed})"

    def tolerances(self, limits: Sequence[float]) -> list[float]:
        """Tolerances for METIS, of limits over averages; of each constraint."""
        return [
            max(limit, 1 + self.looseness)
            if self.focus not in (-1, i)
            else 1.001 + max(0.0, (limit - 1.001) * self.tightness)
            for i, limit in enumerate(limits)
        ]


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported graph, as the program needs it described.

    Parameters
    ----------
    graph : str
        ParHiP file.
    node_weights : str
        npy file of the constraints' weights, int64 (nodes, constraints); for METIS.
    num_nodes, num_arcs, num_parts : int
        Sizes.
    limit : int
        Most that a part may weigh in the node weights of the ParHiP file; for KaMinPar.
    tolerances : tuple of float
        For each constraint the most that a part may weigh, over the average; for METIS.
    starts, neighbors, arc_weights : int
        Bytes at which the columns of the file begin; 0 if there are no arc weights.
    """

    graph: str
    node_weights: str
    num_nodes: int
    num_arcs: int
    num_parts: int
    limit: int
    tolerances: tuple[float, ...]
    starts: int
    neighbors: int
    arc_weights: int


def has_library(library: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(PACKAGES[library]) is not None


def need_library(library: str) -> None:
    """Check that a library is installed.

    Raises
    ------
    OptionError
        With what to install.
    """
    if not has_library(library):
        raise OptionError(
            f"{PACKAGES[library]} is not installed",
            place="--method",
            hint=f"pip install {PACKAGES[library]}, or use --method multilevel, fennel, ldg or random",
        )


def run_library(candidate: Candidate, exported: Exported, directory: Path, name: str) -> np.ndarray:
    """Run a library in a process of its own.

    Parameters
    ----------
    candidate : Candidate
        How to call it.
    exported : Exported
        The graph.
    directory : Path
        For the files of the call.
    name : str
        Prefix of these files.

    Returns
    -------
    int32 array (nodes,)
        Part of each node.

    Raises
    ------
    EnvironmentFaultError
        If the library crashes, runs out of memory, or returns something that is no partition.
    """
    call_path, result = directory / f"{name}.json", directory / f"{name}.int32"
    call = {**asdict(exported), **asdict(candidate), "result": str(result)}
    call["tolerances"] = candidate.tolerances(exported.tolerances)
    with attach_path_to_error(call_path):
        call_path.write_text(json.dumps(call), encoding="utf-8")
    give_memory_back()  # for the library
    command = [sys.executable, "-m", "daskgraphpart.assignment.libraries.run", str(call_path)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: S603
    if done.returncode != 0 or not result.is_file():
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise EnvironmentFaultError(
            f"{candidate.library} failed",
            place=str(candidate),
            found=f"{how}{': ' + lines[-1] if lines else ''}",
            hint="out of memory if it is signal 9; try --method multilevel, which needs less, or another seed",
        )
    with attach_path_to_error(result):
        parts: np.ndarray = np.fromfile(result, np.int32)
    result.unlink()
    if parts.shape != (exported.num_nodes,) or parts.min(initial=0) < 0 or parts.max(initial=0) >= exported.num_parts:
        raise EnvironmentFaultError(
            f"{candidate.library} returned something that is no partition",
            place=str(candidate),
            expected=f"{exported.num_nodes:,} parts in [0, {exported.num_parts})",
            found=f"{parts.size:,} in [{parts.min(initial=0)}, {parts.max(initial=0)}]",
            hint="try another seed or method",
        )
    use_every_part(parts, exported.num_parts)
    return parts
