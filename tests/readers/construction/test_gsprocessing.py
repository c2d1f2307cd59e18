"""Configs in GSProcessing's dialect: its names of transforms, imputers, categories by frequency, coded labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from constructions import FIXTURE, chunk, ids, rows, table

from daskgraphpart.errors import MetadataError

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart import Graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return chunk(FIXTURE / "config_gsprocessing.json", tmp_path_factory.mktemp("processing") / "graph")


@pytest.mark.parametrize("name", ["age", "age_mm", "inc_std", "bucket", "bucket_w", "spend", "tm_r", "vm_r", "em_r"])
def test_what_both_dialects_say_is_the_same(graph: Graph, name: str) -> None:
    wanted = np.load(FIXTURE / "expected/nodes.npz")[f"user/{name}"]
    np.testing.assert_allclose(rows(graph, "user", name), wanted, rtol=1e-6, atol=1e-6)


def test_ids_are_text(graph: Graph) -> None:
    assert all(isinstance(found, str) for found in ids(graph, "topic"))


def test_shares_of_sets_are_exact(graph: Graph) -> None:
    masks = [rows(graph, "user:follows:user", name) for name in ("train_mask", "val_mask", "test_mask")]
    assert [int(mask.sum()) for mask in masks] == [140, 40, 20]


def processing(directory: Path, *features: dict[str, Any], **columns: Any) -> dict[str, Any]:
    """A config of nodes with columns, and an edge."""
    nodes = table(directory, "nodes", id=[str(i) for i in range(len(next(iter(columns.values()))))], **columns)
    edges = table(directory, "edges", s=["0"], d=["0"])
    return {
        "version": "gsprocessing-v1.0",
        "graph": {
            "nodes": [
                {
                    "data": {"format": "parquet", "files": [nodes]},
                    "type": "n",
                    "column": "id",
                    "features": list(features),
                    "labels": [{"column": "c", "type": "classification"}] if "c" in columns else [],
                }
            ],
            "edges": [
                {
                    "data": {"format": "parquet", "files": [edges]},
                    "source": {"column": "s", "type": "n"},
                    "relation": {"type": "r"},
                    "dest": {"column": "d", "type": "m"},
                }
            ],
        },
    }


def numerical(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"column": "x", "name": name, "transformation": {"name": "numerical", "kwargs": kwargs}}


def test_imputers_fill_what_is_missing(tmp_path: Path) -> None:
    imputers = ("mean", "median", "most_frequent")
    features = [numerical(imputer, imputer=imputer) for imputer in imputers]
    graph = chunk(processing(tmp_path, *features, x=[1.0, None, 1.0, 2.0, float("nan"), 8.0]), tmp_path / "graph")
    assert [float(rows(graph, "n", imputer)[1, 0]) for imputer in imputers] == [3.0, 1.5, 1.0]
    assert [float(rows(graph, "n", imputer)[4, 0]) for imputer in imputers] == [3.0, 1.5, 1.0]


def test_normalizers_see_what_imputers_filled(tmp_path: Path) -> None:
    found = processing(tmp_path, numerical("s", imputer="mean", normalizer="standard"), x=[1.0, None, 3.0])
    np.testing.assert_allclose([[1 / 6], [2 / 6], [3 / 6]], rows(chunk(found, tmp_path / "graph"), "n", "s"), rtol=1e-6)


def test_categories_are_in_the_order_of_their_frequency(tmp_path: Path) -> None:
    one = {"column": "c", "name": "one", "transformation": {"name": "categorical"}}
    values = ["b", "a", "b", None, "", "c"]
    graph = chunk(processing(tmp_path, one, c=values), tmp_path / "graph")
    wanted = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert wanted == rows(graph, "n", "one").tolist()
    assert rows(graph, "n", "c")[[0, 1, 2, 5]].tolist() == [0, 1, 0, 2]  # classes have codes likewise
    assert (rows(graph, "n", "one").dtype, rows(graph, "n", "c").dtype) == (np.float32, np.int64)


def test_rare_categories_beyond_a_hundred_are_one(tmp_path: Path) -> None:
    one = {"column": "x", "transformation": {"name": "categorical"}}
    values = [f"{i:03}" for i in range(150)] + [f"{i:03}" for i in range(99)]
    found = rows(chunk(processing(tmp_path, one, x=values), tmp_path / "graph"), "n", "x")
    assert found.shape == (249, 100)
    assert found[:, 99].sum() == 51
    assert (found.sum(axis=1) == 1).all()


def test_lists_and_cells_of_categories_set_several(tmp_path: Path) -> None:
    cells = {"column": "x", "transformation": {"name": "multi-categorical", "kwargs": {"separator": "|"}}}
    lists = {"column": "y", "transformation": {"name": "multi-categorical"}}
    content = processing(tmp_path, cells, lists, x=["a|b", "a", None], y=[["a", "b"], ["a"], None])
    graph = chunk(content, tmp_path / "graph")
    for name in ("x", "y"):
        assert rows(graph, "n", name).tolist() == [[1, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("kwargs", "place"),
    [
        ({"imputer": "zero"}, "kwargs.imputer"),
        ({"normalizer": "log"}, "kwargs.normalizer"),
        ({"out_dtype": "float16"}, "kwargs.out_dtype"),
        ({"normalizer": "rank-gauss", "epsilon": -1}, "kwargs.epsilon"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_with_its_place(
    kwargs: dict[str, Any], place: str, tmp_path: Path
) -> None:
    with pytest.raises(MetadataError) as caught:
        chunk(processing(tmp_path, numerical("f", **kwargs), x=[1.0, 2.0]), tmp_path / "graph")
    assert f"graph.nodes[0].features[0].transformation.{place}" == caught.value.place


def test_rates_that_do_not_add_up_and_models_are_refused_together(tmp_path: Path) -> None:
    model = {"column": "c", "name": "f", "transformation": {"name": "huggingface"}}
    content = processing(tmp_path, model, c=["a", "b"])
    content["graph"]["nodes"][0]["labels"][0]["split_rate"] = {"train": 0.7, "val": 0.2, "test": 0.2}
    with pytest.raises(MetadataError) as caught:
        chunk(content, tmp_path / "graph")
    for place in ("features[0].transformation.name", "labels[0].split_rate"):
        assert f"graph.nodes[0].{place}" in str(caught.value)
