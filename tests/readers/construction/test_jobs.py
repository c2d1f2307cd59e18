"""A construction config as the input of jobs: the bytes that its chunked graph gives, and what lies beside parts."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from commands import call
from constructions import FIXTURE, chunk, edges_entry, ids, nodes_entry, rows, table, write_config
from graphs import file_hashes
from inside import DispatchOptions
from keywords import spelled
from listeners import Listener, Stopped

import daskgraphpart as dgp
from daskgraphpart import open_partitions, partition, scan_graphstorm_config

if TYPE_CHECKING:
    from pathlib import Path

LAYOUT = DispatchOptions(layout="graphstorm")


def parts_of(directory: Path) -> dict[str, str]:
    hashes = file_hashes(directory)
    return {name: found for name, found in hashes.items() if "manifest" not in name and not name.startswith("id_map")}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parts") / "parts"
    partition(FIXTURE / "config.json", out, 2, method="random", **spelled(LAYOUT))
    return out


def test_partitions_of_a_config_are_those_of_its_chunked_graph(parts: Path, tmp_path: Path) -> None:
    graph = chunk(FIXTURE / "config.json", tmp_path / "graph")
    partition(graph, tmp_path / "parts", 2, method="random", **spelled(LAYOUT))
    assert parts_of(tmp_path / "parts") == parts_of(parts)


def test_partitions_of_a_config_are_verified_against_it(parts: Path) -> None:
    assert dgp.verify(scan_graphstorm_config(FIXTURE / "config.json"), parts / "dist_graph").ok


def test_graphstorms_files_lie_beside_the_parts(parts: Path) -> None:
    found = {path.name for path in (parts / "dist_graph").glob("*.json")}
    assert {"data_transform_new.json", "node_label_stats.json", "edge_label_stats.json", "metadata.json"} <= found
    assert (parts / "dist_graph/raw_id_mappings/user/part-00000.parquet").is_file()


def test_a_node_type_without_a_table_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert call("build", FIXTURE / "config.json", tmp_path / "graph", "--progress", "log") == 0
    told = [record.message for record in caplog.records if "'topic'" in record.message]
    assert len(told) == 1


def test_the_command_takes_a_config(tmp_path: Path) -> None:
    config = FIXTURE / "config.json"
    how = ("--num-parts", "2", "--method", "random", "--layout", "graphstorm")
    assert call("partition", config, tmp_path / "parts", *how) == 0
    assert open_partitions(tmp_path / "parts").num_parts == 2
    assert call("build", config, tmp_path / "graph", "--add-reverse", "graphstorm", "--num-chunks", "2") == 0
    assert (tmp_path / "graph/data_transform_new.json").is_file()


def test_the_line_that_verifies_has_the_options_of_the_config(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--num-parts", "2", "--method", "random", "--add-reverse", "graphstorm", "--split-seed", "3")
    assert call("partition", FIXTURE / "config.json", tmp_path / "parts", *how, "--name", "shop") == 0
    (told,) = re.findall(r"^to verify(.+)$", capsys.readouterr().out.replace("\\\n", ""), re.MULTILINE)
    program, *words = shlex.split(told)
    pairs = {tuple(words[i : i + 2]) for i in (3, 5, 7)}
    assert program == "daskgraphpart" and words[0] == "verify"
    assert pairs == {("--add-reverse", "graphstorm"), ("--split-seed", "3"), ("--name", "shop")}
    assert call(*words) == 0
    assert call(*words[:3]) == 1


@pytest.mark.parametrize("stop_at", ["bucket-edges", "place-rows", "hash-files"])
def test_a_job_from_a_config_continues_to_the_same_bytes(stop_at: str, parts: Path, tmp_path: Path) -> None:
    config, out = FIXTURE / "config.json", tmp_path / "parts"
    with pytest.raises(Stopped):
        partition(config, out, 2, method="random", **spelled(LAYOUT), progress=Listener(stop_at))
    assert not (out / "dist_graph/metadata.json").exists()
    partition(config, out, 2, method="random", **spelled(LAYOUT))
    assert parts_of(out) == parts_of(parts)


def test_splits_depend_on_the_seed_alone(tmp_path: Path) -> None:
    first, again, other = (
        rows(chunk(FIXTURE / "config.json", tmp_path / str(i), split_seed=seed), "user", "train_mask")
        for i, seed in enumerate((0, 0, 1))
    )
    assert (first == again).all()
    assert first.sum() == other.sum() and (first != other).any()


def test_the_bytes_do_not_depend_on_how_tables_are_cut(tmp_path: Path) -> None:
    size = 40
    values = np.random.default_rng(1).normal(size=size)
    columns = {"id": np.arange(size)[::-1] * 3, "x": values, "y": np.arange(size) % 3}
    features = [{"feature_col": "x", "feature_name": n, "transform": {"name": n}} for n in ("standard", "rank_gauss")]
    labels = [{"label_col": "y", "task_type": "classification", "split_pct": [0.5, 0.25, 0.25]}]
    found = []
    for cut in (1, 5):
        at = tmp_path / str(cut)
        at.mkdir()
        for i, part in enumerate(np.array_split(np.arange(size), cut)):
            table(at, f"nodes-{i}", **{name: of[part] for name, of in columns.items()})
        edge_path = table(at, "edges", s=columns["id"], d=columns["id"][::-1])
        config = {
            "nodes": [nodes_entry(str(at / "nodes-*.parquet"), *features, labels=labels)],
            "edges": [edges_entry(edge_path, ("n", "r", "n")), edges_entry(edge_path, ("n", "q", "n"))],
        }
        graph = chunk(config, at / "graph")
        hashes = file_hashes(at / "graph")
        found.append({name: of for name, of in hashes.items() if name != "data_transform_new.json"})
        assert ids(graph, "n") == columns["id"].tolist()
        masks = [rows(graph, "n", name) for name in ("train_mask", "val_mask", "test_mask")]
        assert [int(mask.sum()) for mask in masks] == [20, 10, 10]
        assert sum(masks).max() == 1
    assert found[0] == found[1]


def test_a_second_table_of_a_relation_is_appended(tmp_path: Path) -> None:
    first = table(tmp_path, "first", s=["a", "b"], d=["x", "y"], w=[1.0, 2.0])
    second = table(tmp_path, "second", s=["c"], d=["x"], w=[3.0])
    features = {"features": [{"feature_col": "w"}]}
    config = {"nodes": [], "edges": [edges_entry(path, **features) for path in (first, second)]}
    graph = chunk(config, tmp_path / "graph")
    assert rows(graph, "n:r:m", "w").tolist() == [[1.0], [2.0], [3.0]]
    assert (ids(graph, "n"), ids(graph, "m")) == (["a", "b", "c"], ["x", "y"])


def test_a_homogeneous_graph_loses_its_names_and_is_doubled(tmp_path: Path) -> None:
    nodes = table(tmp_path, "nodes", id=[5, 7], x=[1.0, 2.0])
    edge_path = table(tmp_path, "edges", s=[5, 5, 7], d=[7, 5, 5], w=[1.0, 2.0, 3.0])
    labels = {"labels": [{"task_type": "link_prediction", "split_pct": [1, 0, 0]}], "features": [{"feature_col": "w"}]}
    config = {
        "nodes": [nodes_entry(nodes, {"feature_col": "x"})],
        "edges": [edges_entry(edge_path, ("n", "r", "n"), **labels)],
    }
    graph = chunk(config, tmp_path / "graph", add_reverse="graphstorm")
    etype = "_N:_E:_N"
    assert graph.schema.ntypes == ("_N",) and (etype,) == graph.schema.etypes
    assert rows(graph, etype, "w")[:, 0].tolist() == [1, 2, 3, 1, 2, 3]
    assert rows(graph, etype, "train_mask").tolist() == [1, 1, 1, 0, 0, 0]


def test_a_task_of_ones_own_has_masks_of_listed_ids(tmp_path: Path) -> None:
    train, test = (table(tmp_path, name, id=listed) for name, listed in (("train", [9, 7]), ("test", [8, 7])))
    splits = {"custom_split_filenames": {"train": train, "test": test, "column": "id"}}
    masks = {"mask_field_names": ["a", "b", "c"]}
    labels = [
        {"task_type": "reconstruct_node_feat", **splits},
        {"task_type": "mine", "label_col": "y"} | splits | masks,
    ]
    nodes = table(tmp_path, "n", id=[7, 8, 9, 5], y=[0.5, 1.5, 2.5, 3.5])
    pairs = table(tmp_path, "e", s=[7, 8], d=[9, 5])
    config = {"nodes": [nodes_entry(nodes, labels=labels)], "edges": [edges_entry(pairs, ("n", "r", "n"))]}
    graph = chunk(config, tmp_path / "graph")
    assert set(graph.data_sources["_N"]) == {"train_mask", "val_mask", "test_mask", "y", "a", "b", "c"}
    for names in (("train_mask", "val_mask", "test_mask"), ("a", "b", "c")):
        assert [rows(graph, "_N", name).tolist() for name in names] == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert rows(graph, "_N", "y").tolist() == [0.5, 1.5, 2.5, 3.5]
    described = json.loads((tmp_path / "graph/data_transform_new.json").read_text())
    assert described["nodes"][0]["labels"] == labels


def test_edge_types_are_sorted_as_tuples(tmp_path: Path) -> None:
    nodes = [nodes_entry(table(tmp_path, name, id=[0, 1]), ntype=name) for name in ("a", "a1")]
    pairs = table(tmp_path, "e", s=[0, 1], d=[1, 0])
    relations = ("a1", "r", "a"), ("a", "r", "a1"), ("a", "r-b", "a1")
    config = {"nodes": nodes, "edges": [edges_entry(pairs, of) for of in relations]}
    graph = chunk(config, tmp_path / "graph", add_reverse="graphstorm")
    assert graph.schema.etypes == ("a:r:a1", "a:r-b:a1", "a:r-rev:a1", "a1:r:a", "a1:r-b-rev:a", "a1:r-rev:a")


def test_edges_of_unknown_nodes_are_dropped_with_their_features(tmp_path: Path) -> None:
    nodes = table(tmp_path, "nodes", id=["a", "b"])
    edge_path = table(tmp_path, "edges", s=["a", "z", "b"], d=[1, 2, 3], w=[1.0, 2.0, 3.0])
    config = {"nodes": [nodes_entry(nodes)], "edges": [edges_entry(edge_path, features=[{"feature_col": "w"}])]}
    graph = chunk(config, tmp_path / "graph", unknown_nodes="drop")
    assert rows(graph, "n:r:m", "w").tolist() == [[1.0], [3.0]]


def test_hard_negatives_become_nodes_of_the_destination_type(tmp_path: Path) -> None:
    edge_path = table(tmp_path, "edges", s=["a", "b", "c"], d=["x", "y", "z"], bad=[["z", "unknown"], [], ["x", "y"]])
    feature = {"feature_col": "bad", "transform": {"name": "edge_dst_hard_negative"}}
    config = write_config(tmp_path, {"nodes": [], "edges": [edges_entry(edge_path, features=[feature])]})
    graph = chunk(config, tmp_path / "graph")
    assert rows(graph, "n:r:m", "bad").tolist() == [[2, -1], [-1, -1], [0, 1]]
    partition(config, tmp_path / "parts", 2, method="random", **spelled(LAYOUT))
    assert dgp.verify(scan_graphstorm_config(config), tmp_path / "parts/dist_graph").ok


def test_what_transforms_found_transforms_other_tables_alike(tmp_path: Path) -> None:
    kinds = {"max_min_norm": "x", "standard": "x", "to_categorical": "c"}
    features = [{"feature_col": c, "feature_name": n, "transform": {"name": n}} for n, c in kinds.items()]
    edge_path = table(tmp_path, "edges", s=["a"], d=["b"])
    train = table(tmp_path, "train", id=["a", "b", "e"], x=[1.0, 2.0, 5.0], c=["u", "v", "w"])
    config = {"nodes": [nodes_entry(train, *features)], "edges": [edges_entry(edge_path, ("n", "r", "m"))]}
    chunk(config, tmp_path / "graph")
    found = json.loads((tmp_path / "graph/data_transform_new.json").read_text())
    found["nodes"][0]["files"] = table(tmp_path, "test", id=["a", "q"], x=[3.0, 9.0], c=["v", "other"])
    graph = chunk(found, tmp_path / "again")
    assert rows(graph, "n", "max_min_norm").tolist() == [[0.5], [1.0]]
    np.testing.assert_allclose([[3 / 8], [9 / 8]], rows(graph, "n", "standard"), rtol=1e-6)
    assert rows(graph, "n", "to_categorical").tolist() == [[0, 1, 0], [0, 0, 0]]


def test_which_zero_comes_first_is_not_told(tmp_path: Path) -> None:
    """Threads may find either first, and 0.0 equals -0.0."""
    found = []
    for i, zeros in enumerate(([0.0, -0.0], [-0.0, 0.0])):
        nodes = table(tmp_path, f"nodes-{i}", id=["a", "b", "c"], x=[*zeros, 1.0])
        feature = {"feature_col": "x", "transform": {"name": "max_min_norm"}}
        edge_path = table(tmp_path, "edges", s=["a"], d=["b"])
        chunk({"nodes": [nodes_entry(nodes, feature)], "edges": [edges_entry(edge_path)]}, tmp_path / str(i))
        written = json.loads((tmp_path / str(i) / "data_transform_new.json").read_text())
        found.append(str(written["nodes"][0]["features"][0]["transform"]))
    assert found[0] == found[1] and "-0.0" not in found[0]


@pytest.mark.long
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_million_rows_of_a_config_have_the_same_bytes_in_six_runs(form: str, tmp_path: Path) -> None:
    """In several files; nodes are numbered in the order of their rows, which the database tells while it scans."""
    num_nodes, num_edges, rng = 300_000, 1_000_000, np.random.default_rng(0)
    numbers = rng.permutation(num_nodes)
    names = np.char.add("n", numbers.astype(str))
    nodes = {"id": names, "x": rng.normal(size=num_nodes), "k": names[numbers % 50], "y": numbers % 7}
    ends = rng.integers(0, num_nodes, (2, num_edges))
    edges = {"s": names[ends[0]], "d": names[ends[1]], "w": numbers[ends[0]] * 1.0}
    for kind, columns in (("nodes", nodes), ("edges", edges)):
        for i, part in enumerate(np.array_split(np.arange(len(next(iter(columns.values())))), 3)):
            of_file = pd.DataFrame({name: values[part] for name, values in columns.items()})
            (of_file.to_parquet if form == "parquet" else of_file.to_csv)(tmp_path / f"{kind}-{i}.{form}", index=False)
    names_of = ("max_min_norm", "standard", "rank_gauss")
    features = [{"feature_col": "x", "feature_name": of, "transform": {"name": of}} for of in names_of]
    features.append({"feature_col": "k", "transform": {"name": "to_categorical"}})
    train = table(tmp_path, "train", id=names[:5000])
    label = {
        "label_col": "y",
        "task_type": "classification",
        "custom_split_filenames": {"train": train, "column": "id"},
    }
    how = {"format": {"name": form}}
    config = {
        "nodes": [nodes_entry(f"{tmp_path}/nodes-*.{form}", *features, labels=[label]) | how],
        "edges": [edges_entry(f"{tmp_path}/edges-*.{form}", ("n", "r", "n"), features=[{"feature_col": "w"}]) | how],
    }
    scan, found = scan_graphstorm_config(write_config(tmp_path, config)), set()
    for run in range(6):
        memory = "600MB" if run % 2 else "2GB"
        scan.write_chunked(tmp_path / "graph", workers=(1, 2, 4)[run % 3], memory=memory, overwrite=True)
        found.add(json.dumps(file_hashes(tmp_path / "graph"), sort_keys=True))
    graph = dgp.read_chunked(tmp_path / "graph")
    assert len(found) == 1 and ids(graph, "_N") == names.tolist()
    etype = "_N:_E:_N"
    assert (numbers[graph.edges[etype]["src"].compute()] == rows(graph, etype, "w")[:, 0]).all()
    assert rows(graph, "_N", "train_mask").sum() == 5000 and rows(graph, "_N", "train_mask")[:5000].all()
    assert (rows(graph, "_N", "y") == numbers % 7).all()
