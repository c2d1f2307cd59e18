"""Features are added to partitions in a store: the same files as on a disk, and an interrupted run continues."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from inside import Resources
from keywords import spelled
from listeners import Listener, Stopped
from remote_stores import S3, contents_of, copy_in, local_contents

import daskgraphpart as dgp
from daskgraphpart import GraphPartError

if TYPE_CHECKING:
    from pathlib import Path

URL = "s3://bucket/deep/parts"
HOW: dict[str, Any] = spelled(Resources(1 << 28, "sync", 1))
RNG = np.random.default_rng(3)
NEW = {"_N": {"embedding": RNG.random((40, 7), np.float32), "val_mask": RNG.random(40) < 0.3}}
NEW_OF_EDGES = {"_N:_E:_N": {"stars": RNG.random((300, 2), np.float32)}}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions of tables with own IDs, in all layouts that a store can hold; and with the features."""
    root, names = tmp_path_factory.mktemp("local"), np.array([f"u{i}" for i in RNG.permutation(40)])
    pd.DataFrame({"src": RNG.choice(names, 300), "dst": RNG.choice(names, 300)}).to_csv(root / "edges.csv", index=False)
    pd.DataFrame({"id": names, "age": np.arange(40)}).to_csv(root / "users.csv", index=False)
    tables = dgp.scan_tables({"_N:_E:_N": root / "edges.csv"}, nodes={"_N": (root / "users.csv", "id")}, map_ids=True)
    how = {"method": "random", "layout": "dgl,graphbolt,ranks,parquet", **HOW}
    dgp.partition(tables, root / "parts", 3, **how)
    shutil.copytree(root / "parts", root / "added")
    added(dgp.open_partitions(root / "added"), root)
    return root


def added(parts: dgp.PartitionedGraph, root: Path, **how: Any) -> dgp.PartitionedGraph:
    ages = {"_N": {"age": f"{root}/users.csv:id:age"}}
    lazy = {etype: {name: da.from_array(rows, chunks=(70, 2)) for name, rows in of.items()}
            for etype, of in NEW_OF_EDGES.items()}  # fmt: skip
    parts = parts.add_node_data(NEW, **how, **HOW).add_node_data(ages, **how, **HOW)
    return parts.add_edge_data(lazy, **how, **HOW)


def test_files_in_s3_are_those_on_a_disk(s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "parts", s3.files, URL)
    parts = added(dgp.open_partitions(URL, storage_options=s3.options), local, workspace=tmp_path)
    assert contents_of(s3.files, URL) == local_contents(local / "added")
    assert s3.unfinished_uploads("bucket") == []
    assert list(tmp_path.iterdir()) == []
    assert parts.verify(**HOW).ok
    assert sorted(parts.node_data["_N"]["age"].compute()) == list(range(40))


@pytest.mark.parametrize("stop", [{"stop_at": "copy-arrays"}, {"stop_after": "export-files"}])
def test_an_interrupted_run_continues_and_describes_nothing_before(
    stop: dict[str, str], s3: S3, local: Path, tmp_path: Path
) -> None:
    copy_in(local / "parts", s3.files, URL)
    before = contents_of(s3.files, URL)
    parts = dgp.open_partitions(URL, storage_options=s3.options)
    with pytest.raises(Stopped):
        parts.add_node_data(NEW, workspace=tmp_path, progress=Listener(**stop), **HOW)
    changed = {name for name, content in contents_of(s3.files, URL).items() if before.get(name) != content}
    assert not [name for name in changed if name.endswith(".json") and ".daskgraphpart" not in name]
    added(dgp.open_partitions(URL, storage_options=s3.options), local, workspace=tmp_path)
    assert contents_of(s3.files, URL) == local_contents(local / "added")


def test_a_store_needs_a_workspace(s3: S3, local: Path) -> None:
    copy_in(local / "parts", s3.files, URL)
    before = contents_of(s3.files, URL)
    with pytest.raises(GraphPartError, match=r"workspace: partitions for a store need a workspace"):
        dgp.open_partitions(URL, storage_options=s3.options).add_node_data(NEW, **HOW)
    assert contents_of(s3.files, URL) == before


def test_a_mistake_leaves_nothing(s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "parts", s3.files, URL)
    before = contents_of(s3.files, URL)
    parts = dgp.open_partitions(URL, storage_options=s3.options)
    (tmp_path / "some.csv").write_text("id,age\nu1,2\nx,3\n", encoding="ascii")
    for bad in (f"{tmp_path}/none.csv:id:age", f"{tmp_path}/some.csv:id:age"):
        with pytest.raises(GraphPartError):
            parts.add_node_data({"_N": {"age": bad}}, workspace=tmp_path / "work", **HOW)
    assert contents_of(s3.files, URL) == before
    assert not any((tmp_path / "work").iterdir())
