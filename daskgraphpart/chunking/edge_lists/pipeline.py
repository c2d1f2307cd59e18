"""Edge lists to a chunked graph: read and stage, map IDs if wanted, write edges, write features, metadata last."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from daskgraphpart.chunked.output import ID_MAP, write_metadata
from daskgraphpart.chunked.write_pieces import EDGES_PER_FILE, SUFFIXES, cut_chunks
from daskgraphpart.chunking.edge_lists.collect_ids import CollectConfig, check_one_kind, collect_ids_pass
from daskgraphpart.chunking.edge_lists.count_nodes import count_nodes
from daskgraphpart.chunking.edge_lists.features import Features
from daskgraphpart.chunking.edge_lists.inputs import Inputs, ends_of
from daskgraphpart.chunking.edge_lists.map_ids import map_ids
from daskgraphpart.chunking.edge_lists.open_arrays import unpack_arrays
from daskgraphpart.chunking.edge_lists.read_edges import ReadConfig, read_edges_pass
from daskgraphpart.chunking.edge_lists.staged import ReadUnit
from daskgraphpart.chunking.edge_lists.tables import cut_tables
from daskgraphpart.chunking.edge_lists.write_edges import EdgeChunk, end_pieces, write_edges_pass
from daskgraphpart.chunking.edge_lists.write_id_map import write_id_map_pass
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunking.edge_lists.merge_ids import IdMap
    from daskgraphpart.chunking.edge_lists.options import ReadOptions, Sizes, WriteOptions
    from daskgraphpart.chunking.edge_lists.staged import StagedBlock
    from daskgraphpart.chunking.edge_lists.tables import TableFile
    from daskgraphpart.engine.runner import Runner


class EdgeListJob:
    """One run from files to a chunked graph.

    Parameters
    ----------
    name : str
        Name of the graph.
    inputs : Inputs
        What is read.
    read, write : ReadOptions, WriteOptions
        How it is read and written.
    sizes : Sizes
        Bites of the passes.
    runner : Runner
        What does the work.
    """

    def __init__(
        self, name: str, inputs: Inputs, how: tuple[ReadOptions, WriteOptions], sizes: Sizes, runner: Runner
    ) -> None:
        self.name, self.inputs, self.sizes, self.runner = name, inputs, sizes, runner
        self.read, self.write = how

    def run(self, out: Path, workspace: Path) -> Path:
        """Write the graph into an empty directory; return the path of its metadata.

        Raises
        ------
        InputFileError
            If a row is at fault, or features do not have a row for each node or edge.
        """
        edges, nodes = self._stage(workspace)
        maps = self._map(edges, nodes, workspace) if self.read.map_ids else None
        num_nodes = count_nodes(self.inputs, edges) if maps is None else {t: maps[t].num_nodes for t in maps}
        features = Features(self.inputs, (edges, nodes), maps, self.write, self.sizes)
        features.check(num_nodes)
        edge_files = self._write_edges(edges, maps, out)
        files = features.write_all(num_nodes, out, workspace, self.runner)
        if maps is not None:
            (out / ID_MAP).mkdir()
            self.runner.run(write_id_map_pass(str(out), maps))
        return write_metadata(
            out,
            self._schema(edges, num_nodes),
            edge_files,
            files.nodes,
            files.edges,
            edge_format=self.write.edge_format,
            data_format=self.write.data_format,
        )

    def _stage(self, workspace: Path) -> tuple[dict[str, list[StagedBlock]], dict[str, list[StagedBlock]]]:
        """Read all edges and lists of nodes."""
        units: list[ReadUnit] = []
        groups: list[tuple[bool, str, int]] = []
        for is_edges, tables in ((True, self.inputs.edges), (False, self.inputs.nodes)):
            for name, of_type in self._unpacked(tables, workspace).items():
                blocks = cut_tables(of_type, self.sizes.block_bytes, len(units))
                units += [ReadUnit(block, ends_of(name) if is_edges else (name,)) for block in blocks]
                groups.append((is_edges, name, len(blocks)))
        if self.read.map_ids:
            config = CollectConfig(str(workspace), self.read.id_type)
            found = self.runner.run(collect_ids_pass(units, config))
            check_one_kind(found, config)
        else:
            found = self.runner.run(read_edges_pass(units, ReadConfig(str(workspace), self.inputs.num_nodes)))
        staged = iter(found)
        edges: dict[str, list[StagedBlock]] = {}
        nodes: dict[str, list[StagedBlock]] = {}
        for is_edges, name, count in groups:
            (edges if is_edges else nodes)[name] = list(itertools.islice(staged, count))
        return edges, nodes

    def _unpacked(self, tables: Mapping[str, Sequence[TableFile]], workspace: Path) -> dict[str, list[TableFile]]:
        counts = [len(of_type) for of_type in tables.values()]
        flat = [table for of_type in tables.values() for table in of_type]
        unpacked = iter(unpack_arrays(flat, workspace, self.runner))
        return {name: list(itertools.islice(unpacked, count)) for name, count in zip(tables, counts, strict=True)}

    def _map(
        self, edges: Mapping[str, list[StagedBlock]], nodes: Mapping[str, list[StagedBlock]], workspace: Path
    ) -> dict[str, IdMap]:
        staged = [block for of in (edges, nodes) for blocks in of.values() for block in blocks]
        return map_ids(staged, self.inputs.ntypes, str(workspace), self.sizes, self.runner)

    def _write_edges(
        self, edges: Mapping[str, list[StagedBlock]], maps: Mapping[str, IdMap] | None, out: Path
    ) -> dict[str, list[str]]:
        (out / "edges").mkdir()
        units, files = [], {}
        suffix = SUFFIXES[self.write.edge_format]
        for number, (etype, blocks) in enumerate(edges.items()):
            ranges = cut_chunks(sum(block.num_rows for block in blocks), EDGES_PER_FILE, self.write.num_chunks)
            files[etype] = [str(out / "edges" / f"{number}-{i}.{suffix}") for i in range(len(ranges))]
            units += [
                EdgeChunk(path, stop - start, tuple(end_pieces(blocks, maps, start, stop)))
                for path, (start, stop) in zip(files[etype], ranges, strict=True)
            ]
        self.runner.run(write_edges_pass(units, self.write.edge_format))
        return files

    def _schema(self, edges: Mapping[str, list[StagedBlock]], num_nodes: Mapping[str, int]) -> GraphSchema:
        node_types = tuple(NodeType(ntype, num_nodes[ntype]) for ntype in self.inputs.ntypes)
        edge_types = (_edge_type(etype, sum(block.num_rows for block in blocks)) for etype, blocks in edges.items())
        return GraphSchema(self.name, node_types, tuple(edge_types))


def _edge_type(etype: str, num_edges: int) -> EdgeType:
    src, rel, dst = etype.split(":")
    return EdgeType(src, rel, dst, num_edges)
