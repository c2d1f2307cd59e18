"""Trainers per machine: split a machine's part into smaller ones, kept as a feature of nodes and edges.

As in DGL (`partition_graph(num_trainers_per_machine=...)`), the graph is partitioned into parts times trainers, and
consecutive ones form a part. The feature `trainer_id`, int64, has the smaller part; an edge has its destination's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.graph.dask_partitions import list_edge_blocks
from daskgraphpart.partitioner.assignment import TRAINERS
from daskgraphpart.partitioner.owner_parts import write_parts
from daskgraphpart.schema import DataSpec, GraphSchema
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.source import Block, Edges

FEATURE = DataSpec("trainer_id", np.dtype(np.int64), ())
EDGES_PER_BLOCK = 1 << 19


@dataclass(frozen=True, slots=True)
class TrainerUnit:
    """One block of edges, the trainers of their destinations, and the output."""

    block: Block[Edges]
    nodes: Region
    edges: Region


def write_trainers(parts: Region, schema: GraphSchema, directory: Path, runner: Runner) -> dict[str, Region]:
    """Write the smaller part of every node, a file per type, int64 (nodes,)."""
    target = directory / TRAINERS
    make_directory(target)
    files = {t.name: npy_region(target / f"{t.name}.npy", np.int64, (t.num_nodes,)) for t in schema.node_types}
    runner.step("create-trainers", lambda: create_files(files.values()))
    write_parts("write-trainers", parts, files, 1, runner)
    return files


def with_trainers(graph: Graph, trainers: Mapping[str, Region], directory: Path, runner: Runner) -> Graph:
    """Return the graph with the feature `trainer_id` of all nodes and edges, in place of an earlier one, as in DGL."""
    schema = graph.schema
    make_directory(directory)
    files = {
        t.name: npy_region(directory / f"edges-{i}.npy", np.int64, (t.num_edges,))
        for i, t in enumerate(schema.edge_types)
    }
    runner.step("create-trainers-of-edges", lambda: create_files(files.values()))
    units = [
        Unit(TrainerUnit(block, trainers[etype.dst], files[etype.name]), 24 * block.num_rows, key=etype.name)
        for etype, block in list_edge_blocks(graph, EDGES_PER_BLOCK, 8 * EDGES_PER_BLOCK, runner)
    ]
    runner.run(Pass("trainers-of-edges", trainers_of_edges, units, None))
    data = {t.name: (*(spec for spec in t.data if spec.name != FEATURE.name), FEATURE) for t in schema.row_types}
    node_types = tuple(replace(t, data=data[t.name]) for t in schema.node_types)
    edge_types = tuple(replace(t, data=data[t.name]) for t in schema.edge_types)
    return replace(
        graph,
        schema=replace(schema, node_types=node_types, edge_types=edge_types),
        data_sources={t: {**graph.data_sources[t], FEATURE.name: rows} for t, rows in {**trainers, **files}.items()},
    )


def trainers_of_edges(unit: TrainerUnit, _config: None) -> None:
    """Write the trainers of one block of edges: their destinations'."""
    _, dst = unit.block.read()
    unit.edges.write(unit.nodes.memmap()[dst], unit.block.first_row)
