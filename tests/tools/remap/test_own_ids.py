"""Own IDs of new IDs, and back: strings, integers and none, in any shape, as tensors, in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import IdOutOfRangeError

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "500MB", "workers": 1, "cluster": "threads", "progress": False}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dgp.PartitionedGraph:
    root = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(2)
    users = [f"user {i}" for i in range(500)]
    edges = pd.DataFrame({"src": rng.choice(users, 3000), "dst": 7 * rng.integers(1, 300, 3000)})
    edges.to_csv(root / "e.csv", index=False)
    ids = pd.DataFrame({"id": users, "number": np.arange(500.0)})
    ids.to_csv(root / "u.csv", index=False)
    tables = dgp.read_tables(
        {("user", "buys", "item"): f"{root}/e.csv:src,dst"},
        nodes={"user": f"{root}/u.csv:id"},
        node_data={"user": {"number": f"{root}/u.csv:number"}},
        map_ids=True,
    )
    return dgp.partition(tables, root / "out", 3, method="random", **HOW)


def test_rows_have_the_own_ids_of_their_features(parts: dgp.PartitionedGraph) -> None:
    new = np.random.default_rng(0).permutation(500).reshape(20, 25)
    numbers = parts.nodes["user"].data["number"][new]
    own = parts.own_ids("user", new)
    assert own.tolist() == [[f"user {int(number)}" for number in row] for row in numbers]
    np.testing.assert_array_equal(parts.ids_of("user", own), new)


@pytest.mark.parametrize("ntype", ["user", "item"])
def test_there_and_back(parts: dgp.PartitionedGraph, ntype: str) -> None:
    new = np.arange(parts.num_nodes(ntype))
    own = parts.own_ids(ntype, new)
    assert len({*own.tolist()}) == new.size
    np.testing.assert_array_equal(parts.ids_of(ntype, own.tolist()), new)
    assert parts.ids_of(ntype, own[5]) == 5
    assert own.dtype == (object if ntype == "user" else np.int64)


def test_a_batch_names_its_nodes_and_names_are_seeds(parts: dgp.PartitionedGraph) -> None:
    pytest.importorskip("torch_geometric")
    seeds = parts.ids_of("user", ["user 7", "user 3"])
    batch = next(iter(parts.neighbor_loader([3, 3], ("user", seeds), batch_size=2)))
    assert parts.own_ids("user", batch["user"].n_id)[:2].tolist() == ["user 7", "user 3"]


def test_unknown_ids_are_one_error(parts: dgp.PartitionedGraph) -> None:
    with pytest.raises(IdOutOfRangeError, match=r"2 of 3 IDs are of no 'user' node.*'x', 'y'"):
        parts.ids_of("user", ["x", "user 1", "y"])
    with pytest.raises(IdOutOfRangeError, match="IDs of 'item' nodes are of type int64"):
        parts.ids_of("item", ["x"])


def test_without_a_map_own_ids_are_row_numbers(tmp_path: Path) -> None:
    graph = dgp.from_edges({"n:r:n": (np.arange(40), np.arange(1, 41))})
    parts = dgp.partition(graph, tmp_path / "out", 2, method="random", **HOW)
    own = parts.own_ids("n", np.arange(41))
    assert sorted(own.tolist()) == list(range(41))
    np.testing.assert_array_equal(parts.ids_of("n", own), np.arange(41))
