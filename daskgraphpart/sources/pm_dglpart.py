"""Turn the complete output of ParMETIS' `pm_dglpart` into a chunked graph; its owners are an assignment.

Lines of `p000-<graph>_nodes.txt` are `new_nid ntype weights... type_nid attributes...`, those of
`p000-<graph>_edges.txt` `new_src new_dst src dst type_eid etype attributes...`, those of removed edges the same without
the new IDs; together they are every node and every edge of the graph once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.chunked.output import write_metadata
from daskgraphpart.errors import InputFileNotFoundError, OptionError, check_choice
from daskgraphpart.schema import STORED_DTYPES
from daskgraphpart.sources.parmetis_files import ParmetisFiles
from daskgraphpart.sources.parmetis_text import (
    check_range,
    count_columns,
    count_node_weights,
    cut_text,
    read_columns,
    read_node_ids,
)
from daskgraphpart.sources.place_rows import Placement, place_rows
from daskgraphpart.sources.type_counts import TypeCounts, join_types
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.sources.parmetis_files import PartFiles
    from daskgraphpart.sources.parmetis_text import NumberedBlock, TextBlock
    from daskgraphpart.sources.place_rows import ReadRows

FEATURE = "feat"
HINTS = {
    "node": "is it for this graph, and whole?",
    "edge": "self-loops and repeated edges that were taken out are given by --removed-edges",
}
NEW_ENDS = 2  # columns before source, destination, type-wise ID and edge type; removed edges have none


@dataclass(frozen=True, slots=True)
class ConversionInput:
    """What is converted: names, counts and files; attributes without a dtype are left alone."""

    graph_name: str
    counts: TypeCounts
    parts: PartFiles
    removed_edges: Path | None
    node_dtype: np.dtype | None
    edge_dtype: np.dtype | None

    def __post_init__(self) -> None:
        for path in [*self.edge_files, *self.removed_files]:
            if not path.is_file():
                raise InputFileNotFoundError("no such file of edges", file=str(path))

    @property
    def directory(self) -> Path:
        """Directory of all files of parts."""
        return self.parts.paths[0].parent

    @property
    def edge_files(self) -> list[Path]:
        """File of edges of each part."""
        names = ParmetisFiles(self.directory, self.graph_name)
        return [names.of_part(part, "edges") for part in range(self.parts.num_parts)]

    @property
    def removed_files(self) -> list[Path]:
        """File of removed edges, if there is one."""
        return [] if self.removed_edges is None else [self.removed_edges]


def attribute_dtype(name: str | None, place: str) -> np.dtype | None:
    """Return the dtype of that name, if one is given; refuse what is no dtype of numbers that DGL can load."""
    if name is None:
        return None
    allowed = [dtype for dtype in STORED_DTYPES if dtype != "bool"]
    with suppress(TypeError):
        name = np.dtype(name).name  # of "f4", "float32"
    check_choice("dtype of attributes", place, name, allowed)
    return np.dtype(name)


def convert_to_chunked(
    source: ConversionInput, workspace: Path, runner: Runner, task_memory: int | None = None
) -> ChunkedGraph:
    """Bring edges and the data of nodes and edges back into their original order, as a chunked graph in a workspace."""
    conversion = _Conversion(source, workspace, runner, task_memory or runner.resources.task_memory)
    schema, edges = conversion.place_edges()
    node_data = conversion.place_node_data(source.node_dtype) if source.node_dtype else []
    edge_data = conversion.place_edge_data(source.edge_dtype) if source.edge_dtype else []
    write_metadata(
        workspace / "graph",
        schema,
        {etype: [path] for etype, path in zip(schema.etypes, edges, strict=True)},
        {ntype: {FEATURE: [path]} for ntype, path in zip(schema.ntypes, node_data, strict=False)},
        {etype: {FEATURE: [path]} for etype, path in zip(schema.etypes, edge_data, strict=False)},
        edge_format="numpy",
        data_format="numpy",
    )
    return read_chunked(workspace / "graph")


@dataclass(frozen=True)
class _Conversion:
    """The steps of one conversion; each leaves npy files in the workspace."""

    source: ConversionInput
    workspace: Path
    runner: Runner
    task_memory: int

    def place_edges(self) -> tuple[GraphSchema, list[str]]:
        counts = self.source.counts
        read = partial(_read_edges, counts=counts)
        joined, paths = self._place("edges", self._edge_files(), read, 2, np.dtype(np.int64))
        return join_types(counts, sorted(joined), self.source.graph_name, str(self.source.directory)), paths

    def place_node_data(self, dtype: np.dtype) -> list[str]:
        first = 3 + count_node_weights(self.source.parts, self.source.graph_name)
        width = _count_attributes("node", [(first, self.source.parts.paths)], self.source)
        read = partial(_read_node_rows, starts=self.source.counts.node_starts, first=first, width=width, dtype=dtype)
        return self._place("node_data", enumerate(self.source.parts.paths), read, width, dtype)[1]

    def place_edge_data(self, dtype: np.dtype) -> list[str]:
        files = [(NEW_ENDS + 4, self.source.edge_files), (4, self.source.removed_files)]
        width = _count_attributes("edge", files, self.source)
        read = partial(_read_edge_rows, counts=self.source.counts, width=width, dtype=dtype)
        return self._place("edge_data", self._edge_files(), read, width, dtype)[1]

    def _edge_files(self) -> list[tuple[int, Path]]:
        """Files of edges, each with the number of columns before those of the edge."""
        return [
            *((NEW_ENDS, path) for path in self.source.edge_files),
            *((0, path) for path in self.source.removed_files),
        ]

    def _place(
        self, kind: str, sources: Iterable[tuple[int, Path]], read: ReadRows, width: int, dtype: np.dtype
    ) -> tuple[set[Any], list[str]]:
        """Write an npy file for each type, with the rows of all files in the order of their IDs."""
        name, counts = ("node", self.source.counts.nodes) if kind == "node_data" else ("edge", self.source.counts.edges)
        directory = self.workspace / "graph" / kind
        directory.mkdir(parents=True)
        files = [
            create_npy(directory / f"{number}.npy", dtype.newbyteorder("<"), (count, width))
            for number, count in enumerate(counts.values())
        ]
        directory, memory = self.source.directory, self.task_memory
        placement = Placement(
            name, read, tuple(counts), tuple(files), memory, self.workspace, str(directory), HINTS[name]
        )
        found = place_rows(cut_text(sources, memory), placement, self.runner)
        return found, [region.path for region in files]


def _count_attributes(kind: str, files: Sequence[tuple[int, Sequence[Path]]], source: ConversionInput) -> int:
    """Count the columns behind a first one, in the first line there is."""
    width = next((found - first for first, paths in files if (found := count_columns(paths))), 0)
    if width <= 0:
        raise OptionError(
            f"the {kind}s have no attributes",
            file=str(source.directory),
            place=f"--{kind}-attr-dtype",
            hint="leave it out, or check --num-node-weights",
        )
    return width


def _read_edges(unit: NumberedBlock, counts: TypeCounts) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    """Read homogeneous IDs and type-wise ends of edges; and which edge types join which node types."""
    eids, src, dst, etypes = _read_edge_ids(unit, counts)
    starts = counts.node_starts
    src_types, dst_types = (np.searchsorted(starts, ends, side="right") - 1 for ends in (src, dst))
    edges = np.stack([src - starts[src_types], dst - starts[dst_types]], axis=1)
    size = len(counts.nodes)
    joined = np.unique((etypes * size + src_types) * size + dst_types).tolist()
    return eids, edges, {(code // size**2, code // size % size, code % size) for code in joined}


def _read_edge_ids(unit: NumberedBlock, counts: TypeCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Read homogeneous IDs of edges, sources and destinations, and edge types."""
    first, block = unit
    layout = f"{'new source, new destination, ' if first else ''}source, destination, ID in its edge type, edge type"
    src, dst, type_eids, etypes = read_columns(block, range(first, first + 4), layout)
    for ids in (src, dst):
        check_range(block, ids, int(counts.node_starts[-1]), "node ID")
    check_range(block, etypes, len(counts.edges), "edge type")
    check_range(block, type_eids, np.diff(counts.edge_starts)[etypes], "edge ID")
    return counts.edge_starts[etypes] + type_eids, src, dst, etypes


def _read_node_rows(
    unit: NumberedBlock, starts: np.ndarray, first: int, width: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    nodes = read_node_ids(unit[1], starts, first - 3)
    return nodes, _read_attributes(unit[1], first, width, dtype), set()


def _read_edge_rows(
    unit: NumberedBlock, counts: TypeCounts, width: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    eids = _read_edge_ids(unit, counts)[0]
    return eids, _read_attributes(unit[1], unit[0] + 4, width, dtype), set()


def _read_attributes(block: TextBlock, first: int, width: int, dtype: np.dtype) -> np.ndarray:
    layout = f"{first} columns and {width} attributes of dtype {dtype}"
    return read_columns(block, range(first, first + width), layout, num_columns=first + width, dtype=dtype).T
