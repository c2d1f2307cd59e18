"""Write a graph for METIS or KaMinPar, call the library in its own process, and check the result.

ParHiP's format (KaHIP user guide, version 3, section 3.2): three 64-bit numbers (flags, nodes, arcs), the byte offset
of each node's neighbours, the neighbours, node weights, arc weights. A flag of 0 means that the file has arc weights
(bit 0), node weights (bit 1), and 64-bit numbers (bits 2 to 5: starts, neighbours, node weights, arc weights).
Neighbours have 32 bits here, unless METIS, which maps 64, reads the file.
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.local import give_memory_back
from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.partitioner.multilevel.weighted_graph import hold
from daskgraphpart.partitioner.owner_parts import use_every_part
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from daskgraphpart.partitioner.choose import Call
    from daskgraphpart.partitioner.multilevel.refine import Limits
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph

logger = logging.getLogger(__name__)

HEADER_NBYTES = 24
SCALE = 1000  # average node weight after several constraints are combined


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported graph, as the libraries' program needs it."""

    graph: str
    for_metis: str  # 64-bit numbers: start of each node's neighbours, then all node weights
    num_nodes: int
    num_parts: int
    limit: int  # most that a part may weigh, for KaMinPar
    tolerances: tuple[float, ...]  # limits over averages, for METIS


def call_libraries(
    graph: WeightedGraph, calls: tuple[Call, ...], limits: Limits, directory: Path, each: Map, at_once: int
) -> list[tuple[np.ndarray, str]]:
    """Return the parts of nodes with neighbours that each call gives, and the call; of several some may fail."""
    held, _ = hold(graph, each)
    exported = export_graph(held, limits, directory, for_metis=any(call.library == "metis" for call in calls))
    del held
    give_memory_back()  # to the libraries
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(run_library, call, exported, directory) for call in calls]
    for path in (exported.graph, exported.for_metis):
        Path(path).unlink(missing_ok=True)  # as large as the levels that follow
    failed = [future.exception() for future in futures]
    # memory must not change the result, so only a crash of the library's own leaves it out
    if killed := [fault for fault in failed if fault and (all(failed) or isinstance(fault, LibraryKilledError))]:
        raise killed[0]
    for fault in filter(None, failed):
        logger.warning("%s; its parts are left out", fault)
    return [(f.result(), str(call)) for f, call, e in zip(futures, calls, failed, strict=True) if e is None]


def export_graph(graph: WeightedGraph, limits: Limits, directory: Path, *, for_metis: bool) -> Exported:
    """Write a graph's files."""
    n, m, path = graph.num_nodes, graph.num_arcs, directory / "graph.parhip"
    weights = graph.node_weights(0, n)
    one, limit = _one_weight(weights, limits)
    dtype = np.dtype("<i8" if for_metis or n >= 1 << 31 else "<i4")
    has_weights = graph.total_weight > m
    starts = np.cumsum(np.concatenate([[0], *(np.diff(block.read()[0]) for block in graph.blocks)]), dtype="<i8")
    first = HEADER_NBYTES + 8 * (n + 1)
    flags = (not has_weights) | (dtype.itemsize == 4) << 3

    def put(rows: np.ndarray) -> None:
        file.write(np.ascontiguousarray(rows).data)

    with attach_path_to_error(path), path.open("wb") as file:
        put(np.array([flags, n, m], "<i8"))
        put(first + dtype.itemsize * starts)
        for block in graph.blocks:
            put(block.read()[1].astype(dtype, copy=False))
        put(one)
        for block in graph.blocks if has_weights else ():
            arc_weights = block.read()[2]
            put(arc_weights.astype("<i8") if arc_weights.size else np.ones(block.num_arcs, "<i8"))
    own = directory / "graph.metis"
    if for_metis:
        with attach_path_to_error(own):
            own.write_bytes(np.concatenate([starts, weights.ravel()]).data)
    tolerances = limits.most.astype(np.float64) * limits.num_parts / np.maximum(weights.sum(axis=0), 1)
    return Exported(str(path), str(own), n, limits.num_parts, limit, tuple(tolerances.tolist()))


def _one_weight(weights: np.ndarray, limits: Limits) -> tuple[np.ndarray, int]:
    """One weight per node, int64 (nodes,), and its limit: the first constraint, or a mean if nodes weigh 0 in it.

    Neither depends on the other constraints' limits: if those are looser, KaMinPar starts from the same parts and less
    has to move. Weights are positive, because KaMinPar takes no zeros.
    """
    totals = np.maximum(weights.sum(axis=0), 1)
    slacks = limits.most.astype(np.float64) * limits.num_parts / totals
    if weights.shape[1] == 1 or weights[:, 0].min(initial=1) > 0:
        one, limit = weights[:, 0], max(int(limits.most[0]), 1)
        weightless = int(np.count_nonzero(one < 1))
        return np.maximum(one, 1), limit + -(-weightless // limits.num_parts)
    mean = (weights / totals).mean(axis=1)
    one = np.maximum(np.rint(mean * SCALE * weights.shape[0]).astype(np.int64), 1)
    # use the tightest tolerance: each constraint ends worse than their mean
    return one, int(np.ceil(one.sum() * slacks.min() / limits.num_parts))


class LibraryKilledError(EnvironmentFaultError):
    """A library was killed, most likely because the machine ran out of memory."""


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
    command = [sys.executable, "-P", str(Path(__file__).with_name("run_library.py")), str(call_path)]
    # closing standard input ends the process, whatever happens to this one
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]  # noqa: S603
        stderr = process.stderr.read()
        code = process.wait()
    if code != 0 or not result.is_file():
        lines = stderr.decode("utf-8", "replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        kind = LibraryKilledError if code == -signal.SIGKILL else EnvironmentFaultError
        raise kind(
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
