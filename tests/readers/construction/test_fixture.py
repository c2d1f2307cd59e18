"""What gconstruct 0.5.1 made of a config with every transform, and what we make of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from constructions import FIXTURE, chunk, edges, ids, rows

if TYPE_CHECKING:
    from daskgraphpart import Graph

RANDOM = ("user/train_mask", "user/val_mask", "user/test_mask")
"""Of nodes: drawn without a seed there. Edges have no others."""
TIES = "user/h_rg"
NULLS = "item/kind"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    out = tmp_path_factory.mktemp("construction") / "graph"
    return chunk(FIXTURE / "config.json", out, add_reverse="graphstorm")


def expected(kind: str) -> Any:
    return np.load(FIXTURE / f"expected/{kind}.npz")


def test_nodes_are_in_the_order_of_rows(graph: Graph) -> None:
    for ntype in graph.schema.ntypes:
        assert expected("nodes")[f"{ntype}/__orig_id"].tolist() == ids(graph, ntype)


@pytest.mark.parametrize("key", [k for k in expected("nodes").files if "__" not in k and k != NULLS])
def test_features_and_labels_of_nodes_are_those_of_gconstruct(graph: Graph, key: str) -> None:
    wanted, found = expected("nodes")[key], rows(graph, *key.split("/"))
    assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    if key in RANDOM:
        assert wanted.sum() == found.sum()
    elif key == TIES:  # equal values have any order there
        np.testing.assert_allclose(np.sort(wanted, axis=0), np.sort(found, axis=0), rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-6, atol=1e-6)


def test_null_categories_are_zero_rows(graph: Graph) -> None:
    with_nan, found = expected("nodes")[NULLS], rows(graph, *NULLS.split("/"))
    np.testing.assert_array_equal(with_nan[:, [0, 2, 3]], found)  # the second column is the category "nan" there
    assert int(with_nan[:, 1].sum()) == int((found.sum(axis=1) == 0).sum())


@pytest.mark.parametrize("key", [k for k in expected("edges").files if "__" not in k])
def test_features_and_labels_of_edges_are_those_of_gconstruct(graph: Graph, key: str) -> None:
    wanted, found = expected("edges")[key], rows(graph, *key.split("/"))
    assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    if key.endswith("_mask"):
        assert wanted.sum() == found.sum()
    else:
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-6, atol=1e-6)


def test_edges_are_those_of_gconstruct_and_reverse_types_too(graph: Graph) -> None:
    etypes = json.loads((FIXTURE / "expected/fix.json").read_text())["etypes"]
    assert list(etypes) == list(graph.schema.etypes)
    for etype in etypes:
        found = edges(graph, etype)
        for i, end in enumerate(("__src", "__dst")):
            names = np.array(ids(graph, etype.split(":")[2 * i]))
            np.testing.assert_array_equal(expected("edges")[f"{etype}/{end}"], names[found[:, i]])


def test_the_config_with_what_transforms_found_is_that_of_gconstruct(graph: Graph) -> None:
    def read(path: Any) -> Any:
        content = json.loads(path.read_text())
        content["nodes"].pop(2)  # its categories have one for nulls there
        content["nodes"][0]["labels"][1]["custom_split_filenames"].pop("column")  # a list there
        return content

    wanted, found = (read(at / "data_transform_new.json") for at in (FIXTURE / "expected", _directory(graph)))
    total = wanted["nodes"][0]["features"][4]["transform"].pop("sum")
    assert total == pytest.approx(found["nodes"][0]["features"][4]["transform"].pop("sum"))
    amount = wanted["edges"][0]["features"][0]["transform"].pop("sum")
    assert amount == pytest.approx(found["edges"][0]["features"][0]["transform"].pop("sum"))
    assert wanted == found


@pytest.mark.parametrize(("kind", "of_type", "label"), [("node", "item", "class"), ("node", "user", "grade")])
def test_classes_of_the_train_set_are_counted(graph: Graph, kind: str, of_type: str, label: str) -> None:
    found = json.loads((_directory(graph) / f"{kind}_label_stats.json").read_text())
    train = rows(graph, of_type, label)[rows(graph, of_type, "train_mask") == 1]
    classes, counts = np.unique(train, return_counts=True)
    wanted = {"stats_type": "frequency_cnt", "info": dict(zip(map(str, classes), counts.tolist(), strict=True))}
    assert wanted == found[of_type][label]


def test_types_without_counts_are_there(graph: Graph) -> None:
    found = json.loads((_directory(graph) / "edge_label_stats.json").read_text())
    assert list(json.loads((FIXTURE / "expected/edge_label_stats.json").read_text())) == list(found)


def _directory(graph: Graph) -> Any:
    from pathlib import Path

    return Path(graph.directory)
