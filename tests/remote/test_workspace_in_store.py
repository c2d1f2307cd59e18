"""A workspace in a store: the same partitions as on one disk, made by machines that share nothing but the store."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from hashlib import md5
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import apart
import corruptions
import dask.dataframe as dd
import inputs_in_store
import numpy as np
import pandas as pd
import pytest
import stored_tables
from aiobotocore.client import AioBaseClient
from aiobotocore.endpoint import AioEndpoint
from apart import look_at_tasks, machines_apart, run_client, scheduler_with_workers, start_client
from botocore.exceptions import ClientError
from cluster_tasks import share_small_graphs
from distributed import LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from inside import Resources, generate, open_runner
from remote_stores import S3, contents_of, copy_in, local_contents, make_graph
from upath import UPath

from daskgraphpart import GraphPartError, assign, dispatch, from_edges, partition, plan, scan_tables, verify
from daskgraphpart.errors import EnvironmentFaultError, OutputExistsError, ResumeError
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.object_store import MAX_GAP_NBYTES
from daskgraphpart.storage.store_lock import is_released
from daskgraphpart.storage.store_workspace.indexes import Indexes
from daskgraphpart.storage.store_workspace.pieced_file import (
    cut_ranges,
    dump_index,
    load_index,
    merge_ranges,
    new_index,
    pieces_of,
    with_writes,
)
from daskgraphpart.storage.store_workspace.pieced_store import PiecedStore, pieced_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(120),
]

URL_IN, URL_OUT, URL_WORK = "s3://bucket/graph", "s3://bucket/partitions", "s3://bucket/work"
HOW: dict[str, Any] = {"memory": "200MB", "workers": 2, "progress": False}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with scheduler_with_workers(2) as found:
        yield found


@pytest.fixture(autouse=True)
def tasks_of_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into what is sent to workers."""
    look_at_tasks(monkeypatch.setattr)


def ignore(*_: Any) -> None:
    """What progress there is."""


PARTITION = """
import json, sys
import daskgraphpart
daskgraphpart.partition(**json.loads(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chunked graph."""
    root = tmp_path_factory.mktemp("graph")
    make_graph().write(root, num_chunks=3)
    return root


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "layout"),
    [("fennel", ["dgl", "ranks", "parquet"]), ("random", ["graphbolt"]), ("auto", ["dgl", "graphbolt"])],
)
def test_partitions_made_by_machines_that_share_a_store_are_those_of_one(
    method: str, layout: list[str], s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    copy_in(graph, s3.files, URL_IN)
    how = {"num_parts": 3, "method": method, "layout": layout, **HOW}
    partition(graph, tmp_path / "out", **how)
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    run_client(PARTITION, json.dumps({"graph": URL_IN, "out": URL_OUT, **how, **there}))
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []
    assert s3.unfinished_uploads("bucket") == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_machines_that_share_a_store_share_the_partitioner(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_runner(Resources(1 << 28)) as runner:
        generate(tmp_path / "graph", kind="mag", num_nodes=10_000, num_edges=30_000, feature_width=1, runner=runner)
    copy_in(tmp_path / "graph", s3.files, URL_IN)
    monkeypatch.setattr(apart, "LOWER", f"{apart.LOWER}import cluster_tasks; cluster_tasks.share_small_graphs()\n")
    share_small_graphs(monkeypatch.setattr)
    how = {"num_parts": 3, "method": "multilevel", "effort": "low", **HOW}
    partition(tmp_path / "graph", tmp_path / "out", **how)
    with scheduler_with_workers(3) as cluster:
        there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
        run_client(PARTITION, json.dumps({"graph": URL_IN, "out": URL_OUT, **how, **there}), seconds=600)
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []


MAPPED = """
import json, sys
import daskgraphpart, pandas
edges, how = map(json.loads, sys.argv[1:3])
daskgraphpart.partition(daskgraphpart.scan_tables(pandas.DataFrame(edges), map_ids=True), **how)
"""


def test_tables_have_own_ids_though_only_a_store_is_shared(s3: S3, cluster: LocalCluster, tmp_path: Path) -> None:
    """Workers read the map from the store; a graph that lies there has its map there, too."""
    names = [f"n{i * 7 % 40:02}" for i in range(40)]
    edges = {"src": names, "dst": [*names[1:], names[0]]}
    tables = scan_tables(pd.DataFrame(edges), map_ids=True)
    how = {"num_parts": 3, "method": "random", "layout": ["dgl", "parquet"], **HOW}
    partition(tables, tmp_path / "out", **how)
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    run_client(MAPPED, json.dumps(edges), json.dumps({"out": URL_OUT, **how, **there}))
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    tables.write_chunked(tmp_path / "graph")
    copy_in(tmp_path / "graph", s3.files, URL_IN)
    again = {**how, "cluster": "sync", "workspace": str(tmp_path), "storage_options": s3.options}
    partition(URL_IN, tmp_path / "again", **again)
    tables_of = [sorted((tmp_path / out / "parquet").rglob("*.parquet")) for out in ("out", "again")]
    assert [path.read_bytes() for path in tables_of[0]] == [path.read_bytes() for path in tables_of[1]]


CHANGED = """
import json, sys
import daskgraphpart
how = json.loads(sys.argv[1])
graph = daskgraphpart.read_chunked(how.pop("given"), storage_options=how["storage_options"])
daskgraphpart.partition(graph.with_reverse_edges("dgl").without_duplicates().with_self_loops(), **how)
"""


def test_changes_that_read_edges_are_made_though_only_a_store_is_shared(
    s3: S3, cluster: LocalCluster, tmp_path: Path
) -> None:
    """The graph has ID maps, which lie in the store, too."""
    names = [f"n{i * 7 % 40:02}" for i in range(40)]
    edges = pd.DataFrame({"src": names, "dst": [*names[1:], names[0]], "weight": np.arange(40)})
    graph = scan_tables(edges, map_ids=True, edge_features="*").write_chunked(tmp_path / "graph")
    copy_in(tmp_path / "graph", s3.files, URL_IN)
    how: dict[str, Any] = {"num_parts": 3, "method": "random", "layout": ["dgl", "parquet"], **HOW}
    changed = graph.with_reverse_edges("dgl").without_duplicates().with_self_loops()
    partition(changed, tmp_path / "out", cluster="sync", **how)
    there = {"given": URL_IN, "out": URL_OUT, "workspace": URL_WORK, "storage_options": s3.options}
    run_client(CHANGED, json.dumps({**how, **there, "cluster": cluster.scheduler_address}))
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []


CALLS = """
import json, sys
import daskgraphpart
for name, how in json.loads(sys.argv[1]):
    print(getattr(daskgraphpart, name)(**how))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("random", {}),
        ("fennel", {"form": "parquet", "method_options": {"num_trainers_per_machine": 2}}),
        ("auto", {"form": "zarr", "balance": "nodes,edges"}),
        ("multilevel", {"objtype": "fetch", "fanouts": "3,2", "training_options": {"batch_size": 20}}),
    ],
)
def test_owners_assigned_by_machines_that_share_a_store_are_those_of_one(
    method: str, how: dict[str, Any], s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    copy_in(graph, s3.files, URL_IN)
    how = {"num_parts": 3, "method": method, **how, **HOW}
    assign(graph, out=tmp_path / "owners", **how)
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    told = run_client(CALLS, json.dumps([["assign", {"graph": URL_IN, "out": URL_OUT, **how, **there}]]))
    assert f"<Assignment by {'kaminpar' if method == 'auto' else method}: 3 parts" in told
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "owners")
    assert s3.files.find(URL_WORK) == []
    assert s3.unfinished_uploads("bucket") == []


TWICE = corruptions.feature("orig_nids.dgl", "user", corruptions.repeated)
OTHERS = (
    corruptions.feature("node_feat.dgl", "user/feat", corruptions.swapped),
    corruptions.coo("row", lambda _, node: node ^ 1),
    corruptions.extra(corruptions.repeat_extra),
    corruptions.remove("edge_feat.dgl"),
)


@pytest.mark.parametrize(
    ("how", "faults"), [({}, [TWICE]), pytest.param({"num_hops": 2}, [TWICE, *OTHERS], marks=pytest.mark.long)]
)
def test_machines_that_share_a_store_find_the_faults_that_one_finds(
    how: dict[str, Any], faults: list[Any], s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    partition(graph, tmp_path / "sound", 3, method="random", layout_options={"graph_formats": "coo"}, **how, **HOW)
    for number, corrupt in enumerate(faults):
        shutil.copytree(tmp_path / "sound", tmp_path / f"damaged-{number}")
        found = corruptions.Damaged(tmp_path / f"damaged-{number}")
        found.disguise()
        corrupt(found)
    names = ["sound", *(f"damaged-{number}" for number in range(len(faults)))]
    for path, name in ((graph, "graph"), *((tmp_path / name, name) for name in names)):
        copy_in(path, s3.files, f"s3://bucket/{name}")
    there = {"graph": URL_IN, "workspace": URL_WORK, "storage_options": s3.options, **HOW}
    there["cluster"] = cluster.scheduler_address
    calls = [("verify", {"partitions": f"s3://bucket/{name}", **there}) for name in names]
    reports = [verify(graph, tmp_path / name, **HOW) for name in names]
    assert [report.ok for report in reports] == [True, *(False for _ in faults)]
    assert run_client(CALLS, json.dumps(calls)) == "".join(f"{report}\n" for report in reports)
    assert s3.files.find(URL_WORK) == []


CHUNKED = """
import json, sys
import inputs_in_store
kind, how, options = sys.argv[1], *map(json.loads, sys.argv[2:])
print(inputs_in_store.inputs("s3://bucket", options)[kind]().write_chunked(storage_options=options, **how))
"""
FORMS = {"chunked": {"edge_format": "csv", "num_chunks": 4}, "tables": {"data_format": "parquet"}}


@pytest.mark.parametrize(
    "kind", ["frame", *(pytest.param(k, marks=pytest.mark.long) for k in ("chunked", "changed", "tables", "mapped"))]
)
def test_graphs_written_by_machines_that_share_a_store_are_those_of_one(
    kind: str, s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    copy_in(graph, s3.files, URL_IN)
    copy_in(graph, s3.files, f"{URL_OUT}/edges")  # of a killed run, which `overwrite` replaces
    shutil.copytree(graph, tmp_path / "graph")
    for place, options in (("s3://bucket", s3.options), (str(tmp_path), None)):
        stored_tables.frame().to_parquet(f"{place}/edges.parquet", row_group_size=500, storage_options=options)
    how = {"overwrite": True, **FORMS.get(kind, {}), **HOW}
    expected = inputs_in_store.inputs(str(tmp_path), None)[kind]().write_chunked(tmp_path / "out", **how)
    there = {"out": URL_OUT, "workspace": URL_WORK, "cluster": cluster.scheduler_address}
    told = run_client(CHUNKED, kind, json.dumps({**how, **there}), json.dumps(s3.options))
    assert told == f"{expected!r}\n"
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []


TABLES = """
import json, sys
import stored_tables
stored_tables.partition("/tmp", **json.loads(sys.argv[1]))
"""

FRAME = """
import json, sys
import daskgraphpart
import corruptions
import dask.dataframe as dd
how, place, options = map(json.loads, sys.argv[1:])
daskgraphpart.partition(daskgraphpart.from_edges(dd.read_parquet(place, storage_options=options)), **how)
"""


@pytest.mark.long
@pytest.mark.parametrize(("method", "layout"), [("auto", ["dgl"]), ("random", ["ranks", "parquet"])])
def test_tables_are_read_where_the_client_has_them(
    method: str, layout: list[str], s3: S3, cluster: LocalCluster, tmp_path: Path
) -> None:
    how = {"num_parts": 3, "method": method, "layout": layout, **HOW}
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    run_client(TABLES, json.dumps({"out": URL_OUT, **how, **there}))
    stored_tables.partition(tmp_path, out=tmp_path / "out", **how)
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []


@pytest.mark.long
@pytest.mark.parametrize("method", ["random", "fennel"])
def test_frames_are_read_where_only_workers_can(method: str, s3: S3, cluster: LocalCluster, tmp_path: Path) -> None:
    frame = stored_tables.frame()
    frame.to_parquet("s3://bucket/edges.parquet", row_group_size=500, storage_options=s3.options)
    partition(from_edges(dd.from_pandas(frame, 4)), tmp_path / "out", 3, method=method, **HOW)
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    how = {"out": URL_OUT, "num_parts": 3, "method": method, **HOW, **there}
    run_client(FRAME, json.dumps(how), json.dumps("s3://bucket/edges.parquet"), json.dumps(s3.options))
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []


@pytest.mark.long
def test_owners_and_weights_of_this_machine_are_used_by_others(
    s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    assign(graph, 3, method="random", seed=4, out=tmp_path / "owners", **HOW)
    dispatch(graph, tmp_path / "owners", tmp_path / "out", **HOW)
    copy_in(graph, s3.files, URL_IN)
    there: dict[str, Any] = {"workspace": URL_WORK, "storage_options": s3.options}
    there["cluster"] = cluster.scheduler_address
    dispatch(URL_IN, tmp_path / "owners", URL_OUT, **HOW, **there)
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    np.save(tmp_path / "weights.npy", np.arange(2 * 450).reshape(450, 2) % 7)
    files = {"extend": tmp_path / "out", "balance": f"file:{tmp_path / 'weights.npy'}"}
    for option, file in files.items():
        how: dict[str, Any] = {"method": "auto", option: file, **HOW}
        partition(graph, tmp_path / option, 3, **how)
        partition(URL_IN, f"s3://bucket/{option}", 3, **how, **there)
        assert contents_of(s3.files, f"s3://bucket/{option}") == local_contents(tmp_path / option)
    assert s3.files.find(URL_WORK) == []


def test_requests_are_few_and_counted(s3: S3, graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    copied: dict[str, int] = {}
    send, copy_to = AioEndpoint._send, PiecedStore._copy_to

    def recorded_copy(self: PiecedStore, target: str, path: str) -> None:
        copy_to(self, target, path)
        copied[path] = os.path.getsize(target)

    async def recorded(self: Any, request: Any) -> Any:
        is_upload = request.method == "POST" and "?delete" not in request.url
        asked.append(("PUT" if is_upload else request.method, request.url))
        return await send(self, request)

    copy_in(graph, s3.files, URL_IN)
    monkeypatch.setattr(AioEndpoint, "_send", recorded)
    monkeypatch.setattr(PiecedStore, "_copy_to", recorded_copy)
    notes: list[str] = []
    progress = SimpleNamespace(begin=ignore, advance=ignore, end=ignore, note=notes.append)
    how = {**HOW, "workspace": URL_WORK, "storage_options": s3.options, "progress": progress}
    partition(URL_IN, URL_OUT, 3, method="random", **how)
    (told,) = (note for note in notes if note.startswith("store: "))
    counted = {kind: int(number.replace(",", "")) for number, kind in re.findall(r"([\d,]+) ([A-Z]+)", told)}
    for kind in ("GET", "PUT", "HEAD"):  # the graph is opened before, the partitions afterwards
        sent = [url for method, url in asked if method == kind and "list-type" not in url]
        assert sum("/work/" in url for url in sent) <= counted[kind] <= len(sent), told
    given = {"out": URL_OUT, "workspace": URL_WORK, "storage_options": s3.options}
    planned = plan(URL_IN, 3, method="random", memory="200MB", workers=2, **given)
    headers = 128 * len(copied)
    assert copied and planned.local_nbytes == sum(copied.values()) - headers and planned.local_method_nbytes == 0
    assert "failed" not in told and sum(counted.values()) < 700
    assert sum("indexes%2F&delimiter=&" in url for _, url in asked) < 20  # once a pass


def test_a_worker_without_room_for_its_copies_is_one_error_before_work(
    s3: S3, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_in(graph, s3.files, URL_IN)
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        message = r"local disk of a worker on host .* at least 8.4 MB free, found 1.0 kB.*local-directory"
        with pytest.raises(EnvironmentFaultError, match=message):
            partition(URL_IN, URL_OUT, 3, method="fennel", **HOW, **there)
    assert s3.files.find(URL_WORK) == s3.files.find(URL_OUT) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 500), st.integers(1, 60)), max_size=12))
def test_ranges_close_to_each_other_are_one_request(ranges: list[tuple[str, int, int]]) -> None:
    objects = {name: np.random.default_rng(ord(name)).bytes(600) for name in "ab"}
    requests = [(name, start, start + length) for name, start, length in ranges]
    spans = merge_ranges(requests)
    assert len(spans) == len({name for name, *_ in ranges})
    contents = [objects[name][start:stop] for name, start, stop in spans]
    expected = [objects[name][start:stop] for name, start, stop in requests]
    assert [*map(bytes, cut_ranges(requests, spans, contents))] == expected
    far = [("a", 0, 9), ("a", 9 + MAX_GAP_NBYTES + 1, 10 + MAX_GAP_NBYTES + 1)]
    assert merge_ranges(far) == far


@pytest.mark.long
def test_a_run_deletes_what_it_wrote_and_nothing_else(
    s3: S3, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask = AioBaseClient._make_api_call

    async def failing(self: Any, name: str, what: dict[str, Any]) -> Any:
        if name == "CompleteMultipartUpload" and what["Key"] == "partitions/shop.json":
            raise OSError("the cable was pulled")
        return await ask(self, name, what)

    copy_in(graph, s3.files, URL_IN)
    how: dict[str, Any] = {"num_parts": 3, "method": "random", **HOW}
    there = {"workspace": URL_WORK, "storage_options": s3.options}
    with monkeypatch.context() as patched:
        patched.setattr(AioBaseClient, "_make_api_call", failing)
        with pytest.raises(EnvironmentFaultError, match=r"cable was pulled.*Run the same command again to continue"):
            partition(URL_IN, URL_OUT, **how, **there)
    (left,) = {name.split("/")[2] for name in s3.files.find(URL_WORK)}
    for key in (f"work/{left}/writes/x/1", "partitions/part0/graph.dgl", "partitions/of-others", "work/of-others"):
        s3.files.call_s3("create_multipart_upload", Bucket="bucket", Key=key)
    s3.files.pipe_file(f"{URL_WORK}/notes", b"of others")
    before = contents_of(s3.files, URL_WORK)
    s3.files.pipe_file("s3://bucket/elsewhere/notes", b"of others")
    with pytest.raises(OutputExistsError):
        partition(URL_IN, "s3://bucket/elsewhere", **how, **there)
    assert f"{URL_WORK}/{left}: a run on host" in caplog.text and "run it again to continue, or delete" in caplog.text
    assert contents_of(s3.files, URL_WORK) == before
    partition(URL_IN, URL_OUT, **how, **there, restart=True)
    partition(graph, tmp_path / "out", **how)
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert contents_of(s3.files, URL_WORK) == {"notes": b"of others"}
    assert s3.unfinished_uploads("bucket") == ["work/of-others"], "who takes an output aborts all uploads there"


RARE = ("ranges", "clock", "rule", "replaced")


@pytest.mark.parametrize(
    "wrong",
    [
        "bucket",
        "key",
        "parts",
        "input",
        *(pytest.param(wrong, marks=pytest.mark.long) for wrong in RARE),
    ],
)
def test_what_is_wrong_with_a_store_is_one_error(
    wrong: str, s3: S3, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = {
        "bucket": r"s3://nobody/work.*no such file.*bucket does not exist",
        "key": r"s3://bucket/work: the store refuses access.*Check the credentials",
        "parts": r"s3://bucket/(work|partitions): the store takes no uploads in parts.*Choose another store",
        "ranges": r"s3://bucket/.*wrong number of bytes.*may not know ranges",
        "clock": r"s3://bucket/.*refuses access.*request time.*clock",
        "rule": r"s3://bucket/work.*the lock of this run is gone: the store has deleted it.*run the same command again",
        "replaced": r"s3://bucket/graph/edges/.*: an input .* some of both: 2 files replaced.*s3://bucket/part.*overw",
        "input": r"s3://bucket/graph/edges/.*(has changed|row 13)",
    }
    ask, is_late = AioBaseClient._make_api_call, False

    def refusal(code: str, words: str = "") -> ClientError:
        return ClientError({"Error": {"Code": code, "Message": words}}, "asked")

    async def asked(self: Any, name: str, what: dict[str, Any]) -> Any:
        reads = ("GetObject", "HeadObject", "ListObjectsV2")
        if wrong == "key" and name not in reads and what.get("Key", "").startswith("work"):
            raise refusal("AccessDenied")
        if wrong == "parts" and name == "CreateMultipartUpload":
            raise refusal("NotImplemented", "A header implies functionality that is not implemented")
        if wrong == "ranges" and is_late:
            what = {key: value for key, value in what.items() if key != "Range"}
        if wrong == "clock" and is_late:
            raise refusal("RequestTimeTooSkewed", "The difference between the request time and ours is too large")
        return await ask(self, name, what)

    def watch(event: dict[str, Any]) -> None:
        nonlocal is_late
        if event["event"] == "begin" and event["stage"] == "bucket-edges":
            is_late = True
            if wrong == "rule":
                s3.files.rm(URL_WORK, recursive=True)
            if wrong == "replaced":
                for name in s3.files.find(f"{URL_IN}/edges")[:2]:
                    s3.files.pipe_file(name, b"".join(s3.files.cat_file(name).splitlines(keepends=True)[::-1]))
            if wrong == "input":
                for name in s3.files.find(f"{URL_IN}/edges"):
                    s3.files.pipe_file(name, s3.files.cat_file(name)[:100])

    copy_in(graph, s3.files, URL_IN)
    how: dict[str, Any] = {**HOW, "num_parts": 3, "method": "random", "storage_options": s3.options, "progress": watch}
    work = "s3://nobody/work" if wrong == "bucket" else URL_WORK
    with monkeypatch.context() as patched:
        patched.setattr(AioBaseClient, "_make_api_call", asked)
        with pytest.raises(GraphPartError, match=messages[wrong]):
            partition(URL_IN, URL_OUT, workspace=work, **how)
    there = contents_of(s3.files, URL_OUT)
    locks = [there.pop(name) for name in [*there] if name.startswith(LOCK_NAME)]
    assert (there != {}) == (wrong == "replaced")
    if wrong in ("ranges", "clock"):  # the run can be continued: the lock stays, and says so if the store allows
        assert [is_released(lock) for lock in locks] == [wrong == "ranges"]
    else:
        assert locks == []
    if wrong in ("replaced", "bucket", "key", "parts", "input"):
        assert s3.files.find(URL_WORK) == [] and s3.unfinished_uploads("bucket") == []
    else:
        is_late = wrong = ""  # type: ignore[assignment]
        partition(URL_IN, URL_OUT, workspace=work, **how)
        partition(graph, tmp_path / "out", 3, method="random", **HOW)
        assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")


KILLED = """
import json, logging, os, signal, sys
import dask
import daskgraphpart
from daskgraphpart.storage import store_lock
store_lock.SECONDS_BETWEEN_BEATS, store_lock.SECONDS_OF_PATIENCE = 0.3, 1.5
dask.config.set({"distributed.comm.timeouts.connect": "4s", "daskgraphpart.connect-timeout": "4s"})
logging.basicConfig()
logging.getLogger("daskgraphpart").setLevel(logging.DEBUG)
how, instants = json.loads(sys.argv[1]), sys.argv[2].split(",")
doomed = [int(pid) for pid in sys.argv[3:]] or [os.getpid()]
at_once = len(instants) == 1
def watch(event):
    instant = f"{event['event']} {event.get('stage')}"
    if instant in instants:
        instants.remove(instant)
        for pid in doomed if at_once else [doomed.pop()]:
            os.kill(pid or os.getpid(), signal.SIGKILL)
daskgraphpart.partition(**how, progress=watch)
"""


INSTANTS = (
    "end scan-edges", "begin merge-arcs", "end partition-graph", "begin measure-cut", "end relabel-nodes",
    "end bucket-edges", "begin build-graph", "end place-rows", "begin split-nids", "end export-files",
)  # fmt: skip


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("method", "instants"),
    [("random", ("end bucket-edges",)), pytest.param("fennel", INSTANTS, marks=pytest.mark.long)],
)
def test_a_killed_client_is_continued_from_another_machine(
    method: str, instants: tuple[str, ...], s3: S3, cluster: LocalCluster, graph: Path, tmp_path: Path
) -> None:
    copy_in(graph, s3.files, URL_IN)
    how = {**HOW, "num_parts": 3, "method": method}
    partition(graph, tmp_path / "out", **how)
    del how["progress"]
    there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": cluster.scheduler_address}
    job = json.dumps({"graph": URL_IN, "out": URL_OUT, **how, **there})
    told = ""
    for instant in instants:
        process = start_client(KILLED, job, instant)
        printed, _ = process.communicate(timeout=100)
        assert process.returncode == -signal.SIGKILL, printed
        kept = contents_of(s3.files, URL_WORK)
        assert s3.options["secret"].encode() not in b"".join([printed.encode(), *map(str.encode, kept), *kept.values()])
        told += printed
    assert "DEBUG:daskgraphpart" in told
    left = next(name.split("/")[2] for name in s3.files.find(URL_WORK))
    for key in (f"work/{left}/writes/x/1", "partitions/part0/graph.dgl", "partitions/of-others", "work/of-others"):
        s3.files.call_s3("create_multipart_upload", Bucket="bucket", Key=key)
    run_client(KILLED, job, "never")
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []
    assert s3.unfinished_uploads("bucket") == ["work/of-others"], "who takes an output aborts all uploads there"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["scheduler", "all"])
def test_a_killed_scheduler_and_all_at_once_are_continued_elsewhere(
    what: str, s3: S3, graph: Path, tmp_path: Path
) -> None:
    copy_in(graph, s3.files, URL_IN)
    how = {**HOW, "num_parts": 3, "method": "fennel"}
    partition(graph, tmp_path / "out", **how)
    del how["progress"]
    for instant in (*INSTANTS[:-1], "never"):  # without a scheduler, a job can end after its last task
        with machines_apart(3) as (address, scheduler, workers):
            there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": address}
            job = json.dumps({"graph": URL_IN, "out": URL_OUT, **how, **there})
            doomed = [scheduler.pid] if what == "scheduler" else [scheduler.pid, *(w.pid for w in workers), 0]
            process = start_client(KILLED, job, instant, *map(str, doomed))
            printed, _ = process.communicate(timeout=100)
        assert process.returncode == 0 if instant == "never" else process.returncode != 0, printed
        if what == "scheduler" and instant != "never":
            assert "EnvironmentFaultError" in printed and "Run the same command again to continue" in printed
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []
    assert s3.unfinished_uploads("bucket") == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_killed_workers_are_replaced_by_others(s3: S3, graph: Path, tmp_path: Path) -> None:
    copy_in(graph, s3.files, URL_IN)
    how = {**HOW, "num_parts": 3, "method": "fennel"}
    partition(graph, tmp_path / "out", **how)
    del how["progress"]
    for instants in (INSTANTS[:2], INSTANTS[2:4], INSTANTS[4:6], INSTANTS[6:8], INSTANTS[8:]):
        with machines_apart(3) as (address, _, workers):
            there = {"workspace": URL_WORK, "storage_options": s3.options, "cluster": address}
            job = json.dumps({"graph": URL_IN, "out": URL_OUT, "overwrite": True, **how, **there})
            run_client(KILLED, job, ",".join(instants), *(str(worker.pid) for worker in workers))
        assert sum(worker.returncode == -signal.SIGKILL for worker in workers) == 2
        assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
        assert s3.files.find(URL_WORK) == []
        assert s3.unfinished_uploads("bucket") == []


@pytest.mark.parametrize(
    ("method", "stage"),
    [
        ("random", "bucket-edges"),
        *(pytest.param("fennel", s, marks=pytest.mark.long) for s in ("measure-cut", "place-rows")),
    ],
)
def test_a_bit_that_has_changed_in_what_a_killed_run_left_is_named(
    method: str, stage: str, s3: S3, graph: Path, tmp_path: Path
) -> None:
    def stop(event: dict[str, Any]) -> None:
        if event["event"] == "end" and event["stage"] == stage:
            raise KeyboardInterrupt

    copy_in(graph, s3.files, URL_IN)
    how: dict[str, Any] = {**HOW, "num_parts": 3, "method": method}
    partition(graph, tmp_path / "out", **how)
    there = {"workspace": URL_WORK, "storage_options": s3.options}
    with pytest.raises(KeyboardInterrupt):
        partition(URL_IN, URL_OUT, **{**how, **there, "progress": stop})
    for kind in ("files", "writes"):
        of_kind = [name for name in s3.files.find(URL_WORK) if name.split("/")[3] == kind]
        for name in of_kind[len(of_kind) // 2 :][:1]:
            content = s3.files.cat_file(name)
            place = len(content) // 2
            s3.files.pipe_file(name, content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(ResumeError, match=rf"{name}.*has changed since.*restart"):
                partition(URL_IN, URL_OUT, **how, **there)
            s3.files.pipe_file(name, content)
    partition(URL_IN, URL_OUT, **how, **there)
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")


def test_a_bit_that_has_changed_in_an_index_is_named() -> None:
    path, index = UPath("memory://indexes/x"), new_index(100, ((0, b"head"),), 3)
    content = dump_index(with_writes(index, 4, [("a/0", [[0, 10, 20]])]))
    assert pieces_of(load_index(content, path)).nbytes == 100
    for place in range(len(content)):
        damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        with pytest.raises(ResumeError, match=r"memory://indexes/x: an index .* damaged.*restart"):
            load_index(damaged, path)


def test_a_file_that_a_lost_worker_has_deleted_in_this_pass_is_gone(memory: Any) -> None:
    files = Indexes(UPath("memory://indexes"))
    for name in ("a", "b"):
        files.create(name, 10, [], 0)
    files.put_created()
    assert files.find("a") is not None  # lists both
    memory.rm("/indexes/b")
    assert files.find("b") is None


def test_an_object_is_read_where_its_store_lists_no_digest(memory: Any) -> None:
    out = UPath("memory://out")
    memory.pipe_file("/out/a", b"as it was")
    with pieced_store(UPath("memory://work"), out) as store:
        written = {0: [[f"output/{name}", {}, 9, md5(b"as it was").hexdigest()] for name in ("a", "gone")]}
        ((nbytes, suspect),) = store.suspects(written)
        store.check(suspect)
        memory.pipe_file("/out/a", b"as it is!")
        with pytest.raises(ResumeError, match=r"memory://out/a: .*expected 9 bytes, MD5 .*found 9 bytes, MD5"):
            store.check(suspect)
    assert nbytes == 9
