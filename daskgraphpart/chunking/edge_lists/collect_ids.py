"""Pass `collect-ids`: each block of edges or nodes leaves a sorted run of its keys, each key once.

Beside the run it leaves, for every row, where its key is in the run. The keys of the edges are never needed again: what
follows works on the runs, which repeat a key as often as there are blocks, not as often as there are edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import (
    Keys,
    concatenate_keys,
    kind_of,
    slice_keys,
    unique_keys,
    write_keys,
)
from daskgraphpart.chunking.edge_lists.read_ids import key_ids, mixed_ids, read_table_rows
from daskgraphpart.chunking.edge_lists.staged import (
    ReadUnit,
    StagedBlock,
    ids_region,
    run_path,
    sizes_of,
    stage_ends,
    stage_features,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.chunking.edge_lists.read_ids import Rows
    from daskgraphpart.errors import InputFileError


@dataclass(frozen=True, slots=True)
class CollectConfig:
    """What the units share.

    Parameters
    ----------
    directory : str
        Where blocks are staged.
    id_type : str
        As in `ReadOptions`.
    """

    directory: str
    id_type: str


def collect_ids_pass(units: Sequence[ReadUnit], config: CollectConfig) -> Pass[ReadUnit, CollectConfig, StagedBlock]:
    """Make the pass."""
    return Pass("collect-ids", collect_ids, units, config, sizes_of(units))


def collect_ids(unit: ReadUnit, config: CollectConfig) -> StagedBlock:
    """Stage one block."""
    rows = read_table_rows(unit.block)
    features = stage_features(rows, len(unit.ntypes), config.directory)
    runs: tuple[KeyFile, ...]
    keys = [key_ids(rows, column, config.id_type) for column in range(len(unit.ntypes))]
    if len(keys) == 2 and unit.ntypes[0] == unit.ntypes[1]:
        _check_kinds(rows, keys)
        found, inverse = unique_keys(concatenate_keys(keys))
        ends = inverse.reshape(2, -1)
        runs = (_write_run(config, unit, 0, found),) * 2
    else:
        pairs = [unique_keys(of_column) for of_column in keys]
        ends = np.stack([inverse for _, inverse in pairs])
        runs = tuple(_write_run(config, unit, column, found) for column, (found, _) in enumerate(pairs))
    return StagedBlock(unit, stage_ends(config.directory, unit.block.index, ends), (), runs, features)


def check_one_kind(staged: Sequence[StagedBlock], config: CollectConfig) -> None:
    """Refuse node types some of whose IDs are integers and some strings.

    Raises
    ------
    InputFileError
        If there is one; it names a row of each kind.
    """
    first: dict[str, tuple[StagedBlock, int]] = {}
    for block in staged:
        for column, ntype in enumerate(block.unit.ntypes):
            if not block.num_rows:
                continue
            other, other_column = first.setdefault(ntype, (block, column))
            if other.runs[other_column].kind != block.runs[column].kind:
                raise _mixed_blocks((other, other_column), (block, column))


def _mixed_blocks(one: tuple[StagedBlock, int], other: tuple[StagedBlock, int]) -> InputFileError:
    (block, column), (offending, offending_column) = one, other
    example = read_table_rows(block.unit.block)
    place = f"{block.unit.block.table.path}, {example.place(column, 0)} ({example.text(column, 0)})"
    expected = f"{block.runs[column].kind}, as in {place}"
    return mixed_ids(read_table_rows(offending.unit.block), offending_column, 0, expected)


def _check_kinds(rows: Rows, keys: Sequence[Keys]) -> None:
    if rows.num_rows and kind_of(keys[0]) != kind_of(keys[1]):
        raise mixed_ids(rows, 1, 0, f"{kind_of(keys[0])}, as in {rows.place(0, 0)} ({rows.text(0, 0)})")


def _write_run(config: CollectConfig, unit: ReadUnit, column: int, keys: Keys) -> KeyFile:
    # the memory of the unsorted keys is given back with the copy
    run = write_keys(run_path(config.directory, unit.block.index, column), slice_keys(keys, 0, len(keys)))
    region = ids_region(run)
    with attach_path_to_error(region.path), open(region.path, "wb") as file:
        file.truncate(region.nbytes)
    return run
