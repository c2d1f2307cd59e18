"""Every key of `metadata.json` with values it cannot have, and files that are no metadata."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

from bad_input.judge import ETYPE, Case, Server, cases, expect_refusal, judge, write_graph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAN = float("nan")
NO_LIST = (None, 3, 0.5, True, "n", {}, {"n": 1})
NO_MAP = (None, 3, 0.5, True, "csv", [], ["csv"])
NO_TEXT = (None, 3, 0.5, False, [], {}, ["x"])
NO_COUNT = (-1, 0.5, NAN, float("inf"), "20", None, True, [], [20], {}, 2**63, 10**400)
FEATURE = {"format": {"name": "numpy"}, "data": ["node_data/0-0-0.npy", "node_data/0-0-1.npy"]}

# for each key: the values it cannot have
KEYS: list[tuple[tuple[str | int, ...], tuple[Any, ...]]] = [
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
    (("edges", ETYPE, "data", 0), (3, None, "", "gone", "\0", "a" * 5000, "/dev/zero", "/", "..", "edges/0-1.csv/x")),
    (("node_data",), ([], None, 3, "n", {"m": {}}, {"n": []}, {"n": {"x": {}}})),
    (("node_data", "n"), ([], None, 3, "x", {"x": {}}, {"": FEATURE}, {"a/b": FEATURE}, {"a:b": FEATURE})),
    (("node_data", "n", "x"), (*NO_MAP, {})),
    (("node_data", "n", "x", "format", "name"), (*NO_TEXT, "csv", "npy", "parquet")),
    (("node_data", "n", "x", "data"), (*NO_LIST, [], [3], ["node_data/0-0-0.npy"], FEATURE["data"] * 2)),
    (("node_data", "n", "x", "data", 1), (3, None, "", "gone", "node_data", "edges/0-0.csv")),
    (("edge_data",), ([], None, 3, {"n": {}}, {ETYPE: 3}, {ETYPE: {"w": {}}})),
    (("edge_data", ETYPE), ([], None, 3, {"w": FEATURE})),
]  # fmt: skip


def put(keys: tuple[str | int, ...], value: Any) -> Callable[[Path], object]:
    """Change one value."""

    def damage(graph: Path) -> None:
        path = graph / "metadata.json"
        content = inner = json.loads(path.read_text())
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        path.write_text(json.dumps(content))

    return damage


def named(keys: tuple[str | int, ...], value: Any) -> str:
    text = json.dumps(value)
    return f"{'.'.join(str(key) for key in keys)}={text if len(text) < 50 else text[:30] + '...' + str(len(text))}"


VALUES = [Case(named(keys, value), put(keys, value), ()) for keys, values in KEYS for value in values]


def text(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda graph: (graph / "metadata.json").write_bytes(change((graph / "metadata.json").read_bytes()))


def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(graph: Path) -> None:
        (graph / "metadata.json").unlink()
        make(graph / "metadata.json")

    return damage


def nested(levels: int, inside: bytes) -> bytes:
    return b'{"node_type": ' + b"[" * levels + b"]" * levels + inside + b"}"


WHOLE_FILES = [
    Case(name, damage, ("metadata.json", *words))
    for name, damage, words in (
        ("empty", text(lambda _: b""), ("not valid JSON",)),
        ("blank", text(lambda _: b" \n"), ("not valid JSON",)),
        ("cut short", text(lambda c: c[:-20]), ("not valid JSON",)),
        ("a list", text(lambda c: b"[" + c + b"]"), ("not a JSON object", "list")),
        ("null", text(lambda _: b"null"), ("not a JSON object",)),
        ("two objects", text(lambda c: c + c), ("not valid JSON", "Extra data")),
        ("a comment", text(lambda c: b"// mine\n" + c), ("not valid JSON",)),
        ("single quotes", text(lambda c: c.replace(b'"', b"'")), ("not valid JSON",)),
        ("YAML", text(lambda _: b"graph_name: g\n"), ("not valid JSON",)),
        ("UTF-16", text(lambda c: c.decode().encode("utf-16")), ("not valid JSON", "utf-8")),
        ("latin-1", text(lambda c: c.replace(b'"g"', b'"\xe9"')), ("not valid JSON", "utf-8")),
        ("byte-order mark", text(lambda c: b"\xef\xbb\xbf" + c), ("not valid JSON", "BOM")),
        ("gzip", text(gzip.compress), ("not valid JSON", "utf-8")),
        ("NULs", text(lambda _: bytes(100)), ("not valid JSON",)),
        ("a key twice", text(lambda c: b'{"graph_name": "h",' + c[1:]), ("'graph_name' is given twice",)),
        ("an inner key twice", text(lambda c: c.replace(b'"name"', b'"name": "numpy", "name"', 1)), ("given twice",)),
        ("nested 95 times", text(lambda _: nested(95, b"")), ("node_type",)),
        ("nested 10**5 times", text(lambda _: nested(100_000, b"")), ("nested too deeply",)),
        ("a number of 10**5 digits", text(lambda c: c.replace(b"20", b"1" * 100_000)), ("not valid JSON",)),
        ("a number of 1,000 digits", text(lambda c: c.replace(b"20", b"1" * 1000, 1)), ("impossible count",)),
        ("10**5 types", text(lambda _: json.dumps({"node_type": ["n"] * 100_000}).encode()), ("graph_name",)),
        ("a directory", instead(lambda path: path.mkdir()), ("no such file",)),
        ("a FIFO", instead(os.mkfifo), ("no such file",)),
        ("a device", instead(lambda path: path.symlink_to("/dev/zero")), ("no such file",)),
        ("a link to itself", instead(lambda path: path.symlink_to(path)), ("no such file",)),
        ("missing", instead(lambda path: None), ("no such file",)),
        ("sparse and huge", lambda graph: os.truncate(graph / "metadata.json", 1 << 40), ("too large",)),
    )
]

COUNTS = [
    Case(
        f"{count:.0e} {what}", lambda graph, c=count, w=what: claim(graph, w, c), ()
    )
    for what in ("nodes", "edges")
    for count in (10**10, 10**13, 10**15, 2**62)
]  # fmt: skip


def claim(graph: Path, what: str, count: int) -> None:
    """A graph of nothing but an absurd number of nodes, or with files that hold fewer edges."""
    content = json.loads((graph / "metadata.json").read_text())
    content[f"num_{what}_per_chunk"] = [[count]]
    if what == "nodes":
        del content["node_data"]
    (graph / "metadata.json").write_text(json.dumps(content))


@cases(VALUES)
def test_a_value_that_a_key_cannot_have_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    case.damage(graph)
    found = server.run("info", graph)
    if found["code"] == 0:  # only the files tell
        expect_refusal(server, graph, case)
    else:
        judge(found, case)
        assert "metadata.json" in found["message"] or "/0-" in found["message"]


@cases(WHOLE_FILES)
def test_a_file_that_is_no_metadata_is_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    case.damage(graph)
    judge(server.run("partition", graph, tmp_path / "out", "--num-parts", "2"), case)


@cases(COUNTS)
def test_absurd_counts_are_refused_before_memory_or_disk_is_taken(case: Case, tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    case.damage(graph)
    expect_refusal(server, graph, case)
