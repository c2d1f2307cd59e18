"""Every key of `metadata.json` and of a partition config with values it cannot have, and files that are neither."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from bad_input.judge import (
    ETYPE,
    RANDOM,
    cases,
    change,
    expect_one_error,
    instead,
    put,
    read_all,
    refuse_graph,
    refused,
    run,
    write_graph,
)

if TYPE_CHECKING:
    from pathlib import Path

NAN = float("nan")
NO_LIST = (None, 3, 0.5, True, "n", {}, {"n": 1})
NO_MAP = (None, 3, 0.5, True, "csv", [], ["csv"])
NO_TEXT = (None, 3, 0.5, False, [], {}, ["x"])
NO_COUNT = (-1, 0.5, NAN, float("inf"), "20", None, True, [], [20], {}, 2**63, 10**400)
NO_NUMBER = (None, -1, 0.5, NAN, "2", True, [], [2], {}, 2**63, 10**30)
FEATURE = {"format": {"name": "numpy"}, "data": ["node_data/0-0-0.npy", "node_data/0-0-1.npy"]}
PAIRS = [[0, 9], [9, 20]]

# for each key: the values it cannot have
METADATA: list[tuple[tuple[str | int, ...], tuple[Any, ...]]] = [
    (("graph_name",), (*NO_TEXT, "", "a/b", "a:b", "a~b", "a\0b", "\ud800", "a" * 300)),
    (("node_type",), (*NO_LIST, [], [3], [None], [["n"]], ["n", "n"], [""], ["a/b"], ["n:n"], ["a" * 300], ["m"])),
    (("num_nodes_per_chunk",), (*NO_LIST, [], [20], [[10, 10], [1]], *([[n]] for n in NO_COUNT))),
    (("num_nodes_per_chunk", 0, 0), (19, 21, *NO_COUNT)),
    (("edge_type",), (*NO_LIST, [3], [ETYPE, ETYPE], ["e"], ["n:e"], ["n:e:n:n"], ["n:e:m"], ["n:e/f:n"], [""])),
    (("num_edges_per_chunk",), (*NO_LIST, [], [50], [[25, 25], []], *([[count]] for count in NO_COUNT))),
    (("num_edges_per_chunk", 0, 0), (24, 26, *NO_COUNT)),
    (("edges",), (*NO_MAP, {}, {"n:e:m": {}}, {ETYPE: {}, "other": {}})),
    (("edges", ETYPE), (*NO_MAP, {}, {"data": []})),
    (("edges", ETYPE, "format"), (*NO_MAP, {}, {"delimiter": " "})),
    (("edges", ETYPE, "format", "name"), (*NO_TEXT, "", "CSV", "tsv", "json", "numpy", "parquet")),
    (("edges", ETYPE, "format", "delimiter"),
     (*NO_TEXT, "", "  ", "::", "\n", "\r", "7", "-", "+", ".", '"', "\0", "\xe9")),
    (("edges", ETYPE, "data"), (*NO_LIST, [3], [None], [["x"]], [""], ["edges/0-0.csv"], ["edges"], ["gone.csv"])),
    (("edges", ETYPE, "data", 0), (3, None, "", "gone", "\0", "a" * 5000, "/dev/zero", "/", "..", "edges/0-1.csv/x",
      "/proc/version", "http://[::1", "s3://[", "http://[")),
    (("node_data",), ([], None, 3, "n", {"m": {}}, {"n": []}, {"n": {"x": {}}})),
    (("node_data", "n"), ([], None, 3, "x", {"x": {}}, {"": FEATURE}, {"a/b": FEATURE}, {"a:b": FEATURE})),
    (("node_data", "n", "x"), (*NO_MAP, {})),
    (("node_data", "n", "x", "format", "name"), (*NO_TEXT, "csv", "npy", "parquet")),
    (("node_data", "n", "x", "data"), (*NO_LIST, [], [3], ["node_data/0-0-0.npy"], FEATURE["data"] * 2)),
    (("node_data", "n", "x", "data", 1), (3, None, "", "gone", "node_data", "edges/0-0.csv", "/proc/version",
      "http://[::1")),
    (("edge_data",), ([], None, 3, {"n": {}}, {ETYPE: 3}, {ETYPE: {"w": {}}})),
    (("edge_data", ETYPE), ([], None, 3, {"w": FEATURE})),
]  # fmt: skip

CONFIG: list[tuple[tuple[str | int, ...], tuple[Any, ...]]] = [
    (("graph_name",), NO_TEXT),
    (("part_method",), NO_TEXT),
    (("halo_hops",), NO_NUMBER),
    (("num_parts",), (*NO_NUMBER, 0, 1, 3, 10**12)),
    (("num_nodes",), (*NO_NUMBER, 0, 19, 21, 10**12)),
    (("num_edges",), (*NO_NUMBER, 0, 49, 51)),
    (("ntypes",), (*NO_MAP, {}, {"n": 1}, {"n": "0"}, {"n": None}, {"n": False}, {"n": 0, "m": 0}, {"m": 0})),
    (("etypes",), (*NO_MAP, {"n:e:n": 1}, {"n:e:n": [0]}, {"n:e:n": 0, "a": 2}, {"n:f:n": 0}, {"a\0": 0})),
    (("node_map",), (None, 3, 0.5, True, "gone.npy", [], {}, {"m": PAIRS}, {"n": PAIRS, "m": PAIRS}, [PAIRS])),
    (("node_map", "n"), (
        None, 3, "n", [], {}, [[0, 9]], [[0, 9], [10, 20]], [[0, 9], [8, 20]], [[0, 9], [9, 8]], [[1, 9], [9, 20]],
        [[0, 9], [9, None]], [[0, 9], [9, 20.0]], [[0, 9], [9, "20"]], [[0, 9], [9]], [[0, 9], [9, 20, 3]],
        [[-1, 9], [9, 20]], [[0, 2**63], [2**63, 20]], [[0, 9], 20], [[[0, 9]], [[9, 20]]], [[0, True], [1, 20]],
    )),
    (("edge_map",), (None, 3, True, [], {}, {"n:f:n": PAIRS}, [[0, 1]])),
    (("edge_map", "n:e:n"), (None, 3, [], [[0, 25]], [[0, 25], [26, 50]], [[0, 25], [25, 2**90]])),
    (("part-0",), (None, 3, "part0", [], {}, {"node_feats": "part0/node_feat.dgl"})),
    (("part-1", "part_graph"), (*NO_TEXT, "", "gone.dgl", "part1", "\0", "a" * 5000, "g.json", "part1/node_feat.dgl")),
    (("part-1", "node_feats"), (*NO_TEXT, "", "gone.dgl", "part1", "part1/graph.dgl", "/dev/zero", "../out")),
    (("part-0", "edge_feats"), (*NO_TEXT, "", "gone_feat.dgl", "part0/graph.dgl")),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "values"), METADATA, ids=[".".join(map(str, keys)) for keys, _ in METADATA])
def test_a_value_that_a_key_of_metadata_cannot_have_is_one_error(keys: Any, values: Any, tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    sound = (graph / "metadata.json").read_text()
    for value in values:
        put("metadata.json", keys, value)(graph)
        code, message = run("info", graph)
        if code == 0:  # only the files tell
            refuse_graph(graph, ())
        else:
            expect_one_error(code, message, ())
            assert "metadata.json" in message or "/0-" in message or str(value) in message, value
        (graph / "metadata.json").write_text(sound)


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("partitions")
    assert run("partition", write_graph(directory / "in"), directory / "out", *RANDOM)[0] == 0
    return directory / "out"


@pytest.mark.parametrize(("keys", "values"), CONFIG, ids=[".".join(map(str, keys)) for keys, _ in CONFIG])
def test_a_value_that_a_key_of_a_config_cannot_have_is_one_error(keys: Any, values: Any, partitions: Path) -> None:
    sound = (partitions / "g.json").read_text()
    try:
        for value in values:
            put("g.json", keys, value)(partitions)
            expect_one_error(*read_all(partitions / "g.json"), ())
            (partitions / "g.json").write_text(sound)
    finally:
        (partitions / "g.json").write_text(sound)


KEYS_THAT_ARE_NEEDED = {
    "num_parts": ("num_parts",), "num_nodes": ("num_nodes",), "num_edges": ("num_edges",), "node_map": ("node_map",),
    "edge_map": ("edge_map",), "part-1": ("part-1",), "part-0": ("num_parts", "1, as there are keys"),
    "ntypes": ("node_map.n",), "etypes": ("edge_map.n:e:n",),
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS_THAT_ARE_NEEDED)
def test_a_key_that_is_missing_in_a_config_is_named(key: str, partitions: Path) -> None:
    sound = (partitions / "g.json").read_text()
    content = json.loads(sound)
    del content[key]
    try:
        (partitions / "g.json").write_text(json.dumps(content))
        expect_one_error(*read_all(partitions / "g.json"), ("g.json", *KEYS_THAT_ARE_NEEDED[key]))
    finally:
        (partitions / "g.json").write_text(sound)


def nested(levels: int) -> bytes:
    return b'{"node_type": ' + b"[" * levels + b"]" * levels + b"}"


def first_key_twice(content: bytes) -> bytes:
    return content.replace(b"{", b'{"' + content.split(b'"')[1] + b'": 3,', 1)


NO_JSON = "not valid JSON"
TEXTS = [
    ("blank", lambda _: b" \n", (NO_JSON,)),
    ("cut short", lambda c: c[:-20], (NO_JSON,)),
    ("a list", lambda c: b"[" + c + b"]", ("not a JSON object", "list")),
    ("null", lambda _: b"null", ("not a JSON object",)),
    ("two objects", lambda c: c + c, (NO_JSON, "Extra data")),
    ("a comment", lambda c: b"// mine\n" + c, (NO_JSON,)),
    ("single quotes", lambda c: c.replace(b'"', b"'"), (NO_JSON,)),
    ("YAML", lambda _: b"graph_name: g\n", (NO_JSON,)),
    ("UTF-16", lambda c: c.decode().encode("utf-16"), (NO_JSON, "utf-8")),
    ("latin-1", lambda c: c.replace(b'"g"', b'"\xe9"'), (NO_JSON, "utf-8")),
    ("byte-order mark", lambda c: b"\xef\xbb\xbf" + c, (NO_JSON, "BOM")),
    ("gzip", gzip.compress, (NO_JSON, "utf-8")),
    ("a key twice", first_key_twice, ("is given twice",)),
    ("nested 10**5 times", lambda _: nested(100_000), ("nested too deeply",)),
    ("a number of 10**5 digits", lambda c: c.replace(b"20", b"1" * 100_000), (NO_JSON,)),
]


@pytest.mark.parametrize("name", ["metadata.json", "g.json"])
@cases(TEXTS)  # type: ignore[arg-type]
def test_a_file_that_is_not_such_json_is_one_error(
    damage: Any, words: tuple[str, ...], name: str, partitions: Path, tmp_path: Path
) -> None:
    content = damage((partitions / name if name == "g.json" else write_graph(tmp_path / "in") / name).read_bytes())
    (tmp_path / name).write_bytes(content)
    refused("info", tmp_path / name, words=(name, *words))


METADATA_FILES = [
    ("an inner key twice", change("metadata.json", lambda c: c.replace(b'"name"', b'"name": "numpy", "name"', 1)),
     ("given twice",)),
    ("nested 95 times", change("metadata.json", lambda _: nested(95)), ("node_type",)),
    ("a number of 1,000 digits", change("metadata.json", lambda c: c.replace(b"20", b"1" * 1000, 1)),
     ("invalid count",)),
    ("10**5 types", change("metadata.json", lambda _: json.dumps({"node_type": ["n"] * 100_000}).encode()),
     ("graph_name",)),
    ("sparse and huge", lambda graph: os.truncate(graph / "metadata.json", 1 << 40), ("too large",)),
]  # fmt: skip


@cases(METADATA_FILES)
def test_metadata_that_are_too_much_are_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    damage(graph)
    refused("partition", graph, tmp_path / "out", "--num-parts", "2", words=("metadata.json", *words))


@pytest.mark.parametrize("count", [10**10, 10**13, 10**15, 2**62])
@pytest.mark.parametrize("what", ["nodes", "edges"])
def test_absurd_counts_are_refused_before_memory_or_disk_is_taken(what: str, count: int, tmp_path: Path) -> None:
    """Of a graph of nothing but an absurd number of nodes, or with files that hold fewer edges."""
    graph = write_graph(tmp_path / "in")
    put("metadata.json", (f"num_{what}_per_chunk",), [[count]])(graph)
    if what == "nodes":
        put("metadata.json", ("node_data",), {})(graph)
    refuse_graph(graph, ())


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), os.mkfifo, lambda path: path.symlink_to(path), str])
def test_a_config_that_is_no_file_is_one_error(make: Any, tmp_path: Path) -> None:
    (tmp_path / "g.json").touch()
    instead("g.json", make)(tmp_path)
    refused("info", tmp_path / "g.json", words=("g.json",))
