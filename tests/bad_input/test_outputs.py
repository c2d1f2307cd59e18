"""Outputs and options that cannot be: one error, exit code 2, and nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING

import pytest
from bad_input.judge import ETYPE, Case, Server, judge, write_graph
from graphs import file_hashes

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--quiet", "--method", "random", "--memory", "64MB")
JOB = ("--num-parts", "2", *QUICK)


def refused(server: Server, *arguments: str | Path, words: tuple[str, ...]) -> None:
    judge(server.run(*arguments), Case("", str, words))


def test_an_output_is_not_overwritten(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert server.run("partition", graph, out, *JOB)["code"] == 0
    before = file_hashes(out)
    refused(server, "partition", graph, out, "--num-parts", "3", *QUICK, words=("--overwrite",))
    assert file_hashes(out) == before
    (out / "notes.txt").write_text("mine")
    assert server.run("partition", graph, out, "--num-parts", "3", *QUICK, "--overwrite")["code"] == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in out.glob("part*")) == ["part0", "part1", "part2"]


def test_the_output_cannot_be_where_the_input_is(tmp_path: Path, server: Server) -> None:
    graph, link = write_graph(tmp_path / "a" / "in"), tmp_path / "link"
    link.symlink_to(graph)
    before = file_hashes(graph)
    for source, out in ((graph, graph), (graph, tmp_path / "a"), (graph, link), (link, graph)):
        refused(server, "partition", source, out, *JOB, "--overwrite", words=("holds the input",))
    assert file_hashes(graph) == before


def test_an_output_inside_the_input_leaves_the_input_as_it_was(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    before = file_hashes(graph)
    assert server.run("partition", graph, graph / "parts", *JOB)["code"] == 0
    assert {name: value for name, value in file_hashes(graph).items() if not name.startswith("parts/")} == before


def test_an_output_that_is_a_file_or_below_one_is_refused(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "file"
    out.write_text("mine")
    refused(server, "partition", graph, out, *JOB, "--overwrite", words=("the output is a file",))
    for command in ("partition", "assign"):
        refused(server, command, graph, out / "below", *JOB, words=(str(out),))
    assert out.read_text() == "mine"


@pytest.mark.parametrize("command", ["partition", "assign"])
@pytest.mark.parametrize(("name", "code"), [("loop", 2), ("loop/below", 2), ("/proc/none", 3), ("long" * 100, 2)])
def test_an_output_that_cannot_be_made_is_one_error(
    command: str, name: str, code: int, tmp_path: Path, server: Server
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    found = server.run(command, write_graph(tmp_path / "in"), tmp_path / name, *JOB)
    assert (found["code"], found["message"].count("error:"), "Traceback" in found["message"]) == (code, 1, False)
    assert name in found["message"]


@pytest.mark.parametrize("url", ["zip://g.zip/x", "tar://g.tar", "dir://g", "simplecache://x", "reference://x"])
def test_archives_and_wrappers_are_no_stores(url: str, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    refused(server, "partition", url, tmp_path / "out", *JOB, words=(url, "no store"))
    refused(server, "partition", graph, url, *JOB, words=(url, "no store"))


@pytest.mark.parametrize("url", ["hdfs://host/g", "ftp://127.0.0.1:9/g"])
def test_a_store_that_does_not_answer_is_one_error(url: str, tmp_path: Path, server: Server) -> None:
    found = server.run("partition", url, tmp_path / "out", *JOB)
    assert (found["code"], found["message"].count("error:"), "Traceback" in found["message"]) == (3, 1, False)


def test_a_run_that_fails_over_older_partitions_leaves_them_whole(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert server.run("partition", graph, out, *JOB)["code"] == 0
    path = graph / "edges" / "0-1.csv"
    path.write_text("x y\n" + path.read_text().split("\n", 1)[1])
    before = file_hashes(out)
    refused(server, "partition", graph, out, *JOB, "--overwrite", words=("edges/0-1.csv", "row 0"))
    assert file_hashes(out) == before


def test_input_files_in_the_output_directory_are_not_deleted(tmp_path: Path, server: Server) -> None:
    data = write_graph(tmp_path / "data" / "part0")
    content = json.loads((data / "metadata.json").read_text())
    for entry in (content["edges"][ETYPE], content["node_data"]["n"]["x"]):
        entry["data"] = [str(data / path) for path in entry["data"]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "metadata.json").write_text(json.dumps(content))
    before = file_hashes(data)
    server.run("partition", tmp_path / "in", tmp_path / "data", *JOB, "--overwrite")
    assert before.items() <= file_hashes(data).items()


def test_owners_in_the_output_directory_are_not_deleted(tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "out" / "part0"
    assert server.run("assign", graph, owners, *JOB)["code"] == 0
    before = file_hashes(owners)
    server.run("dispatch", graph, owners, tmp_path / "out", "--overwrite", "--quiet")
    assert file_hashes(owners) == before


def test_a_part_that_is_a_link_is_not_followed(tmp_path: Path, server: Server) -> None:
    graph, out, theirs = write_graph(tmp_path / "in"), tmp_path / "out", tmp_path / "theirs"
    for directory in (out, theirs):
        directory.mkdir()
    (theirs / "graph.dgl").write_text("precious")
    (out / "part0").symlink_to(theirs)
    refused(server, "partition", graph, out, *JOB, "--overwrite", words=("part0",))
    assert [(path.name, path.read_text()) for path in theirs.iterdir()] == [("graph.dgl", "precious")]


def test_a_pipe_in_the_output_directory_is_left_alone(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    out.mkdir()
    os.mkfifo(out / "notes.json")
    assert server.run("partition", graph, out, *JOB, "--overwrite")["code"] == 0
    assert (out / "notes.json").is_fifo()


def test_assign_does_not_overwrite_the_input(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    (graph / "node_data" / "0-0-0.npy").rename(graph / "n.npy")
    path = graph / "metadata.json"
    path.write_text(path.read_text().replace("node_data/0-0-0.npy", "n.npy"))
    before = file_hashes(graph)
    server.run("assign", graph, graph, *JOB)
    assert before.items() <= file_hashes(graph).items()


def test_a_failed_assignment_leaves_no_metadata(tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    for options in (("--num-parts", "0"), ("--num-parts", "2", "--method", "magic")):
        refused(server, "assign", graph, owners, "--quiet", *options, words=(options[-2],))
        assert not [path for path in owners.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--num-parts", "0"), "1 to 65,535"),
        (("--num-parts", "two"), "num-parts"),
        ((), "--num-parts"),
        (("--num-parts", "2", "--memory", "1MB"), "at least"),
        (("--num-parts", "2", "--memory", "lots"), "not a size"),
        (("--num-parts", "2", "--memory", "1e999GB"), "--memory"),
        (("--num-parts", "2", "--graph-formats", "coo,coo"), "each once"),
        (("--num-parts", "2", "--graph-formats", "dense"), "coo, csr, csc"),
        (("--num-parts", "2", "--method", "magic"), "random or a directory"),
        (("--num-parts", "2", "--cluster", "cloud"), "unknown cluster"),
        (("--num-parts", "2", "--cluster", "foo:bar"), "foo:bar"),
        (("--num-parts", "2", "--num-hops", "0"), "num-hops"),
        (("--num-parts", "2", "--workspace", "file/below"), "file"),
        (("--num-parts", "2", "--workspace", "loop"), "loop"),
        (("--num-parts", "2", "--imbalance", "1e300"), "0 to 1,000"),
        (("--num-parts", "2", "--balance", "nodes=1e300"), "0 to 1,000"),
    ],
)
def test_a_bad_option_is_named(
    options: tuple[str, ...], word: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = write_graph(tmp_path / "in")
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    found = server.run("partition", graph, tmp_path / "out", "--quiet", *options)
    assert (found["code"], "Traceback" in found["message"]) == (2, False)
    assert word in found["message"]
    assert not (tmp_path / "out" / "g.json").exists()


def test_the_memory_that_is_asked_for_is_enough(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    options = ("partition", graph, tmp_path / "out", "--num-parts", "2", "--quiet", "--method", "random", "--memory")
    found = server.run(*options, "1MB")
    judge(found, Case("", str, ("--memory", "found 1.0 MB", "give --memory")))
    smallest = found["message"].split("give --memory ")[1].split()[0]
    assert server.run(*options, smallest)["code"] == 0


@pytest.mark.parametrize(("meta", "ips"), [("{", b"a\n"), ("[]", b"a\n"), ('{"num_parts": 2}', b"\xff\n")])
def test_ip_config_beside_bad_files_is_one_error(meta: str, ips: bytes, tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert server.run("assign", graph, owners, *JOB)["code"] == 0
    (owners / "partition_meta.json").write_text(meta)
    (tmp_path / "ips.txt").write_bytes(ips)
    found = server.run("dispatch", graph, owners, tmp_path / "out", "--ip-config", tmp_path / "ips.txt", "--quiet")
    assert found["code"] in (0, 2)


@pytest.mark.parametrize("kind", ["unit", "run"])
def test_an_unfinished_run_whose_journal_is_of_another_form_is_one_error(
    kind: str, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    job = ("partition", graph, out, *JOB, "--cluster", "sync")
    with monkeypatch.context() as patch:
        patch.setattr("daskgraphpart.dispatching.finish._complete", lambda *_, **__: 1 / 0)
        assert server.run(*job)["code"] == 70
    path = out / ".daskgraphpart-work" / "journal"
    lines = []
    for line in path.read_bytes().splitlines():
        value = json.loads(line[9:])
        body = json.dumps([*value[:-1], ["?"]] if isinstance(value, list) and value[0] == kind else value).encode()
        lines.append(b"%08x %s\n" % (zlib.crc32(body), body))
    path.write_bytes(b"".join(lines))
    refused(server, *job, words=("journal", "damaged", "--restart"))
    assert server.run(*job, "--restart")["code"] == 0


@pytest.mark.timeout(60)
def test_a_config_of_billions_of_hops_is_verified_at_once(tmp_path: Path, server: Server) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert server.run("partition", graph, out, *JOB)["code"] == 0
    content = json.loads((out / "g.json").read_text())
    (out / "g.json").write_text(json.dumps({**content, "halo_hops": 2**31}))
    assert server.run("verify", graph, out, "--quiet")["code"] == 1
