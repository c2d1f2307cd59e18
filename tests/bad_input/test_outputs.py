"""Outputs and options that cannot be: one error, exit code 2, and nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from bad_input.judge import ETYPE, RANDOM, refused, run, write_graph
from graphs import file_hashes
from listeners import Listener, Stopped

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path


def test_an_output_is_not_overwritten(tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert run("partition", graph, out, *RANDOM)[0] == 0
    before = file_hashes(out)
    more = (*RANDOM, "--num-parts", "3")
    refused("partition", graph, out, *more, words=("--overwrite",))
    assert file_hashes(out) == before
    (out / "notes.txt").write_text("mine")
    os.mkfifo(out / "notes.json")
    assert run("partition", graph, out, *more, "--overwrite")[0] == 0
    assert (out / "notes.txt").read_text() == "mine" and (out / "notes.json").is_fifo()
    assert sorted(path.name for path in out.glob("part*")) == ["part0", "part1", "part2"]


def test_the_input_is_left_as_it_was_wherever_the_output_is(tmp_path: Path) -> None:
    graph, link = write_graph(tmp_path / "a" / "in"), tmp_path / "link"
    link.symlink_to(graph)
    before = file_hashes(graph)
    for source, out in ((graph, graph), (graph, tmp_path / "a"), (graph, link), (link, graph)):
        refused("partition", source, out, *RANDOM, "--overwrite", words=("holds the input",))
    assert file_hashes(graph) == before
    assert run("partition", graph, graph / "parts", *RANDOM)[0] == 0
    assert run("assign", graph, graph, *RANDOM)[0] in (0, 2)
    assert before.items() <= file_hashes(graph).items()


def test_an_output_that_is_a_file_or_below_one_is_refused(tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "file"
    out.write_text("mine")
    refused("partition", graph, out, *RANDOM, "--overwrite", words=("the output is a file",))
    for command in ("partition", "assign"):
        refused(command, graph, out / "below", *RANDOM, words=(str(out),))
    assert out.read_text() == "mine"


@pytest.mark.parametrize("command", ["partition", "assign"])
@pytest.mark.parametrize(("name", "code"), [("loop", 2), ("loop/below", 2), ("/proc/none", 3), ("long" * 100, 2)])
def test_an_output_that_cannot_be_made_is_one_error(command: str, name: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    found, message = run(command, write_graph(tmp_path / "in"), tmp_path / name, *RANDOM)
    assert (found, message.count("error:"), "Traceback" in message) == (code, 1, False)
    assert name in message


@pytest.mark.parametrize("url", ["zip://g.zip/x", "tar://g.tar", "dir://g", "simplecache::s3://x/g", "reference://x"])
def test_archives_and_wrappers_are_no_stores(url: str, tmp_path: Path) -> None:
    refused("partition", url, tmp_path / "out", *RANDOM, words=(url,))
    refused("partition", write_graph(tmp_path / "in"), url, *RANDOM, words=(url,))


@pytest.mark.parametrize("url", ["hdfs://host/g", "ftp://127.0.0.1:9/g", "http://127.0.0.1:9/g", "s3://", "nix://b/g"])
def test_a_store_that_does_not_answer_is_one_error(url: str, tmp_path: Path) -> None:
    for places in ((url, tmp_path / "out"), (write_graph(tmp_path / "in"), url)):
        code, message = run("partition", *places, *RANDOM, "--workspace", tmp_path / "work")
        assert (code in (2, 3), message.count("error:"), "Traceback" in message) == (True, 1, False)
    assert not list((tmp_path / "work").rglob("*"))


def test_input_and_owners_in_the_output_directory_are_not_deleted(tmp_path: Path) -> None:
    data = write_graph(tmp_path / "data" / "part0")
    content = json.loads((data / "metadata.json").read_text())
    for entry in (content["edges"][ETYPE], content["node_data"]["n"]["x"]):
        entry["data"] = [str(data / path) for path in entry["data"]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "metadata.json").write_text(json.dumps(content))
    assert run("assign", tmp_path / "in", tmp_path / "data" / "part1", *RANDOM)[0] == 0
    before = file_hashes(tmp_path / "data")
    for command in (
        ("partition", tmp_path / "in", tmp_path / "data", *RANDOM),
        ("dispatch", tmp_path / "in", tmp_path / "data" / "part1", tmp_path / "data", "--quiet"),
    ):
        run(*command, "--overwrite")
        assert before.items() <= file_hashes(tmp_path / "data").items()


def test_a_part_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    graph, out, theirs = write_graph(tmp_path / "in"), tmp_path / "out", tmp_path / "theirs"
    for directory in (out, theirs):
        directory.mkdir()
    (theirs / "graph.dgl").write_text("precious")
    (out / "part0").symlink_to(theirs)
    refused("partition", graph, out, *RANDOM, "--overwrite", words=("part0", "in the way"))
    assert [(path.name, path.read_text()) for path in theirs.iterdir()] == [("graph.dgl", "precious")]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--num-parts", "0"), "1 to 65,535"),
        (("--num-parts", "two"), "num-parts"),
        ((), "--num-parts"),
        (("--num-parts", "2", "--memory", "1MB"), "is too small for this job. Use "),
        (("--num-parts", "2", "--memory", "lots"), "not a size"),
        (("--num-parts", "2", "--memory", "1e999GB"), "--memory"),
        (("--num-parts", "2", "--graph-formats", "coo,coo"), "names a choice twice"),
        (("--num-parts", "2", "--graph-formats", "dense"), "coo, csr, csc"),
        (("--num-parts", "2", "--method", "magic"), "random, or give a directory"),
        (("--num-parts", "2", "--cluster", "cloud"), "Unknown cluster 'cloud'"),
        (("--num-parts", "2", "--cluster", "foo:bar"), "foo:bar"),
        (("--num-parts", "2", "--num-hops", "0"), "num-hops"),
        (("--num-parts", "2", "--workspace", "file/below"), "file"),
        (("--num-parts", "2", "--workspace", "loop"), "loop"),
        (("--num-parts", "2", "--balance", "nodes=1e300"), "0 to 1,000"),
    ],
)
def test_a_bad_option_is_named(
    options: tuple[str, ...], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = write_graph(tmp_path / "in")
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    code, message = run("partition", graph, tmp_path / "out", "--quiet", *options)
    assert (code, "Traceback" in message) == (2, False)
    assert word in message
    assert not (tmp_path / "out" / "g.json").exists()


def test_the_memory_that_is_asked_for_is_enough(tmp_path: Path) -> None:
    job = ("partition", write_graph(tmp_path / "in"), tmp_path / "out", *RANDOM, "--memory")
    message = refused(*job, "1MB", words=("--memory", "is too small", "Use "))
    assert run(*job, message.split("Use ")[1].split()[0])[0] == 0


@pytest.mark.parametrize("kind", ["unit", "run"])
def test_an_unfinished_run_whose_journal_is_of_another_form_is_one_error(kind: str, tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    job = ("partition", graph, out, *RANDOM, "--cluster", "sync")
    how: dict[str, Any] = {"method": "random", "memory": "64MB", "cluster": "sync"}
    with pytest.raises(Stopped):
        dgp.partition(graph, out, 2, progress=Listener(stop_at="hash-files"), **how)
    path = out / ".daskgraphpart-work" / "journal"
    lines = []
    for line in path.read_bytes().splitlines():
        value = json.loads(line[9:])
        body = json.dumps([*value[:-1], ["?"]] if isinstance(value, list) and value[0] == kind else value).encode()
        lines.append(b"%08x %s\n" % (zlib.crc32(body), body))
    path.write_bytes(b"".join(lines))
    refused(*job, words=("journal", "damaged", "--restart"))
    assert run(*job, "--restart")[0] == 0


@pytest.mark.parametrize("job", [[1, 2], [["plan", {}]], None, {}, {"fingerprint": [1], "plan": {}}])
def test_an_unfinished_run_whose_header_is_of_another_form_is_one_error(job: Any, tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    (work := out / ".daskgraphpart-work").mkdir(parents=True)
    body = json.dumps({"format": "daskgraphpart journal", "version": 1, "job": job}).encode()
    (work / "journal").write_bytes(b"%08x %s\n" % (zlib.crc32(body), body))
    refused("partition", graph, out, *RANDOM, words=("journal", "damaged", "--restart"))
    assert run("partition", graph, out, *RANDOM, "--restart")[0] == 0


@pytest.mark.timeout(60)
def test_a_config_of_billions_of_hops_is_verified_at_once(tmp_path: Path) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert run("partition", graph, out, *RANDOM)[0] == 0
    content = json.loads((out / "g.json").read_text())
    (out / "g.json").write_text(json.dumps({**content, "halo_hops": 2**31}))
    assert run("verify", graph, out, "--quiet")[0] == 1
