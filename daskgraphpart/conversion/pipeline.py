"""The complete output of `pm_dglpart` becomes a chunked graph and an assignment."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.key_ranges import KeyRanges
from daskgraphpart.assignment.parmetis.names import ParmetisFiles
from daskgraphpart.assignment.parmetis.place_owners import read_node_ids
from daskgraphpart.assignment.parmetis.read import count_node_weights, part_lines, read_parmetis_parts
from daskgraphpart.assignment.parmetis.read_columns import cut_text
from daskgraphpart.assignment.parmetis.sizes import choose_sizes
from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.chunked.write import write_metadata
from daskgraphpart.conversion.attributes import (
    AttributeConfig,
    AttributeLines,
    count_attributes,
    create_files,
    move_attributes,
)
from daskgraphpart.conversion.edges import (
    IN_PARTS,
    REMOVED,
    EdgeConfig,
    EdgeLines,
    create_edge_files,
    place_edges,
    read_edge_ids,
    split_edges,
)
from daskgraphpart.errors import InputFileNotFoundError, OptionError
from daskgraphpart.schema import GraphSchema, NodeType
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.assignment.parmetis.names import PartFiles
    from daskgraphpart.assignment.parmetis.place_owners import PartLines
    from daskgraphpart.assignment.parmetis.sizes import ParmetisSizes
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.conversion.schema_file import TypeCounts
    from daskgraphpart.engine.runner import Runner

FEATURE = "feat"


@dataclass(frozen=True, slots=True)
class ConversionInput:
    """What is converted.

    Parameters
    ----------
    graph_name : str
        Name of the graph, in the names of the files.
    counts : TypeCounts
        Types, as the schema file has them.
    parts : PartFiles
        Files of nodes.
    removed_edges : Path or None
        File of the edges that were taken out for ParMETIS.
    num_node_weights : int or None
        Weights in the lines of nodes; None as in `read_parmetis_parts`.
    node_dtype, edge_dtype : numpy.dtype or None
        Of the attributes, which are left alone without.
    """

    graph_name: str
    counts: TypeCounts
    parts: PartFiles
    removed_edges: Path | None
    num_node_weights: int | None
    node_dtype: np.dtype | None
    edge_dtype: np.dtype | None

    @property
    def directory(self) -> Path:
        """Directory of all files of parts."""
        return self.parts.paths[0].parent

    @property
    def edge_files(self) -> list[Path]:
        """Files of edges, those of the removed ones last."""
        names = ParmetisFiles(self.directory, self.graph_name)
        of_parts = [names.edges_of_part(part) for part in range(self.parts.num_parts)]
        return [*of_parts, *([self.removed_edges] if self.removed_edges else [])]

    def check_files(self) -> None:
        """Refuse to begin without one of the files.

        Raises
        ------
        InputFileNotFoundError
            If there is no file of edges of a part, or no file of removed edges.
        """
        for path in self.edge_files:
            if not path.is_file():
                raise InputFileNotFoundError("no such file of edges", file=str(path))


def convert_to_chunked(
    source: ConversionInput, workspace: Path, runner: Runner, sizes: ParmetisSizes | None = None
) -> tuple[ChunkedGraph, Assignment]:
    """Bring nodes and edges back into their original order, as a chunked graph, and read their parts.

    Parameters
    ----------
    source : ConversionInput
        What is converted.
    workspace : Path
        An empty directory, for the graph and for temporary files.
    runner : Runner
        What does the work.
    sizes : ParmetisSizes, optional
        Bites of the passes; default by the budget of the runner.

    Returns
    -------
    graph : ChunkedGraph
        In the workspace; attributes are the feature ``"feat"``.
    assignment : Assignment
        In the workspace.

    Raises
    ------
    AssignmentError
        If a line is at fault, or a node or an edge is missing or there twice.
    InputFileError
        If edges do not fit the schema file.
    """
    sizes = sizes or choose_sizes(runner.resources)
    convert = _Conversion(source, workspace, runner, sizes)
    assignment = convert.owners()
    schema, units, config, edge_paths = convert.edges()
    node_files = convert.node_attributes() if source.node_dtype is not None else []
    edge_data = convert.edge_attributes(units, config) if source.edge_dtype is not None else []
    write_metadata(
        workspace / "graph",
        schema,
        {etype: [path] for etype, path in zip(schema.etypes, edge_paths, strict=True)},
        {ntype: {FEATURE: [path]} for ntype, path in zip(schema.ntypes, node_files, strict=False)},
        {etype: {FEATURE: [path]} for etype, path in zip(schema.etypes, edge_data, strict=False)},
        edge_format="numpy",
        data_format="numpy",
    )
    return read_chunked(workspace / "graph"), assignment


class _Conversion:
    """The steps of one conversion; each leaves its files in the workspace and removes its runs."""

    def __init__(self, source: ConversionInput, workspace: Path, runner: Runner, sizes: ParmetisSizes) -> None:
        self.source, self.workspace, self.runner, self.sizes = source, workspace, runner, sizes
        (workspace / "graph").mkdir(parents=True)
        nodes = source.counts.nodes.items()
        self.nodes_schema = GraphSchema(source.graph_name, tuple(NodeType(*of_type) for of_type in nodes), ())
        weights = source.num_node_weights
        self.num_weights = count_node_weights(source.parts, source.graph_name) if weights is None else weights

    def owners(self) -> Assignment:
        """Read the part of every node."""
        where = self.workspace / "owners"
        return read_parmetis_parts(
            self.source.parts, self.nodes_schema, where, self.runner, self.num_weights, self.sizes
        )

    def edges(self) -> tuple[GraphSchema, list[EdgeLines], EdgeConfig, list[str]]:
        """Write the edges of every type."""
        counts, files = self.source.counts, self.source.edge_files
        columns = [IN_PARTS] * self.source.parts.num_parts + [REMOVED] * (self.source.removed_edges is not None)
        blocks = cut_text(files, self.sizes.text_block_bytes)
        found = [(block, of_file) for cut, of_file in zip(blocks, columns, strict=True) for block in cut]
        units = [EdgeLines(index, block, of_file) for index, (block, of_file) in enumerate(found)]
        num_edges = sum(counts.edges.values())
        dtype = id_dtype(max(num_edges, self.nodes_schema.num_nodes))
        ranges = KeyRanges(num_edges, max(1, self.sizes.interval_rows), self._runs("edges"), dtype, num_columns=4)
        config = EdgeConfig(counts, ranges)
        schema, units_of_ranges = split_edges(
            units, config, self.source.graph_name, str(self.source.directory), self.runner
        )
        paths = self._paths("edges", len(schema.etypes))
        place = replace(config, files=create_edge_files(paths, schema))
        place_edges(units, units_of_ranges, place, self.runner)
        self._remove_runs()
        return schema, units, config, paths

    def node_attributes(self) -> list[str]:
        """Write the attributes of every node type."""
        first = 3 + self.num_weights
        lines = part_lines(self.source.parts, self.sizes.text_block_bytes)
        units = [AttributeLines(unit.index, unit, first) for unit in lines]
        width = count_attributes(self.source.parts.paths, first)
        read_ids = partial(_node_ids, schema=self.nodes_schema, num_weights=self.num_weights)
        counts = list(self.source.counts.nodes.values())
        return self._attributes("node", units, read_ids, width, counts)

    def edge_attributes(self, lines: Sequence[EdgeLines], config: EdgeConfig) -> list[str]:
        """Write the attributes of every edge type."""
        firsts: dict[tuple[int, ...], int] = {IN_PARTS: 6, REMOVED: 4}
        units = [AttributeLines(unit.index, unit, firsts[unit.columns]) for unit in lines]
        files, num_parts = self.source.edge_files, self.source.parts.num_parts
        # removed edges may be all there are
        width = count_attributes(files[:num_parts], firsts[IN_PARTS]) or count_attributes(
            files[num_parts:], firsts[REMOVED]
        )
        counts = list(self.source.counts.edges.values())
        return self._attributes("edge", units, partial(_edge_ids, config=config), width, counts)

    def _attributes(
        self,
        kind: str,
        units: Sequence[AttributeLines],
        read_ids: Callable[[Any], np.ndarray],
        width: int,
        counts: Sequence[int],
    ) -> list[str]:
        dtype = self.source.node_dtype if kind == "node" else self.source.edge_dtype
        assert dtype is not None, "asked for attributes without a dtype"
        if width == 0:
            raise OptionError(
                f"the {kind}s have no attributes",
                file=str(self.source.directory),
                place=f"--{kind}-attr-dtype",
                hint="leave it out, or check --num-node-weights",
            )
        # a range of rows is held once in order and once as it is read
        most = self.runner.resources.task_memory // (4 * (width * dtype.itemsize + 16))
        ranges = KeyRanges(
            sum(counts),
            max(1, min(self.sizes.interval_rows, most)),
            self._runs(kind),
            id_dtype(sum(counts)),
            num_columns=2,
        )
        paths = self._paths(f"{kind}_data", len(counts))
        files = create_files(paths, counts, width, dtype)
        starts = np.cumsum([0, *counts])
        move_attributes(units, AttributeConfig(read_ids, width, dtype, ranges, starts, files), self.runner)
        self._remove_runs()
        return paths

    def _runs(self, name: str) -> str:
        (self.workspace / "runs").mkdir(exist_ok=True)
        return f"{self.workspace}/runs/{name}-"

    def _remove_runs(self) -> None:
        shutil.rmtree(self.workspace / "runs", ignore_errors=True)

    def _paths(self, directory: str, count: int) -> list[str]:
        (self.workspace / "graph" / directory).mkdir()
        return [f"{self.workspace}/graph/{directory}/{i}.npy" for i in range(count)]


def _node_ids(lines: PartLines, schema: GraphSchema, num_weights: int) -> np.ndarray:
    return read_node_ids(lines, schema, num_weights)


def _edge_ids(lines: EdgeLines, config: EdgeConfig) -> np.ndarray:
    return read_edge_ids(lines, config)[0]
