"""Open the partitions once in each process, and describe one run of `verify` to its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import GraphPartError
from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import FilePath
    from daskgraphpart.storage.region import Region

MAX_GROUPS = 256
"""Units that the parts are grouped into: what the client holds does not grow with their square."""

NUM_WINDOWS = 256
MIN_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class Run:
    """What all tasks of one run share; `schema` is that of the input with the types of the partitions.

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
    scratch: str = ""

    @property
    def num_nodes(self) -> tuple[int, ...]:
        """Nodes of each type."""
        return tuple(node_type.num_rows for node_type in self.schema.node_types)

    @property
    def num_edges(self) -> tuple[int, ...]:
        """Edges of each type."""
        return tuple(edge_type.num_rows for edge_type in self.schema.edge_types)

    @property
    def first_nodes(self) -> np.ndarray:
        """First original homogeneous ID of each node type, then their number."""
        return np.cumsum([0, *self.num_nodes], dtype=np.int64)

    @property
    def first_edges(self) -> np.ndarray:
        """First original homogeneous ID of each edge type, then their number."""
        return np.cumsum([0, *self.num_edges], dtype=np.int64)

    @property
    def edge_window(self) -> int:
        """Original homogeneous edge IDs of one window."""
        return window_size(sum(self.num_edges))

    @property
    def original_nids_path(self) -> str:
        """File of the original homogeneous ID of every new node ID."""
        return f"{self.scratch}/original-nids.npy"

    @property
    def seen_path(self) -> str:
        """File of a byte for every original homogeneous node ID: whether a part has it."""
        return f"{self.scratch}/seen.npy"

    @property
    def in_sums_path(self) -> str:
        """File of the sum of hashes of the in-edges of every node, by new ID; only for more than one hop."""
        return f"{self.scratch}/in-sums.npy"


def opened(run: Run) -> PartitionedGraph:
    """Open the partitions; the config, which may be long, is read once in each process, and no header is kept."""
    parts = _opened(run.config_path, run.token)
    return PartitionedGraph(parts.path, parts.config)


@lru_cache(maxsize=1)
def _opened(config_path: FilePath, _token: str) -> PartitionedGraph:
    return open_partitions(config_path)


def window_size(num_ids: int) -> int:
    """IDs that share one sum of hashes: where sums differ, the IDs of that window are compared one by one."""
    return max(MIN_WINDOW, -(-num_ids // NUM_WINDOWS))


def group_parts(num_parts: int) -> list[tuple[int, ...]]:
    """Group consecutive parts into at most `MAX_GROUPS` units."""
    return [tuple(group.tolist()) for group in np.array_split(np.arange(num_parts), min(num_parts, MAX_GROUPS))]


def pieces(start: int, stop: int, rows: int) -> Iterator[tuple[int, int]]:
    """Cut rows ``[start, stop)``."""
    for first in range(start, stop, rows):
        yield first, min(first + rows, stop)


def type_pieces(ranges: np.ndarray, rows: int) -> Iterator[tuple[int, int, int]]:
    """Cut the rows of each type of a part: type, first row of the type, stop row."""
    for type_id, (start, stop) in enumerate(ranges.tolist()):
        for first, last in pieces(0, stop - start, rows):
            yield type_id, first, last


def check_parts(numbers: Iterable[int], run: Run, check: Callable[[Part], Iterable[Finding]]) -> list[Finding]:
    """Collect what a check finds in some parts."""
    parts = opened(run)
    return [finding for number in numbers for finding in check_part(parts.part(number), check)]


def check_part(part: Part, check: Callable[[Part], Iterable[Finding]]) -> list[Finding]:
    """Collect what a check finds in a part; a damaged file is one finding."""
    findings: list[Finding] = []
    try:
        findings.extend(check(part))
    except GraphPartError as error:
        what = str(error).removeprefix(f"{error.file}, ")
        findings.append(Finding("files", str(error.file or f"part{part.part_id}"), what, part.part_id))
    return findings


def typed_id(homo_id: int, firsts: np.ndarray, names: tuple[str, ...]) -> tuple[str, int]:
    """Type and type-wise ID of an original homogeneous ID."""
    type_id = int(np.searchsorted(firsts, homo_id, side="right")) - 1
    return names[type_id], homo_id - int(firsts[type_id])


def differing_windows(expected: np.ndarray, found: np.ndarray, window: int, stop: int) -> list[tuple[int, int]]:
    """IDs ``[first, stop)`` of the windows whose sums differ."""
    differ: Sequence[int] = np.flatnonzero(expected != found).tolist()
    return [(i * window, min((i + 1) * window, stop)) for i in differ]


def column_findings(
    check: str,
    what: str,
    part: int,
    rows: tuple[int, int],
    columns: Mapping[str, np.ndarray],
    arrays: Mapping[str, Region],
) -> Iterator[Finding]:
    """Compare local rows ``[first, stop)`` of a part with what they have to be; `what` is a node or an edge."""
    for name, values in columns.items():
        given = arrays[name].read(*rows)
        differ = np.flatnonzero(given != values)
        if differ.size:
            i = int(differ[0])
            yield Finding(
                check, f"part{part}/graph.dgl", f"{name} of local {what} {rows[0] + i:,}", part, row=rows[0] + i,
                expected=str(values[i]), found=str(given[i]), count=differ.size,
            )  # fmt: skip
