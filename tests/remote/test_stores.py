"""What holds in every store: names, rows by ranges, options that stay secret, errors before work starts."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
import pytest
from commands import call
from hypothesis import given
from hypothesis import strategies as st
from inside import Region, detect_resources, resources_of
from keywords import spelled
from pyarrow import parquet
from remote_stores import contents_of, copy_in, local_contents, make_graph
from upath import UPath

from daskgraphpart import (
    chunk_graph,
    load_partition,
    load_partition_book,
    open_partitions,
    partition,
    partition_graph,
    read_chunked,
    scan_tables,
)
from daskgraphpart.errors import EnvironmentFaultError, InputFileError, MetadataError, MissingPackageError, OptionError
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.storage.object_store import MAX_REQUEST_NBYTES
from daskgraphpart.storage.paths import join_path, require_local, resolve_path, to_path

if TYPE_CHECKING:
    from daskgraphpart import Graph

SECRET = {"unused_secret_key": "hunter2"}
RESOURCES = ("--memory", "200MB", "--quiet")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("local")
    make_graph().write(root / "graph", edge_format="csv", data_format="parquet", num_chunks=2)
    assert call("partition", root / "graph", root / "out", "--num-parts", "2", "--method", "random", *RESOURCES) == 0
    return root


# ---------------------------------------------------------------------------------------------------------------- names


def test_a_url_keeps_its_options_and_does_not_show_them() -> None:
    url = resolve_path("S3://bucket/graph/", SECRET)
    assert isinstance(url, UPath) and str(url) == "s3://bucket/graph"
    for same in (url, url / "x", url.parent, pickle.loads(pickle.dumps(url)), resolve_path(url), to_path(url)):
        assert isinstance(same, UPath) and same.storage_options.items() >= SECRET.items()
        assert "hunter2" not in repr(same) + f"{same}"


def test_names_in_metadata_are_joined_as_in_a_file_system() -> None:
    url = resolve_path("s3://bucket/deep/graph", SECRET)
    for name, expected in [
        ("a/b", "deep/graph/a/b"),
        ("./a//b", "deep/graph/a/b"),
        ("../a", "deep/a"),
        ("a/..", "deep/graph"),
    ]:
        assert str(join_path(url, name)) == f"s3://bucket/{expected}"
        assert str(join_path(Path("/deep/graph"), name).resolve()) == f"/{expected}"
    assert "unused_secret_key" in join_path(url, "s3://other/file").storage_options
    assert "unused_secret_key" not in join_path(url, "memory://other/file").storage_options
    assert join_path(url, "/etc/passwd") == Path("/etc/passwd")


def test_urls_of_files_are_paths(local: Path) -> None:
    for url in ("file:///data/x", "local:///data/x", "file://localhost/data/x", "/data/x", UPath("/data/x")):
        assert resolve_path(url) == Path("/data/x") == require_local(url, "it")
    assert repr(read_chunked(f"file://{local}/graph")) == repr(read_chunked(local / "graph"))
    assert repr(open_partitions(f"file://{local}/out")) == repr(open_partitions(local / "out"))


# ----------------------------------------------------------------------------------------------------------------- rows


def remote_region(nbytes_before: int, rows: np.ndarray) -> Region:
    fsspec.filesystem("memory").pipe_file("/rows", bytes(nbytes_before) + rows.tobytes())
    return Region(UPath("memory://rows"), nbytes_before, rows.dtype, rows.shape)


@given(st.integers(1, 60), st.integers(1, 4), st.data())
def test_remote_rows_are_taken_like_those_of_an_array(num_rows: int, width: int, data: Any) -> None:
    rows = np.arange(num_rows * width, dtype="<i4").reshape(num_rows, width)
    region = remote_region(5, rows)
    remote = StoredRows("rows", [region, region])
    rows = np.concatenate([rows, rows])
    ids = np.array(data.draw(st.lists(st.integers(0, max(0, num_rows - 1)), max_size=9 if num_rows else 0)), np.int64)
    start, stop = data.draw(st.tuples(st.integers(-70, 70), st.integers(-70, 70)))
    mask = np.zeros(len(rows), bool)
    mask[ids] = True
    for where in (ids, ids.reshape(-1, 1), mask, slice(start, stop), slice(start, stop, 3)):
        assert np.array_equal(rows[where], remote[where])


def test_rows_far_from_each_other_are_asked_for_alone(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = remote_region(0, np.repeat(np.arange(20_000, dtype="<i8"), 128).reshape(-1, 128))  # rows of 1 kB
    spans, read = [], type(memory).cat_file

    def recorded(self: Any, path: str, start: int, end: int) -> bytes:
        spans.append((start >> 10, end >> 10))
        found: bytes = read(self, path, start, end)
        return found

    monkeypatch.setattr(type(memory), "cat_file", recorded)
    assert remote.take(np.array([900, 3, 1, 500]))[:, 0].tolist() == [900, 3, 1, 500]
    assert sorted(spans) == [(1, 4), (500, 501), (900, 901)]
    spans.clear()
    assert remote.take(np.arange(20_000))[:, 0].tolist() == list(range(20_000))
    assert max(stop - start for start, stop in spans) <= MAX_REQUEST_NBYTES >> 10, "a request is bounded"


def test_a_file_that_is_too_short_is_an_input_error(memory: Any) -> None:
    memory.pipe_file("/rows", bytes(10))
    with pytest.raises(InputFileError, match=r"memory://rows: file ends too early: .* 16 bytes, found 10"):
        Region(UPath("memory://rows"), 8, np.dtype("u1"), (8,)).read(0, 8)


# ---------------------------------------------------------------------------------------------------------------- whole


def test_partitions_made_in_a_store_are_those_made_in_files(local: Path, memory: Any, tmp_path: Path) -> None:
    copy_in(local / "graph", memory, "/graph")
    more = ("--num-parts", "2", "--method", "random", "--workspace", tmp_path / "work", *RESOURCES)
    assert call("partition", "memory://graph", "memory://out", *more) == 0
    assert contents_of(memory, "/out") == local_contents(local / "out")
    assert call("verify", "memory://graph", "memory://out", "--quiet") == 0
    assert call("verify", "--checksums", "memory://out", "--quiet") == 0
    assert list((tmp_path / "work").iterdir()) == []


def test_maps_of_the_ids_of_tables_are_found_in_a_store(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("src,dst\nann,bob\nbob,eve\n")
    spec, workspace = scan_tables(tmp_path / "edges.csv", map_ids=True), str(tmp_path)
    parts = partition(spec, "memory://bucket/named", 2, method="random", cluster="sync", workspace=workspace)
    np.save(tmp_path / "rows.npy", np.arange(3))
    parts.to_original("_N", tmp_path / "rows.npy", tmp_path / "rows.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet").to_pydict()["id"] == ["ann", "bob", "eve"]


def test_a_damaged_file_in_a_store_is_found(local: Path, memory: Any) -> None:
    copy_in(local / "out", memory, "/out")
    content = memory.cat_file("/out/part1/node_feat.dgl")
    memory.pipe_file("/out/part1/node_feat.dgl", content[:-8] + b"\xff" * 8)
    assert call("verify", "--checksums", "memory://out", "--quiet") == 1
    memory.rm_file("/out/part0/orig_nids.dgl")
    assert call("verify", local / "graph", "memory://out", "--quiet") == 1


def test_the_lazy_views_of_a_store_are_those_of_files(local: Path, memory: Any) -> None:
    copy_in(local / "graph", memory, "/graph")
    found: Graph = read_chunked("memory://graph")
    expected = read_chunked(local / "graph")
    assert repr(expected) == repr(found)
    for etype in expected.schema.etypes:
        assert expected.edges[etype].compute().equals(found.edges[etype].compute())
    copy_in(local / "out", memory, "/out")
    there, here = open_partitions("memory://out"), open_partitions(local / "out")
    for ntype, features in here.node_data.items():
        for name, rows in features.items():
            assert np.array_equal(rows.compute(), there.node_data[ntype][name].compute())
    for key, ids in here.part(1).split_nids.items():
        assert np.array_equal(ids, there.part(1).split_nids[key])
    ids = np.array([3, 250, 0])
    assert np.array_equal(here.nodes["user"].original_ids[ids], there.nodes["user"].original_ids[ids])


def test_partitions_with_ids_that_were_kept_are_loaded_from_a_store(memory: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(50, size=(2, 300))
    partition_graph((ends[0], ends[1]), "kept", 2, tmp_path / "out", reshuffle=False)
    copy_in(tmp_path / "out", memory, "/out")
    found, expected = load_partition("memory://out", 1), load_partition(tmp_path / "out", 1)
    assert (found[0].ndata["inner_node"] == expected[0].ndata["inner_node"]).all()
    book = load_partition_book("memory://out", 0)[0]
    assert book.nid2partid(np.arange(50)).tolist() == expected[3].nid2partid(np.arange(50)).tolist()
    assert book.partid2nids(1).tolist() == expected[3].partid2nids(1).tolist()


# --------------------------------------------------------------------------------------------------------------- errors


def test_outputs_and_workspaces_that_a_store_cannot_be_are_one_error(local: Path, memory: Any, tmp_path: Path) -> None:
    chunk_graph((np.arange(9), np.arange(9)), "g", output_path=tmp_path / "g")
    kept = {"layout_options": {"reshuffle": False}, "workspace": tmp_path / "work"}
    for message, graph, how in (
        (r"^reshuffle: .*a local directory. Choose a local", tmp_path / "g", kept),
        (r"workspace.*need a workspace", local / "graph", {}),
    ):
        with pytest.raises(OptionError, match=message):
            partition(graph, "memory://out", 2, method="random", **how)  # type: ignore[arg-type]
    assert not (tmp_path / "work").exists() and not memory.find("/")
    with pytest.raises(OptionError, match=r"is in a store, and this job needs a file system.*Use a directory"):
        resources_of({"workspace": "s3://bucket/work"})
    assert detect_resources(workspace="file:///scratch").workspace == "/scratch"


@pytest.mark.parametrize(
    ("url", "extra"), [("gs://bucket/graph", 'pip install ".[gcs]" in a clone'), ("abfs://a/b", "fsspec")]
)
def test_a_missing_package_is_one_error(url: str, extra: str) -> None:
    with pytest.raises(MissingPackageError) as raised:
        read_chunked(url)
    assert extra in str(raised.value)


@pytest.mark.parametrize(
    "command",
    [
        "generate memory://x --nodes 10 --edges 10",
        "assign GRAPH memory://x --num-parts 2",
        "dispatch GRAPH memory://owners out",
        "parmetis write GRAPH memory://x",
    ],
)
def test_what_takes_no_url_says_so(
    command: str, local: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*(str(local / "graph") if word == "GRAPH" else word for word in command.split())) == 2
    assert "must be in a file system" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["generate OUT --nodes 10 --edges 20"])
def test_what_takes_no_workspace_in_a_store_says_so_before_work(
    command: str, local: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"GRAPH": local / "graph", "PARTS": local / "out", "OUT": tmp_path / "out"}
    assert call(*(str(places.get(word, word)) for word in command.split()), "--workspace", "s3://bucket/work") == 2
    assert "is in a store, and this job needs a file system" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_graph_in_a_store_stays_in_it_and_a_confined_one_below_its_url(memory: Any, tmp_path: Path) -> None:
    make_graph().write(tmp_path / "graph")
    copy_in(tmp_path / "graph", memory, "/deep/graph")
    read_chunked("memory://deep/graph", confined=True)
    text = memory.cat_file("/deep/graph/metadata.json").decode()
    first = next(word for word in text.split('"') if word.endswith(".csv"))
    memory.copy(f"/deep/graph/{first}", "/deep/outside.csv")
    memory.pipe_file("/deep/graph/metadata.json", text.replace(first, "../outside.csv").encode())
    read_chunked("memory://deep/graph")
    with pytest.raises(MetadataError, match="leads out of the directory"):
        read_chunked("memory://deep/graph", confined=True)
    memory.pipe_file("/deep/graph/metadata.json", text.replace(first, "/etc/passwd").encode())
    with pytest.raises(MetadataError, match=r"names a local path.*/etc/passwd"):
        read_chunked("memory://deep/graph")


@pytest.mark.parametrize("form", ["csv", "numpy", "parquet"])
def test_a_store_that_fails_is_not_taken_for_a_damaged_file(
    form: str, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_graph().write(tmp_path / "graph", edge_format=form, data_format="parquet" if form == "parquet" else "numpy")
    copy_in(tmp_path / "graph", memory, "/graph")
    graph = read_chunked("memory://graph")

    def failing(self: Any, path: str, start: int, end: int) -> bytes:
        raise PermissionError("the key has expired")

    monkeypatch.setattr(type(memory), "cat_file", failing)
    for collection in (graph.edges["user:buys:item"], graph.node_data["user"]["feat"]):
        with pytest.raises(EnvironmentFaultError, match=r"the store refuses access.*expired"):
            collection.compute()


def test_secrets_are_in_no_file_and_no_message(
    local: Path, memory: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, "daskgraphpart")
    copy_in(local / "graph", memory, "/graph")

    pipe = type(memory).pipe_file

    def failing(self: Any, path: str, value: bytes, *more: Any, **how: Any) -> None:
        if "lock" not in path:
            raise OSError("the store is full")
        pipe(self, path, value, *more, **how)

    resources = detect_resources("200MB", workers=1, workspace=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "pipe_file", failing)
        with pytest.raises(EnvironmentFaultError, match="the store is full") as raised:
            partition(
                "memory://graph", "memory://out", 2, method="random", **spelled(resources), storage_options=SECRET
            )
    journals = list(tmp_path.rglob("journal"))
    assert len(journals) == 1
    everything = b"".join(local_contents(tmp_path).values()).decode(errors="replace") + caplog.text + str(raised.value)
    assert "memory://graph" in everything and "hunter2" not in everything
    partition("memory://graph", "memory://out", 2, method="random", **spelled(resources), storage_options=SECRET)
    assert contents_of(memory, "/out") == local_contents(local / "out")
