"""The promises: equal to the definition, and the same bytes however the work is cut."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from graphs import Graph, file_hashes
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import DispatchOptions, Job, Resources, Sizes, open_runner
from oracle import OraclePart, partition_in_memory
from strategies import Layout, graphs, layouts, sizes

from daskgraphpart import EdgeType, GraphSchema, NodeType, open_partitions, read_chunked, verify
from daskgraphpart.dispatching.dispatch_graph import dispatch_graph
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.partitioner.assignment import Owners, create_owner_files

if TYPE_CHECKING:
    from daskgraphpart import PartitionedGraph
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.partitioned.part import Part

PARTS = st.sampled_from((1, 2, 3, 4, 5, 7, 8, 9, 11, 13))
FORMATS = st.lists(st.sampled_from(("coo", "csr", "csc")), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def options(draw: st.DrawFn) -> DispatchOptions:
    return DispatchOptions(draw(st.sampled_from((1, 1, 2, 3))), draw(FORMATS), draw(st.booleans()))


def run(
    graph: Graph, layout: Layout, how: tuple[int, DispatchOptions, Sizes, str], root: Path, seed: int = 0
) -> tuple[Path, dict[str, np.ndarray]]:
    num_parts, what, block_sizes, staging = how
    directory = root / "in"
    graph.write(
        directory,
        edge_format=layout.edge_format,
        data_format=layout.data_format,
        num_chunks=layout.num_chunks,
        delimiter=layout.delimiter,
    )
    chunked = read_chunked(directory)
    out = root / "out"
    out.mkdir()
    work = Workspace.create(root, None)
    regions = create_owner_files(work.owners, chunked.schema, num_parts)
    owners = {}
    for i, (ntype, region) in enumerate(regions.items()):
        rng = np.random.default_rng([seed, i])
        # skewed, so that some parts lack a type
        owners[ntype] = (num_parts * rng.random(region.num_rows) ** 2).astype(region.dtype)
        region.write(owners[ntype], 0)
    resources = Resources(1 << 30, "threads", 2, staging)
    with open_runner(resources) as runner:
        layouts = (DglLayout(what.graph_formats),)
        job = Job(chunked, Owners(num_parts, "test", regions), str(out), what, block_sizes, work, runner, layouts)
        dispatch_graph(job)
    return out, owners


def assert_part_equals_oracle(part: Part, expected: OraclePart, book: PartitionBook) -> None:
    graph = part.graph
    assert graph.node_arrays["_ID"].read().tolist() == [*expected.inner_nids, *expected.halo_nids]
    assert graph.edge_arrays["_ID"].read().tolist() == [*expected.owned_eids, *expected.extra_eids]
    inner = [1] * len(expected.inner_nids) + [0] * len(expected.halo_nids)
    assert graph.node_arrays["inner_node"].read().tolist() == inner
    assert graph.edge_arrays["inner_edge"].read().tolist() == [1] * len(expected.owned_eids) + [0] * len(
        expected.extra_eids
    )
    frame = part.edges().compute()
    found = dict(zip(frame.eid, zip(frame.src, frame.dst, strict=True), strict=True))
    assert found == expected.edges
    assert frame.eid.tolist() == [*expected.owned_eids, *expected.extra_eids]
    for found_ids, ids in (
        (part.node_rows.originals, expected.orig_nids),
        (part.edge_rows.originals, expected.orig_eids),
    ):
        assert {key: region.read().tolist() for key, region in found_ids.items()} == {
            k: v.tolist() for k, v in ids.items()
        }
    for regions, rows in (
        (part.node_rows.features, expected.node_feats),
        (part.edge_rows.features, expected.edge_feats),
    ):
        flat = {f"{kind}/{name}": region.read() for kind, of in regions.items() for name, region in of.items()}
        assert flat.keys() == rows.keys()
        for key, values in rows.items():
            np.testing.assert_array_equal(flat[key], values)
    if "_TYPE" in graph.edge_arrays:
        assert graph.edge_arrays["_TYPE"].read().tolist() == frame.etype.tolist()
        types, _ = book.map_to_per_ntype(graph.node_arrays["_ID"].read())
        assert graph.node_arrays["_TYPE"].read().tolist() == types.tolist()


def assert_split_nids_are_the_marked_nodes(graph: Graph, partitioned: PartitionedGraph, num_parts: int) -> None:
    for ntype, features in graph.node_data.items():
        if "train_mask" not in features:
            continue
        found = [partitioned.part(p).split_nids[f"{ntype}/train_mask"] for p in range(num_parts)]
        marked = partitioned.original_ids[ntype].compute()[np.concatenate(found)]
        assert sorted(marked.tolist()) == np.flatnonzero(features["train_mask"]).tolist()


WAYS = st.tuples(layouts(), sizes(), st.sampled_from(("in-place", "zarr")))


@settings(max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]
@given(graph=graphs(), num_parts=PARTS, what=options(), ways=st.tuples(WAYS, WAYS))
def test_partitions_are_those_of_the_definition_however_the_work_is_cut(graph, num_parts, what, ways) -> None:
    (layout, block_sizes, staging), (other_layout, other_sizes, other_staging) = ways
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as other_root:
        out = check_partitions(graph, layout, (num_parts, what, block_sizes, staging), Path(root))
        assert verify(Path(root) / "in", out, memory=1 << 30).findings == ()
        other, _ = run(graph, other_layout, (num_parts, what, other_sizes, other_staging), Path(other_root))
        assert file_hashes(out) == file_hashes(other)


def test_more_parts_than_a_byte_holds(tmp_path: Path) -> None:
    schema = GraphSchema("g", (NodeType("a", 300),), (EdgeType("a", "r", "a", 500),))
    ends = tuple(np.random.default_rng(0).integers(0, 300, (2, 500)))
    graph = Graph(schema, {"a:r:a": ends}, {"a": {"x": np.arange(300)}})  # type: ignore[dict-item]
    how = 257, DispatchOptions(), Sizes(64, 10_000, 10_000, 64, 64, 1 << 30, 64, 1 << 20), "in-place"
    check_partitions(graph, Layout("numpy", "numpy", (1, 1), " "), how, tmp_path)


def check_partitions(graph: Graph, layout: Layout, how: tuple[int, DispatchOptions, Sizes, str], root: Path) -> Path:
    """Compare the partitions of a run with those of the definition; return where they are."""
    num_parts, what, *_ = how
    out, owners = run(graph, layout, how, root)
    partitioned = open_partitions(out)
    for part_id, part in enumerate(partition_in_memory(graph, owners, num_parts, what.num_hops, what.out_edges)):
        assert_part_equals_oracle(partitioned.part(part_id), part, partitioned.book)
    assert_split_nids_are_the_marked_nodes(graph, partitioned, num_parts)
    return out
