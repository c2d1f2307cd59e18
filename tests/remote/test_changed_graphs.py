"""Graphs in a store with changes that read edges: the bytes of the same job on files, also when it was killed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from commands import call
from faults.kills import Kill, arm, hashes, in_fork
from remote_stores import S3, copy_in, make_graph

import daskgraphpart as dgp
from daskgraphpart.engine.journal import from_json, to_json
from daskgraphpart.storage.paths import opener_like, resolve_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BUYS = "user:buys:item"
CHANGES: dict[str, Callable[[dgp.Graph], dgp.Graph | dgp.Scan]] = {
    "loops": lambda graph: graph.without_self_loops(),
    "new loops": lambda graph: graph.with_self_loops(),
    "duplicates": lambda graph: graph.without_duplicates(),
    "split": lambda graph: graph.split_edges(BUYS, by="when"),
    "reverse, duplicates": lambda graph: graph.with_reverse_edges("dgl").without_duplicates(),
    "cast, loops, reverse": lambda graph: (
        graph.astype({"item/price": "float32"}).without_self_loops().with_reverse_edges("graphstorm")
    ),
}
HOW: dict[str, Any] = {"method": "random", "memory": "256MB", "cluster": "sync", "progress": False}


def write_graph(path: Path, form: str) -> Path:
    make_graph(60, 200).write(path, edge_format=form, data_format="parquet", num_chunks=2)
    return path


@pytest.mark.parametrize(("change", "form"), [*((change, "csv") for change in CHANGES), ("loops", "parquet")])
def test_killed_and_continued_it_gives_the_bytes_of_files(change: str, form: str, memory: Any, tmp_path: Path) -> None:
    local = write_graph(tmp_path / "graph", form)
    copy_in(local, memory, "/graph")

    def end(given: Any, out: Path, kill: Kill | None = None, **options: Any) -> int:
        def run() -> None:
            if kill is not None:
                arm(kill)
            dgp.partition(CHANGES[change](dgp.read_chunked(given, **options)), out, 2, **HOW)

        return in_fork(run)

    for name, given in (("of-files", local), ("of-store", "memory://graph")):
        out = tmp_path / name
        options = {"storage_options": {"unused_secret_key": "hunter2"}} if name == "of-store" else {}
        assert end(given, out, Kill("begin", 6), **options) < 0  # the graph is read
        journals = [path.read_bytes() for path in out.rglob("journal")]
        assert journals and not any(b"hunter2" in content for content in journals)
        if options:  # another key opens the same graph
            options["storage_options"] = {"unused_secret_key": "changed"}
        assert end(given, out, **options) == 0
    assert end(local, tmp_path / "whole") == 0
    assert hashes(tmp_path / "whole") == hashes(tmp_path / "of-files") == hashes(tmp_path / "of-store")


def test_the_same_by_the_command_line(memory: Any, tmp_path: Path) -> None:
    local = write_graph(tmp_path / "graph", "numpy")
    copy_in(local, memory, "/graph")
    how = ("--num-parts", "2", "--method", "random", "--remove-self-loops", "--deduplicate", "--quiet")
    for given, out in ((local, "of-files"), ("memory://graph", "of-store")):
        assert call("partition", given, tmp_path / out, "--workspace", tmp_path / "work", *how) == 0
    assert hashes(tmp_path / "of-files") == hashes(tmp_path / "of-store")


def test_options_of_a_bucket_are_those_of_its_files(s3: S3, tmp_path: Path) -> None:
    local = write_graph(tmp_path / "graph", "parquet")
    copy_in(local, s3.files, "s3://bucket/graph")
    graph = dgp.read_chunked("s3://bucket/graph", storage_options=s3.options).without_self_loops()
    dgp.partition(graph, tmp_path / "of-store", 2, **HOW)
    dgp.partition(dgp.read_chunked(local).without_self_loops(), tmp_path / "of-files", 2, **HOW)
    assert hashes(tmp_path / "of-files") == hashes(tmp_path / "of-store")


def test_paths_in_a_journal_are_urls_without_options() -> None:
    path = resolve_path("s3://bucket/graph/a.npy", {"secret": "hunter2"})
    noted = json.dumps(to_json((path, 1)))
    assert "s3://bucket/graph/a.npy" in noted and "hunter2" not in noted
    listed = []

    def paths() -> list[Any]:
        listed.append(path)
        return [path]

    found, _ = from_json(json.loads(noted), open_url=(open_url := opener_like(paths)))
    assert found == path and found.storage_options["secret"] == "hunter2"
    assert "secret" not in open_url("memory://other/file").storage_options
    assert "secret" not in from_json(json.loads(noted))[0].storage_options
    assert len(listed) == 1
