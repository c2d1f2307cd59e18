"""What is looked up in partitions is what went into them, by new IDs and by original ones."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import zarr
from commands import call
from graphs import Graph
from hypothesis import example, given
from hypothesis import strategies as st
from inside import DispatchOptions, Resources, create_npy
from keywords import spelled
from strategies import graphs

from daskgraphpart import (
    EdgeType,
    GraphPartError,
    GraphSchema,
    IdConverter,
    NodeType,
    from_edges,
    load_partition,
    load_partition_feats,
    open_partitions,
    partition,
)
from daskgraphpart.errors import (
    IdOutOfRangeError,
    InputFileError,
    InputFileNotFoundError,
    LayoutError,
    OptionError,
    OutputExistsError,
)
from daskgraphpart.partitioned import part_collections
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.tools.reorder.reorder import reorder

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
            root / "in", root / "out", num_parts, method="random", **spelled(options), **spelled(RESOURCES)
        ).config
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


def test_collections_come_in_small_pieces(
    small: tuple[Graph, PartitionedGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = small[1].part(0)
    whole, num_edges = part.edges().compute(), part.graph.num_edges
    assert part_collections.EDGES_PER_PARTITION * 4 * 9 < 100_000_000  # bytes of four columns and a flag
    monkeypatch.setattr(part_collections, "EDGES_PER_PARTITION", 7)
    frame = part.edges()
    lengths = frame.map_partitions(len).compute().tolist()
    assert max(lengths) == 7 and sum(lengths) == num_edges > 7 * (len(lengths) - 1)
    assert frame.compute().to_numpy().tolist() == whole.to_numpy().tolist()


def test_a_part_is_opened_alone(small: tuple[Graph, PartitionedGraph], tmp_path: Path) -> None:
    """Tasks of verify open one of tens of thousands."""
    graph = partitioned(small[0], tmp_path, 3)
    for path in (tmp_path / "out").glob("part[02]/*"):
        path.write_bytes(b"damaged")
    opened = open_partitions(graph.config)
    assert opened.part(1) is opened.part(1)
    assert len(opened.part(1).edges()) == len(small[1].part(1).edges())
    with pytest.raises(GraphPartError):
        opened.part(2).edges().compute()


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        ("npy", ".zarr"),
        ("zarr", ".npy"),
        ("dask", ".npy"),
        ("tensor", ".zarr"),
        ("pt", ".parquet"),
        ("parquet", ".pt"),
        ("frame", ".npy"),
        ("dask frame", ".npy"),
    ],
)
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
        if form == "pt":
            torch.save(torch.from_numpy(rows), tmp_path / "in.pt")
            return tmp_path / "in.pt"
        if form == "parquet":
            columns = {"id": np.arange(len(rows))} | {f"c{i}": rows[:, i] for i in range(rows.shape[1])}
            pd.DataFrame(columns).to_parquet(tmp_path / "in.parquet", row_group_size=20)
            return tmp_path / "in.parquet"
        if form == "frame":
            return pd.DataFrame(rows, index=np.arange(len(rows))[::-1])
        if form == "dask frame":
            return dd.from_pandas(pd.DataFrame(rows), npartitions=3)
        if form == "dask":
            return da.from_array(rows, chunks=(7, 2))
        return torch.from_numpy(rows) if form == "tensor" else rows

    def read(path: Path) -> np.ndarray:
        if suffix == ".parquet":
            table = pd.read_parquet(path)
            assert table["id"].tolist() == list(range(50))
            return np.stack(list(table["value"]))
        if suffix == ".pt":
            return torch.load(path).numpy()
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
    out = found.to_original("n", rows, tmp_path / "out.npy", memory=1 << 30, cluster=cluster, workers=2)
    np.testing.assert_array_equal(np.load(out), graph.node_data["n"]["x"])


NAMES = [f"user-{7 * i % 40:03}" for i in range(40)]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of a graph with string IDs in `out`; a prediction for each node, by new ID, in `rows.pt`."""
    root = tmp_path_factory.mktemp("named")
    (root / "edges.csv").write_text("".join(f"{NAMES[i]},{NAMES[(i + 3) % 40]}\n" for i in range(40)))
    assert call("build", root / "graph", "--edges", root / "edges.csv", "--map-ids", "--quiet") == 0
    assert call("partition", root / "graph", root / "out", "--num-parts", "3", "--method", "random", "--quiet") == 0
    names = sorted(NAMES)
    originals = open_partitions(root / "out").nodes["_N"].original_ids[:]
    torch.save(torch.tensor([float(names[i][5:]) for i in originals]), root / "rows.pt")
    return root


@pytest.mark.parametrize("halo", [5, None, ["many", 1, 2], [1, 2], {"0": 1}])
def test_a_record_of_halo_nodes_that_is_damaged_is_none(halo: object, named: Path, tmp_path: Path) -> None:
    expected = open_partitions(named / "out").quality
    shutil.copytree(named / "out", tmp_path / "out")
    manifest = tmp_path / "out" / "graph.manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "num_halo_nodes": halo}))
    damaged = open_partitions(tmp_path / "out")
    assert "halo" in repr(damaged) and damaged.quality == expected


def test_predictions_come_back_with_string_ids_by_one_command(named: Path, tmp_path: Path) -> None:
    assert json.loads((named / "out" / "graph.manifest.json").read_text())["id_map"] == "../graph/id_map"
    out = tmp_path / "out.parquet"
    assert call("to-original", named / "out", named / "rows.pt", out, "--quiet") == 0
    table = pd.read_parquet(out)
    assert table["id"].tolist() == sorted(NAMES)
    assert table["value"].tolist() == [float(name[5:]) for name in sorted(NAMES)]
    # the partitions were moved, and the graph was too
    shutil.copytree(named / "out", tmp_path / "moved")
    moved = open_partitions(tmp_path / "moved")
    with pytest.raises(InputFileNotFoundError, match=r"no ID map of '_N'.*Give id_map"):
        moved.to_original("_N", named / "rows.pt", tmp_path / "more.parquet")
    for place in (named / "graph", named / "graph" / "id_map", named / "graph" / "id_map" / "_N.parquet"):
        moved.to_original("_N", named / "rows.pt", out, id_map=place, overwrite=True)
        assert pd.read_parquet(out).equals(table)
    moved.from_original("_N", table["value"].to_numpy(), tmp_path / "back.pt")
    assert torch.equal(torch.load(tmp_path / "back.pt").float(), torch.load(named / "rows.pt"))


def test_ids_of_another_graph_in_the_place_of_the_old_one_are_refused(named: Path, tmp_path: Path) -> None:
    for name in ("graph", "out"):
        shutil.copytree(named / name, tmp_path / name)
    others = [*NAMES[1:], "user-100"]  # as many
    (tmp_path / "edges.csv").write_text("".join(f"{name},{others[0]}\n" for name in others))
    again = ("build", tmp_path / "graph", "--edges", tmp_path / "edges.csv", "--map-ids", "--overwrite", "--quiet")
    assert call(*again) == 0
    found, out = open_partitions(tmp_path / "out"), tmp_path / "out.parquet"
    with pytest.raises(InputFileError, match=r"_N.parquet: .*id_map"):
        found.to_original("_N", named / "rows.pt", out)
    found.to_original("_N", named / "rows.pt", out, id_map=named / "graph")
    assert pd.read_parquet(out)["id"].tolist() == sorted(NAMES)


def bad_rows(root: Path) -> dict[str, tuple[tuple[Any, ...], str]]:
    """Arguments of `to-original` after the partitions, and what it says."""
    (root / "text.pt").write_text("x")
    torch.save({"a": torch.zeros(3)}, root / "dict.pt")
    torch.save(torch.zeros(40, dtype=torch.float8_e5m2), root / "float8.pt")
    torch.save(torch.zeros(40, dtype=torch.bfloat16), root / "bfloat16.pt")
    for name, columns in {
        "order": {"id": np.arange(40)[::-1], "x": np.zeros(40)},
        "words": {"x": ["a"] * 40},
        "few": {"x": np.zeros(39)},
    }.items():
        pd.DataFrame(columns).to_parquet(root / f"{name}.parquet")
    (root / "cut.parquet").write_bytes((root / "few.parquet").read_bytes()[:-9])
    return {
        "no tensor": (("text.pt", "o.npy"), "cannot read this tensor"),
        "several tensors": (("dict.pt", "o.npy"), "expected one tensor, found dict"),
        "dtype that numpy lacks": (("float8.pt", "o.npy"), "cannot read this tensor"),
        "bfloat16 in parquet": (("bfloat16.pt", "o.parquet"), "'.parquet'. Choose from .npy, .pt."),
        "no file": (("none.pt", "o.npy"), "no such file"),
        "other order": (("order.parquet", "o.npy"), "expected 0, found 39. Sort the rows by ID"),
        "text": (("words.parquet", "o.npy"), "does not hold numbers"),
        "too few rows": (("few.parquet", "o.npy"), "expected 40 rows, found an array of shape (39,)"),
        "cut file": (("cut.parquet", "o.npy"), "not a readable parquet file"),
        "unknown ending": (("rows.pt", "o.csv"), "Choose from .npy, .zarr, .pt, .parquet."),
        "map for npy": (("rows.pt", "o.npy", "--id-map", "graph"), "only parquet output"),
        "map of nothing": (("rows.pt", "o.parquet", "--id-map", "out"), "no ID map of '_N'"),
        "not a map": (("rows.pt", "o.parquet", "--id-map", "few.parquet"), "not an ID map"),
        "confined": (("rows.pt", "o.parquet", "--confined"), "lies outside the partitions"),
    }


def test_rows_that_cannot_be_reordered_are_one_error(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name for path in named.iterdir()}
    cases = bad_rows(named)
    for name, (arguments, says) in cases.items():
        given = [named / word if (named / word).exists() or "." in word else word for word in arguments]
        assert call("to-original", named / "out", *given) == 2, name
        error = capsys.readouterr().err
        assert says in error, (name, error)
        assert "Traceback" not in error
        assert not list(named.glob("o.*"))
        assert not list(named.glob(".daskgraphpart-*"))
    for path in named.iterdir():
        if path.name not in before:
            path.unlink()


def stored_ids(pieces: list[np.ndarray], directory: Path) -> StoredRows:
    regions = [create_npy(directory / f"{i}.npy", np.int64, piece.shape) for i, piece in enumerate(pieces)]
    for region, piece in zip(regions, pieces, strict=True):
        region.write(piece, 0)
    return StoredRows("IDs", regions)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 2**32))
@example([400_000, 0, 200_000], 0)  # more than fit into one block
def test_rows_are_reordered_whatever_the_order_inside_parts(counts: list[int], seed: int) -> None:
    rng, how = np.random.default_rng(seed), {"resources": RESOURCES}
    ids, rows = rng.permutation(sum(counts)), rng.random((sum(counts), 2))
    expected = np.empty_like(rows)
    expected[ids] = rows
    with tempfile.TemporaryDirectory() as directory:
        originals = stored_ids(np.split(ids, np.cumsum(counts)[:-1]), Path(directory))
        for given_rows, wanted, to_original in ((rows, expected, True), (expected, rows, False)):
            lazy = da.from_array(given_rows, chunks=(max(4, sum(counts) // 5), 1))
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
        converted, stored = (load_partition(g.config, part_id)[0] for g in (found, everything))
        assert converted.formats() == ("coo",)
        assert stored.formats() == ("coo", "csr", "csc")
        assert converted.num_nodes() == len(converted.nodes())
        for fmt in ("coo", "csr", "csc"):
            for ours, theirs in zip(converted.adj_tensors(fmt), stored.adj_tensors(fmt), strict=True):
                assert torch.equal(ours, theirs)
                assert ours.dtype == torch.int64
        with pytest.raises(OptionError, match="unknown format"):
            stored.adj_tensors("dense")
    node_feats, edge_feats = load_partition_feats(found.config, 0, load_edges=False)
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
    for look_up in (lambda: found.nodes["m"], lambda: found.nodes["n"].data["y"]):
        with pytest.raises(KeyError, match="there are"):
            look_up()
    for error, look_up in (
        (IdOutOfRangeError, lambda: found.edges["f"]),
        (IdOutOfRangeError, lambda: found.to_original("m", [0])),
        (OptionError, lambda: found.to_original("n", np.zeros(49))),
        (OptionError, lambda: found.to_original("n", np.zeros(50), tmp_path / "out.bin")),
        (InputFileNotFoundError, lambda: found.to_original("n", tmp_path / "nothing.npy")),
        *((IdOutOfRangeError, lambda bad=bad: load_partition(found.config, bad)) for bad in (3, -1, "1", 1.0, True)),
        *((IdOutOfRangeError, lambda bad=bad: found.part(bad)) for bad in (99, -1, "1", 1.0, True)),
        (IdOutOfRangeError, lambda: found.num_nodes("m")),
        (IdOutOfRangeError, lambda: found.num_edges("f")),
        (LayoutError, lambda: load_partition(tmp_path, 0)),
    ):
        with pytest.raises(error) as caught:
            look_up()
        assert isinstance(caught.value, GraphPartError)
    assert repr(found.book) == "<PartitionBook: 3 parts, 50 nodes, 200 edges>"
    assert repr(found.part(np.int64(1))).startswith("Part 1 of 3: ")
    assert repr(load_partition(found.config, 1)[3]) == f"<RangePartitionBook of part 1: {found.book!r}>"
    assert repr(IdConverter(found.schema)) == "<IdConverter g: 1 node type, 1 edge type>"
    assert "n: 50 nodes" in repr(found.nodes["n"])
    assert "200 edges" in repr(found.edges["e"])
    assert "float64[50, 3]" in repr(rows)


def test_frames_have_the_part_features_and_original_ids_on_request(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age, weight = rng.random(30), np.arange(90, dtype=np.float32)
    edges = {"u:r:u": (rng.integers(0, 30, 90), rng.integers(0, 30, 90))}
    given = {"node_data": {"u": {"age": age, "wide": rng.random((30, 2))}}, "edge_data": {"u:r:u": {"weight": weight}}}
    parts = partition(from_edges(edges, **given), tmp_path / "out", 3, method="random")
    nodes = parts.nodes["u"].frame("age", part=True, original=True)
    assert nodes.compute().age.tolist() == age[nodes.id.compute()].tolist()
    assert nodes.groupby("part").id.count().compute().tolist() == parts.book.node_counts[:, 0].tolist()
    found = parts.edges["u:r:u"].frame(["weight"], part=True, original=True).compute()
    assert found.weight.tolist() == weight[found.eid].tolist()
    ends = np.stack([end[found.eid] for end in edges["u:r:u"]])
    np.testing.assert_array_equal(ends, [found.src, found.dst])
    owner = nodes.compute().set_index("id").part
    assert found.part.tolist() == owner[found.dst].tolist()
    with pytest.raises(OptionError, match="more than one number") as caught:
        parts.nodes["u"].frame("wide")
    assert caught.value.hint
