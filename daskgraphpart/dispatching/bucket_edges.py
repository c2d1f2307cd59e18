"""Pass `bucket-edges`: every edge goes to the owner of its destination node.

Takes one block, or several small consecutive ones, looks up owner and new IDs of both ends, groups the edges stably by
owner and writes one run. Original order stays inside each owner, so new edge IDs follow from the counts alone (see
edge_runs.py). `Assignment.with_owners` shows the same join as frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.edge_runs import starts_in_run
from daskgraphpart.engine.runner import ConfigT, Pass, ResultT, Unit
from daskgraphpart.kernels.owner_sort import look_up_owners, scatter_edges
from daskgraphpart.storage.region import Region, save_npy

if TYPE_CHECKING:
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.schema import EdgeType
    from daskgraphpart.source import Block, Edges


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """Consecutive blocks with their edge types, and the number of their run."""

    index: int
    edge_types: tuple[EdgeType, ...]
    blocks: tuple[Block[Edges], ...]

    @property
    def num_edges(self) -> int:
        """Edges of all blocks."""
        return sum(block.num_rows for block in self.blocks)

    @property
    def key(self) -> str:
        """Edge type, for keys; of several, the first and how many more."""
        names = dict.fromkeys(edge_type.name for edge_type in self.edge_types)
        return next(iter(names)) + (f" and {len(names) - 1} more" if len(names) > 1 else "")


@dataclass(frozen=True, slots=True)
class BucketConfig:
    """Lookup files of all tasks."""

    owners: Mapping[str, Region]  # owner and new ID of every node, by node type
    maps: Mapping[str, Region]
    edge_owners: Mapping[str, Region]  # output of edge owners, for edge types with data
    num_parts: int
    work: Workspace


def edge_pass(
    name: str,
    task: Callable[[EdgeUnit, ConfigT], ResultT],
    works: Sequence[EdgeUnit],
    config: ConfigT,
    id_nbytes: int,
) -> Pass[EdgeUnit, ConfigT, ResultT]:
    """Plan a pass over the blocks of edges, with decoded bytes to read and ends to write."""
    per_edge = 16 + 3 * id_nbytes
    units = [Unit(work, work.num_edges * per_edge, work.num_edges, work.key) for work in works]
    return Pass(name, task, units, config)


def bucket_edges(unit: EdgeUnit, config: BucketConfig) -> np.ndarray:
    """Group a unit's edges by owner; return how many of each block each part owns, int64 (blocks, parts)."""
    ntypes = {ntype for edge_type in unit.edge_types for ntype in (edge_type.src, edge_type.dst)}
    new_nids = {ntype: config.maps[ntype].memmap() for ntype in ntypes}
    owner_of = {edge_type.dst: config.owners[edge_type.dst].memmap() for edge_type in unit.edge_types}
    counts, ends_and_owners = np.empty((len(unit.blocks), config.num_parts), np.int64), []
    for i, (edge_type, block) in enumerate(zip(unit.edge_types, unit.blocks, strict=True)):
        src, dst = block.read()
        num_src = new_nids[edge_type.src].size
        owners, counts[i] = owners_of_edges(src, dst, num_src, owner_of[edge_type.dst], config.num_parts)
        write_edge_owners(config, edge_type, block.first_row, owners)
        ends_and_owners.append((src, dst, owners))
    run = np.empty((3, unit.num_edges), next(iter(new_nids.values())).dtype)
    for (src, dst, owners), edge_type, starts in zip(
        ends_and_owners, unit.edge_types, starts_in_run(counts), strict=True
    ):
        scatter_edges((src, dst), (new_nids[edge_type.src], new_nids[edge_type.dst]), owners, starts, run)
    save_npy(config.work.file("runs", unit.index), run)
    return counts


def owners_of_edges(
    src: np.ndarray, dst: np.ndarray, num_src: int, owner_of_dst: np.ndarray, num_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Join edges in range with their destination's owner; also count the edges of each part."""
    owners = np.empty(dst.size, owner_of_dst.dtype)
    counts = np.zeros(num_parts, np.int64)
    bad = look_up_owners(src, dst, num_src, owner_of_dst, owners, counts)
    assert bad < 0, f"edge {bad} of a block is out of range, which was checked as it was read"
    return owners, counts


def write_edge_owners(config: BucketConfig, edge_type: EdgeType, first_row: int, owners: np.ndarray) -> None:
    """Write the owners of edges whose type carries data."""
    if edge_type.name in config.edge_owners:
        config.edge_owners[edge_type.name].write(owners, first_row)
