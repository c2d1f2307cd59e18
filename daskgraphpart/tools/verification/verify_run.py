"""Describe a run of `verify` to its tasks, which open the partitions once per process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import GraphPartError
from daskgraphpart.partitioned.stored_partitions import StoredPartitions, open_stored
from daskgraphpart.storage.region import Region, id_dtype, npy_region
from daskgraphpart.tools.verification.findings import Finding

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.schema import GraphSchema, RowType
    from daskgraphpart.source import FilePath

MAX_GROUPS = 256
"""Units that the parts are grouped into: what the client holds does not grow with their square."""

KEPT_PARTS = 4096
"""Parts whose headers are kept from pass to pass, some kilobytes each: to read them takes longer than a small part."""

ORIGINAL_NIDS = "original-nids"
"""Original homogeneous ID of every new node ID."""

IN_SUMS = "in-sums"
"""Sum of hashes of the in-edges of every node, by new ID; only for more than one hop."""


@dataclass(frozen=True, slots=True)
class Run:
    """What all tasks of a run share; `schema` has the input's types in the partitions' order.

    The token tells runs apart, between which files may change. Parts have extra edges if they hold, or should hold,
    edges that they do not own.
    """

    config_path: FilePath
    token: str
    schema: GraphSchema
    piece_rows: int
    num_hops: int
    has_originals: bool = False
    has_extra: bool = False
    mapped: Mapping[str, str] = field(default_factory=dict)  # node types of features with new IDs
    scratch: str = ""

    def types(self, kind: str) -> Sequence[RowType]:
        """Node types, or edge types."""
        return self.schema.node_types if kind == "node" else self.schema.edge_types

    def firsts(self, kind: str) -> np.ndarray:
        """First original homogeneous ID of each node or edge type, then the total."""
        return np.array(self.schema.homo_starts) if kind == "node" else self.schema.edge_starts

    def typed(self, kind: str, homo_id: int) -> tuple[str, int]:
        """Type and type-wise ID of an original homogeneous ID."""
        firsts = self.firsts(kind)
        type_id = int(np.searchsorted(firsts, homo_id, side="right")) - 1
        return self.types(kind)[type_id].name, homo_id - int(firsts[type_id])

    def original_nids(self) -> Region:
        """Region of `ORIGINAL_NIDS`."""
        total = self.schema.num_nodes
        return npy_region(self.temporary(ORIGINAL_NIDS), id_dtype(total), (total,))

    def in_sums(self) -> Region:
        """Region of `IN_SUMS`."""
        return npy_region(self.temporary(IN_SUMS), np.uint64, (self.schema.num_nodes,))

    def temporary(self, name: str) -> str:
        """File of an array passed between passes: `ORIGINAL_NIDS`, `IN_SUMS`."""
        return f"{self.scratch}/{name}.npy"


def open_parts(run: Run) -> StoredPartitions:
    """Open the partitions; the config, which may be long, is read once in each process."""
    return open_once(run.config_path, run.token)


@lru_cache(maxsize=1)
def open_once(config_path: FilePath, _token: str) -> StoredPartitions:
    """Open partitions, once for each token."""
    return open_stored(StoredPartitions, config_path)


def open_part(number: int, run: Run) -> StoredPart:
    """Open a part; the headers of the first `KEPT_PARTS` are read once in each process."""
    parts = open_parts(run)
    return (parts if number < KEPT_PARTS else StoredPartitions(parts.config, parts.content)).part(number)


def check_parts(
    numbers: Iterable[int], run: Run, check: Callable[[StoredPart], Iterable[Finding]], limit: int | None = 1
) -> list[Finding]:
    """Run one check on parts; stop at the first finding of a part if later checks depend on it."""
    return [finding for number in numbers for finding in check_part(open_part(number, run), check, limit)]


def check_part(
    part: StoredPart, check: Callable[[StoredPart], Iterable[Finding]], limit: int | None = None
) -> list[Finding]:
    """Collect a check's findings in one part; a damaged file is one finding."""
    findings: list[Finding] = []
    directory, number = f"part{part.part_id}", part.part_id
    try:
        for finding in islice(check(part), limit):
            findings.append(replace(finding, part=number, file=f"{directory}/{finding.file}"))  # noqa: PERF401
    except GraphPartError as error:
        what = str(error).removeprefix(f"{error.file}, ")
        findings.append(Finding("files", str(error.file or directory), what, part=number))
    return findings


def group_parts(num_parts: int) -> list[tuple[int, ...]]:
    """Group consecutive parts into at most `MAX_GROUPS` units."""
    return [tuple(group.tolist()) for group in np.array_split(np.arange(num_parts), min(num_parts, MAX_GROUPS))]


def pieces(start: int, stop: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows ``[start, stop)``."""
    for first in range(start, stop, rows):
        yield first, min(first + rows, stop)
