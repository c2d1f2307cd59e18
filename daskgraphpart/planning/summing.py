"""What was noted in a rehearsal, summed up: passes, memory, disk, time, and what does not fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.engine.resources import available_memory
from daskgraphpart.planning.calibration import calibrate
from daskgraphpart.planning.plan import Plan, PlannedPass
from daskgraphpart.planning.speeds import seconds_of, total_seconds
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.planning.rehearsal import Note, Rehearsal

PROCESS_NBYTES = 175_000_000
"""Resident memory of an interpreter with the libraries and kernels that every job loads."""
PARQUET_NBYTES = 40_000_000
"""What reading parquet loads beside them."""
LIBRARY_PASS = "partition-graph"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Facts:
    """What a plan tells beside what was noted: the graph, parts, output, method and why, assumptions, output's size."""

    graph: ChunkedGraph
    num_parts: int
    out: Path
    method: tuple[str, str]
    assumptions: tuple[str, ...]
    output_nbytes: int


def sum_up(runner: Rehearsal, facts: Facts) -> Plan:
    """Make the plan of a job that was rehearsed."""
    resources, graph = runner.resources, facts.graph
    workspace = Path(resources.workspace or facts.out)
    speed = calibrate(workspace)
    written = sum(note.bytes_written for note in runner.notes)
    seconds = [seconds_of(note, resources.workers, speed, written) for note in runner.notes]
    passes = _by_name(runner.notes, seconds)
    process = PROCESS_NBYTES + PARQUET_NBYTES * any(file.format == "parquet" for file in graph.files)
    peak, worker = _memory(runner.notes, resources, process)
    sizes = choose_sizes(resources)
    needs = {workspace: runner.disk.peak}
    needs[facts.out] = needs.get(facts.out, 0) + facts.output_nbytes
    return Plan(
        graph_name=graph.schema.name,
        num_parts=facts.num_parts,
        num_nodes=graph.schema.num_nodes,
        num_edges=graph.schema.num_edges,
        input_nbytes=graph.nbytes,
        method=facts.method[0],
        why=facts.method[1],
        passes=passes,
        output_nbytes=facts.output_nbytes,
        workspace_nbytes=runner.disk.peak,
        workers=resources.workers,
        memory_budget=resources.memory,
        worker_memory=worker,
        peak_memory=peak,
        seconds=total_seconds(seconds, speed),
        blocks=(
            ("edges a block", sizes.edge_block_rows),
            ("bytes of a CSV block", sizes.csv_block_bytes),
            ("bytes of rows", sizes.row_block_bytes),
            ("edges a segment", sizes.segment_edges),
        ),
        machine=tuple(asdict(speed).items()),
        assumptions=facts.assumptions,
        warnings=(*_memory_warnings(peak, resources), *_disk_warnings(needs)),
    )


def _by_name(notes: Sequence[Note], seconds: Sequence[float]) -> tuple[PlannedPass, ...]:
    """Sum up the notes of each pass, in the order of the first."""
    found: dict[str, PlannedPass] = {}
    for note, taken in zip(notes, seconds, strict=True):
        before = found.get(note.name, PlannedPass(note.name, 0, 0, 0, 0, 0, 0.0))
        found[note.name] = PlannedPass(
            note.name,
            before.num_units + note.num_units,
            before.moved + note.moved,
            before.bytes_read + note.bytes_read,
            before.bytes_written + note.bytes_written,
            max(before.task_memory, note.task_memory),
            before.seconds + taken,
        )
    return tuple(found.values())


def _memory(notes: Sequence[Note], resources: Resources, process: int) -> tuple[int, int]:
    """Peak of all processes, and of one task.

    What tasks have freed stays with their process for the most part, so that the largest pass until then counts while
    a library runs in a process of its own.
    """
    peak = largest = 0
    for note in notes:
        held = min(resources.workers, note.num_units) * note.task_memory
        if note.name == LIBRARY_PASS:
            peak = max(peak, largest + held)
        else:
            largest = max(largest, held)
    processes = 1 if resources.cluster in ("threads", "sync") else 1 + resources.workers
    return processes * process + max(peak, largest), max((note.task_memory for note in notes), default=0)


def _memory_warnings(peak: int, resources: Resources) -> list[str]:
    if resources.cluster not in ("threads", "processes", "sync", "local"):
        return []
    have = available_memory()
    if peak <= have:
        return []
    return [f"{format_size(peak)} of memory are needed, this machine has {format_size(have)}: give fewer --workers"]


def _disk_warnings(needs: dict[Path, int]) -> list[str]:
    """Compare what disks have to take with what is free on them; directories of one disk share it."""
    by_disk: dict[int, list[tuple[Path, int]]] = {}
    for path, nbytes in needs.items():
        there = existing(path)
        by_disk.setdefault(there.stat().st_dev, []).append((there, nbytes))
    warnings = []
    for places in by_disk.values():
        free, need = psutil.disk_usage(str(places[0][0])).free, sum(nbytes for _, nbytes in places)
        if need > free:
            names = " and ".join(sorted({str(path) for path, _ in places}))
            warnings.append(f"{format_size(need)} are needed on the disk of {names}, {format_size(free)} are free")
    return warnings


def existing(path: Path) -> Path:
    """Return the path, or the nearest directory above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
