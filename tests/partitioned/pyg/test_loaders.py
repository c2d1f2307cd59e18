"""Batches of the loaders: their edges are the graph's, rows of features follow, and no thread changes them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from chi_square import chance
from graphs import Graph, load_real_graph
from inside import DispatchOptions
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType
from daskgraphpart.errors import IdOutOfRangeError, LayoutError, MissingPackageError, OptionError
from daskgraphpart.layouts.dgl_graph import read_graph_file
from daskgraphpart.partitioned.sampling.part_columns import sort_edges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def small() -> Graph:
    """Two node types, edge types without edges, hubs, features of several dtypes, masks, edge features."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 400), EdgeType("v", "s", "u", 300), EdgeType("u", "t", "u", 0))
    schema = GraphSchema("g", (NodeType("u", 40), NodeType("v", 30)), types)
    nodes = {
        "u": {"x": rng.random((40, 3)).astype("f4"), "train_mask": rng.random(40) < 0.5},
        "v": {"y": np.arange(30), "none": np.empty((30, 0), "f4"), "h": rng.random((30, 2, 2)).astype("f2")},
    }
    sizes = {"u": 40, "v": 30}
    edges = {
        t.name: tuple((rng.random(t.num_edges) ** 2 * sizes[end]).astype(int) for end in (t.src, t.dst)) for t in types
    }
    return Graph(schema, edges, nodes, {"u:r:v": {"weight": rng.random(400)}})  # type: ignore[arg-type]


GRAPHS: dict[str, Callable[[], Graph]] = {"small": small, "cora": lambda: load_real_graph("cora")}
OPTIONS = {
    "coo": DispatchOptions(num_hops=2, out_edges=True),
    "csc": DispatchOptions(num_hops=2, graph_formats=("csc",)),
    "csr": DispatchOptions(graph_formats=("csr",)),
}


@pytest.fixture(scope="module", params=[*((g, f) for g in GRAPHS for f in OPTIONS)], ids="-".join)
def made(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, dgp.PartitionedGraph]:
    """A graph, and its partitions."""
    graph, root = GRAPHS[request.param[0]](), tmp_path_factory.mktemp("loaders")
    how: Any = {"method": "random", **spelled(OPTIONS[request.param[1]])}
    return graph, dgp.open_partitions(dgp.partition(graph.write(root / "in"), root / "out", 4, **how).config)


@pytest.fixture(scope="module")
def two_types(tmp_path_factory: pytest.TempPathFactory) -> dgp.PartitionedGraph:
    """Partitions of the small graph."""
    root = tmp_path_factory.mktemp("two-types")
    return dgp.open_partitions(dgp.partition(small().write(root / "in"), root / "out", 3, method="random").config)


@pytest.fixture
def one_type(tmp_path: Path) -> dgp.PartitionedGraph:
    """Partitions of a homogeneous graph, which a test may damage."""
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    data = {"feat": np.arange(60.0), "train_mask": np.arange(60) % 3 == 0}
    return dgp.partition_graph((src, dst), "g", 3, tmp_path / "out", part_method="random", node_data=data)


def stores(parts: dgp.PartitionedGraph, batch: Any) -> dict[str, Any]:
    """Attributes of each type of a batch."""
    if len(parts.ntypes) == len(parts.etypes) == 1:
        return {parts.ntypes[0]: batch, parts.etypes[0]: batch}
    return {ntype: batch[ntype] for ntype in parts.ntypes} | {e: batch[tuple(e.split(":"))] for e in parts.etypes}


def assert_batch_is_of_the_graph(graph: Graph, parts: dgp.PartitionedGraph, batch: Any) -> None:
    of, orig_nids = stores(parts, batch), {}
    for ntype in parts.ntypes:
        orig_nids[ntype] = parts.nodes[ntype].original_ids[of[ntype]["n_id"].numpy()]
        assert of[ntype]["num_nodes"] == len(orig_nids[ntype]) == sum(of[ntype]["num_sampled_nodes"])
        for name, rows in graph.node_data.get(ntype, {}).items():
            np.testing.assert_array_equal(of[ntype][name].numpy(), rows[orig_nids[ntype]])
            assert (of[ntype][name].dtype == torch.bool) == (rows.dtype == bool)
    for etype in parts.etypes:
        src, _, dst = etype.split(":")
        rows, cols = of[etype]["edge_index"].numpy()
        orig_eids = parts.edges[etype].original_ids[of[etype]["e_id"].numpy()]
        assert len(orig_eids) == sum(of[etype]["num_sampled_edges"])
        assert np.array_equal(orig_nids[src][rows], graph.edges[etype][0][orig_eids])
        assert np.array_equal(orig_nids[dst][cols], graph.edges[etype][1][orig_eids])
        assert len(set(orig_eids.tolist())) == len(orig_eids)
        for name, data in graph.edge_data.get(etype, {}).items():
            np.testing.assert_array_equal(of[etype][name].numpy(), data[orig_eids])


@pytest.mark.real
def test_batches_are_of_the_graph(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    ntype = parts.ntypes[0]
    count, seen = parts.num_nodes(ntype), []
    loader = parts.neighbor_loader([3, 2], (ntype, None), batch_size=count // 3, shuffle=True)
    for batch in loader:
        assert_batch_is_of_the_graph(graph, parts, batch)
        store = stores(parts, batch)[ntype]
        seen += store["n_id"][: store["batch_size"]].tolist()
        assert store["num_sampled_nodes"][0] == store["batch_size"]
        assert store["input_id"].tolist() == store["n_id"][: store["batch_size"]].tolist()
    assert len(loader) == 4
    assert sorted(seen) == [*range(count)] != seen


@pytest.mark.real
def test_all_neighbours_are_the_whole_neighbourhood(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    ntype = parts.ntypes[0]
    orig = parts.nodes[ntype].original_ids[:20]
    (batch,) = parts.neighbor_loader([-1, -1], (ntype, np.arange(20)), batch_size=20)
    nodes = {name: np.unique(orig) if name == ntype else np.zeros(0, int) for name in parts.ntypes}
    for _ in range(2):
        found = {name: [ids] for name, ids in nodes.items()}
        for etype, (src, dst) in graph.edges.items():
            begin, _, end = etype.split(":")
            found[begin].append(src[np.isin(dst, nodes[end])])
        nodes = {name: np.unique(np.concatenate(ids)) for name, ids in found.items()}
    of = stores(parts, batch)
    for name, ids in nodes.items():
        assert np.sort(parts.nodes[name].original_ids[of[name]["n_id"].numpy()]).tolist() == ids.tolist()


@pytest.mark.real
def test_batches_of_a_part_are_those_of_its_edges(made: tuple[Graph, dgp.PartitionedGraph]) -> None:
    graph, parts = made
    part, ntype = parts.part(1), parts.ntypes[0]
    held = set(part.graph.edge_arrays["_ID"].read().tolist())
    loader = part.neighbor_loader([-1, -1], ntype if len(parts.ntypes) > 1 else None, batch_size=7)
    seen: list[int] = []
    for batch in loader:
        assert_batch_is_of_the_graph(graph, parts, batch)
        of = stores(parts, batch)
        seen += of[ntype]["n_id"][: of[ntype]["batch_size"]].tolist()
        for etype in parts.etypes:
            assert set(parts.book.map_to_homo_eid(of[etype]["e_id"].numpy(), etype).tolist()) <= held
    assert seen == [*range(*parts.book.part_range(1, ntype))]


def as_lists(batch: Any) -> list[Any]:
    """A batch as something that can be compared."""
    return [
        (key, value.tolist() if torch.is_tensor(value) else value)
        for store in batch.stores
        for key, value in store.items()
    ]


@pytest.mark.parametrize("kind", ["neighbor_loader", "link_neighbor_loader"])
def test_threads_change_no_batch(kind: str, two_types: dgp.PartitionedGraph) -> None:
    seeds: Any = "u" if kind == "neighbor_loader" else "u:r:v"
    how: Any = {} if kind == "neighbor_loader" else {"neg_sampling": "binary"}
    found = []
    for workers in (0, 1, 4):
        loader = getattr(two_types, kind)([2, 2], seeds, batch_size=7, shuffle=True, num_workers=workers, seed=3, **how)
        found.append([as_lists(batch) for _ in range(2) for batch in loader])
    assert found[0] == found[1] == found[2]
    assert len(found[0]) % 2 == 0
    assert found[0][: len(found[0]) // 2] != found[0][len(found[0]) // 2 :]


def test_a_loader_that_is_left_ends_its_threads(two_types: dgp.PartitionedGraph) -> None:
    import threading

    before = threading.active_count()
    loader = two_types.neighbor_loader([2], "u", batch_size=1, num_workers=2)
    batches = iter(loader)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
    assert loader.epoch == 1


def test_an_epoch_can_be_taken_up_again(two_types: dgp.PartitionedGraph) -> None:
    loaders = [two_types.neighbor_loader([2], "u", batch_size=9, shuffle=True) for _ in range(2)]
    first, second = ([as_lists(batch) for batch in loaders[0]] for _ in range(2))
    loaders[1].epoch = 1
    assert first != second == [as_lists(batch) for batch in loaders[1]]


@pytest.mark.parametrize("given", ["mask", "tensor", "IDs", "list", "name", "dask"])
def test_seeds_are_a_mask_or_ids_or_the_name_of_a_mask(given: str, two_types: dgp.PartitionedGraph) -> None:
    mask = two_types.node_data["u"]["train_mask"].astype(bool)
    ids = np.flatnonzero(mask.compute())
    seeds: Any = {
        "mask": mask.compute(), "tensor": torch.from_numpy(mask.compute()), "IDs": torch.from_numpy(ids),
        "list": ids.tolist(), "name": "train_mask", "dask": mask,
    }[given]  # fmt: skip
    (batch,) = two_types.neighbor_loader([1], ("u", seeds), batch_size=100)
    assert batch["u"].n_id[: batch["u"].batch_size].tolist() == ids.tolist()
    expected = range(len(ids)) if given in ("IDs", "list") else ids
    assert batch["u"].input_id.tolist() == [*expected]
    assert bool(batch["u"].train_mask[: len(ids)].all())
    part = two_types.part(0)
    first, stop = two_types.book.part_range(0, "u")
    own = ids[(ids >= first) & (ids < stop)].tolist()
    (of_part,) = part.neighbor_loader([1], ("u", own if given in ("IDs", "list") else seeds), batch_size=100)
    assert of_part["u"].n_id[: of_part["u"].batch_size].tolist() == own


def test_seeds_may_come_twice(two_types: dgp.PartitionedGraph) -> None:
    (batch,) = two_types.neighbor_loader([-1], ("u", [3, 5, 3]), batch_size=9)
    assert batch["u"].n_id[:3].tolist() == [3, 5, 3]
    assert batch["u"].batch_size == 3


def test_batches_may_be_whole_only_changed_and_with_some_features(two_types: dgp.PartitionedGraph) -> None:
    how: Any = {"batch_size": 30, "drop_last": True, "node_data": ["u/x"], "edge_data": []}
    loader = two_types.neighbor_loader([1], "u", transform=lambda batch: (batch, 1), **how)
    assert len(loader) == 1
    ((batch, one),) = loader
    assert one == 1
    assert "x" in batch["u"]
    assert "train_mask" not in batch["u"]
    assert "weight" not in batch["u", "r", "v"]


def test_fanouts_of_types_may_differ(two_types: dgp.PartitionedGraph) -> None:
    fanouts = {("u", "r", "v"): [0, 3], "s": [2, 0], "u:t:u": [0, 0]}
    (batch,) = two_types.neighbor_loader(fanouts, "u", batch_size=40)
    assert batch["u", "r", "v"].num_sampled_edges[0] == batch["v", "s", "u"].num_sampled_edges[1] == 0
    assert batch["v", "s", "u"].num_sampled_edges[0] > 0
    assert torch.bincount(batch["v", "s", "u"].edge_index[1]).max() == 2
    assert torch.bincount(batch["u", "r", "v"].edge_index[1]).max() == 3


@pytest.mark.parametrize("negative", [None, "binary", ("binary", 1.5), "triplet", ("triplet", 3)])
@pytest.mark.parametrize("etype", ["u:r:v", "_N:_E:_N"])
def test_edges_are_seeds_with_negatives(
    negative: Any, etype: str, two_types: dgp.PartitionedGraph, one_type: dgp.PartitionedGraph
) -> None:
    parts = two_types if etype == "u:r:v" else one_type
    src, _, dst = etype.split(":")
    ends = parts.edges[etype].frame().compute().to_numpy().T
    loader = parts.link_neighbor_loader([2, 1], etype, neg_sampling=negative, batch_size=50, shuffle=True)
    seen: list[int] = []
    for batch in loader:
        of = stores(parts, batch)
        ids = of[etype]["input_id"].numpy()
        seen += ids.tolist()
        of_src, of_dst = of[src]["n_id"].numpy(), of[dst]["n_id"].numpy()
        if isinstance(negative, str | tuple) and "triplet" in negative:
            amount = 1 if negative == "triplet" else 3
            assert np.array_equal(of_src[of[src]["src_index"]], ends[0][ids])
            assert np.array_equal(of_dst[of[dst]["dst_pos_index"]], ends[1][ids])
            assert of[dst]["dst_neg_index"].shape == ((len(ids),) if amount == 1 else (len(ids), amount))
            assert of[dst]["dst_neg_index"].max() < len(of_dst)
            continue
        rows, cols = of[etype]["edge_label_index"].numpy()
        assert np.array_equal(of_src[rows[: len(ids)]], ends[0][ids])
        assert np.array_equal(of_dst[cols[: len(ids)]], ends[1][ids])
        num_negative = 0 if negative is None else -(-len(ids) * 3 // 2) if isinstance(negative, tuple) else len(ids)
        assert len(rows) == len(ids) + num_negative
        assert ("edge_label" in of[etype]) == (negative is not None)
        if negative is not None:
            assert of[etype]["edge_label"].tolist() == [1.0] * len(ids) + [0.0] * num_negative
    assert sorted(seen) == [*range(parts.num_edges(etype))]


def test_edges_are_given_as_pairs_ids_or_a_mask(two_types: dgp.PartitionedGraph) -> None:
    ends = two_types.edges["u:r:v"].frame().compute().to_numpy().T
    ids = np.array([7, 3, 300])
    labels = torch.tensor([0, 2, 1])
    for given in (ends[:, ids], torch.from_numpy(ids)):
        how: Any = {"neg_sampling": "binary", "batch_size": 3}
        (batch,) = two_types.link_neighbor_loader([1], (("u", "r", "v"), given), labels, **how)
        store = batch["u", "r", "v"]
        assert store.edge_label.tolist() == [1, 3, 2, 0, 0, 0]
        assert np.array_equal(batch["v"].n_id[store.edge_label_index[1, :3]].numpy(), ends[1][ids])
        assert store.input_id.tolist() == [0, 1, 2]
    mask = np.zeros(400, bool)
    mask[ids] = True
    (batch,) = two_types.link_neighbor_loader([1], ("r", mask), labels, batch_size=3)
    assert batch["u", "r", "v"].input_id.tolist() == [3, 7, 300]
    assert batch["u", "r", "v"].edge_label.tolist() == [0, 2, 1]
    first, stop = two_types.book.part_range(1, "u:r:v")
    batches = [*two_types.part(1).link_neighbor_loader([1], "r", neg_sampling="binary", batch_size=50)]
    assert [i for batch in batches for i in batch["u", "r", "v"].input_id.tolist()] == [*range(first, stop)]


def test_negatives_are_drawn_evenly(one_type: dgp.PartitionedGraph) -> None:
    counts = np.zeros(60, int)
    loader = one_type.link_neighbor_loader([0], neg_sampling=("triplet", 10), batch_size=600)
    for _ in range(10):
        (batch,) = loader
        counts += np.bincount(batch.n_id[batch.dst_neg_index].numpy().reshape(-1), minlength=60)
    assert chance(counts) > 0.001


@pytest.mark.parametrize(
    ("arguments", "kind", "place", "words"),
    [
        (([2], None), OptionError, "input_nodes", "u, v"),
        (([2], ("w", [1])), OptionError, "input_nodes", "Choose from u, v."),
        (([2], ("u", "val_mask")), OptionError, "input_nodes", "train_mask"),
        (([2], ("u", [1, 40])), IdOutOfRangeError, "input_nodes", "40"),
        (([2], ("u", [-1])), IdOutOfRangeError, "input_nodes", "-1"),
        (([2], ("u", [0.5])), IdOutOfRangeError, "input_nodes", "float64"),
        (([2], ("u", np.ones(39, bool))), OptionError, "input_nodes", "39"),
        (([2], ("u", [[1, 2]])), OptionError, "input_nodes", "(1, 2)"),
        (([], "u"), OptionError, "num_neighbors", "[]"),
        ((5, "u"), OptionError, "num_neighbors", "5"),
        (([2, -2], "u"), OptionError, "num_neighbors, u:r:v", "-2"),
        (([2.5], "u"), OptionError, "num_neighbors, u:r:v", "2.5"),
        (([2**63], "u"), OptionError, "num_neighbors, u:r:v", "9223372036854775808"),
        (({"r": [1], "s": [1]}, "u"), OptionError, "num_neighbors", "u:t:u"),
        (({"r": [1], "s": [1, 2], "t": [1]}, "u"), OptionError, "num_neighbors", "v:s:u: [1, 2]"),
        (({"r": [1], "s": [1], "nope": [1]}, "u"), IdOutOfRangeError, "num_neighbors", "nope"),
        (({("u", "x", "u"): [1], "r": [1]}, "u"), IdOutOfRangeError, "num_neighbors", "u:x:u"),
        (({"r": [1], "s": [1], 3: [1]}, "u"), IdOutOfRangeError, "num_neighbors", "there is no edge type '3'"),
        (({"r": [1], "s": [1], "t": [1], ("u", "r", "v"): [2]}, "u"), OptionError, "num_neighbors", "twice"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_error(
    arguments: Any, kind: type[GraphPartError], place: str | None, words: str, two_types: dgp.PartitionedGraph
) -> None:
    with pytest.raises(kind) as caught:
        two_types.neighbor_loader(*arguments)
    assert caught.value.place == place
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"batch_size": 0}, "batch_size"), ({"num_workers": -1}, "num_workers"), ({"batch_size": True}, "batch_size"),
        ({"prefetch_factor": 0}, "prefetch_factor"), ({"seed": -1}, "seed"), ({"seed": 1.5}, "seed"),
        ({"shuffle": "no"}, "shuffle"), ({"replace": 1}, "replace"), ({"transform": 3}, "transform"),
        ({"subgraph_type": "induced"}, "subgraph_type"), ({"node_data": ["nope"]}, "node_data"),
        ({"edge_data": "weight"}, "edge_data"),
    ],
)  # fmt: skip
def test_bad_options_are_one_error(options: Any, place: str, two_types: dgp.PartitionedGraph) -> None:
    with pytest.raises(OptionError) as caught:
        two_types.neighbor_loader([1], "u", **options)
    assert str(caught.value).startswith(place)


def test_types_of_batches_name_fanouts_and_counts(two_types: dgp.PartitionedGraph) -> None:
    of_types = {etype: [2] for etype in two_types.canonical_etypes}
    (batch,) = two_types.neighbor_loader(of_types, "u", batch_size=np.int64(40), shuffle=np.False_)
    assert [*of_types] == batch.edge_types
    assert [two_types.num_edges(etype) for etype in of_types] == [400, 300, 0] == [*map(two_types.num_edges, "rst")]


@pytest.mark.parametrize(
    ("arguments", "options", "place"),
    [
        ((None,), {}, "edge_label_index"),
        (("nope",), {}, "edge_label_index"),
        ((("r", np.zeros((3, 2), int)),), {}, "edge_label_index"),
        ((("r", np.array([[0], [30]])),), {}, "edge_label_index"),
        ((("r", [400]),), {}, "edge_label_index"),
        ((("r", np.ones(7, bool)),), {}, "edge_label_index"),
        (("r", torch.ones(7)), {}, "edge_label"),
        (("r", torch.ones(400)), {"neg_sampling": "triplet"}, "edge_label"),
        (("r",), {"neg_sampling": "nope"}, "neg_sampling"),
        (("r",), {"neg_sampling": ("triplet", 1, torch.ones(40))}, "neg_sampling"),
    ],
)
def test_bad_arguments_of_edges_are_one_error(
    arguments: Any, options: Any, place: str, two_types: dgp.PartitionedGraph
) -> None:
    with pytest.raises((OptionError, IdOutOfRangeError)) as caught:
        two_types.link_neighbor_loader([1], *arguments, **options)
    assert caught.value.place == place


def test_nodes_of_other_parts_are_no_seeds_of_a_part(one_type: dgp.PartitionedGraph) -> None:
    first, _ = one_type.book.part_range(1, "_N")
    with pytest.raises(OptionError, match="not owned by the part") as caught:
        one_type.part(1).neighbor_loader([1], [first - 1])
    assert caught.value.place == "input_nodes"


@pytest.mark.parametrize("name", ["part1/graph.dgl", "part0/node_feat.dgl", "g.json"])
@pytest.mark.parametrize("what", ["touched", "gone"])
def test_partitions_whose_files_changed_are_refused(name: str, what: str, one_type: dgp.PartitionedGraph) -> None:
    parts = dgp.open_partitions(one_type.config)
    loader, path = parts.neighbor_loader([1], "train_mask"), one_type.config.parent / name
    assert len([*loader]) == 20
    if what == "touched":
        os.utime(path, ns=(0, 0))
    else:
        path.unlink()
    with pytest.raises(LayoutError) as caught:
        iter(loader)
    assert caught.value.file == str(path)
    assert caught.value.hint
    if name == "g.json":
        with pytest.raises(LayoutError):
            parts.neighbor_loader([1], "train_mask")


@pytest.mark.parametrize(("array", "value"), [("indices", 10**9), ("indices", -1), ("data", 10**9), ("indptr", -5)])
def test_damaged_parts_are_one_error(array: str, value: int, tmp_path: Path) -> None:
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    parts = dgp.partition_graph((src, dst), "g", 2, tmp_path / "out", part_method="random", graph_formats="csc")
    region = parts.part(1).graph.formats["csc"][array]
    region.write(np.full(region.num_rows, value), 0)
    with pytest.raises(LayoutError) as caught:
        _ = [*dgp.open_partitions(tmp_path / "out").neighbor_loader([2], batch_size=10)]
    assert caught.value.file == str(region.path)


def test_edges_that_end_outside_the_part_are_one_error(one_type: dgp.PartitionedGraph) -> None:
    one_type.part(1).graph.formats["coo"]["col"].write(np.array([10**9]), 4)
    with pytest.raises(LayoutError, match="local edge 4"):
        dgp.open_partitions(one_type.config).neighbor_loader([2])


def test_ends_of_edges_need_coo(tmp_path: Path) -> None:
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    parts = dgp.partition_graph((src, dst), "g", 2, tmp_path / "out", part_method="random", graph_formats="csc")
    with pytest.raises(LayoutError, match="graph format coo"):
        parts.link_neighbor_loader([1])
    (batch,) = parts.link_neighbor_loader([1], np.array([[1, 2], [3, 4]]), batch_size=2)
    assert batch.n_id[batch.edge_label_index].tolist() == [[1, 2], [3, 4]]


def test_features_with_names_of_attributes_are_refused_or_left_out(tmp_path: Path) -> None:
    edges = (np.array([0, 1]), np.array([1, 0]))
    parts = dgp.partition_graph(edges, "g", 1, tmp_path / "out", part_method="random", node_data={"n_id": np.arange(2)})
    with pytest.raises(LayoutError, match="is taken"):
        parts.neighbor_loader([1])
    assert len([*parts.neighbor_loader([1], node_data=[])]) == 2


def test_pyg_that_is_not_installed_is_one_error(
    one_type: dgp.PartitionedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    for call in (one_type.neighbor_loader, one_type.link_neighbor_loader):
        with pytest.raises(MissingPackageError, match="torch_geometric is not installed"):
            call([1])


def test_edges_are_sorted_whatever_fits_into_memory(made: tuple[Graph, dgp.PartitionedGraph], tmp_path: Path) -> None:
    _, parts = made
    graph = read_graph_file(parts.part(0).graph_path)
    whole = [region.read() for region in sort_edges(graph, str(tmp_path)).values()]
    src, dst = graph.ends(0, graph.num_edges)
    order = np.argsort(dst, kind="stable")
    assert whole[0].tolist() == np.searchsorted(dst[order], np.arange(graph.num_nodes + 1)).tolist()
    assert [whole[1].tolist(), whole[2].tolist()] == [src[order].tolist(), order.tolist()]
    for max_nbytes in (1, 1000):
        for region, expected in zip(sort_edges(graph, str(tmp_path), max_nbytes).values(), whole, strict=True):
            assert np.array_equal(region.read(), expected)
