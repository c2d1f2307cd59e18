"""Pass `match-nodes`: the old part of every node of a changed graph; -1 for new nodes.

DuckDB joins nodes by original ID within the memory budget, on disk if need be. Types without ID maps match by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY, Resources
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.share_arrays import share_rows
from daskgraphpart.ids.id_map import id_batches
from daskgraphpart.partitioner.extend.old_owners import read_old_owners
from daskgraphpart.readers.database import insert_batches, open_database, read
from daskgraphpart.storage.files import directory_on_disk
from daskgraphpart.storage.region import Region, create_files, map_npy, npy_region
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.extend.old_owners import MapPair, OldOwners
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location

ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True)
class MatchConfig:
    """Old owners, the graph's nodes, the output, and the join's resources."""

    old: OldOwners
    schema: GraphSchema
    parts: Region
    memory: int
    workers: int


@dataclass(frozen=True, slots=True)
class OldParts:
    """The old part of every node, int32, -1 for new ones; and a summary in words."""

    parts: Region
    matched: str


def place_old_nodes(graph: Graph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner) -> OldParts:
    """Read the owners of an earlier graph and give them to its nodes, on this machine if workers do not see them."""
    with runner.on_this_machine() as here, directory_on_disk(directory) as place:
        old_parts = _place_here(graph, num_parts, options, place, here)
        return replace(old_parts, parts=share_rows("store-given", old_parts.parts, directory / "given.npy", runner))


def _place_here(graph: Graph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner) -> OldParts:
    (directory / "parts").mkdir(parents=True, exist_ok=True)  # a name that no type's file has
    old = read_old_owners(options, graph, directory, runner, num_parts)
    schema, resources = graph.schema, runner.resources
    parts = npy_region(directory / "parts" / "given.npy", np.int32, (schema.num_nodes,))
    runner.step("create-given", lambda: create_files([parts]))
    config = MatchConfig(old, schema, parts, max(resources.memory, SMALLEST_DATABASE_MEMORY), resources.workers)
    ((matched, gone),) = runner.run(Pass("match-nodes", match_nodes, [Unit(None, parts.nbytes)], config))
    by = "ID" if len(old.maps) == len(old.counts) else "ID or row" if old.maps else "row"
    words = f"{matched:,} old nodes matched by {by}, {gone:,} gone, {schema.num_nodes - matched:,} new"
    return OldParts(parts, words)


def match_nodes(_: None, config: MatchConfig) -> tuple[int, int]:
    """Match the nodes of all types; return how many match, and how many old ones are gone."""
    parts, matched = map_npy(config.parts.path), 0
    for node_type, first in zip(config.schema.node_types, config.schema.homo_starts, strict=False):
        of_type = parts[first : first + node_type.num_nodes]
        of_type[:] = -1
        owners, pair = config.old.owners[node_type.name], config.old.maps.get(node_type.name)
        if pair is None:
            count = config.old.counts[node_type.name]
            for start in range(0, count, ROWS_AT_ONCE):
                stop = min(start + ROWS_AT_ONCE, count)
                of_type[start:stop] = owners.read(start, stop)
            matched += count
        else:
            matched += _match_by_id(pair, owners, of_type, config)
    return matched, sum(config.old.counts.values()) - matched


def _match_by_id(pair: MapPair, owners: Region, parts: np.ndarray, config: MatchConfig) -> int:
    """Write the parts of nodes whose IDs are old; return their number."""
    resources, num_matched = Resources(config.memory, "threads", config.workers), 0
    scratch = scratch_directory(Path(config.parts.path).parent)
    with scratch as directory, open_database(directory, resources) as connection:
        _insert_ids(connection, "CREATE TABLE old AS SELECT * FROM batches", pair.old, pair.num_old, owners.read)
        join = "SELECT n.value AS node, o.value AS part FROM batches n JOIN old o ON n.id = o.id"
        _insert_ids(connection, f"CREATE TABLE matched AS {join}", pair.new, parts.size, np.arange)
        for batch in read(connection, "SELECT node, part FROM matched"):
            nodes, old_parts = (column.to_numpy() for column in batch.columns)
            parts[nodes] = old_parts
            num_matched += nodes.size
    num_known = sum(int(np.count_nonzero(parts[i : i + ROWS_AT_ONCE] >= 0)) for i in range(0, parts.size, ROWS_AT_ONCE))
    if num_matched != num_known:
        raise InputFileError(
            "an ID occurs twice in this map", file=str(pair.old), hint="write the graph again with chunk"
        )
    return num_matched


def _insert_ids(
    connection: duckdb.DuckDBPyConnection,
    statement: str,
    path: Location,
    num_nodes: int,
    values: Callable[[int, int], np.ndarray],
) -> None:
    """Run a statement on all IDs of a map, each with a value of its row."""
    batches = id_batches(path, num_nodes, ROWS_AT_ONCE)
    schema = pa.schema([("id", next(batches)), ("value", pa.int64())])

    def with_values() -> Iterator[Any]:
        start = 0
        for ids in batches:
            rows = values(start, start + len(ids)).astype(np.int64, copy=False)
            yield pa.RecordBatch.from_arrays([ids, pa.array(rows)], schema=schema)
            start += len(ids)

    insert_batches(connection, statement, schema, with_values())
