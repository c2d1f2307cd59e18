"""Pass `partition-graph`: METIS and KaMinPar on a whole level, several calls the best of which is taken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.adjacency.export import export_graph
from daskgraphpart.assignment.libraries.call import Candidate, Exported, run_library
from daskgraphpart.assignment.multilevel.cluster_nodes import ROWS_PER_READ, isolated_nodes
from daskgraphpart.assignment.multilevel.in_memory import Csr, refine, settle
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region, create_npy, save_npy
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.adjacency.export import ParhipFile
    from daskgraphpart.assignment.multilevel.level import Level
    from daskgraphpart.engine.runner import Runner

MANY_ARCS = 20_000_000
FEW_PARALLEL = 1.1  # mean weight of an arc up to which parallel edges are rare
SETTLED = -1  # instead of a number of V-cycles
SCALE = 1000  # average weight of a node when several constraints are made into one


@dataclass(frozen=True, slots=True)
class PartitionConfig:
    """What the candidates work on.

    Parameters
    ----------
    level : Level
        The graph.
    exported : Exported
        The graph as the libraries read it.
    numbers : Region or None
        Number of each node in the exported graph, or -1.
    limits : tuple of int
        Most that a part may weigh, by constraint.
    cycles : int
        V-cycles of refinement in memory after the library; 0 for none, `SETTLED` for just enough to compare.
    """

    level: Level
    exported: Exported
    numbers: Region | None
    limits: tuple[int, ...]
    cycles: int


@dataclass(frozen=True, slots=True)
class Result:
    """What one candidate gave: how far limits are exceeded, and the cut; both 0 if it was not refined."""

    overload: float
    cut: int
    path: str

    @property
    def value(self) -> tuple[float, int]:
        """What is to be small."""
        return self.overload, self.cut


def partition_level(
    level: Level,
    num_parts: int,
    limits: np.ndarray,
    candidates: Sequence[Candidate],
    how: tuple[int, Region],
    runner: Runner,
) -> Candidate:
    """Partition a level by the best of several candidates.

    Parameters
    ----------
    level : Level
        The graph.
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    candidates : sequence of Candidate
        What to try; several only together with refinement, which measures them.
    how : int and Region
        V-cycles of refinement in memory, and the file that is filled with the part of each node (int32); without
        refinement isolated nodes get -1.
    runner : Runner
        What does the work.

    Returns
    -------
    Candidate
        The one that was taken.
    """
    cycles, parts = how
    results = _run_all(level, num_parts, limits, candidates, cycles, runner)
    best = min(range(len(results)), key=lambda i: (results[i].value, i))
    Path(results[best].path).replace(level.file("best.npy"))
    runner.run(Pass("take-parts", take_parts, [level.file("best.npy")], parts, [parts.nbytes]))
    for result in results:
        Path(result.path).unlink(missing_ok=True)
    return candidates[best]


def run_libraries(
    level: Level, num_parts: int, limits: np.ndarray, candidates: Sequence[Candidate], runner: Runner
) -> list[Result]:
    """Partition a level by several calls, of which nothing is refined; nodes without neighbours get -1."""
    return _run_all(level, num_parts, limits, candidates, 0, runner)


def try_starts(
    level: Level,
    num_parts: int,
    limits: np.ndarray,
    starts: Sequence[Candidate | Region],
    runner: Runner,
    cycles: int = SETTLED,
) -> list[Result]:
    """Partition a level in several ways, by libraries or from given parts; by default as far as it takes to rank them.

    Returns
    -------
    list of Result
        The best first; of equal ones there is one.
    """
    results = _run_all(level, num_parts, limits, starts, cycles, runner)
    distinct = {result.value: result for result in reversed(results)}
    return [distinct[value] for value in sorted(distinct)]


def _run_all(
    level: Level,
    num_parts: int,
    limits: np.ndarray,
    starts: Sequence[Candidate | Region],
    cycles: int,
    runner: Runner,
) -> list[Result]:
    candidates = [start for start in starts if isinstance(start, Candidate)]
    isolated = level.adjacency.num_isolated
    numbers = None
    if isolated:
        numbers = create_npy(level.file("numbers.npy"), id_dtype(level.num_nodes), (level.num_nodes,))
        runner.run(Pass("number-nodes", number_nodes, [None], (level, numbers), [numbers.nbytes]))
    for_metis = any(c.library == "metis" for c in candidates)
    wanted = (not level.is_plain, for_metis or _weights_matter(level), for_metis)
    file = export_graph(level.adjacency, level.file("graph.parhip"), numbers, wanted, runner)
    exported = _describe(file, level, num_parts, limits, numbers, runner)
    config = PartitionConfig(level, exported, numbers, tuple(int(limit) for limit in limits), cycles)
    units = list(enumerate(starts))
    results = runner.run(Pass("partition-graph", run_candidate, units, config, [file.nbytes for _ in units]))
    for path in (file.path, exported.node_weights, *([numbers.path] if numbers else [])):
        Path(path).unlink(missing_ok=True)
    return list(results)


def _weights_matter(level: Level) -> bool:
    """Whether arc weights are worth their memory: not on a large graph where hardly any differs from 1."""
    arcs = level.adjacency.num_arcs
    return arcs <= MANY_ARCS or level.adjacency.total_weight > FEW_PARALLEL * arcs


def number_nodes(_: None, config: tuple[Level, Region]) -> None:
    """Number the nodes that have neighbours."""
    level, numbers = config
    kept = ~isolated_nodes(level)
    numbers.write(np.where(kept, np.cumsum(kept) - 1, -1).astype(numbers.dtype), 0)


def take_parts(path: Path, parts: Region) -> None:
    """Copy parts from an npy file."""
    with attach_path_to_error(path):
        best = np.load(path, mmap_mode="r", allow_pickle=False)
    parts.write(best, 0)


def _describe(
    file: ParhipFile, level: Level, num_parts: int, limits: np.ndarray, numbers: Region | None, runner: Runner
) -> Exported:
    target = create_npy(level.file("exported-weights.npy"), np.int64, (file.num_nodes, len(level.weights)))
    config = (level, numbers, target, file, tuple(int(limit) for limit in limits), num_parts)
    ((totals, limit),) = runner.run(Pass("export-weights", export_weights, [None], config, [target.nbytes]))
    tolerances = tuple(float(lim * num_parts / max(1, total)) for lim, total in zip(limits, totals, strict=True))
    return Exported(
        file.path, target.path, file.num_nodes, file.num_arcs, num_parts, limit, tolerances,
        file.starts.offset, file.neighbors.offset, file.arc_weights.offset if file.has_arc_weights else 0,
    )  # fmt: skip


def export_weights(
    _: None, config: tuple[Level, Region | None, Region, ParhipFile, tuple[int, ...], int]
) -> tuple[list[int], int]:
    """Write node weights for METIS (all constraints) and KaMinPar (one); return the totals and KaMinPar's limit.

    One weight for several constraints is the mean of what a node takes of each limit.
    """
    level, numbers, target, file, limits, num_parts = config
    totals = np.zeros(len(limits), np.int64)
    scale = SCALE * max(1.0, file.num_nodes / num_parts)
    shares = 1.0 / np.maximum(np.array(limits, np.float64), 1.0)
    done = weightless = combined = 0
    for start in range(0, level.num_nodes, ROWS_PER_READ):
        stop = min(start + ROWS_PER_READ, level.num_nodes)
        weights = level.read_weights(start, stop)
        if numbers is not None:
            weights = weights[numbers.read(start, stop) >= 0]
        totals += weights.sum(axis=0)
        target.write(weights, done)
        if file.has_node_weights:
            alone = len(limits) == 1
            one = weights[:, 0] if alone else np.rint((weights * shares).mean(axis=1) * scale).astype(np.int64)
            combined += int(one.sum())
            weightless += int(np.count_nonzero(one < 1))
            file.node_weights.write(np.maximum(one, 1), done)  # KaMinPar takes no zeros
        done += weights.shape[0]
    if len(limits) == 1:
        return totals.tolist(), max(limits[0], 1) + -(-weightless // num_parts)
    # within the tightest tolerance, because each of the constraints comes out worse than their mean
    slack = min(limit * num_parts / max(1, int(total)) for limit, total in zip(limits, totals, strict=True))
    return totals.tolist(), int(np.ceil(combined * slack / num_parts))


def run_candidate(unit: tuple[int, Candidate | Region], config: PartitionConfig) -> Result:
    """Run one candidate, or read given parts, deal out isolated nodes and refine; write the part of each node."""
    index, start = unit
    level, num_parts = config.level, config.exported.num_parts
    if isinstance(start, Candidate):
        found, seed = run_library(start, config.exported, Path(level.directory), f"candidate-{index}"), start.seed
        parts = found
        if config.numbers is not None:
            parts = np.full(level.num_nodes, -1, np.int32)
            parts[config.numbers.memmap() >= 0] = found
    else:
        parts, seed = start.read(), index
    overload, cut = 0.0, 0
    if config.cycles:
        graph, limits = read_csr(level), np.array(config.limits, np.int64)
        graph.deal_out_rest(parts, num_parts, limits)
        if config.cycles == SETTLED:
            parts = settle(graph, parts, num_parts, limits, seed)
        else:
            parts = refine(graph, parts, num_parts, limits, config.cycles, seed)
        overload, cut = round(graph.overload(parts, limits, num_parts), 9), graph.cut(parts)
    path = level.file(f"candidate-{index}.npy")
    save_npy(path, parts)
    return Result(overload, cut, str(path))


def read_csr(level: Level) -> Csr:
    """Read a level into memory."""
    indptr, indices, weights = level.adjacency.read()
    return Csr(indptr, indices, weights, level.read_weights(0, level.num_nodes))
