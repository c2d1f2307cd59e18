"""A column that names the sets of nodes becomes their masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from commands import call
from edge_lists import chunk, originals
from graphs import file_hashes

import daskgraphpart as dgp
from daskgraphpart import GraphPartError

if TYPE_CHECKING:
    from pathlib import Path

F = "user:f:user"
WORDS = {
    "a": "train",
    "b": "Valid",
    "c": "test",
    "d": None,
    "e": " validation ",
    "f": "TRAINING",
    "g": "val",
    "h": "dev",
}
MASKS = {"train_mask": {"a", "f"}, "val_mask": {"b", "e", "g", "h"}, "test_mask": {"c"}}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("users.csv", index=False)
    frame().rename(columns={"id": "key", "split": "set"}).to_parquet("users.parquet")
    pd.DataFrame({"src": list("abcdefgz"), "dst": list("zcdefgha")}).to_csv("f.csv", index=False)


def frame() -> pd.DataFrame:
    """A table of users in no order, with their sets."""
    ids = [*"hcagbfde"]
    return pd.DataFrame({"id": ids, "age": range(8), "split": [WORDS[user] for user in ids]})


def masks_of(out: Path) -> dict[str, set[str]]:
    ids, features = originals(out, "user"), dgp.read_chunked(out).node_data["user"]
    masks = {name: features[name].compute(scheduler="sync") for name in MASKS}
    assert {mask.dtype for mask in masks.values()} == {np.dtype(bool)}
    return {name: {ids[i] for i in np.flatnonzero(mask)} for name, mask in masks.items()}


@pytest.mark.parametrize(
    "split",
    [
        "users.csv",
        "users.csv:split",
        ["users.csv:id:split"],
        "users.parquet:key:set",
        frame()[["id", "split"]],
        frame().set_index("id")["split"],
        frame()[["id", "split"]].astype({"split": "category"}),
    ],
    ids=str,
)
def test_words_become_masks_of_the_nodes_with_these_ids(split: Any, tmp_path: Path) -> None:
    out = chunk(tmp_path / "out", {F: "f.csv"}, map_ids=True, split={"user": split})
    assert masks_of(out) == MASKS
    assert not (out / "categories").exists()


def test_the_command_line_says_it_in_the_same_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    how = {"map_ids": True, "nodes": {"user": "users.csv"}, "unknown_nodes": "drop"}
    out = chunk(
        tmp_path / "out",
        {F: "f.csv"},
        split={"user": "users.csv:split"},
        node_data={"user": {"age": "users.csv:age"}},
        **how,
    )
    words = (
        "--map-ids",
        "--nodes",
        "user=users.csv",
        "--unknown-nodes",
        "drop",
        "--node-data",
        "user/age=users.csv:age",
    )
    line = ("build", "again", "--edges", f"{F}=f.csv", "--split", "user=users.csv:split", *words, "--name", "graph")
    assert call(*line) == 0
    assert "column 'split': train_mask 2, val_mask 4, test_mask 1; in none: 1 'user' nodes" in caplog.text
    assert file_hashes(out) == file_hashes(tmp_path / "again")
    assert masks_of(out) == MASKS


@pytest.mark.parametrize(
    ("split", "how", "message"),
    [
        (
            {"user": "bad.csv"},
            {},
            r"bad.csv, line 3, column 'split': not the name of a set: .*test, or nothing, found 'tset'",
        ),
        (
            {"user": "users.csv:age"},
            {},
            r"users.csv, line 2, column 'age': not the name of a set: .* found '0' in 'h,0,dev', and 7 more",
        ),
        (
            {"user": "users.parquet:key:age"},
            {},
            r"users.parquet, split, column 'age': not the names of sets: .*integers",
        ),
        ({"user": "users.csv:set"}, {}, "users.csv: no column 'set'"),
        ({"item": "users.csv"}, {}, "split: unknown type: expected user, found item"),
        ({"user": "twice.csv"}, {}, "a 'user' node is listed twice"),
        ({"user": "users.csv"}, {"masks": {"user": {"val_mask": "users.csv:id"}}}, "twice: user/val_mask"),
        ({"user": np.array(["train"] * 9)}, {}, "Split of 'user' nodes: nothing says which node a row belongs to"),
    ],
)
def test_what_names_no_sets_is_refused(split: Any, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("id,split\na,train\nb,tset\n")
    (tmp_path / "twice.csv").write_text("id,split\na,train\na,test\n")
    with pytest.raises(GraphPartError, match=message):
        chunk(tmp_path / "out", {F: "f.csv"}, map_ids=True, split=split, **how)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", [["train", None, "val"], np.array(["train", "", "val"]), pd.Series(["train", None, "val"])]
)
def test_words_of_nodes_that_count_from_0_are_in_their_order(words: Any) -> None:
    graph = dgp.scan_tables(pd.DataFrame({"src": [0, 1], "dst": [1, 2]}), split={"_N": words}).collect()
    masks = {name: graph.node_data["_N"][name].compute().tolist() for name in MASKS}
    assert masks == {"train_mask": [True, False, False], "val_mask": [False, False, True], "test_mask": [False] * 3}


def test_bare_options_and_those_of_an_edge_type_stand_anywhere(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\na,b\na,b\nb,b\n")
    tables = ("--edges", "n:r:n=e.csv", "--edges", "n:s:n=e.csv", "--map-ids", "--name", "graph", "--quiet")
    counts = {}
    for i, words in enumerate(
        [
            ("--deduplicate", "out", *tables),
            ("out", *tables, "--deduplicate", "n:s:n"),
            ("--deduplicate", "n:s:n", "--remove_self_loops", "--deduplicate=n:r:n", "out", *tables),
            (*tables, "--remove-self-loops", "--", "out"),
        ]
    ):
        assert call("build", *(f"out-{i}" if word == "out" else word for word in words)) == 0
        counts[i] = [kind.num_edges for kind in dgp.read_chunked(f"out-{i}").schema.edge_types]
    assert counts == {0: [2, 2], 1: [3, 2], 2: [1, 1], 3: [2, 2]}
