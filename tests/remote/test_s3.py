"""A chunked graph in S3, partitioned into S3, verified and loaded from there; and what can go wrong on the way."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
import pytest
import s3fs
from commands import call
from fsspec.asyn import sync_wrapper
from inside import DispatchOptions, detect_resources
from keywords import spelled
from remote_stores import S3, contents_of, copy_in, local_contents, make_graph
from upath import UPath

from daskgraphpart import GraphPartError, load_partition, open_partitions, partition, read_chunked, verify
from daskgraphpart.dispatching.delivery.to_store import _check_sent
from daskgraphpart.errors import EnvironmentFaultError, InputFileError, OutputExistsError, ResumeError
from daskgraphpart.storage.checksums import hash_bytes
from daskgraphpart.storage.upload import SEND_NBYTES, upload_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URL_IN, URL_OUT = "s3://bucket/graph", "s3://bucket/deep/partitions"


def run(graph: Any, out: Any, workspace: Path, **how: Any) -> Any:
    resources = detect_resources("200MB", how.pop("cluster", "threads"), 2, workspace=workspace)
    return partition(graph, out, 3, method="random", **spelled(resources), **how)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What is asked of the server: method and what goes with it; keys that end with `requests.fails` are refused."""

    class Requests(list[tuple[str, dict[str, Any]]]):
        fails: str | None = None

        def named(self, method: str) -> list[dict[str, Any]]:
            return [what for name, what in self if name == method]

    found, ask = Requests(), s3fs.S3FileSystem._call_s3

    async def recorded(self: Any, method: str, *settings: Any, **what: Any) -> Any:
        if method == "upload_part" and found.fails and what["Key"].endswith(found.fails):
            raise OSError("the cable was pulled")
        found.append((method, {**(settings[0] if settings else {}), **what}))
        return await ask(self, method, *settings, **what)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", recorded)
    monkeypatch.setattr(s3fs.S3FileSystem, "call_s3", sync_wrapper(recorded))
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in files of all formats, and its partitions."""
    root = tmp_path_factory.mktemp("local")
    make_graph().write(root / "csv", edge_format="csv", data_format="numpy", num_chunks=2)
    make_graph().write(root / "parquet", edge_format="parquet", data_format="parquet", num_chunks=2)
    run(root / "csv", root / "out", root / "work")
    return root


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_partitions_made_in_s3_are_those_made_in_files(form: str, s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / form, s3.files, URL_IN)
    outcome = run(URL_IN, URL_OUT, tmp_path / "work", storage_options=s3.options)
    assert str(outcome.config) == f"{URL_OUT}/shop.json"
    assert contents_of(s3.files, URL_OUT) == local_contents(local / "out")
    assert s3.unfinished_uploads("bucket") == []
    assert list((tmp_path / "work").iterdir()) == []


def test_workers_that_are_processes_reach_the_store(s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "csv", s3.files, URL_IN)
    run(URL_IN, URL_OUT, tmp_path / "work", storage_options=s3.options, cluster="processes")
    assert contents_of(s3.files, URL_OUT) == local_contents(local / "out")


def test_partitions_in_s3_are_verified_and_loaded_from_there(s3: S3, local: Path, tmp_path: Path) -> None:
    here, options = tmp_path / "out", DispatchOptions(2, ("csc",), out_edges=True)
    run(local / "csv", here, tmp_path / "work", **spelled(options))
    copy_in(local / "csv", s3.files, URL_IN)
    copy_in(here, s3.files, URL_OUT)
    report = verify(URL_IN, URL_OUT, storage_options=s3.options)
    assert report.ok and report.num_edges == 3000
    assert open_partitions(URL_OUT, storage_options=s3.options).verify().ok
    found, expected = open_partitions(URL_OUT, storage_options=s3.options), open_partitions(here)
    in_dgl = f"in DGL: dgl.distributed.load_partition({str(expected.config)!r}, 0)"  # reads no URL
    assert repr(expected) == f"{found!r}\n{in_dgl}"
    reports = [graph.report().to_dict() for graph in (expected, found)]
    assert reports[0].pop("sampling")  # not counted by itself where every batch is a request
    assert {**reports[0], "about": None} == {**reports[1], "about": None}
    for etype in expected.etypes:
        assert expected.edges[etype].frame().compute().equals(found.edges[etype].frame().compute())
    graph, node_feats, *_ = load_partition(f"{URL_OUT}/shop.json", 2, storage_options=s3.options)
    same, same_feats, *_ = load_partition(here, 2)
    assert graph.num_edges() == same.num_edges()
    assert all((node_feats[name] == same_feats[name]).all() for name in same_feats)


def test_a_row_is_read_without_the_rows_around_it(s3: S3, local: Path, requests: Any) -> None:
    copy_in(local / "out", s3.files, URL_OUT)
    graph, here = open_partitions(URL_OUT, storage_options=s3.options), open_partitions(local / "out")
    rows, array = graph.nodes["user"].data["feat"], graph.node_data["user"]["feat"]
    expected = here.nodes["user"].data["feat"]
    requests.clear()

    def asked() -> list[int]:
        ranges = [what["Range"].removeprefix("bytes=").split("-") for what in requests.named("get_object")]
        requests.clear()
        return [int(last) + 1 - int(first) for first, last in ranges]

    assert (rows[[7]] == expected[[7]]).all() and asked() == [rows.dtype.itemsize * 8]
    assert (array[7:9].compute() == expected[7:9]).all() and asked() == [2 * rows.dtype.itemsize * 8]
    assert (array[[299, 7]].compute() == expected[[299, 7]]).all()


def test_a_graph_of_many_files_is_opened_with_few_requests(s3: S3, tmp_path: Path, requests: Any) -> None:
    make_graph().write(tmp_path / "graph", edge_format="numpy", data_format="numpy", num_chunks=20)
    copy_in(tmp_path / "graph", s3.files, URL_IN)
    requests.clear()
    graph = read_chunked(URL_IN, storage_options=s3.options)
    assert repr(read_chunked(tmp_path / "graph")) == repr(graph)
    assert len(graph.files) == 120
    assert len(requests.named("get_object")) == 1 + len(graph.files)
    assert len(requests.named("head_object")) < 10


def test_a_missing_bucket_is_one_error(s3: S3, local: Path, tmp_path: Path) -> None:
    for attempt in (
        lambda: read_chunked("s3://nobody/graph", storage_options=s3.options),
        lambda: open_partitions("s3://nobody/out", storage_options=s3.options),
        lambda: run(local / "csv", "s3://nobody/out", tmp_path / "work", storage_options=s3.options),
    ):
        with pytest.raises(GraphPartError, match=r"s3://nobody/.*no such file"):
            attempt()
    assert not (tmp_path / "work").exists()


@contextlib.contextmanager
def checked_keys(s3: S3, after: int) -> Iterator[None]:
    """Refuse the keys of the tests after so many requests."""
    s3.post("reset-auth", str(after))
    try:
        yield
    finally:
        s3.post("reset-auth", "inf")


def test_a_wrong_key_is_one_error(s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "csv", s3.files, URL_IN)
    with checked_keys(s3, 0):
        for attempt in (
            lambda: read_chunked(URL_IN, storage_options=s3.options),
            lambda: open_partitions(URL_OUT, storage_options=s3.options),
            lambda: run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options),
        ):
            with pytest.raises(EnvironmentFaultError, match=r"the store refuses access.*Check the credentials"):
                attempt()
    assert not (tmp_path / "work").exists()


def test_a_key_that_may_not_write_is_found_out_before_work_starts(
    s3: S3, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(s3fs.S3FileSystem, "call_s3", refused)
    with pytest.raises(EnvironmentFaultError, match=r"deep/partitions: the store refuses access"):
        run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options)
    assert not (tmp_path / "work").exists()


def test_a_server_that_is_not_there_is_one_error(s3: S3) -> None:
    options = {**s3.options, "endpoint_url": "http://127.0.0.1:9"}
    with pytest.raises(EnvironmentFaultError, match=r"the store failed.*address of the store"):
        read_chunked(URL_IN, storage_options=options)


@pytest.mark.parametrize("name", ["node_data/user/feat-0.npy", "edges/user_buys_item-0.csv"])
def test_input_that_is_cut_off_is_one_error(name: str, s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "csv", s3.files, URL_IN)
    graph = read_chunked(URL_IN, storage_options=s3.options)
    path = next(path for path in graph.files if path.suffix == name[name.rindex(".") :])
    content = s3.files.cat_file(path.path)
    s3.files.pipe_file(path.path, content[: len(content) // 2])
    with pytest.raises(InputFileError, match=r"s3://bucket/graph.*(truncated|too early|changed|disagree)"):
        run(graph, URL_OUT, tmp_path / "work", storage_options=s3.options)
    assert contents_of(s3.files, URL_OUT) == {}
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("after", [3, 30])
def test_a_store_that_fails_is_not_taken_for_damaged_partitions(after: int, s3: S3, local: Path) -> None:
    copy_in(local / "out", s3.files, URL_OUT)
    with checked_keys(s3, after), pytest.raises(EnvironmentFaultError, match="the store refuses access"):
        verify(local / "csv", URL_OUT, storage_options=s3.options)


def test_an_upload_that_fails_is_continued(s3: S3, local: Path, tmp_path: Path, requests: Any) -> None:
    requests.fails = "part1/orig_nids.dgl"
    with pytest.raises(EnvironmentFaultError, match=r"the store failed.*cable.*Run the same command again"):
        run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options)
    found = contents_of(s3.files, URL_OUT)
    assert found and not any(name.endswith(".json") for name in found)
    requests.fails = None
    run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options)
    assert contents_of(s3.files, URL_OUT) == local_contents(local / "out")
    sent = [what["Key"] for what in requests.named("complete_multipart_upload")]
    assert len(sent) - len(set(sent)) <= 1, "what was on its way beside the one that failed may be sent again"
    assert sent[-1].endswith("shop.json") and sent[-2].endswith("manifest.json")
    assert list((tmp_path / "work").iterdir()) == []


def test_a_file_that_vanished_between_two_runs_is_an_error(s3: S3, local: Path, tmp_path: Path, requests: Any) -> None:
    requests.fails = ".json"
    with pytest.raises(EnvironmentFaultError):
        run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options)
    requests.fails = None
    s3.files.rm_file(f"{URL_OUT}/part2/graph.dgl")
    with pytest.raises(ResumeError, match=r"part2/graph\.dgl.*missing from the store"):
        run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options)
    run(local / "csv", URL_OUT, tmp_path / "work", storage_options=s3.options, restart=True)
    assert contents_of(s3.files, URL_OUT) == local_contents(local / "out")


def test_a_large_file_is_sent_in_parts(s3: S3, tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(2 * SEND_NBYTES + 12_345)
    (tmp_path / "large").write_bytes(content)
    upload_file(str(tmp_path / "large"), UPath("s3://bucket/large", **s3.options))
    assert s3.files.cat_file("s3://bucket/large") == content
    assert "-" in s3.files.info("s3://bucket/large")["ETag"], "the tag of an upload in parts"
    assert s3.unfinished_uploads("bucket") == []


def test_a_large_file_that_fails_leaves_nothing_and_the_uploads_of_others(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.files.call_s3("create_multipart_upload", Bucket="bucket", Key="of somebody else")
    (tmp_path / "large").write_bytes(bytes(3 * SEND_NBYTES))
    send = s3fs.S3File._upload_chunk

    def failing(self: Any, final: bool = False) -> Any:
        if self.parts:
            raise OSError("the cable was pulled")
        return send(self, final)

    monkeypatch.setattr(s3fs.S3File, "_upload_chunk", failing)
    with pytest.raises(EnvironmentFaultError, match="cable"):
        upload_file(str(tmp_path / "large"), UPath("s3://bucket/large", **s3.options))
    assert s3.unfinished_uploads("bucket") == ["of somebody else"]
    assert s3.files.find("s3://bucket") == []


def test_only_partitions_are_replaced(s3: S3, local: Path, tmp_path: Path) -> None:
    copy_in(local / "out", s3.files, URL_OUT)
    foreign = {"notes.json": b"{}", "part0/notes": b"1", "part7/graph.dgl": b"of an older graph"}
    for name, content in foreign.items():
        s3.files.pipe_file(f"{URL_OUT}/{name}", content)
    how: dict[str, Any] = {"storage_options": s3.options}
    with pytest.raises(OutputExistsError, match="not empty"):
        run(local / "csv", URL_OUT, tmp_path / "work", **how)
    run(local / "csv", URL_OUT, tmp_path / "work", overwrite=True, **how)
    del foreign["part7/graph.dgl"]
    assert contents_of(s3.files, URL_OUT) == {**local_contents(local / "out"), **foreign}
    s3.files.pipe_file(f"{URL_OUT}/shop.json", b"[]")
    with pytest.raises(OutputExistsError, match=r"shop\.json.*in the way"):
        run(local / "csv", URL_OUT, tmp_path / "work", overwrite=True, **how)


def test_commands_take_the_options_of_fsspec(
    s3: S3, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_in(local / "csv", s3.files, URL_IN)
    monkeypatch.setitem(fsspec.config.conf, "s3", s3.options)
    more = ("--num-parts", "3", "--method", "random", "--workspace", tmp_path / "work", "--memory", "200MB")
    assert call("partition", URL_IN, URL_OUT, *more) == 0
    assert f"{URL_OUT}/shop.json" in capsys.readouterr().out
    assert contents_of(s3.files, URL_OUT) == local_contents(local / "out")
    assert call("verify", URL_IN, URL_OUT, "--quiet") == 0
    assert call("info", URL_OUT) == 0
    assert "PartitionedGraph 'shop': 3 parts" in capsys.readouterr().out
    assert call("assign", URL_IN, tmp_path / "owners", "--num-parts", "3", "--method", "random", "--quiet") == 0
    again = (URL_IN, tmp_path / "owners", "s3://bucket/again", "--workspace", tmp_path / "work", "--quiet")
    assert call("dispatch", *again) == 0
    assert contents_of(s3.files, "s3://bucket/again").keys() == contents_of(s3.files, URL_OUT).keys()


def test_a_file_that_a_task_sent_twice_is_its_own(s3: S3) -> None:
    place = UPath("s3://bucket/parts", **s3.options)
    s3.files.pipe_file("s3://bucket/parts/a", b"content")
    sent = hash_bytes(b"content")
    _check_sent(place, {"a": replace(sent, version="ETag of another form")})
    with pytest.raises(ResumeError, match="an uploaded file was replaced in the store"):
        _check_sent(place, {"a": replace(hash_bytes(b"others"), version="ETag of another form")})
