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
    read_nodes,
)
from daskgraphpart.sources.place_rows import Placement, place_rows
from daskgraphpart.sources.type_counts import join_types
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.parmetis_files import PartFiles
    from daskgraphpart.sources.parmetis_text import NumberedBlock
    from daskgraphpart.sources.place_rows import ReadRows
    from daskgraphpart.sources.type_counts import TypeCounts

FEATURE = "feat"
HINTS = {
    "node": "is it for this graph, and whole?",
    "edge": "self-loops and repeated edges that were taken out are given by --removed-edges",
}
NUM_NEW_ENDS = 2  # columns before those of an edge; removed edges have none
OF_EDGE = ("source", "destination", "ID in its edge type", "edge type")


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
        for _, path in self.edge_files:
            if not path.is_file():
                raise InputFileNotFoundError("no such file of edges", file=str(path))

    @property
    def directory(self) -> Path:
        """Directory of all files of parts."""
        return self.parts.paths[0].parent

    @property
    def edge_files(self) -> list[tuple[int, Path]]:
        """Files of edges of all parts and of removed edges, each with how many columns come before those of an edge."""
        names = ParmetisFiles(self.directory, self.graph_name)
        of_parts = [(NUM_NEW_ENDS, names.of_part(part, "edges")) for part in range(self.parts.num_parts)]
        return of_parts if self.removed_edges is None else [*of_parts, (0, self.removed_edges)]


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
    counts, memory = source.counts, task_memory or runner.resources.task_memory

    def place(
        kind: str, files: Sequence[tuple[int, Path]], read: ReadRows, width: int, dtype: np.dtype
    ) -> tuple[set[Any], list[str]]:
        """Write an npy file for each type, with the rows of all files in the order of their IDs."""
        name, types = ("node", counts.nodes) if kind == "node_data" else ("edge", counts.edges)
        directory = workspace / "graph" / kind
        directory.mkdir(parents=True)
        targets = {
            of_type: create_npy(directory / f"{number}.npy", dtype.newbyteorder("<"), (count, width))
            for number, (of_type, count) in enumerate(types.items())
        }
        placement = Placement(name, read, targets, memory, str(source.directory), HINTS[name])
        facts = place_rows(cut_text(files, memory), placement, workspace, runner)
        return facts, [str(region.path) for region in targets.values()]

    node_data, edge_data = [], []
    joined, edges = place("edges", source.edge_files, partial(_read_edges, counts=counts), 2, np.dtype(np.int64))
    schema = join_types(counts, sorted(joined), source.graph_name, str(source.directory))
    if (dtype := source.node_dtype) is not None:
        nodes, num_weights = list(enumerate(source.parts.paths)), count_node_weights(source.parts, source.graph_name)
        width = _count_attributes("node", [(3 + num_weights, path) for _, path in nodes], source)
        read = partial(_read_node_data, counts=counts, num_weights=num_weights, width=width, dtype=dtype)
        node_data = place("node_data", nodes, read, width, dtype)[1]
    if (dtype := source.edge_dtype) is not None:
        behind = [(first + len(OF_EDGE), path) for first, path in source.edge_files]
        width = _count_attributes("edge", behind, source)
        read = partial(_read_edge_data, counts=counts, width=width, dtype=dtype)
        edge_data = place("edge_data", source.edge_files, read, width, dtype)[1]
    write_metadata(
        workspace / "graph",
        schema,
        {etype: [path] for etype, path in zip(schema.etypes, edges, strict=True)},
        {
            name: {FEATURE: [path]}
            for names, paths in ((schema.ntypes, node_data), (schema.etypes, edge_data))
            for name, path in zip(names, paths, strict=False)
        },
        edge_format="numpy",
        data_format="numpy",
    )
    return read_chunked(workspace / "graph")


def _count_attributes(kind: str, files: Sequence[tuple[int, Path]], source: ConversionInput) -> int:
    """Count the columns behind a first one, in the first line there is."""
    width = next((found - first for first, path in files if (found := count_columns([path]))), 0)
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
    eids, src, dst, etypes, _ = _read_edge_lines(unit, counts, None, None)
    starts = counts.node_starts
    src_types, dst_types = (np.searchsorted(starts, ends, side="right") - 1 for ends in (src, dst))
    edges = np.stack([src - starts[src_types], dst - starts[dst_types]], axis=1)
    size = len(counts.nodes)
    joined = np.unique((etypes * size + src_types) * size + dst_types).tolist()
    return eids, edges, {(code // size**2, code // size % size, code % size) for code in joined}


def _read_edge_data(
    unit: NumberedBlock, counts: TypeCounts, width: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    eids, *_, attributes = _read_edge_lines(unit, counts, unit[0] + len(OF_EDGE) + width, dtype)
    return eids, attributes, set()


def _read_edge_lines(
    unit: NumberedBlock, counts: TypeCounts, num_columns: int | None, dtype: np.dtype | None
) -> tuple[np.ndarray, ...]:
    """Read homogeneous IDs of edges, sources and destinations, edge types, and attributes if a dtype is given."""
    first, block = unit
    (src, dst, type_eids, etypes), attributes = read_columns(block, dict(enumerate(OF_EDGE, first)), num_columns, dtype)
    for ends in (src, dst):
        check_range(block, ends, int(counts.node_starts[-1]), "node ID")
    check_range(block, etypes, len(counts.edges), "edge type")
    check_range(block, type_eids, np.diff(counts.edge_starts)[etypes], "edge ID")
    return counts.edge_starts[etypes] + type_eids, src, dst, etypes, attributes


def _read_node_data(
    unit: NumberedBlock, counts: TypeCounts, num_weights: int, width: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray, set[Any]]:
    return *read_nodes(unit[1], counts.node_starts, num_weights, 3 + num_weights + width, dtype), set()
