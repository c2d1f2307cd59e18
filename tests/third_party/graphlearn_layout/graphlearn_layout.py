"""Write the directory that GraphLearn-for-PyTorch trains on, `graphlearn_torch.partition.load_partition` of 0.2.

See graphlearn_torch/python/partition/base.py: tensors saved by torch, features as tensors pickled one after another,
and a pickled META. Edges lie with their destination, as with its strategy by_dst. All IDs are the new ones; the files
`orig_nids` and `orig_eids` of each part lead back to yours.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.extension import (
    ArraySpec,
    Layout,
    OptionError,
    check_file_names,
    describe_layout,
    description_of,
    file_name,
    option,
    raw_file_layout,
    refuse_bfloat16,
    whole_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from daskgraphpart import PartitionedGraph
    from daskgraphpart.extension import DispatchedGraph, EdgeType, FileLayout, GraphSchema, GraphSizes, NodeType, Region

NAME = "graphlearn"
INT64 = np.dtype("<i8")
ROWS_PER_TENSOR = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class GraphLearnLayout(Layout):
    """Tensors of each part, and books of partitions."""

    own_files = (
        r"META|(node|edge)_pb(/[^/]+)?\.pt|"
        r"part\d+/(orig_[ne]ids(/[^/]+)?\.pt|(graph|node_feat|edge_feat)(/[^/]+)?/\w+\.(pt|pkl))"
    )

    graphlearn_feature: str = option("feat", "Feature of nodes and edges to write; GraphLearn has one per type.")

    def check_fits(self, schema: GraphSchema) -> None:
        """Refuse what the files cannot hold."""
        check_file_names(schema, NAME)
        refuse_bfloat16(schema, NAME, "GraphLearn's features have")

    def check_request(self, graph_name: str, num_parts: int | None) -> None:
        """Refuse a single part."""
        if num_parts == 1:
            raise OptionError(
                "GraphLearn needs several parts", place=f"layout {NAME}", found=1, hint="give --num-parts 2"
            )

    def wants(self, schema: GraphSchema) -> tuple[str, ...]:
        """Ask for the owners of edges."""
        return tuple(f"edge_owners/{kind.name}" for kind in schema.edge_types)

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Name the files of a part, the arrays in each, and what makes a tensor of them."""
        files: dict[str, FileLayout] = {}
        for kinds, counts, ids in (
            (sizes.schema.node_types, sizes.num_nodes, "node"),
            (sizes.schema.edge_types, sizes.num_edges, "edge"),
        ):
            for kind, count in zip(kinds, counts.T.tolist(), strict=True):
                first, rows, below = sum(count[:part]), count[part], _below(sizes.schema, kind)
                orig = f"orig_{ids[0]}ids"
                files[f"{NAME}/part{{part}}/{orig}{below}.pt"] = _tensor(f"{orig}/{kind.name}", (rows,))
                where = f"{NAME}/part{{part}}/{ids}_feat{below}"  # exists only for what has the feature
                for spec in kind.data:
                    if spec.name == self.graphlearn_feature:
                        key, shape = f"{ids}_data/{kind.name}/{spec.name}", (rows, *spec.row_shape)
                        files[f"{where}/feats.pkl"] = raw_file_layout([ArraySpec(key, spec.dtype, shape)], pickle_array)
                        files[f"{where}/ids.pkl"] = raw_file_layout([], NewIds(first, rows, is_pickled=True))
                if ids == "edge":
                    where = f"{NAME}/part{{part}}/graph{below}"
                    files[f"{where}/rows.pt"] = _tensor(f"edge_src/{kind.name}", (rows,))
                    files[f"{where}/cols.pt"] = _tensor(f"edge_dst/{kind.name}", (rows,))
                    files[f"{where}/eids.pt"] = raw_file_layout([], NewIds(first, rows))
        return files

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Name the files of the whole graph: the part of every node and edge."""
        nodes = {f"{NAME}/node_pb{_below(schema, kind)}.pt": f"node_owners/{kind.name}" for kind in schema.node_types}
        edges = {f"{NAME}/edge_pb{_below(schema, kind)}.pt": f"edge_owners/{kind.name}" for kind in schema.edge_types}
        counts = {kind.name: kind.num_rows for kind in schema.row_types}
        return {
            path: raw_file_layout([ArraySpec(key, INT64, (counts[key.partition("/")[2]],))], save_book)
            for path, key in {**nodes, **edges}.items()
        }

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Name what `describe` returns; the JSON file is last, and has checksums of all files."""
        return f"{NAME}/META", description_of(NAME)

    def describe(self, graph: DispatchedGraph) -> dict[str, bytes | Mapping[str, Any]]:
        """Describe the files, once they are complete."""
        is_typed = graph.schema.is_heterogeneous
        meta = {
            "num_parts": graph.sizes.num_parts,
            "data_cls": "hetero" if is_typed else "homo",
            "node_types": list(graph.schema.ntypes) if is_typed else None,
            "edge_types": [tuple(name.split(":")) for name in graph.schema.etypes] if is_typed else None,
        }
        described = describe_layout(graph, NAME, 1, {"feature": self.graphlearn_feature})
        return {f"{NAME}/META": pickle.dumps(meta), **described}


def write_caches(partitions: PartitionedGraph, num_neighbors: Any, feature: str = "feat", **how: Any) -> None:
    """Write the hot rows of every part as GraphLearn's caches of features, beside those of the part.

    The partitions need the layout dgl as well, by which neighbours are sampled.
    """
    is_typed = len(partitions.ntypes) > 1 or len(partitions.etypes) > 1
    for part in partitions.parts:
        hot = part.hot_rows(num_neighbors, node_data=[feature], **how)
        for ntype, nodes in hot.nodes.items():
            where = f"{partitions.config.parent}/{NAME}/part{part.part_id}/node_feat"
            where += f"/{file_name(ntype)}" if is_typed else ""
            _save(nodes.ids, f"{where}/cache_ids.pt")
            _save(nodes.data[feature], f"{where}/cache_feats.pt")


def _below(schema: GraphSchema, kind: NodeType | EdgeType) -> str:
    """Name the directory of a type; a graph of one type has none."""
    return f"/{file_name(kind.name)}" if schema.is_heterogeneous else ""


def _tensor(key: str, shape: tuple[int, ...]) -> FileLayout:
    return raw_file_layout([ArraySpec(key, INT64, shape)], save_array)


def save_array(arrays: Mapping[str, Region], path: str) -> None:
    """Write the only array of a file as a tensor."""
    (rows,) = arrays.values()
    _save(rows.read(0, rows.num_rows), path)


def pickle_array(arrays: Mapping[str, Region], path: str) -> None:
    """Write the only array of a file as tensors, one after another, of which one fits in memory."""
    (rows,) = arrays.values()
    starts = range(0, max(rows.num_rows, 1), ROWS_PER_TENSOR)
    _pickle((rows.read(start, min(start + ROWS_PER_TENSOR, rows.num_rows)) for start in starts), path)


def save_book(arrays: Mapping[str, Region], path: str) -> None:
    """Write the parts by new ID: new IDs ascend by part, so these are the owners, sorted."""
    (owners,) = arrays.values()
    _save(np.sort(owners.read(0, owners.num_rows)), path)


@dataclass(frozen=True, slots=True)
class NewIds:
    """Writes the new IDs of a part's rows: consecutive ones."""

    first: int
    count: int
    is_pickled: bool = False

    def __call__(self, arrays: Mapping[str, Region], path: str) -> None:
        """Write them as a tensor."""
        ids = np.arange(self.first, self.first + self.count)
        if self.is_pickled:
            _pickle([ids], path)
        else:
            _save(ids, path)


def _save(rows: np.ndarray, path: str) -> None:
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(_tensor_bytes(rows))


def _pickle(pieces: Iterable[np.ndarray], path: str) -> None:
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for rows in pieces:
            pickle.dump(SavedTensor(_tensor_bytes(rows)), file)


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """Becomes a tensor when it is loaded; a pickled tensor would hold addresses of memory, others in each run."""

    content: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Call what loads it, as a pickled tensor does."""
        import torch

        return torch.storage._load_from_bytes, (self.content,)


def _tensor_bytes(rows: np.ndarray) -> bytes:
    """Save a tensor; a file saved by its name would hold that name, another in each run."""
    import torch  # takes a second: not for every command that lists layouts

    content = BytesIO()
    torch.save(torch.from_numpy(np.ascontiguousarray(rows)), content)
    return content.getvalue()
