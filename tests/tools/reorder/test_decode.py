"""Predictions come back as words: the largest column of scores, or codes, as the text of a column of the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from tests.commands import call

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("bird", "cat", "dog")
NUM_NODES = 30


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of labelled nodes, one without a label, and a score for each of their words."""
    root = tmp_path_factory.mktemp("decode")
    names = [f"user-{i * 7 % NUM_NODES}" for i in range(NUM_NODES)]
    labels = [None, *(WORDS[i % 3] for i in range(1, NUM_NODES))]
    pd.DataFrame({"id": names, "label": labels, "age": range(NUM_NODES)}).to_csv(root / "users.csv", index=False)
    ends = {"src": names, "dst": [*names[1:], names[0]], "kind": ["likes", "knows"] * (NUM_NODES // 2)}
    pd.DataFrame(ends).to_csv(root / "e.csv", index=False)
    how = {"node_data": {"user": f"{root}/users.csv:*"}, "edge_features": "kind", "map_ids": True}
    tables = dgp.scan_tables({"user:friend:user": f"{root}/e.csv"}, nodes={"user": f"{root}/users.csv"}, **how)
    dgp.partition(tables, root / "parts", 3, method="random", cluster="sync")
    parts = dgp.open_partitions(root / "parts")
    codes = parts.nodes["user"].data["label"][:]
    scores = np.eye(3, dtype=np.float32)[codes.clip(0)] + np.random.default_rng(1).random((NUM_NODES, 3)) / 2
    np.save(root / "scores.npy", scores)
    np.save(root / "codes.npy", codes)
    np.save(root / "nan.npy", np.where(codes[:, None] == 1, np.nan, scores))
    np.save(root / "beyond.npy", codes + 1)
    return root


def expected(root: Path) -> dict[str, Any]:
    users = pd.read_csv(root / "users.csv")
    return dict(zip(users["id"], users["label"], strict=True))


def test_scores_come_back_as_words_by_the_users_ids(root: Path, tmp_path: Path) -> None:
    wanted = {**expected(root), "user-0": "bird"}  # the score of a node without a label is as any other's
    assert call("to-original", root / "parts", root / "scores.npy", tmp_path / "out.parquet", "--decode", "label") == 0
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert dict(zip(found["id"], found["value"], strict=True)) == wanted
    arguments = (root / "parts", root / "scores.npy", tmp_path / "out.npy", "--largest", "--quiet")
    assert call("to-original", *arguments) == 0
    assert [WORDS[code] for code in np.load(tmp_path / "out.npy")] == list(found["value"])


def test_codes_come_back_as_words_and_missing_ones_as_null(root: Path, tmp_path: Path) -> None:
    parts = dgp.open_partitions(root / "parts")
    parts.to_original("user", parts.nodes["user"].data["label"], tmp_path / "out.parquet", decode="label")
    found = pd.read_parquet(tmp_path / "out.parquet")
    words = dict(zip(found["id"], found["value"], strict=True))
    assert pd.isna(words.pop("user-0"))
    assert words == {name: word for name, word in expected(root).items() if name != "user-0"}
    for decode in ("kind", f"{root}/parts/categories/user:friend:user/kind.parquet"):
        kinds = parts.to_original("friend", parts.edges["friend"].data["kind"], decode=decode).compute()
        assert list(kinds) == list(pd.read_csv(root / "e.csv")["kind"])


def test_arrays_of_any_kind_give_the_same_words(root: Path) -> None:
    parts, scores = dgp.open_partitions(root / "parts"), np.load(root / "scores.npy")
    found = [
        parts.to_original("user", rows, decode="label").compute().tolist()
        for rows in (scores, da.from_array(scores, (7, 2)), root / "scores.npy")
    ]
    assert found[0] == found[1] == found[2]
    assert set(found[0]) == set(WORDS)


REFUSED = {
    "no such feature": (("scores.npy", "o.parquet", "--decode", "labels"), "expected one of label"),
    "no text": (("scores.npy", "o.parquet", "--decode", "age"), "no text of user/age: expected one of label"),
    "no column for text": (("scores.npy", "o.npy", "--decode", "label"), "only parquet output has a column for text"),
    "not a number": (("nan.npy", "o.parquet", "--decode", "label"), "Some scores are NaN"),
    "no such category": (("beyond.npy", "o.parquet", "--decode", "label"), "no category has this code"),
    "one column": (("codes.npy", "o.npy", "--largest"), "no columns to choose from"),
    "no file": (("codes.npy", "o.parquet", "--decode", "none.parquet"), "none.parquet"),
    "other file": (("codes.npy", "o.parquet", "--decode", "o.parquet"), "o.parquet"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_words_is_one_error(case: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (rows, out, *options), says = REFUSED[case]
    assert call("to-original", root / "parts", root / rows, root / out, *options) == 2
    error = capsys.readouterr().err
    assert says in " ".join(error.split()), error
    assert "Traceback" not in error
    assert not (root / out).exists()


def test_no_words_in_memory_is_an_error_of_ours(root: Path) -> None:
    parts = dgp.open_partitions(root / "parts")
    with pytest.raises(GraphPartError, match="no codes of categories"):
        parts.to_original("user", np.zeros(NUM_NODES), decode="label")
