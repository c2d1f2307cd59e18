"""`partition_graph`: one engine for every kind of input, DGL's parameters and their meaning, its mistakes."""

from __future__ import annotations

import json
import sysconfig
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from graphs import Graph, file_hashes
from hypothesis import given
from hypothesis import strategies as st
from inside import DispatchOptions
from judges import ROOT, run_in_dgl
from keywords import spelled
from listeners import Listener
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType
from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.errors import AssignmentError, OptionError, OutputExistsError
from daskgraphpart.interop.dgl_api.books import BasicPartitionBook

RNG = np.random.default_rng(1)
N, M = 120, 900
SRC, DST = RNG.integers(0, N, M), RNG.integers(0, N, M)
X, W = RNG.random((N, 2)).astype("f4"), RNG.random(M)
OWNERS = RNG.integers(0, 3, N)
HOMOGENEOUS = Graph(
    GraphSchema("g", (NodeType("_N", N),), (EdgeType("_N", "_E", "_N", M),)),
    {"_N:_E:_N": (SRC, DST)}, {"_N": {"x": X}}, {"_N:_E:_N": {"w": W}},
)  # fmt: skip
HETEROGENEOUS = Graph(
    GraphSchema(
        "h", (NodeType("u", 80), NodeType("v", 40)), (EdgeType("u", "r", "v", 500), EdgeType("v", "s", "u", 300))
    ),
    {
        "u:r:v": (RNG.integers(0, 80, 500), RNG.integers(0, 40, 500)),
        "v:s:u": (RNG.integers(0, 40, 300), RNG.integers(0, 80, 300)),
    },
)


def test_every_kind_of_input_gives_the_bytes_of_the_main_job(tmp_path: Path) -> None:
    directory = HOMOGENEOUS.write(tmp_path / "chunked", num_chunks=2)
    np.save(tmp_path / "_N.npy", OWNERS)
    frame = pd.DataFrame({"src": SRC, "dst": DST, "w": W})
    coo = scipy.sparse.coo_matrix((np.ones(M), (SRC, DST)), shape=(N, N))
    beside: dict[str, Any] = {"node_data": {"x": X}, "num_nodes": N}
    inputs: list[tuple[Any, dict[str, Any]]] = [
        (dgp.read_chunked(directory), {}),
        (directory, {}),
        (frame, beside),
        ({"_N:_E:_N": dd.from_pandas(frame, npartitions=5)}, beside),
        ((torch.from_numpy(SRC), torch.from_numpy(DST)), {**beside, "edge_data": {"w": torch.from_numpy(W)}}),
        (coo, {"node_data": {"_N": {"x": X}}, "edge_data": {("_N", "_E", "_N"): {"w": W}}}),
    ]
    options = DispatchOptions(out_edges=True)
    np.save(tmp_path / "owners.npy", OWNERS)
    owner_directory = tmp_path / "owners"
    owner_directory.mkdir()
    np.save(owner_directory / "_N.npy", OWNERS)
    dgp.dispatch(directory, owner_directory, tmp_path / "expected", num_parts=3, **spelled(options))
    expected = file_hashes(tmp_path / "expected")
    expected.pop("g.manifest.json")  # tells how owners came about
    for number, (g, more) in enumerate(inputs):
        graph = dgp.partition_graph(g, "g", 3, tmp_path / str(number), part_method=OWNERS, **more)
        assert graph.num_parts == 3
        found = file_hashes(tmp_path / str(number))
        found.pop("g.manifest.json")
        assert found == expected
    leftovers = {path.name for path in tmp_path.iterdir()} - {str(i) for i in range(len(inputs))}
    assert leftovers == {"chunked", "_N.npy", "owners.npy", "owners", "expected"}


@given(graphs(), st.integers(1, 4), st.booleans(), st.integers(0, 1000))
def test_the_mapping_says_where_every_node_and_edge_went(
    graph: Graph, num_parts: int, is_tensor: bool, seed: int
) -> None:
    if not graph.edges or not graph.schema.num_nodes:
        return
    with tempfile.TemporaryDirectory() as directory:
        assert_mapping_is_right(graph, num_parts, is_tensor, seed, Path(directory) / "out")


def assert_mapping_is_right(graph: Graph, num_parts: int, is_tensor: bool, seed: int, out: Path) -> None:
    rng = np.random.default_rng(seed)
    owners: Any = {t.name: rng.integers(0, num_parts, t.num_nodes) for t in graph.schema.node_types}
    if is_tensor:
        owners = torch.from_numpy(np.concatenate(list(owners.values())).astype(np.int64))
    counts = {t.name: t.num_nodes for t in graph.schema.node_types}
    maps = dgp.partition_graph(
        graph.edges, "g", num_parts, out, part_method=owners, return_mapping=True, num_nodes=counts,
        node_data=graph.node_data, edge_data={e: d for e, d in graph.edge_data.items() if d},
    )  # fmt: skip
    opened = dgp.open_partitions(out)
    for of_types, types, views in zip(
        maps, (graph.schema.ntypes, graph.schema.etypes), (opened.nodes, opened.edges), strict=True
    ):
        for name in types:
            key = tuple(name.split(":")) if ":" in name else name
            ids = of_types[key] if graph.schema.is_heterogeneous else of_types
            assert ids.dtype == torch.int64
            assert ids.tolist() == views[name].original_ids[:].tolist()
    for ntype, features in graph.node_data.items():
        for name, rows in features.items():
            ids = opened.nodes[ntype].original_ids[:]
            stored = rows.view(np.uint8) if rows.dtype == bool else rows
            assert opened.nodes[ntype].data[name][:].tobytes() == stored[ids].tobytes()


@pytest.mark.parametrize("method", ["auto", "metis", "kaminpar", "multilevel", "fennel", "random"])
def test_all_methods_and_constraints_work(method: str, tmp_path: Path) -> None:
    chunked = HETEROGENEOUS.write(tmp_path / "graph")
    graph = dgp.partition_graph(
        chunked, "renamed", 2, tmp_path / "out", part_method=method, balance_edges=True, num_hops=2
    )
    assert graph.name == "renamed"
    assert graph.config.name == "renamed.json"
    if method != "random":
        for ntype in graph.ntypes:
            sizes = [graph.book.part_range(p, ntype)[1] - graph.book.part_range(p, ntype)[0] for p in range(2)]
            assert max(sizes) <= 1.1 * sum(sizes) / 2 + 1


def test_balance_ntypes_gives_every_part_its_share_of_every_class(tmp_path: Path) -> None:
    chunked = HOMOGENEOUS.write(tmp_path / "homogeneous")
    classes = torch.from_numpy((np.arange(N) % 7 == 0).astype(np.int64) * 5)  # few of one kind
    graph = dgp.partition_graph(chunked, "g", 2, tmp_path / "a", balance_ntypes=classes, balance_edges=True)
    rows = classes.numpy()[graph.nodes["_N"].original_ids[:]]
    start, stop = graph.book.part_range(0, "_N")
    for value in (0, 5):
        assert abs((rows[start:stop] == value).sum() - (rows == value).sum() / 2) <= 0.05 * (rows == value).sum() + 1
    chunked = HETEROGENEOUS.write(tmp_path / "heterogeneous")
    mask = np.arange(80) < 10
    graph = dgp.partition_graph(chunked, "h", 2, tmp_path / "b", balance_ntypes={"u": mask})
    start, stop = graph.book.part_range(0, "u")
    assert 4 <= mask[graph.nodes["u"].original_ids[:][start:stop]].sum() <= 6


def test_trainers_are_kept_as_features(tmp_path: Path) -> None:
    earlier = {"trainer_id": np.full(N, 9)}  # of DGL's own partition_graph, which overwrites it as well
    chunked = replace(HOMOGENEOUS, node_data={"_N": earlier}, edge_data={}).write(tmp_path / "graph")
    graph = dgp.partition_graph(
        chunked, "g", 2, tmp_path / "out", num_trainers_per_machine=2, graph_formats=["csc", "coo"]
    )
    trainers = graph.nodes["_N"].data["trainer_id"][:]
    start, stop = graph.book.part_range(0, "_N")
    assert set(trainers[start:stop].tolist()) == {0, 1}
    assert set(trainers[stop:].tolist()) == {2, 3}
    assert graph.verify(chunked).ok
    assert set(graph.part(0).graph.formats) == {"csc", "coo"}
    assignment = dgp.assign(chunked, 2, method_options={"num_trainers_per_machine": 2})
    again = dgp.partition_graph(chunked, "g", 2, tmp_path / "again", part_method=assignment, num_trainers_per_machine=2)
    assert set(again.nodes["_N"].data["trainer_id"][:].tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("num_parts", [1, 3])
def test_ids_can_be_kept_as_dgl_once_did(num_parts: int, tmp_path: Path) -> None:
    owners = OWNERS % num_parts
    chunked = HOMOGENEOUS.write(tmp_path / "graph")
    kept = dgp.partition_graph(chunked, "g", num_parts, tmp_path / "kept", part_method=owners, reshuffle=False)
    assert kept is None
    usual = dgp.partition_graph(chunked, "g", num_parts, tmp_path / "usual", part_method=owners)
    config = json.loads((tmp_path / "kept" / "g.json").read_text())
    assert config["node_map"] == str(tmp_path / "kept" / "node_map.npy")
    assert np.load(config["node_map"]).tolist() == owners.tolist()
    assert np.load(config["edge_map"]).tolist() == owners[DST].tolist()
    assert np.load(config["edge_map"]).dtype == np.int64
    orig_nids, orig_eids = usual.nodes["_N"].original_ids[:], usual.edges["_N:_E:_N"].original_ids[:]
    for part in range(num_parts):
        local, node_feats, edge_feats, book, name, ntypes, etypes = dgp.load_partition(tmp_path / "kept", part)
        other, *_ = dgp.load_partition(tmp_path / "usual", part)
        assert (name, ntypes, etypes) == ("g", ["_N"], [("_N", "_E", "_N")])
        nids, eids = local.ndata["_ID"].numpy(), local.edata["_ID"].numpy()
        assert nids.tolist() == orig_nids[other.ndata["_ID"].numpy()].tolist()
        assert eids.tolist() == orig_eids[other.edata["_ID"].numpy()].tolist()
        src, dst = (end.numpy() for end in local.edges())
        assert nids[src].tolist() == SRC[eids].tolist()
        assert nids[dst].tolist() == DST[eids].tolist()
        inner_nodes, inner_edges = local.ndata["inner_node"].numpy() == 1, local.edata["inner_edge"].numpy() == 1
        assert np.array_equal(node_feats["_N/x"].numpy(), X[nids[inner_nodes]])
        assert np.array_equal(edge_feats["_N:_E:_N/w"].numpy(), W[eids[inner_edges]])
        assert isinstance(book, BasicPartitionBook)
        assert book.nid2partid(nids).tolist() == owners[nids].tolist()
        assert book.eid2partid(local.edata["_ID"]).tolist() == owners[DST[eids]].tolist()
        assert book.partid2nids(part).tolist() == np.flatnonzero(owners == part).tolist()
        assert book.partid2eids(part).tolist() == np.flatnonzero(owners[DST] == part).tolist()
        assert book.nid2localnid(nids, part).tolist() == list(range(len(nids)))
        assert book.eid2localeid(eids, part).tolist() == list(range(len(eids)))
        assert book.metadata()[part]["num_nodes"] == inner_nodes.sum()
        assert book.num_partitions() == num_parts
        with pytest.raises(GraphPartError, match="out of range"):
            book.nid2partid([N])
        if num_parts > 1:
            absent = np.setdiff1d(np.arange(N), nids)[:1]
            if absent.size:
                with pytest.raises(GraphPartError, match="not in part"):
                    book.nid2localnid(absent, part)
            with pytest.raises(GraphPartError, match="own part"):
                book.nid2localnid(nids, (part + 1) % num_parts)
    with pytest.raises(GraphPartError, match="load_partition"):
        dgp.open_partitions(tmp_path / "kept")
    np.save(tmp_path / "kept" / "node_map.npy", np.full(N, num_parts))
    with pytest.raises(GraphPartError, match="not an array of owners"):
        dgp.load_partition(tmp_path / "kept", 0)
    dgp.partition_graph(chunked, "g", num_parts, tmp_path / "kept", part_method=owners, overwrite=True)
    assert file_hashes(tmp_path / "kept") == file_hashes(tmp_path / "usual")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"part_method": "mtis"}, ("Unknown method 'mtis'", "metis")),
        ({"part_method": OWNERS[:5]}, ("120 integers", "(5,)")),
        ({"part_method": {"_N": OWNERS + 1}}, ("out of range", "0 to 2", "3")),
        ({"part_method": {"n": OWNERS}}, ("unknown node type 'n'", "_N")),
        ({"part_method": {}}, ("No owners for node type '_N'",)),
        ({"part_method": {"_N": OWNERS / 2}}, ("integers", "float64")),
        ({"part_method": OWNERS, "num_trainers_per_machine": 2}, ("num_trainers_per_machine",)),
        ({"num_hops": 0}, ("num_hops", "0")),
        ({"graph_formats": "coco"}, ("formats", "coco")),
        ({"objtype": "size"}, ("size",)),
        ({"balance_ntypes": OWNERS[:3]}, ("balance_ntypes", "120", "(3,)")),
        ({"balance_ntypes": np.arange(N)}, ("balance_ntypes", "too many", "120")),
        ({"balance_ntypes": {"n": OWNERS}}, ("balance_ntypes", "unknown node type", "n")),
        ({"reshuffle": False, "return_mapping": True}, ("return_mapping",)),
        ({"num_nodes": 3}, ("num_nodes", "120", "3")),
    ],
)
def test_mistakes_are_one_error_and_leave_nothing(
    options: dict[str, Any], words: tuple[str, ...], tmp_path: Path
) -> None:
    chunked = HOMOGENEOUS.write(tmp_path / "graph")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(GraphPartError) as caught:
        dgp.partition_graph(chunked, "g", 3, tmp_path / "out", **options)
    for word in words:
        assert word in str(caught.value)
    left = {path.name for path in (tmp_path / "out").iterdir()} if (tmp_path / "out").exists() else set()
    assert left <= {WORKSPACE_NAME}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "out") == before


def test_other_mistakes(tmp_path: Path) -> None:
    chunked = HETEROGENEOUS.write(tmp_path / "graph")
    with pytest.raises(OptionError, match="cannot keep its IDs"):
        dgp.partition_graph(chunked, "h", 2, tmp_path / "out", reshuffle=False)
    with pytest.raises(OptionError, match="several node types"):
        dgp.partition_graph(chunked, "h", 2, tmp_path / "out", balance_ntypes=np.zeros(80, int))
    with pytest.raises(AssignmentError, match="No owners for node type 'v'"):
        dgp.partition_graph(chunked, "h", 2, tmp_path / "out", part_method={"u": np.zeros(80, int)})
    assignment = dgp.assign(chunked, 3, method="random")
    with pytest.raises(OptionError, match="a different number of parts"):
        dgp.partition_graph(chunked, "h", 2, tmp_path / "out", part_method=assignment)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(OutputExistsError, match=r"letter\.txt"):
        dgp.partition_graph(HETEROGENEOUS.edges, "h", 2, tmp_path / "full")


@pytest.mark.dgl
def test_a_graph_of_dgl_itself(tmp_path: Path) -> None:
    # the package runs beside DGL in DGL's environment: what that lacks comes from this one, after its own packages
    paths = [str(ROOT), sysconfig.get_path("purelib")]
    report = run_in_dgl("1.1.3", "partition_dgl_graph.py", json.dumps(paths), tmp_path, cwd=tmp_path)
    assert report == {"dgl": "1.1.3", "compared": 2}


def test_plain_relations_name_edge_types(tmp_path: Path) -> None:
    edges = {etype: np.stack(ends) for etype, ends in HETEROGENEOUS.edges.items()}
    data = {"r": {"w": np.arange(500)}}
    dgp.chunk_graph(edges, "h", None, data, output_path=tmp_path / "h")
    assert dgp.read_chunked(tmp_path / "h").edge_data["u:r:v"]["w"].compute().tolist() == list(range(500))
    dgp.chunk_graph({"follows": (SRC, DST)}, "g", output_path=tmp_path / "g")
    assert dgp.read_chunked(tmp_path / "g").schema.etypes == ("_N:follows:_N",)
    with pytest.raises(OptionError, match="Edge data of an unknown type: expected one of u:r:v, v:s:u, found q"):
        dgp.chunk_graph(edges, "h", None, {"q": data["r"]}, output_path=tmp_path / "q")
    both = {"u:r:v": edges["u:r:v"], "v:r:u": edges["v:s:u"]}
    with pytest.raises(OptionError, match="Several edge types have this name: expected one of u:r:v, v:r:u, found r"):
        dgp.chunk_graph(both, "h", None, data, output_path=tmp_path / "both")


def test_graphbolt_is_a_layout_beside_dgls(tmp_path: Path) -> None:
    ways: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1, "random", None, False, False, 1, "cut", None, True), {}),
        ((), {"part_method": "random", "layout": "dgl,graphbolt"}),
    ]
    for number, (places, named) in enumerate(ways):
        dgp.partition_graph((SRC, DST), "g", 2, tmp_path / str(number), *places, **named)
    assert (tmp_path / "0" / "part1" / "fused_csc_sampling_graph.pt").exists()
    assert file_hashes(tmp_path / "0") == file_hashes(tmp_path / "1")
    stored = {"store_eids": False, "store_inner_node": True, "store_inner_edge": True}  # as DGL's, since 2.2
    dgp.partition_graph((SRC, DST), "g", 2, tmp_path / "stored", 1, "random", use_graphbolt=True, **stored)
    files = [f"part{part}/fused_csc_sampling_graph.pt" for part in range(2)]
    before, after = file_hashes(tmp_path / "0"), file_hashes(tmp_path / "stored")
    assert {name for name in after if after[name] != before[name]} == {"g.manifest.json", *files}
    assert all(b"inner_node" in (tmp_path / "stored" / file).read_bytes() for file in files)


def test_metis_tells_what_auto_would_take_on_a_large_graph(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for times in (1, 1 + (1 << 21) // SRC.size):  # more than two million edges, most of them parallel
        edges = np.tile(SRC, times), np.tile(DST, times)
        dgp.partition_graph(edges, "g", 2, tmp_path / str(times), part_method="metis")
    (told,) = [record.getMessage() for record in caplog.records if "'auto' would" in record.getMessage()]
    assert told.startswith("part_method: METIS partitions the whole graph in about")


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ({"method": "random"}, {"bucket-edges"}),
        (
            {"method": "metis", "method_options": {"num_trainers_per_machine": 2}},
            {"split-edges", "trainers-of-edges", "bucket-edges"},
        ),
        ({"method": "fennel", "edge_weight": "w"}, {"split-edges", "measure-cut", "bucket-edges"}),
    ],
)
def test_lines_of_text_are_counted_once_a_job(options: dict[str, Any], others: set[str], tmp_path: Path) -> None:
    directory = HOMOGENEOUS.write(tmp_path / "chunked", num_chunks=2, edge_format="csv")
    dgp.partition(directory, tmp_path / "parts", 2, progress=(of_parts := Listener()), **options)
    dgp.assign(directory, 2, progress=(of_owners := Listener()), **options)
    assert others <= set(of_parts.begun)
    assert [of.begun.count("scan-edges") for of in (of_parts, of_owners)] == [1, 1]
