"""What is wrong with a config or its tables: all at once, with places in the JSON, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from commands import call
from constructions import chunk, edges_entry, nodes_entry, table, write_config

from daskgraphpart.errors import InputFileError, MetadataError

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart import GraphPartError


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    """A config without faults, of one table of nodes and one of edges."""
    nodes = table(
        tmp_path,
        "nodes",
        id=["a", "b", "c"],
        x=[1.0, 2.0, 3.0],
        same=[1.0, 1.0, 1.0],
        zero=[-1.0, 0.0, 1.0],
        gap=[1.0, None, 2.0],
        inf=[1.0, float("inf"), 2.0],
        text=["u", "v", "w"],
        nothing=[None, None, None],
        ragged=[[1.0], [1.0, 2.0], [1.0]],
        vector=[[1.0], [None], [1.0]],
        half=[0.0, 0.5, 1.0],
        negative=[-1, 0, 1],
        flag=[True, False, True],
    )
    edge_path = table(tmp_path, "edges", s=["a", "b"], d=["x", "y"], n=[1, 2])
    label = {"label_col": "negative", "task_type": "regression"}
    return {
        "nodes": [nodes_entry(nodes, {"feature_col": "x"}, labels=[label])],
        "edges": [edges_entry(edge_path, ("n", "r", "m"), features=[{"feature_col": "n"}])],
    }


def of_transform(name: str, **parameters: Any) -> dict[str, Any]:
    return {"transform": {"name": name, **parameters}}


FEATURE = "nodes[0].features[0]"
FEATURES = {
    "no column": ({"feature_col": "y"}, f"{FEATURE}.feature_col"),
    "no name of a column": ({}, f"{FEATURE}.feature_col"),
    "several columns without a name": ({"feature_col": ["x", "zero"]}, f"{FEATURE}.feature_name"),
    "a dtype": ({"feature_col": "x", "out_dtype": "int32"}, f"{FEATURE}.out_dtype"),
    "an unknown transform": ({"feature_col": "x", **of_transform("log")}, f"{FEATURE}.transform.name"),
    "a model": ({"feature_col": "text", **of_transform("bert_hf")}, f"{FEATURE}.transform.name"),
    "of edges": ({"feature_col": "text", **of_transform("edge_dst_hard_negative")}, f"{FEATURE}.transform.name"),
    "no-op of text": ({"feature_col": "text"}, f"{FEATURE}.feature_col"),
    "no-op of truth": ({"feature_col": "flag"}, f"{FEATURE}.feature_col"),
    "norm of text": ({"feature_col": "text", **of_transform("max_min_norm")}, f"{FEATURE}.feature_col"),
    "no range": ({"feature_col": "same", **of_transform("max_min_norm")}, f"{FEATURE}.feature_col"),
    "bounds": (
        {"feature_col": "x", **of_transform("max_min_norm", max_val=1, min_val=2)},
        f"{FEATURE}.transform.max_val",
    ),
    "bounds of several": (
        {"feature_col": ["x", "zero"], "feature_name": "f", **of_transform("max_min_norm", max_val=3)},
        f"{FEATURE}.transform.min_val",
    ),
    "norm to int8": (
        {"feature_col": "x", "out_dtype": "int8", **of_transform("max_min_norm")},
        f"{FEATURE}.transform.name",
    ),
    "a sum of nothing": ({"feature_col": "zero", **of_transform("standard")}, f"{FEATURE}.feature_col"),
    "a sum given": ({"feature_col": "x", **of_transform("standard", sum=0)}, f"{FEATURE}.transform.sum"),
    "epsilon": ({"feature_col": "x", **of_transform("rank_gauss", epsilon=2)}, f"{FEATURE}.transform.epsilon"),
    "uniquify": ({"feature_col": "x", **of_transform("rank_gauss", uniquify=1)}, f"{FEATURE}.transform.uniquify"),
    "ranks of vectors": ({"feature_col": "ragged", **of_transform("rank_gauss")}, f"{FEATURE}.feature_col"),
    "no buckets": (
        {"feature_col": "x", **of_transform("bucket_numerical", range=[0, 1])},
        f"{FEATURE}.transform.bucket_cnt",
    ),
    "no range of buckets": (
        {"feature_col": "x", **of_transform("bucket_numerical", bucket_cnt=2)},
        f"{FEATURE}.transform.range",
    ),
    "an empty range": (
        {"feature_col": "x", **of_transform("bucket_numerical", bucket_cnt=2, range=[1, 1])},
        f"{FEATURE}.transform.range",
    ),
    "a mapping beyond": (
        {"feature_col": "text", **of_transform("to_categorical", mapping={"u": 1})},
        f"{FEATURE}.transform.mapping.u",
    ),
    "no categories": ({"feature_col": "nothing", **of_transform("to_categorical")}, f"{FEATURE}.feature_col"),
    "a missing value": ({"feature_col": "gap"}, f"{FEATURE}.feature_col"),
    "an infinite value": ({"feature_col": "inf"}, f"{FEATURE}.feature_col"),
    "vectors of different lengths": ({"feature_col": "ragged"}, f"{FEATURE}.feature_col"),
    "a vector with a gap": ({"feature_col": "vector"}, f"{FEATURE}.feature_col"),
    "a truncation": (
        {"feature_col": "x", **of_transform("no-op", truncate_dim=0)},
        f"{FEATURE}.transform.truncate_dim",
    ),
    "a name with a slash": ({"feature_col": "x", "feature_name": "a/b"}, FEATURE),
    "the name of a mask": ({"feature_col": "x", "feature_name": "train_mask"}, FEATURE),
}
LABEL = "nodes[0].labels[0]"
CLASSES = {"task_type": "classification", "label_col": "half"}
LABELS = {
    "no task": ({"label_col": "x"}, f"{LABEL}.task_type"),
    "an unknown task": ({"label_col": "x", "task_type": "ranking"}, f"{LABEL}.task_type"),
    "links of nodes": ({"task_type": "link_prediction"}, f"{LABEL}.task_type"),
    "no column": ({**CLASSES, "label_col": "y"}, f"{LABEL}.label_col"),
    "text as classes": ({**CLASSES, "label_col": "text"}, f"{LABEL}.label_col"),
    "fractions as classes": (CLASSES, f"{LABEL}.label_col"),
    "classes below 0": ({**CLASSES, "label_col": "negative"}, f"{LABEL}.label_col"),
    "shares beyond 1": ({**CLASSES, "split_pct": [0.8, 0.2, 0.1]}, f"{LABEL}.split_pct"),
    "two shares": ({**CLASSES, "split_pct": [0.8, 0.2]}, f"{LABEL}.split_pct"),
    "one name twice": ({**CLASSES, "mask_field_names": ["a", "a", "b"]}, f"{LABEL}.mask_field_names"),
    "no counts": ({**CLASSES, "label_stats_type": "mean"}, f"{LABEL}.label_stats_type"),
    "no file of a set": (
        {**CLASSES, "custom_split_filenames": {"column": "id", "train": "none.parquet"}},
        f"{LABEL}.custom_split_filenames.train",
    ),
    "no column of a set": (
        {**CLASSES, "custom_split_filenames": {"train": "nodes.parquet"}},
        f"{LABEL}.custom_split_filenames.column",
    ),
}


def check(content: dict[str, Any], directory: Path, place: str) -> GraphPartError:
    with pytest.raises((MetadataError, InputFileError)) as caught:
        chunk(content, directory / "graph")
    assert place in str(caught.value)
    assert not (directory / "graph").exists()
    return caught.value


@pytest.mark.parametrize("case", FEATURES)
def test_a_feature_that_cannot_be_is_refused_with_its_place(case: str, config: dict[str, Any], tmp_path: Path) -> None:
    config["nodes"][0]["features"], place = [FEATURES[case][0]], FEATURES[case][1]
    check(config, tmp_path, place)


@pytest.mark.parametrize("case", LABELS)
def test_a_label_that_cannot_be_is_refused_with_its_place(case: str, config: dict[str, Any], tmp_path: Path) -> None:
    config["nodes"][0]["labels"], place = [LABELS[case][0]], LABELS[case][1]
    check(config, tmp_path, place)


def test_all_faults_are_told_at_once_with_files_and_columns(config: dict[str, Any], tmp_path: Path) -> None:
    model = {"feature_col": "text", "feature_name": "bert", **of_transform("bert_hf")}
    config["nodes"][0]["features"] += [model, {"feature_col": "lost"}]
    config["nodes"][0]["labels"][0]["split_pct"] = [1, 1, 1]
    config["edges"][0]["files"] = "none-*.parquet"
    error = check(config, tmp_path, "4 things are wrong")
    for place in ("features[1].transform.name", "features[2].feature_col", "labels[0].split_pct", "edges[0].files"):
        assert place in str(error)
    for found in ("give it as a vector column", "nodes.parquet", "'lost'", "none-*.parquet"):
        assert found in str(error)
    assert error.hint


def test_faults_of_headers_and_of_rows_are_told_together(config: dict[str, Any], tmp_path: Path) -> None:
    entry, (edges,) = config["nodes"][0], config["edges"]
    bounds = {"feature_col": "x", "feature_name": "mm", **of_transform("max_min_norm", max_val=1, min_val=2)}
    standard = {"feature_col": "zero", **of_transform("standard")}
    entry["features"] = [{"feature_col": "gap"}, {"feature_col": "lost"}, bounds, standard]
    masks = {"mask_field_names": ["a", "b", "c"]}
    entry["labels"] = [{**CLASSES, "split_pct": [0.8, 0.2, 0.2]}, {**CLASSES, "label_col": "text", **masks}]
    edges["labels"] = [{"label_col": "n", "task_type": "ranking"}]
    missing = nodes_entry("none.parquet", ntype="q")
    second = {**nodes_entry(entry["files"], ntype="z"), "node_id_col": "nid"}
    error = check({"nodes": [entry, missing, second], "edges": [edges]}, tmp_path, "10 things are wrong")
    places = ("nodes[0].features[0].feature_col", "nodes[0].features[1].feature_col", "nodes[1].files")
    places += ("nodes[0].features[2].transform.max_val", "nodes[0].features[3].feature_col", "nodes[2].node_id_col")
    labels = ("labels[0].split_pct", "labels[0].label_col: not a class", "labels[1].label_col")
    for place in (*places, *(f"nodes[0].{label}" for label in labels), "edges[0].labels[0].task_type"):
        assert place in str(error)


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("relation", ["n", "r"], "edges[0].relation"),
        ("relation", "n,r,m", "edges[0].relation"),
        ("dest_id_col", None, "edges[0].dest_id_col"),
        ("format", {"name": "hdf5"}, "edges[0].format.name"),
        ("format", None, "edges[0].format"),
        ("files", None, "edges[0].files"),
        ("source_id_col", "n", "edges[0].source_id_col"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_place(
    key: str, value: Any, place: str, config: dict[str, Any], tmp_path: Path
) -> None:
    config["edges"][0][key] = value
    check(config, tmp_path, place)


def test_tables_that_do_not_fit_together_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    longer = table(tmp_path, "longer", z=[1.0, 2.0, 3.0, 4.0])
    second = {"node_type": "n", "format": {"name": "parquet"}, "files": longer, "features": [{"feature_col": "z"}]}
    check({**config, "nodes": [*config["nodes"], second]}, tmp_path, "nodes[1].files")
    check({**config, "nodes": [*config["nodes"], config["nodes"][0]]}, tmp_path, "nodes[1].node_id_col")
    check({**config, "nodes": [second]}, tmp_path, "nodes[0].node_id_col")
    other = {**config["edges"][0], "features": []}
    check({**config, "edges": [config["edges"][0], other]}, tmp_path, "edges[1]")
    check({"nodes": config["nodes"]}, tmp_path, "edges")


def test_types_that_cannot_be_or_are_misspelt_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    path = config["edges"][0]["files"]
    for ntype in ("..", "."):
        check({**config, "nodes": [{**config["nodes"][0], "node_type": ntype}]}, tmp_path, "nodes[0].node_type")
        check({**config, "edges": [edges_entry(path, ("n", ntype, "m"))]}, tmp_path, "edges[0].relation")
    users = [{**config["nodes"][0], "node_type": "user"}]
    for ntype in ("User", "users"):
        check({"nodes": users, "edges": [edges_entry(path, (ntype, "r", "m"))]}, tmp_path, "edges[0].relation")


def test_tables_without_rows_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    nothing = pa.array([], pa.string())
    of_nodes, of_edges = table(tmp_path, "no-nodes", id=nothing), table(tmp_path, "no-edges", s=nothing, d=nothing)
    check({**config, "nodes": [*config["nodes"], nodes_entry(of_nodes, ntype="m")]}, tmp_path, "nodes[1].files")
    check({**config, "edges": [*config["edges"], edges_entry(of_edges, ("n", "q", "m"))]}, tmp_path, "edges[1].files")


@pytest.mark.parametrize(
    ("values", "row"), [(["a", None, "b"], "row 2"), (["a", "b", "a"], "row 3"), ([1.5, 2.5, 3.5], "node_id_col")]
)
def test_ids_that_cannot_be_are_refused_with_their_row(
    values: list[Any], row: str, config: dict[str, Any], tmp_path: Path
) -> None:
    config["nodes"] = [nodes_entry(table(tmp_path, "ids", id=values))]
    check(config, tmp_path, row)


def test_an_edge_of_an_unknown_node_is_refused_with_its_row(config: dict[str, Any], tmp_path: Path) -> None:
    config["edges"][0]["files"] = table(tmp_path, "wrong", s=["a", "zz"], d=["x", "x"], n=[1, 2])
    error = check(config, tmp_path, "row 2")
    assert "zz" in str(error) and error.hint


def test_sets_none_of_whose_ids_is_a_node_are_refused(config: dict[str, Any], tmp_path: Path) -> None:
    files = {"train": table(tmp_path, "train", id=["nobody"]), "column": "id"}
    config["nodes"][0]["labels"][0]["custom_split_filenames"] = files
    check(config, tmp_path, f"{LABEL}.custom_split_filenames")


def test_options_of_tables_do_not_go_with_a_config(config: dict[str, Any], tmp_path: Path) -> None:
    path = write_config(tmp_path, config)
    assert call("partition", path, tmp_path / "parts", "--num-parts", "2", "--map-ids") == 2
    assert call("build", path, tmp_path / "graph", "--edge-types-from", "n") == 2
    assert not (tmp_path / "parts").exists() and not (tmp_path / "graph").exists()
