"""Pass `read-edges`: edges whose IDs are dense already are read, checked and staged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.read_ids import dense_ids, read_table_rows
from daskgraphpart.chunking.edge_lists.staged import ReadUnit, StagedBlock, sizes_of, stage_ends, stage_features
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """What the units share.

    Parameters
    ----------
    directory : str
        Where blocks are staged.
    num_nodes : mapping of str to int
        Numbers of nodes, of the types for which they are known.
    """

    directory: str
    num_nodes: Mapping[str, int]


def read_edges_pass(units: Sequence[ReadUnit], config: ReadConfig) -> Pass[ReadUnit, ReadConfig, StagedBlock]:
    """Make the pass."""
    return Pass("read-edges", read_edges, units, config, sizes_of(units))


def read_edges(unit: ReadUnit, config: ReadConfig) -> StagedBlock:
    """Stage one block."""
    rows = read_table_rows(unit.block)
    ends = np.empty((len(unit.ntypes), rows.num_rows), "<i8")
    for column, ntype in enumerate(unit.ntypes):
        ends[column] = dense_ids(rows, column, ntype, config.num_nodes.get(ntype))
    largest = tuple(int(ids.max(initial=-1)) for ids in ends)
    features = stage_features(rows, len(unit.ntypes), config.directory)
    return StagedBlock(unit, stage_ends(config.directory, unit.block.index, ends), largest, (), features)
