"""Own IDs of new IDs, and back: strings, integers and none, in any shape, as tensors, in batches."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from commands import call

import daskgraphpart as dgp
from daskgraphpart.errors import IdOutOfRangeError, InputFileNotFoundError

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
    tables = dgp.scan_tables(
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


def test_a_part_and_a_frame_have_the_same_calls(parts: dgp.PartitionedGraph) -> None:
    new = np.arange(500)
    own, part = parts.own_ids("user", new), parts.part(1)
    assert part.own_ids("user", [3, 4]).tolist() == own[3:5].tolist()
    assert part.ids_of("user", own[7]) == 7
    frame = parts.nodes["user"].frame("number")
    frame = frame.assign(own=parts.own_ids("user", frame["id"])).compute()
    assert frame["own"].tolist() == [f"user {int(number)}" for number in frame["number"]]
    names = dd.from_pandas(pd.DataFrame({"name": own}), npartitions=3)["name"]
    assert parts.ids_of("user", names).compute().tolist() == new.tolist()
    assert parts.own_ids("item", da.arange(9, chunks=4)).compute().tolist() == parts.own_ids("item", range(9)).tolist()
    assert parts.own_ids("user", pd.Series([5]))[0] == own[5]


def test_results_of_parts_and_of_a_part_have_the_same_ids(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    numbers = parts.nodes["user"].data["number"][:]
    parts.to_original("user", numbers, tmp_path / "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    everything = dict(zip(table["id"], table["value"], strict=True))
    assert everything == {f"user {i}": i for i in range(500)}
    for part in parts.parts:
        own, rows = part.to_original("user", part.node_rows.features["user"]["number"].memmap())
        assert [everything[name] for name in own] == rows.tolist()
        assert own.tolist() == sorted(own)
        items, _ = part.to_original("item", part.original_ids["item"].compute())
        assert {*items.tolist()} <= {*range(7, 2100, 7)}
        edges, _ = part.to_original(("user", "buys", "item"), part.original_ids["buys"].compute())
        assert edges.dtype == np.int64


def test_a_map_that_has_moved_is_given(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(parts.config.parent, moved)
    (moved / "id_map").rename(tmp_path / "id_map")
    other = dgp.open_partitions(moved)
    part = other.part(0)
    rows = part.original_ids["user"].compute()
    for call_it in (
        lambda **how: other.own_ids("user", [1], **how),
        lambda **how: part.to_original("user", rows, **how),
    ):
        with pytest.raises(InputFileNotFoundError, match="no ID map of 'user'"):
            call_it()
        call_it(id_map=tmp_path / "id_map")
    assert other.ids_of("user", other.own_ids("user", 1, id_map=tmp_path / "id_map"), id_map=tmp_path / "id_map") == 1


def test_the_command_shows_them(
    parts: dgp.PartitionedGraph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = parts.config.parent
    assert call("ids", out, "--type", "user", "user 7", "user 3") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    new = parts.ids_of("user", ["user 7", "user 3"])
    owners = parts.book.nid2partid(new, "user")
    assert lines == [["own_id", "new_id", "part"], ["user 7", str(new[0]), str(owners[0])], ["user 3", str(new[1]),
                     str(owners[1])]]  # fmt: skip
    (tmp_path / "n_id.txt").write_text("0\n1\n")
    assert call("ids", out, "--type", "item", "--new", "--from", tmp_path / "n_id.txt") == 0
    shown = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == [str(of) for of in parts.own_ids("item", [0, 1])]
    assert call("ids", out, "--type", "item", "x") == 2
    assert "Not an ID: expected whole numbers, found 'x'" in capsys.readouterr().err
    assert call("ids", out, "1") == 2
    assert "--type: the type is missing: expected one of item, user" in capsys.readouterr().err
