"""What does a larger graph take? CPU seconds, bytes, memory and disk, from the ledger of a smaller graph.

Each pass reads each edge a fixed number of times, but a larger graph takes somewhat more per edge: `multilevel` has
another level, and the arrays of all nodes no longer fit into caches. Ledgers of two sizes tell how much more; the
growth of all passes together is used, since that of a single pass is noisy. A third ledger, five times as large, shows
by how much the prediction errs. Memory and disk are the formulas of `daskgraphpart plan`. Wall time assumes that a pass
is bound by its cores or by the disk, whichever takes longer, and that what is serial is not shared.

Ledgers: ``ledger.py partition GRAPH OUT --num-parts 8 --method multilevel --balance nodes,edges --memory 8GB`` with
graphs of ``generate --kind communities --features 1`` and ten edges a node. Then ``python benchmarks/predict.py``.
`table.py` writes the tables of docs/sizing.md.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from claims import busy_threads_of, newest_of
from harness import RESULTS, show

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.jobs.estimate_dispatch import expect, files_of, output_nbytes
from daskgraphpart.jobs.job_spec import layouts_of
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.choose import SHARED_PER_NODE, expected_choice, needs, workspace_nbytes
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from collections.abc import Set

PARTITIONER = "partition-graph"
"""The pass whose rounds machines share; of all others they share the tasks."""
ASSIGNING = {PARTITIONER, "split-edges", "cut-node-range", "merge-arcs", "weigh-nodes", "measure-cut"}
"""The passes that random owners do without."""
EDGES_PER_NODE, NUM_PARTS = 10, 8
SMALLER_EDGES, KNOWN_EDGES = 50_000_000, 200_000_000
"""The two ledgers that predict all others."""
LARGEST_EDGES = 1_000_000_000
MEMORY_GIB = 24  # of the machine with these ledgers
PREDICTED_EDGES = (5_000_000_000, 10_000_000_000, 100_000_000_000)
CORES = 16
DISK = 2e9
"""Bytes a second of a machine's disk, read or written."""
TEN, TEN_CORES, TEN_MEMORY, TEN_DISK, NETWORK = 10, 16, 64e9, 1.2e9, 1.25e9
"""Ten machines: cores, bytes of memory, and bytes a second of the disk and of a network of 10 Gbit/s, of each."""
SHARED_PER_NODE_WIDE = 20
"""`SHARED_PER_NODE` of IDs that take 8 bytes, those from 2^31 on: a label and who waits, 4 bytes more each."""
TEN_SIZES = ((10**10, 10**9), (10**11, 10**9), (10**11, 10**10))
"""Edges and nodes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a pass takes: CPU seconds, those of the thread that hands out work, and bytes read and written."""

    cpu: float
    serial: float
    read: float
    written: float

    def grown(self, factor: float, by: Cost) -> Cost:
        """The cost of so many times as many edges, where each figure grows by a power."""
        cpu, serial = self.cpu * factor**by.cpu, self.serial * factor**by.serial
        return Cost(cpu, serial, self.read * factor**by.read, self.written * factor**by.written)

    def seconds(self, cores: int) -> float:
        """Wall time on so many cores and a disk."""
        shared = (self.cpu - self.serial) / cores
        return self.serial + max(shared, (self.read + self.written) / DISK)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for headers, *rows in (checks(), passes(), sizes(), times(), ten()):
        show(headers, rows)
        print()


def ledgers() -> dict[int, dict[str, Cost]]:
    """The newest ledger of each number of edges, of communities by `multilevel`, with all passes."""
    found = {}
    for line in (RESULTS / "ledger.jsonl").read_text(encoding="utf-8").splitlines():
        kept = json.loads(line)
        command = kept["setting"]["command"]
        if command[0] == "partition" and "multilevel" in command and "num_edges" in kept["setting"]:
            found[kept["setting"]["num_edges"]] = {name: _cost(row) for name, row in kept["results"].items()}
    return dict(sorted(found.items()))


def _cost(row: dict[str, Any]) -> Cost:
    return Cost(row["cpu"], row["serial"], row["read"], row["written"])


def predicted(num_edges: int) -> dict[str, Cost]:
    """Each pass of a graph of so many edges."""
    known = ledgers()[KNOWN_EDGES]
    exponents = growth()
    return {name: cost.grown(num_edges / KNOWN_EDGES, exponents) for name, cost in known.items()}


def growth() -> Cost:
    """The powers of the number of edges by which CPU time and bytes grow."""
    smaller, known = (total(ledgers()[edges]) for edges in (SMALLER_EDGES, KNOWN_EDGES))
    times = math.log(KNOWN_EDGES / SMALLER_EDGES)
    cpu, read, written = (
        math.log(getattr(known, name) / getattr(smaller, name)) / times for name in ("cpu", "read", "written")
    )
    return Cost(cpu, cpu, read, written)


def total(costs: dict[str, Cost]) -> Cost:
    """Sum of all passes."""
    rows = costs.values()
    cpu, serial = sum(row.cpu for row in rows), sum(row.serial for row in rows)
    return Cost(cpu, serial, sum(row.read for row in rows), sum(row.written for row in rows))


def checks() -> list[list[str]]:
    """Predicted over measured, for each ledger."""
    rows = []
    for num_edges, costs in ledgers().items():
        measured, expected = total(costs), total(predicted(num_edges))
        partitioner = predicted(num_edges)[PARTITIONER].cpu / costs[PARTITIONER].cpu
        ratios = (
            expected.cpu / measured.cpu,
            partitioner,
            expected.read / measured.read,
            expected.written / measured.written,
        )
        rows.append([f"{num_edges:,}", f"{measured.cpu:,.0f} s", *(f"{ratio:.2f}" for ratio in ratios)])
    return [["edges", "CPU time", "predicted / measured", f"of `{PARTITIONER}`", "bytes read", "bytes written"], *rows]


def passes() -> list[list[str]]:
    """What the largest graph took in each pass."""
    costs = ledgers()[LARGEST_EDGES]
    rows = [
        [f"`{name}`", f"{cost.cpu:,.0f} s", f"{cost.serial:.1f} s", format_size(cost.read), format_size(cost.written)]
        for name, cost in [*costs.items(), ("all", total(costs))]
        if cost.cpu >= 1
    ]
    return [["pass, a billion edges", "CPU time", "of which serial", "read", "written"], *rows]


def from_disk() -> str:
    """What comes from the disk, of all that jobs of two sizes read, and what reaches it."""
    known, largest = (_moved(num_edges) for num_edges in (KNOWN_EDGES, LARGEST_EDGES))
    return (
        f"With {MEMORY_GIB} GiB in the machine, {largest['from_disk']} of the {largest['read']} that it read came from "
        f"the disk, and the rest from the page cache; of 200 million edges, {known['from_disk']} of {known['read']}. "
        f"All {largest['to_disk']} that it wrote reached the disk."
    )


def _moved(num_edges: int) -> dict[str, str]:
    kept = [json.loads(line) for line in (RESULTS / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]
    of = next(of for of in reversed(kept) if of["setting"].get("num_edges") == num_edges)
    assert of["memory_gib"] == MEMORY_GIB
    rows, names = of["results"].values(), ("read", "from_disk", "to_disk")
    return {name: format_size(sum(row[name] for row in rows)) for name in names}


def schema_of(num_edges: int) -> GraphSchema:
    """A graph of so many edges, with one float32 feature of each node."""
    nodes = NodeType("_N", num_edges // EDGES_PER_NODE, (DataSpec("feat", np.dtype(np.float32)),))
    return GraphSchema("graph", (nodes,), (EdgeType("_N", "_E", "_N", num_edges),))


def sizes() -> list[list[str]]:
    """Memory of the partitioner's machine, and disk, by method."""
    rows = []
    for num_edges in PREDICTED_EDGES:
        num_nodes = num_edges // EDGES_PER_NODE
        for method in ("multilevel", "fennel"):
            need, temporary, output = sizes_of(num_edges, method)
            each = f"{need / num_nodes:.0f}"
            rows.append(
                [f"{num_edges:,}", method, format_size(need), each, format_size(temporary), format_size(output)]
            )
    return [["edges", "method", "memory", "bytes per node", "workspace", "partitions"], *rows]


def sizes_of(num_edges: int, method: str) -> tuple[int, int, int]:
    """Bytes of memory, of the workspace and of the output."""
    dispatch, schema, options = DispatchOptions(), schema_of(num_edges), AssignOptions(method)
    output = output_nbytes(files_of(layouts_of(dispatch, None), expect(schema, NUM_PARTS, dispatch)))
    return (
        needed(schema.num_nodes, method),
        workspace_nbytes(schema, options, expected_choice(schema, options), num_ways=1),
        output,
    )


def needed(num_nodes: int, method: str) -> int:
    """Memory of the partitioner, in bytes."""
    options = AssignOptions(method)
    return needs(num_nodes, 2 * EDGES_PER_NODE * num_nodes, len(options.constraints), options)[method]


def times() -> list[list[str]]:
    """Hours on larger machines: the whole job, and without a partitioner."""
    rows = []
    for num_edges in PREDICTED_EDGES:
        costs = predicted(num_edges)
        for method, names in (("multilevel", set(costs)), ("random", set(costs) - ASSIGNING)):
            chosen = {name: cost for name, cost in costs.items() if name in names}
            rows.append([f"{num_edges:,}", method, _hours(total(chosen).cpu), _hours(seconds_of(chosen, CORES))])
    return [["edges", "method", "CPU time", f"{CORES} cores or more"], *rows]


def ten() -> list[list[str]]:
    """Ten machines: how long cores, disks and the network take by themselves, and a job that waits for the slowest."""
    heads = ["edges", "nodes", "method", "cores", "disks", "network", "one thread", "the job", "memory of a machine"]
    rows = []
    for num_edges, num_nodes in TEN_SIZES:
        nbytes = num_nodes * (SHARED_PER_NODE if num_nodes < 2**31 else SHARED_PER_NODE_WIDE)
        memory = format_size(nbytes) + (", too much" if nbytes > TEN_MEMORY else "")
        for method, without, held in (("multilevel", set[str](), memory), ("random", ASSIGNING, "")):
            times = map(_hours, seconds_of_ten(num_edges, num_nodes, without))
            rows.append([f"{num_edges:,}", f"{num_nodes:,}", method, *times, held])
    return [heads, *rows]


def ten_in_short() -> str:
    """What bounds the largest graph that ten machines hold."""
    num_edges, num_nodes = TEN_SIZES[1]
    costs = predicted(num_edges)
    read, written, rounds = (
        nbytes / num_edges for nbytes in (total(costs).read, total(costs).written, costs[PARTITIONER].read)
    )
    job, halved, both = (
        _hours(seconds_of_ten(num_edges, num_nodes, **of)[-1])
        for of in ({}, {"share": 0.5}, {"share": 0.5, "overhead": 1})
    )
    return (
        f"A hundred billion edges of a billion nodes take {job}. Bytes are the limit: for each edge {read:.0f} are "
        f"read, {rounds:.0f} of them in the rounds of `{PARTITIONER}`, and {written:.0f} written. If those rounds read "
        f"half as much, cores would be the limit there ({halved}); if they also took no more CPU time than one process "
        f"does, {both}."
    )


def seconds_of_ten(
    num_edges: int, num_nodes: int, without: Set[str] = frozenset(), share: float = 1, overhead: float = 0
) -> tuple[float, ...]:
    """Seconds of cores, disks, network, one thread, and the job without some passes.

    Its rounds read a share of what they do; sharing them multiplies their CPU time, as measured if not given.
    """
    costs = {name: cost for name, cost in predicted(num_edges).items() if name not in without}
    cores = {name: (cost.cpu - cost.serial) / (TEN * TEN_CORES) for name, cost in costs.items()}
    moved = {name: (cost.read + cost.written) / TEN for name, cost in costs.items()}
    exchanged, measured = sharing()
    found = dict.fromkeys(costs, 0.0)
    if PARTITIONER in costs:
        cores[PARTITIONER] *= (overhead or measured) * TEN_CORES / busy_threads_of("communities-5e7", TEN_CORES)
        moved[PARTITIONER] -= (1 - share) * costs[PARTITIONER].read / TEN
        found[PARTITIONER] = exchanged * num_edges / NETWORK  # each machine reads what all found
    disks = {name: nbytes / TEN_DISK for name, nbytes in moved.items()}
    network = {name: nbytes / NETWORK + found[name] for name, nbytes in moved.items()}
    largest = total({name: cost for name, cost in ledgers()[LARGEST_EDGES].items() if name not in without})
    serial = largest.serial * num_nodes * EDGES_PER_NODE / LARGEST_EDGES  # is done for each node
    waits = sum(max(cores[name], disks[name], network[name]) for name in costs)
    return *(sum(of.values()) for of in (cores, disks, network)), serial, serial + waits


def sharing() -> tuple[float, float]:
    """Bytes an edge that the rounds of a shared `partition-graph` wrote, and its CPU time over that of one process."""
    kept = newest_of("shared_partitioning")
    alone, together = kept["results"]["alone"], kept["results"]["together"]
    return together["bytes"] / float(kept["setting"]["edges"]), together["cpu"] / alone["cpu"]


def _hours(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if seconds >= 7200 else f"{seconds / 60:.0f} min"


def seconds_of(costs: dict[str, Cost], cores: int) -> float:
    """Wall time of passes on one machine."""
    return sum(cost.seconds(cores) for cost in costs.values())


if __name__ == "__main__":
    main()
