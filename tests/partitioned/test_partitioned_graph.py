"""What is looked up in partitions is what went into them, by new IDs and by original ones."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pytest
import zarr
from graphs import Graph
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from daskgraphpart import IdConverter, Resources, load_partition, load_partition_feats, open_partitions, partition
from daskgraphpart.book import IdOutOfRangeError
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.errors import GraphPartError, InputFileNotFoundError, LayoutError, OptionError, OutputExistsError
from daskgraphpart.partitioned.reorder import reorder
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from daskgraphpart import PartitionedGraph

torch = pytest.importorskip("torch")

RESOURCES = Resources(1 << 30, "threads", 2)
ETYPE = "n:e:n"


def partitioned(graph: Graph, root: Path, num_parts: int, **how: Any) -> PartitionedGraph:
    graph.write(root / "in", edge_format="numpy")
    options = DispatchOptions(out_edges=True, num_hops=2, **how)
    return open_partitions(
        partition(
            root / "in", root / "out", num_parts, method="random", options=options, resources=RESOURCES
        ).config_path
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, PartitionedGraph]:
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("n", 50),), (EdgeType("n", "e", "n", 200),))
    edges = {ETYPE: (rng.integers(0, 50, 200), rng.integers(0, 50, 200))}
    graph = Graph(schema, edges, {"n": {"x": rng.random((50, 3))}}, {ETYPE: {"w": rng.random(200)}})
    return graph, partitioned(graph, tmp_path_factory.mktemp("small"), 3)


@given(graph=graphs(), num_parts=st.sampled_from((1, 2, 3, 8)))
def test_rows_and_edges_are_those_of_the_input_by_original_id(graph: Graph, num_parts: int) -> None:
    if graph.schema.num_nodes < num_parts:
        return
    with tempfile.TemporaryDirectory() as directory:
        found = partitioned(graph, Path(directory), num_parts)
        assert [t.num_rows for t in found.schema.row_types] == [t.num_rows for t in graph.schema.row_types]
        for views, of_input in ((found.nodes, graph.node_data), (found.edges, graph.edge_data)):
            for kind, features in of_input.items():
                view: Any = views[kind]
                originals = view.original_ids[:]
                assert sorted(originals) == list(range(len(originals)))
                assert set(view.data) == set(features)
                for name, expected in features.items():
                    rows = view.data[name]
                    np.testing.assert_array_equal(rows[:], expected[originals])
                    assert rows.shape == expected.shape
                    ids = np.random.default_rng(0).permutation(len(expected))[:7]
                    np.testing.assert_array_equal(rows[ids], expected[originals[ids]])
                    np.testing.assert_array_equal(rows[torch.from_numpy(ids)].numpy(), expected[originals[ids]])
                    np.testing.assert_array_equal(found.to_original(kind, rows[:]).compute(), expected)
                    np.testing.assert_array_equal(found.from_original(kind, expected).compute(), rows[:])
        converter = IdConverter(graph.schema)
        seen = []
        for etype, (src, dst) in graph.edges.items():
            frame = found.edges[etype].frame(original=True).compute().sort_values("eid")
            assert frame.eid.tolist() == list(range(len(src)))
            assert frame.src.tolist() == src.tolist()
            assert frame.dst.tolist() == dst.tolist()
        for part in found.parts:
            frame = part.edges(original=True).compute()
            seen += frame[frame.inner].eid.tolist()
            for row in frame.itertuples():
                etype, eid = converter.eid_hom2het(row.eid)
                assert found.etypes[row.etype] == etype
                ends = [end[eid] for end in graph.edges[etype]]
                types = (etype.split(":")[0], etype.split(":")[2])
                assert [row.src, row.dst] == [
                    converter.nid_het2hom(t, int(e)) for t, e in zip(types, ends, strict=True)
                ]
        assert sorted(seen) == list(range(graph.schema.num_edges)), "every edge is owned once"


def test_a_part_is_opened_alone(small: tuple[Graph, PartitionedGraph], monkeypatch: pytest.MonkeyPatch) -> None:
    import daskgraphpart.partitioned.graph as opening

    opened, graph = [], open_partitions(small[1].path)
    open_one = opening.open_part
    monkeypatch.setattr(opening, "open_part", lambda number, *rest: (opened.append(number), open_one(number, *rest))[1])
    assert graph.part(1) is graph.part(1)
    assert opened == [1], "tasks of verify open one of tens of thousands"


@pytest.mark.parametrize("form", ["array", "npy", "zarr", "dask", "tensor"])
@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_rows_are_reordered_from_any_form_into_files(
    form: str, suffix: str, small: tuple[Graph, PartitionedGraph], tmp_path: Path
) -> None:
    graph, found = small
    expected = graph.node_data["n"]["x"]

    def given_as(rows: np.ndarray) -> Any:
        if form == "npy":
            np.save(tmp_path / "in.npy", rows)
            return tmp_path / "in.npy"
        if form == "zarr":
            zarr.save_array(tmp_path / "in.zarr", rows, overwrite=True)
            return str(tmp_path / "in.zarr")
        if form == "dask":
            return da.from_array(rows, chunks=(7, 2))
        return torch.from_numpy(rows) if form == "tensor" else rows

    def read(path: Path) -> np.ndarray:
        return np.load(path) if suffix == ".npy" else np.asarray(zarr.open_array(path)[:])

    out = found.to_original("n", given_as(found.nodes["n"].data["x"][:]), tmp_path / f"out{suffix}")
    np.testing.assert_array_equal(read(out), expected)
    back = found.from_original("n", given_as(expected), tmp_path / f"back{suffix}")
    np.testing.assert_array_equal(read(back), found.nodes["n"].data["x"][:])
    with pytest.raises(OutputExistsError):
        found.to_original("n", expected, out)
    found.to_original("n", found.from_original("n", expected), out, overwrite=True)
    np.testing.assert_array_equal(read(out), expected)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("cluster", ["sync", "processes"])
def test_any_scheduler_reorders_alike(cluster: str, small: tuple[Graph, PartitionedGraph], tmp_path: Path) -> None:
    graph, found = small
    rows = found.nodes["n"].data["x"][:]
    out = found.to_original("n", rows, tmp_path / "out.npy", resources=Resources(1 << 30, cluster, 2))
    np.testing.assert_array_equal(np.load(out), graph.node_data["n"]["x"])


def stored_ids(pieces: list[np.ndarray], directory: Path) -> StoredRows:
    regions = [create_npy(directory / f"{i}.npy", np.int64, piece.shape) for i, piece in enumerate(pieces)]
    for region, piece in zip(regions, pieces, strict=True):
        region.write(piece, 0)
    return StoredRows("IDs", regions)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 2**32), st.sampled_from((1, 3, 1000)))
def test_rows_are_reordered_whatever_the_order_inside_parts(counts: list[int], seed: int, per_block: int) -> None:
    rng, how = np.random.default_rng(seed), {"resources": Resources(1 << 30, "sync", 1)}
    ids, rows = rng.permutation(sum(counts)), rng.random((sum(counts), 2))
    expected = np.empty_like(rows)
    expected[ids] = rows
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr("daskgraphpart.partitioned.stored_rows.BLOCK_NBYTES", per_block * 32)
        originals = stored_ids(np.split(ids, np.cumsum(counts)[:-1]), Path(directory))
        for given_rows, wanted, to_original in ((rows, expected, True), (expected, rows, False)):
            lazy = da.from_array(given_rows, chunks=(4, 1))
            out = reorder(lazy, originals, Path(directory) / f"{to_original}.npy", to_original=to_original, **how)
            for found in (np.load(out), *(reorder(of, originals, None, to_original=to_original, **how).compute()
                                          for of in (given_rows, lazy))):  # fmt: skip
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("ids", [[0, 1, 1], [0, 1, 3], [-1, 0, 1], [2, 1, 1]])
@pytest.mark.parametrize("to_original", [True, False])
def test_maps_that_are_no_bijection_are_refused(ids: list[int], to_original: bool, tmp_path: Path) -> None:
    originals = stored_ids([np.array(ids)], tmp_path)
    with pytest.raises(LayoutError):
        reorder(np.zeros(3), originals, None, to_original=to_original, resources=RESOURCES)


def test_local_graphs_have_every_format(small: tuple[Graph, PartitionedGraph], tmp_path: Path) -> None:
    graph, found = small
    everything = partitioned(graph, tmp_path, 3, graph_formats=("coo", "csr", "csc"))
    for part_id in range(3):
        converted, stored = (load_partition(g.path, part_id)[0] for g in (found, everything))
        assert converted.formats() == ("coo",)
        assert stored.formats() == ("coo", "csr", "csc")
        assert converted.num_nodes() == len(converted.nodes())
        for fmt in ("coo", "csr", "csc"):
            for ours, theirs in zip(converted.adj_tensors(fmt), stored.adj_tensors(fmt), strict=True):
                assert torch.equal(ours, theirs)
                assert ours.dtype == torch.int64
        with pytest.raises(OptionError, match="unknown format"):
            stored.adj_tensors("dense")
    node_feats, edge_feats = load_partition_feats(found.path, 0, load_edges=False)
    assert node_feats is not None
    assert list(node_feats) == ["n/x"]
    assert edge_feats is None


def test_lookups_that_cannot_be_are_one_clear_error(small: tuple[Graph, PartitionedGraph], tmp_path: Path) -> None:
    _, found = small
    rows = found.nodes["n"].data["x"]
    assert rows[3].shape == (3,)
    assert rows[10:20].shape == (10, 3)
    assert rows[40:10:-2].shape == (15, 3)
    assert rows[np.arange(50) % 2 == 0].shape == (25, 3)
    assert rows[torch.arange(50) % 2 == 0].shape == (25, 3)
    assert rows[np.zeros((2, 2), int)].shape == (2, 2, 3)
    assert found.edges["e"].data["w"].shape == found.edges[("n", "e", "n")].data["w"].shape == (200,)
    for bad in ([50], -1, [0.5], np.ones(51, bool)):
        with pytest.raises(IdOutOfRangeError):
            rows[bad]
    for call in (lambda: found.nodes["m"], lambda: found.nodes["n"].data["y"]):
        with pytest.raises(KeyError, match="there are"):
            call()
    for error, call in (
        (IdOutOfRangeError, lambda: found.edges["f"]),
        (IdOutOfRangeError, lambda: found.to_original("m", [0])),
        (OptionError, lambda: found.to_original("n", np.zeros(49))),
        (OptionError, lambda: found.to_original("n", np.zeros(50), tmp_path / "out.bin")),
        (InputFileNotFoundError, lambda: found.to_original("n", tmp_path / "nothing.npy")),
        (IdOutOfRangeError, lambda: load_partition(found.path, 3)),
        (LayoutError, lambda: load_partition(tmp_path, 0)),
    ):
        with pytest.raises(error) as caught:
            call()
        assert isinstance(caught.value, GraphPartError)
    assert repr(found.book) == "<PartitionBook: 3 parts, 50 nodes, 200 edges>"
    assert repr(found.part(1)).startswith("<Part 1 of 3: ")
    assert repr(load_partition(found.path, 1)[3]) == f"<RangePartitionBook of part 1: {found.book!r}>"
    assert repr(IdConverter(found.schema)) == "<IdConverter g: 1 node types, 1 edge types>"
    assert "n: 50 nodes" in repr(found.nodes["n"])
    assert "200 edges" in repr(found.edges["e"])
    assert "float64[50, 3]" in repr(rows)
