"""Features of nodes and edges: from files or from columns of edges, checked, brought in order, written in chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import InputFile
from daskgraphpart.chunked.write_pieces import BYTES_PER_FILE, SUFFIXES, cut_chunks
from daskgraphpart.chunking.edge_lists.inputs import Feature, check_rows, checked_spec
from daskgraphpart.chunking.edge_lists.keys import show_key
from daskgraphpart.chunking.edge_lists.order_nodes import NodeRows, OrderConfig, WrongNodes, order_rows
from daskgraphpart.chunking.edge_lists.write_edges import end_pieces
from daskgraphpart.chunking.edge_lists.write_rows import RowChunk, RowConfig, write_rows_pass
from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunking.edge_lists.inputs import Inputs
    from daskgraphpart.chunking.edge_lists.merge_ids import IdMap
    from daskgraphpart.chunking.edge_lists.options import Sizes, WriteOptions
    from daskgraphpart.chunking.edge_lists.staged import StagedBlock
    from daskgraphpart.engine.runner import Runner

    Staged = Mapping[str, list[StagedBlock]]
    Paths = dict[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class FeaturePaths:
    """Files of all features, by type and name."""

    nodes: Paths
    edges: Paths


class Features:
    """All features of one job.

    Parameters
    ----------
    inputs : Inputs
        Features in files.
    staged : (mapping, mapping)
        Blocks of edges, with features from columns, and of lists of nodes.
    maps : mapping of str to IdMap, or None
        New IDs, if they are mapped.
    write : WriteOptions
        Formats and number of chunks.
    sizes : Sizes
        Bites of the passes.
    """

    def __init__(
        self,
        inputs: Inputs,
        staged: tuple[Staged, Staged],
        maps: Mapping[str, IdMap] | None,
        write: WriteOptions,
        sizes: Sizes,
    ) -> None:
        self._nodes, self._maps, self._write, self._sizes = staged[1], maps, write, sizes
        self._num_edges = {etype: _num_rows(blocks) for etype, blocks in staged[0].items()}
        self._node_data = {ntype: dict(inputs.node_data.get(ntype, {})) for ntype in inputs.ntypes}
        self._edge_data = {
            etype: {**_from_columns(inputs, etype, blocks), **inputs.edge_data.get(etype, {})}
            for etype, blocks in staged[0].items()
        }

    def check(self, num_nodes: Mapping[str, int]) -> None:
        """Refuse features that do not have a row for each node or edge.

        Raises
        ------
        InputFileError
            Then.
        """
        for etype, of_edges in self._edge_data.items():
            for feature in of_edges.values():
                check_rows(feature, etype, self._num_edges[etype], "one row for each edge, in their order")
        for ntype, of_nodes in self._node_data.items():
            for feature in of_nodes.values():
                if ntype in self._nodes:
                    listed = _num_rows(self._nodes[ntype])
                    check_rows(feature, ntype, listed, "rows follow the list given to --nodes")
                elif self._maps is None:
                    hint = f"say --num-nodes {ntype}={feature.num_rows} if some nodes have no edges"
                    check_rows(feature, ntype, num_nodes[ntype], hint)
                else:
                    hint = "rows are taken in the order of the sorted IDs; --nodes gives another order, and more nodes"
                    check_rows(feature, ntype, num_nodes[ntype], hint)

    def write_all(self, num_nodes: Mapping[str, int], out: Path, workspace: Path, runner: Runner) -> FeaturePaths:
        """Write all features in chunks."""
        for ntype, features in self._node_data.items():
            if ntype in self._nodes and features:
                self._node_data[ntype] = self._ordered(ntype, features, num_nodes[ntype], workspace, runner)
        units: list[RowChunk] = []
        nodes = self._chunks(self._node_data, out / "node_data", units)
        edges = self._chunks(self._edge_data, out / "edge_data", units)
        config = RowConfig(self._write.data_format, self._sizes.row_block_bytes)
        runner.run(write_rows_pass(units, config))
        return FeaturePaths(nodes, edges)

    def _chunks(self, data: Mapping[str, Mapping[str, Feature]], directory: Path, units: list[RowChunk]) -> Paths:
        paths: Paths = {}
        for number, (type_name, features) in enumerate(data.items()):
            for i, feature in enumerate(features.values()):
                directory.mkdir(exist_ok=True)
                per_file = max(1, BYTES_PER_FILE // max(1, feature.spec.row_nbytes))
                ranges = cut_chunks(feature.num_rows, per_file, self._write.num_chunks)
                suffix = SUFFIXES[self._write.data_format]
                of_feature = [str(directory / f"{number}-{i}-{chunk}.{suffix}") for chunk in range(len(ranges))]
                units += [
                    RowChunk(path, feature.spec, feature.files, start, stop)
                    for path, (start, stop) in zip(of_feature, ranges, strict=True)
                ]
                paths.setdefault(type_name, {})[feature.spec.name] = of_feature
        return paths

    def _ordered(
        self, ntype: str, features: Mapping[str, Feature], num_nodes: int, workspace: Path, runner: Runner
    ) -> dict[str, Feature]:
        """Features of a node type in the order of new IDs."""
        ordered = {}
        for number, (name, feature) in enumerate(features.items()):
            spec = feature.spec
            path = str(workspace / f"ordered-{self._node_type_number(ntype)}-{number}.npy")
            target = create_npy(path, spec.dtype, (num_nodes, *spec.row_shape))
            row_bytes = spec.row_nbytes + 32  # with its new ID, its place, its group
            at_once = max(1, self._sizes.row_block_bytes // (2 * row_bytes))
            config = OrderConfig(spec, feature.files, at_once, max(1, num_nodes), self._sizes.row_block_bytes, target)
            blocks = self._nodes[ntype]
            units = [
                NodeRows(f"{path}-{start}", start, stop, tuple(end_pieces(blocks, self._maps, start, stop)))
                for start in range(0, feature.num_rows, at_once)
                for stop in (min(feature.num_rows, start + at_once),)
            ]
            self._check_list(ntype, order_rows(units, config, runner) if num_nodes else [])
            file = InputFile(path, "numpy", "", num_nodes, target.nbytes)
            ordered[name] = replace(feature, files=(file,))
        return ordered

    def _node_type_number(self, ntype: str) -> int:
        return list(self._node_data).index(ntype)

    def _check_list(self, ntype: str, found: Sequence[WrongNodes]) -> None:
        """Refuse a list of nodes that does not name every node once, if features follow it."""
        assert self._maps is not None, "lists of nodes are for IDs that are mapped"
        path = self._nodes[ntype][0].unit.block.table.path
        for wrong in found:
            if wrong.repeated >= 0:
                raise InputFileError(
                    f"a {ntype!r} node is listed twice",
                    file=path,
                    expected="every ID once, since rows of --node-data follow the list",
                    found=show_key(self._maps[ntype].key(wrong.repeated), 0),
                )
            if wrong.missing >= 0:
                raise InputFileError(
                    f"a {ntype!r} node of the edges is not in the list of nodes",
                    file=path,
                    expected="every ID, since rows of --node-data follow the list",
                    found=f"no {show_key(self._maps[ntype].key(wrong.missing), 0)}",
                )


def _num_rows(blocks: Sequence[StagedBlock]) -> int:
    return sum(block.num_rows for block in blocks)


def _from_columns(inputs: Inputs, etype: str, blocks: Sequence[StagedBlock]) -> dict[str, Feature]:
    """Features that are columns of the edges; numbers of text are floats if one of them is."""
    table = inputs.edges[etype][0]
    features = {}
    for number, column in enumerate(table.columns[2:]):
        staged = [block.features[number] for block in blocks if block.num_rows]
        declared = np.dtype(np.float64) if column.dtype is None else column.dtype
        dtype = np.result_type(*(s.dtype for s in staged)) if staged else declared
        row_shape = staged[0].row_shape if staged else column.row_shape
        spec = checked_spec(column.name, dtype, row_shape, table.path)
        features[spec.name] = Feature(spec, tuple(s.file for s in staged))
    return features
