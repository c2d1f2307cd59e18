"""Tables straight into a job: the parts of the road by a chunked graph, continued after a kill, verified, reordered."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from commands import call
from edge_lists import chunk_edge_lists
from graphs import REAL_GRAPHS, file_hashes, load_real_graph
from inside import Resources
from keywords import spelled
from listeners import Listener, Stopped
from pyarrow import csv, parquet

import daskgraphpart as dgp
from daskgraphpart import read_id_map
from daskgraphpart.errors import InputFileError, OptionError, OutputExistsError, ResumeError
from daskgraphpart.readers.tables.scan_tables import described_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphs import Graph


RESOURCES = Resources(1 << 28, "sync")
RANDOM = "random"
BESIDE = ("id_map/", "categories/", "graph.manifest.json")


def parts_of(directory: Path) -> dict[str, str]:
    """Hashes of all files but the maps of IDs, and the manifest, which says where these are."""
    return {name: found for name, found in file_hashes(directory).items() if not name.startswith(BESIDE)}


def write_tables(graph: Graph, directory: Path, *, names: bool) -> dict[str, Any]:
    """Write a graph as tables: edges by number, or by string IDs with lists of nodes; features by ID, and in order."""

    def ids(ntype: str, numbers: np.ndarray) -> Any:
        return [f"{ntype}-{number}" for number in numbers.tolist()] if names else numbers

    edges: dict[str, str] = {}
    for i, edge_type in enumerate(graph.schema.edge_types):
        src, dst = graph.edges[edge_type.name]
        table = pa.table({"src": ids(edge_type.src, src), "dst": ids(edge_type.dst, dst)})
        edges[edge_type.name] = str(directory / f"edges-{i}.csv")
        csv.write_csv(table, edges[edge_type.name])
    tables: dict[str, Any] = {"edges": edges}
    if not names:
        data: dict[str, dict[str, str]] = {}
        for of_type, features in graph.node_data.items():
            for j, (name, rows) in enumerate(features.items()):
                data.setdefault(of_type, {})[name] = str(directory / f"{of_type}-{j}.npy")
                np.save(data[of_type][name], rows)
        return {**tables, "num_nodes": {t.name: t.num_nodes for t in graph.schema.node_types}, "node_data": data}
    nodes, rng = {}, np.random.default_rng(0)
    for node_type in graph.schema.node_types:
        order = rng.permutation(node_type.num_nodes)
        nodes[node_type.name] = str(directory / f"{node_type.name}.parquet")
        table = pa.table({"id": ids(node_type.name, order), "x": rng.random(order.size), "kind": order % 3})
        parquet.write_table(table, nodes[node_type.name])
    features = {ntype: {"x": f"{path}:x", "kind": f"{path}:kind"} for ntype, path in nodes.items()}
    return {**tables, "nodes": nodes, "node_data": features, "map_ids": True}


def by_both_roads(tables: Mapping[str, Any], directory: Path, num_parts: int, **how: Any) -> dgp.Graph:
    """Partition tables straight, and by way of a chunked graph; the parts have to be the same."""
    spec = described_tables(tables)
    chunk_edge_lists(directory / "graph", **tables, **spelled(RESOURCES))
    for source, out in ((directory / "graph", "chunked"), (spec, "straight")):
        dgp.partition(source, directory / out, num_parts, **spelled(RESOURCES), **how)
    assert parts_of(directory / "straight") == parts_of(directory / "chunked")
    return spec


@pytest.mark.real
@pytest.mark.parametrize("names", [False, True], ids=["dense", "names"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("cora", "dblp_hetero", "musae_github") else pytest.mark.long)
        for name in REAL_GRAPHS
    ],
)
def test_the_parts_of_real_graphs_are_the_same_by_both_roads(name: str, names: bool, tmp_path: Path) -> None:
    tables = write_tables(load_real_graph(name), tmp_path, names=names)
    spec = by_both_roads(tables, tmp_path, 3, method=RANDOM)
    report = dgp.verify(spec, tmp_path / "straight", **spelled(RESOURCES))
    assert report.ok, report
    how: dict[str, Any] = {"method": RANDOM, **spelled(RESOURCES)}
    given: Any = frames_of(tables) if names else arrays_of(load_real_graph(name))
    dgp.partition(given, tmp_path / "objects", 3, **how)
    assert parts_of(tmp_path / "objects") == parts_of(tmp_path / "straight")


def arrays_of(graph: Graph) -> dgp.Graph:
    """A graph of arrays in memory, its types in the order that tables give them."""
    counts = {t.name: t.num_nodes for t in sorted(graph.schema.node_types, key=lambda t: t.name)}
    edges = dict(sorted(graph.edges.items()))
    return dgp.from_edges(edges, num_nodes=counts, node_data=graph.node_data)


def frames_of(tables: Mapping[str, Any]) -> dgp.Graph:
    """The same tables in frames: those of edges of dask, those of nodes of pandas."""
    edges = {etype: dd.read_csv(path, blocksize="64kB") for etype, path in tables["edges"].items()}
    nodes = {ntype: pd.read_parquet(path) for ntype, path in tables["nodes"].items()}
    return dgp.scan_tables(edges, nodes=nodes, map_ids=True)


def small_tables(directory: Path) -> dict[str, Any]:
    """Edges of two types by string IDs, with columns, and a table of users with categories."""
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 40, 300), rng.integers(0, 25, 300)
    follows = pa.table({"src": [f"u{i}" for i in users], "dst": [f"u{i}" for i in users[::-1]]})
    csv.write_csv(follows, directory / "follows.csv")
    buys = pa.table({"src": [f"u{i}" for i in users], "dst": items, "price": rng.random(300)})
    parquet.write_table(buys, directory / "buys.parquet")
    kinds = rng.choice(["DE", "NL", "US"], 40).tolist()
    listed = pa.table({"id": [f"u{i}" for i in range(40)], "age": rng.integers(0, 99, 40), "country": kinds})
    (directory / "users.csv.gz").write_bytes(gzip.compress(_text(listed)))
    path = str(directory / "users.csv.gz")
    return {
        "edges": {"user:follows:user": str(directory / "follows.csv"), "user:buys:item": f"{directory}/buys.parquet"},
        "nodes": {"user": path},
        "node_data": {"user": {"age": f"{path}:age", "country": f"{path}:country"}},
        "edge_data": {"user:buys:item": {"price": f"{directory}/buys.parquet:price"}},
        "map_ids": True,
    }


def _text(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(
    "changes",
    [
        {"add_reverse": "dgl", "copy_edge_data": True},
        {"deduplicate": True, "remove_self_loops": True},
        {"cast": ("age=float32",)},
    ],
    ids=["reverse", "left out", "cast"],
)
def test_changed_tables_give_the_same_parts_by_both_roads(changes: dict[str, Any], tmp_path: Path) -> None:
    tables = {**small_tables(tmp_path), **changes}
    how = {"method": "metis", "num_hops": 2, "layout": ("dgl", "ranks")}
    spec = by_both_roads(tables, tmp_path, 2, **how)
    assert dgp.verify(spec, tmp_path / "straight", **spelled(RESOURCES)).ok


@pytest.mark.parametrize("stop_at", ["map-ids", "write-owners", "bucket-edges", "place-rows", "hash-files"])
def test_a_job_from_tables_continues_where_it_was_stopped(stop_at: str, tmp_path: Path) -> None:
    spec, out = dgp.scan_tables(**small_tables(tmp_path)), tmp_path / "straight"
    how: dict[str, Any] = {"method": "fennel", **spelled(RESOURCES)}
    dgp.partition(spec, tmp_path / "whole", 2, **how)
    with pytest.raises(Stopped):
        dgp.partition(spec, out, 2, progress=Listener(stop_at), **how)
    assert not (out / "graph.json").exists()
    listener = Listener()
    dgp.partition(spec, out, 2, progress=listener, **how)
    assert ("read-edges" in listener.begun) == (stop_at == "map-ids"), "staged tables are not read again"
    assert file_hashes(out) == file_hashes(tmp_path / "whole")


def test_a_table_that_changes_before_its_job_is_continued_is_refused(tmp_path: Path) -> None:
    spec, out = dgp.scan_tables(**small_tables(tmp_path)), tmp_path / "straight"
    with pytest.raises(Stopped):
        dgp.partition(spec, out, 2, method=RANDOM, **spelled(RESOURCES), progress=Listener("bucket-edges"))
    with (tmp_path / "follows.csv").open("a") as file:
        file.write("u1,u2\n")
    with pytest.raises(ResumeError) as caught:
        dgp.partition(spec, out, 2, method=RANDOM, **spelled(RESOURCES))
    assert "follows.csv" in str(caught.value.place)
    assert caught.value.hint


def test_other_options_of_tables_do_not_continue_a_job(tmp_path: Path) -> None:
    tables, out = small_tables(tmp_path), tmp_path / "straight"
    how: dict[str, Any] = {"method": RANDOM, **spelled(RESOURCES)}
    with pytest.raises(Stopped):
        dgp.partition(dgp.scan_tables(**tables), out, 2, progress=Listener("bucket-edges"), **how)
    with pytest.raises(ResumeError) as caught:
        dgp.partition(dgp.scan_tables(**tables, unknown_nodes="drop"), out, 2, **how)
    assert caught.value.option == "unknown_nodes"


def test_the_maps_of_ids_lie_beside_the_partitions_and_are_found(tmp_path: Path) -> None:
    spec, out = dgp.scan_tables(**small_tables(tmp_path)), tmp_path / "parts"
    dgp.partition(spec, out, 3, method=RANDOM, **spelled(RESOURCES))
    users = read_id_map(out, "user")["id"].compute(scheduler="sync")
    assert list(users) == sorted(f"u{i}" for i in range(40))
    assert [path.name for path in (out / "categories" / "user").iterdir()] == ["country.parquet"]
    parts = dgp.open_partitions(out)
    ages = parts.node_data["user"]["age"].compute(scheduler="sync")
    parts.to_original("user", ages, tmp_path / "ages.parquet")
    found = parquet.read_table(tmp_path / "ages.parquet").to_pydict()
    listed = csv.read_csv(tmp_path / "users.csv.gz").to_pydict()
    by_name = dict(zip(listed["id"], listed["age"], strict=True))
    assert dict(zip(found["id"], found["value"], strict=True)) == by_name
    assert not (out / ".daskgraphpart-work").exists()


def test_partitions_from_tables_are_replaced_whole(tmp_path: Path) -> None:
    spec, out = dgp.scan_tables(**small_tables(tmp_path)), tmp_path / "parts"
    how: dict[str, Any] = {"method": RANDOM, **spelled(RESOURCES)}
    dgp.partition(spec, out, 3, **how)
    with pytest.raises(OutputExistsError):
        dgp.partition(spec, out, 2, **how)
    dense = {"edges": {"a:r:a": str(tmp_path / "dense.csv")}}
    (tmp_path / "dense.csv").write_text("0,1\n1,2\n")
    dgp.partition(dgp.scan_tables(**dense), out, 2, overwrite=True, **how)
    assert not (out / "id_map").exists()
    assert not (out / "categories").exists()
    assert dgp.verify(dgp.scan_tables(**dense), out, **spelled(RESOURCES)).ok


def test_owners_of_tables_are_dispatched_with_the_tables(tmp_path: Path) -> None:
    spec = dgp.scan_tables(**small_tables(tmp_path))
    owners = dgp.assign(spec, 2, out=tmp_path / "owners", method=RANDOM, **spelled(RESOURCES))
    assert (tmp_path / "owners" / "id_map" / "user.parquet").is_file()
    dgp.dispatch(spec, owners, tmp_path / "one", **spelled(RESOURCES))
    dgp.dispatch(spec, tmp_path / "owners", tmp_path / "two", **spelled(RESOURCES))
    dgp.dispatch(
        spec, dgp.assign(spec, 2, method=RANDOM, **spelled(RESOURCES)), tmp_path / "three", **spelled(RESOURCES)
    )
    assert parts_of(tmp_path / "one") == parts_of(tmp_path / "two") == parts_of(tmp_path / "three")


def test_a_plan_of_tables_is_that_of_their_graph(tmp_path: Path) -> None:
    tables = small_tables(tmp_path)
    chunk_edge_lists(tmp_path / "graph", **tables, **spelled(RESOURCES))
    plans = [dgp.plan(of, 2, **spelled(RESOURCES)) for of in (dgp.scan_tables(**tables), tmp_path / "graph")]
    assert plans[0].num_nodes == plans[1].num_nodes
    assert plans[0].output_nbytes == plans[1].output_nbytes


@pytest.mark.parametrize(
    "more",
    [{}, {"add_reverse": "dgl", "copy_edge_data": True}, {"cast": ("age=float32",)}, {"unknown_nodes": "drop"}],
    ids=str,
)
def test_a_plan_of_tables_writes_nothing_but_maps_of_ids_and_codes(more: dict[str, Any], tmp_path: Path) -> None:
    scan = described_tables({**small_tables(tmp_path), **more})
    resources = replace(RESOURCES, workspace=str(tmp_path / "work"))
    with scan.counted(resources) as counted:
        written = [str(path) for path in (tmp_path / "work").rglob("*") if path.is_file()]
        assert {*written} == {*counted.companions.values()} != set()
    with scan.open_graph(resources) as staged:
        assert counted.schema == staged.schema
        assert counted.nbytes == staged.nbytes


def test_edges_that_are_left_out_are_counted_for_a_plan(tmp_path: Path) -> None:
    tables = {**small_tables(tmp_path), "deduplicate": True, "remove_self_loops": True}
    chunk_edge_lists(tmp_path / "graph", **tables, **spelled(RESOURCES))
    plan = dgp.plan(described_tables(tables), 2, **spelled(RESOURCES))
    assert plan.num_edges == dgp.read_chunked(tmp_path / "graph").schema.num_edges


def test_all_tables_are_opened_before_the_first_is_read(tmp_path: Path) -> None:
    tables, listener = small_tables(tmp_path), Listener()
    tables["node_data"]["user"]["height"] = f"{tmp_path}/users.csv.gz:height"
    with pytest.raises(InputFileError) as caught:
        dgp.partition(dgp.scan_tables(**tables), tmp_path / "out", 2, **spelled(RESOURCES), progress=listener)
    assert "users.csv.gz" in str(caught.value.file)
    assert not listener.begun
    assert [*(tmp_path / "out").iterdir()] == []


def test_parts_that_cannot_be_are_refused_once_the_tables_are_known(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        dgp.partition(dgp.scan_tables(**small_tables(tmp_path)), tmp_path / "out", 99, **spelled(RESOURCES))
    assert [*(tmp_path / "out").iterdir()] == []


def test_one_command_partitions_assigns_plans_and_verifies_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_tables(tmp_path)
    path, users = str(tmp_path / "follows.csv"), str(tmp_path / "users.csv.gz")
    tables = ("--edges", f"u:f:u={path}", "--map-ids", "--nodes", f"u={users}", "--node-data", f"u/age={users}:age")
    how = ("--num-parts", "2", "--method", "random", "--quiet", "--memory", "200MB")
    assert call("partition", tmp_path / "parts", *tables, *how) == 0
    assert call("verify", tmp_path / "parts", *tables, "--quiet") == 0
    assert call("verify", tmp_path / "parts", "--edges", f"u:f:u={users}:id,age", "--map-ids", "--quiet") != 0
    assert call("assign", tmp_path / "owners", *tables, *how) == 0
    assert call("dispatch", tmp_path / "owners", tmp_path / "again", *tables, "--quiet") == 0
    assert call("plan", *tables, *how) == 0
    assert "plan of 'graph' in 2 parts: 40 nodes" in capsys.readouterr().out
    assert call("partition", path, tmp_path / "plain", "--map-ids", *how) == 0
    assert call("verify", path, tmp_path / "plain", "--map-ids", "--quiet") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("partition", "graph", "out", "--edges", "follows.csv"),
        ("partition", "out"),
        ("partition", "graph", "out", "--map-ids"),
        ("partition", "out", "--edges", "none.csv"),
    ],
)
def test_usage_that_makes_no_sense_ends_with_2(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_tables(tmp_path)
    chunk_edge_lists("graph", {"u:f:u": "follows.csv"}, map_ids=True, **spelled(RESOURCES))
    assert call(*arguments, "--num-parts", "2") == 2
    assert not Path("out").exists() or not [*Path("out").iterdir()]


def objects() -> dict[str, Any]:
    """One graph, of 60 nodes and 200 edges without features, in all kinds of objects."""
    rng = np.random.default_rng(2)
    pairs = np.sort(rng.choice(60 * 60, 200, replace=False))
    pairs[-1] = 60 * 60 - 1
    src, dst = pairs // 60, pairs % 60
    frame = pd.DataFrame({"src": src, "dst": dst})
    graph = nx.DiGraph()
    graph.add_nodes_from(range(60))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    return {
        "pair": (src, dst),
        "edge index": np.stack([src, dst]),
        "frame": frame,
        "frame of dask": dd.from_pandas(frame, npartitions=3),
        "arrays of dask": (da.from_array(src, chunks=70), dst),
        "dictionary": {("_N", "_E", "_N"): frame.astype("int32")},
        "scipy": scipy.sparse.coo_matrix((np.ones(200), (src, dst)), shape=(60, 60)),
        "networkx": graph,
    }


def test_objects_are_taken_as_they_are_by_every_function(tmp_path: Path) -> None:
    given, how = objects(), {"method": RANDOM, **spelled(RESOURCES)}
    dgp.chunk_graph(given["pair"], "graph", output_path=tmp_path / "chunked", **spelled(RESOURCES))
    dgp.partition(tmp_path / "chunked", tmp_path / "expected", 2, **how)
    expected = file_hashes(tmp_path / "expected")
    for kind, graph in given.items():
        dgp.partition(graph, tmp_path / kind, 2, **how)
        assert file_hashes(tmp_path / kind) == expected, kind
    frame, owners = given["frame of dask"], dgp.assign(given["frame"], 2, **how)
    assert dgp.verify(frame, tmp_path / "pair", **spelled(RESOURCES)).ok
    assert dgp.plan(frame, 2, **spelled(RESOURCES)).num_nodes == 60
    dgp.dispatch(frame, owners, tmp_path / "dispatched", **spelled(RESOURCES))
    assert parts_of(tmp_path / "dispatched") == parts_of(tmp_path / "expected")


def test_arrays_reach_other_processes(tmp_path: Path) -> None:
    pair = objects()["pair"]
    for cluster in ("sync", "processes"):
        dgp.partition(pair, tmp_path / cluster, 2, method=RANDOM, memory=1 << 28, cluster=cluster)
    assert file_hashes(tmp_path / "sync") == file_hashes(tmp_path / "processes")


def test_a_job_from_arrays_continues_with_the_same_arrays_alone(tmp_path: Path) -> None:
    (src, dst), out = objects()["pair"], tmp_path / "out"
    how: dict[str, Any] = {"method": RANDOM, **spelled(RESOURCES)}
    with pytest.raises(Stopped):
        dgp.partition((src, dst), out, 2, progress=Listener("hash-files"), **how)
    changed = dst.copy()
    changed[0] = (changed[0] + 1) % 60
    with pytest.raises(ResumeError) as caught:
        dgp.partition((src, changed), out, 2, **how)
    assert caught.value.hint
    listener = Listener()
    dgp.partition((src.copy(), dst), out, 2, progress=listener, **how)
    assert "bucket-edges" not in listener.begun


def test_names_in_frames_are_refused_with_what_to_do() -> None:
    with pytest.raises(OptionError) as caught:
        dgp.plan(pd.DataFrame({"src": ["ann"], "dst": ["bob"]}), 1, **spelled(RESOURCES))
    assert "map_ids" in str(caught.value.hint)
