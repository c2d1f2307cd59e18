"""Pass `bucket-edges`: every edge goes to the owner of its destination node.

Reads one block of one edge type, looks up owner and new IDs of both ends, groups the edges stably by owner and writes
one run. Original order is kept inside each owner, so new edge IDs follow from the counts alone (see edge_runs.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import check_ids, read_edges
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts, look_up_owners, scatter_edges
from daskgraphpart.storage.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.schema import EdgeType
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class EdgeUnit:
    """One block of one edge type.

    Parameters
    ----------
    index : int
        Number of the run.
    block : Block
        The edges.
    edge_type : EdgeType
        Their type.
    run : str
        File of the run.
    """

    index: int
    block: Block
    edge_type: EdgeType
    run: str


@dataclass(frozen=True, slots=True)
class BucketConfig:
    """Files that all tasks look things up in.

    Parameters
    ----------
    owners, maps : mapping of str to Region
        Owner and new ID of every node, by node type.
    edge_owners : mapping of str to Region
        Where the owners of edges go, for the edge types that carry data.
    num_parts : int
        Number of parts.
    """

    owners: Mapping[str, Region]
    maps: Mapping[str, Region]
    edge_owners: Mapping[str, Region]
    num_parts: int


def bucket_edges_pass(units: Sequence[EdgeUnit], config: BucketConfig) -> Pass[EdgeUnit, BucketConfig, np.ndarray]:
    """Plan the pass; a result holds how many edges each part owns, int64 (parts,)."""
    sizes = [unit_nbytes(unit, config.maps) for unit in units]
    return Pass("bucket-edges", bucket_edges, units, config, sizes)


def unit_nbytes(unit: EdgeUnit, maps: Mapping[str, Region]) -> int:
    """Bytes a unit reads (as decoded) and writes."""
    return unit.block.num_rows * (16 + 3 * maps[unit.edge_type.src].dtype.itemsize)


def bucket_edges(unit: EdgeUnit, config: BucketConfig) -> np.ndarray:
    """Group the edges of one block by owner.

    Raises
    ------
    InputFileError
        If an edge ends outside its node type, or the block cannot be read.
    """
    edge_type = unit.edge_type
    src, dst = read_edges(unit.block)
    new_src, new_dst = config.maps[edge_type.src].memmap(), config.maps[edge_type.dst].memmap()
    owner_of_dst = config.owners[edge_type.dst].memmap()
    owners = np.empty(src.size, owner_of_dst.dtype)
    counts = np.zeros(config.num_parts, np.int64)
    if look_up_owners(src, dst, new_src.size, owner_of_dst, owners, counts) >= 0:
        check_ids(src, dst, new_src.size, new_dst.size, unit.block, edge_type)
    run = np.empty((3, src.size), new_src.dtype)
    scatter_edges((src, dst), (new_src, new_dst), owners, group_starts(counts)[:-1], run)
    write_run(unit.run, run)
    write_edge_owners(unit, config, owners)
    return counts


def write_edge_owners(unit: EdgeUnit, config: BucketConfig, owners: np.ndarray) -> None:
    """Keep the owners of edges whose type carries data."""
    if unit.edge_type.name in config.edge_owners:
        config.edge_owners[unit.edge_type.name].write(owners, unit.block.first_row)
