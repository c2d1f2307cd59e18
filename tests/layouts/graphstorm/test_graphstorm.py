"""`--layout graphstorm` and input of GSProcessing, judged by DGL and by what GraphStorm reads."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import REAL_GRAPHS, Graph, file_hashes, load_real_graph
from gsprocessing import NUM_EDGES, NUM_ITEMS, write_gsprocessing
from judges import judge_with_dgl, run_in_dgl, save_for_judge
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType

if TYPE_CHECKING:
    from pathlib import Path

COMMON = ("--method", "random", "--quiet", "--layout")


def raw_ids(out: Path, ntype: str) -> np.ndarray:
    """Original IDs by node, as IdReverseMap of GraphStorm sorts them."""
    table = parquet.read_table(out / "dist_graph" / "raw_id_mappings" / ntype)
    return table["orig"].to_numpy()[np.argsort(table["new"].to_numpy())]


def test_what_gsprocessing_leaves_is_partitioned_without_repartition(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    graph = write_gsprocessing(source)
    assert call("partition", source, out, "--num-parts", "13", *COMMON, "graphstorm") == 0
    names = {path.name for path in (out / "dist_graph").iterdir() if path.name.startswith("part")}
    assert names == {f"part{i}" for i in range(13)}
    transformed = (source / "config_with_transformations.json").read_text()
    assert (out / "dist_graph" / "data_transform_new.json").read_text() == transformed
    for ntype in graph.schema.ntypes:
        assert file_hashes(out / "dist_graph/raw_id_mappings" / ntype) == file_hashes(
            source / f"raw_id_mappings/{ntype}/parquet"
        )
    meta = json.loads((out / "partition_assignment/partition_meta.json").read_text())
    assert meta == {"algo_name": "random", "num_parts": 13, "version": "1.0.0"}

    found = run_in_dgl("2.1.0", "dist_graph.py", out / "dist_graph", cwd=tmp_path)
    nids, eids = ({kind: [*chain(*parts)] for kind, parts in found[key].items()} for key in ("nids", "eids"))
    owners = np.loadtxt(out / "partition_assignment/item.txt", int)
    assert [np.flatnonzero(owners == part).tolist() for part in range(13)] == found["nids"]["item"]
    assert found["dims"] == {
        "user/age": 2, "user/class": 1, "user/train_mask": 1, "item/x": 2,
        "user:seen:item/hard": 2, "user:seen:item/lp_mask": 1, "item:seen-rev:user/lp_mask": 1,
    }  # fmt: skip
    # as post_hard_negative.py of GraphStorm maps them; new IDs lead back to the originals, -1 stays
    hard = np.array(found["rows"]["user:seen:item/hard"])
    expected = graph.edge_data["user:seen:item"]["hard"][eids["user:seen:item"]]
    assert hard.shape == (NUM_EDGES, 4)
    assert (np.where(hard >= 0, np.array(nids["item"])[hard], -1) == expected).all()

    assert call("verify", source, out, "--quiet") == call("verify", source, out / "dist_graph", "--quick") == 0
    assert call("report", out, "--output", tmp_path / "report.txt", "--quiet") == 0
    np.save(tmp_path / "rows.npy", np.array(nids["item"]))
    assert call("to-original", out, tmp_path / "rows.npy", tmp_path / "back.npy", "--type", "item", "--quiet") == 0
    assert np.load(tmp_path / "back.npy").tolist() == list(range(NUM_ITEMS))
    damaged = out / "dist_graph" / "part0" / "edge_feat.dgl"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert call("verify", source, out, "--quiet") == 1


REAL = [pytest.param(name, num_parts, marks=pytest.mark.long) for name in REAL_GRAPHS for num_parts in (1, 4, 13)]


@pytest.mark.parametrize(("name", "num_parts"), [("cora", 4), *REAL])
def test_real_graphs_beside_other_layouts(name: str, num_parts: int, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    source, out = graph.write(tmp_path / "in"), tmp_path / "out"
    how = ("--num-parts", str(num_parts), *COMMON)
    assert call("partition", source, out, *how, "dgl,graphstorm,ranks") == 0
    assert call("partition", source, tmp_path / "dgl", *how, "dgl") == 0
    found, alone = file_hashes(out), file_hashes(tmp_path / "dgl")
    parts = {name: found[f"dist_graph/{name}"] for name in alone if name.startswith("part")}
    assert parts == {name: alone[name] for name in parts}, "the files of DGL, byte for byte, and once"
    assert not any(name.startswith("part0") for name in found)
    configs = [out / f"{graph.schema.name}.json", out / "dist_graph" / "metadata.json"]
    judge_with_dgl("2.1.0", {save_for_judge(graph, tmp_path / "judge"): configs}, tmp_path)
    for node_type in graph.schema.node_types:
        assert (raw_ids(out, node_type.name) == np.arange(node_type.num_nodes)).all()
    assert call("partition", source, out, *how, "dgl", "--overwrite") == 0
    assert file_hashes(out) == alone, "nothing of GraphStorm is left"


BAD = {
    "name": ({"name": "partition"}, {}, "cannot train on.*graph_name"),
    "other name": ({"name": "my graph"}, {}, "cannot train on"),
    "shape": ({"node": np.zeros((9, 2, 2))}, {}, r"scalars and vectors.*u/x of shape \[2, 2\].*Flatten"),
    "no feature": (
        {},
        {"map_feature": ("u:r:v/y=v",)},
        "map_feature u:r:v/y=v names no feature.*features are u/x, u:r:v/h",
    ),
    "no type": ({}, {"map_feature": ("u:r:v/h=w",)}, "map_feature.*node types u, v"),
    "floats": ({"edge": np.zeros(20)}, {"map_feature": ("u:r:v/h=v",)}, "map_feature.*is float64"),
    "narrow": ({"num_v": 300}, {"map_feature": ("u:r:v/h=v",)}, "map_feature.*is int8"),
    "no node": (
        {"edge": np.full(20, 7)},
        {"map_feature": ("u:r:v/h=v",)},
        r"row 0: .*: expected -1, or an ID in \[0, 5\)",
    ),
    "less than -1": ({"edge": np.full(20, -2)}, {"map_feature": ("u:r:v/h=v",)}, "expected -1.*found -2"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_graphstorm_cannot_take_is_refused(case: str, tmp_path: Path) -> None:
    given, options, message = BAD[case]
    schema = GraphSchema(
        given.get("name", "g"), (NodeType("u", 9), NodeType("v", given.get("num_v", 5))), (EdgeType("u", "r", "v", 20),)
    )
    edges = {"u:r:v": (np.arange(20) % 9, np.arange(20) % 5)}
    data = {"u": {"x": given.get("node", np.zeros(9))}}, {"u:r:v": {"h": given.get("edge", np.zeros(20, "i1"))}}
    source, how = (
        Graph(schema, edges, *data).write(tmp_path / "in"),
        {"layout": "graphstorm", "layout_options": options},
    )
    with pytest.raises(GraphPartError, match=message):
        dgp.partition(source, tmp_path / "out", 2, method="random", **how)
    assert not [*tmp_path.glob("out/*")] or "node" in case or "less" in case


def _edit(path: Path, change: Any) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def _count(content: Any) -> None:
    content["edge_data"]["user:seen:item"]["hard"]["row_counts"][1] += 1


DAMAGES: dict[str, Any] = {
    r"edge_data.user:seen:item.hard.row_counts: .* expected 68, found 67": lambda d: _edit(d / "metadata.json", _count),
    "the number of IDs differs from that of 'item'.*expected 50.*found 34": lambda d: _edit(
        d / "metadata.json", lambda content: content["raw_id_mappings"]["item"]["data"].pop()
    ),
    "part-00001-7b2e.*no such file": lambda d: next(d.glob("raw_id_mappings/user/parquet/part-00001*")).unlink(),
    "not a file of IDs: expected columns orig and new, found src_int_id, dst_int_id": lambda d: _edit(
        d / "metadata.json",
        lambda content: content["raw_id_mappings"].update(item=content["edges"]["user:seen:item"]),
    ),
    "config_filename.*configuration with transformations is missing": lambda d: (
        d / "config_with_transformations.json"
    ).unlink(),
    "config_with_transformations.json, edges": lambda d: _edit(
        d / "config_with_transformations.json", lambda content: content["graph"]["edges"][0].pop("dest")
    ),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damaged_input_of_gsprocessing_is_refused_before_work(message: str, tmp_path: Path) -> None:
    write_gsprocessing(tmp_path / "in")
    DAMAGES[message](tmp_path / "in")
    with pytest.raises(GraphPartError, match=message):
        dgp.partition(tmp_path / "in", tmp_path / "out", 2, method="random", layout=("graphstorm",))
    assert not (tmp_path / "out").exists()


def test_ids_of_users_are_those_of_the_map(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("src,dst\nanna,ben\nben,carl\ncarl,anna\n")
    assert call("build", tmp_path / "in", "--edges", tmp_path / "edges.csv", "--map-ids", "--quiet") == 0
    graph = dgp.partition_graph(
        str(tmp_path / "in"), "g", 2, tmp_path / "out", part_method="random", layout="graphstorm"
    )
    assert graph.num_parts == 2
    assert raw_ids(tmp_path / "out", "_N").tolist() == dgp.read_id_map(tmp_path / "in", "_N").compute()["id"].tolist()


def test_gspartition_runs_the_scripts_of_dgl_tools(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    write_gsprocessing(source)
    assert call("dgl-tools", tmp_path / "tools") == 0
    (tmp_path / "ips.txt").write_text("127.0.0.1\n127.0.0.2\n")
    assert (
        call("assign", source, out / "partition_assignment", "--num-parts", "2", "--method", "random", "--quiet") == 0
    )
    # as gpartition/dist_partition_graph.py of GraphStorm 0.5.1 calls it
    command = ["python3", f"{tmp_path}/tools/dispatch_data.py",
        "--in-dir", source, "--metadata-filename", "metadata.json", "--partitions-dir", out / "partition_assignment",
        "--ip-config", tmp_path / "ips.txt", "--out-dir", out / "dist_graph", "--ssh-port", "22",
        "--python-path", "/usr/bin/python3", "--log-level", "INFO", "--process-group-timeout", "1800",
        "--save-orig-nids", "--save-orig-eids"]  # fmt: skip
    subprocess.check_call(list(map(str, command)), cwd=tmp_path)
    assert call("verify", source, out / "dist_graph", "--quiet") == 0
    assert (out / "dist_graph" / "metadata.json").is_file()
    for script in ("preprocess", "postprocess"):
        assert "parmetis" in (tmp_path / "tools" / "distpartitioning" / f"parmetis_{script}.py").read_text()


@pytest.mark.long
def test_graphstorm_itself_calls_and_reads_us(tmp_path: Path) -> None:
    graph = load_real_graph("cora")
    source, shop = graph.write(tmp_path / "in"), write_gsprocessing(tmp_path / "shop")
    tools = subprocess.check_output([sys.executable, "-m", "daskgraphpart", "dgl-tools", tmp_path / "tools"], text=True)
    (tmp_path / "ips.txt").write_text("127.0.0.1\n127.0.0.2\n")
    where = ("--input-path", source, "--output-path", tmp_path / "gs", "--ip-config", tmp_path / "ips.txt")
    words = json.dumps([*map(str, where), "--num-parts", "2", "--dgl-tool-path", tools.strip()])
    for given, out in ((source, "cora-out"), (tmp_path / "shop", "shop-out")):
        assert call("partition", given, tmp_path / out, "--num-parts", "2", *COMMON, "graphstorm") == 0
    outs = [tmp_path / out for out in ("gs", "cora-out", "shop-out")]
    read_by = ("graphstorm-0.5.1", "gspartition.py", words, *(out / "dist_graph" for out in outs))
    answers = run_in_dgl(*read_by, cwd=tmp_path)["directories"]
    for out, read, schema in zip(outs, answers, (graph.schema, graph.schema, shop.schema), strict=True):
        for node_type in schema.node_types:
            owners = np.loadtxt(out / f"partition_assignment/{node_type.name}.txt", int)
            assert read["nids"][node_type.name] == np.argsort(owners, kind="stable").tolist()
            if out != tmp_path / "gs":  # which copies maps only
                assert read["raw"][node_type.name] == raw_ids(out, node_type.name).tolist()
    configs = [out / "dist_graph" / "metadata.json" for out in outs[:2]]
    judge_with_dgl("2.1.0", {save_for_judge(graph, tmp_path / "judge"): configs}, tmp_path)
    assert call("verify", source, tmp_path / "gs" / "dist_graph", "--quiet") == 0
