"""Every key of a partition config with values it cannot have, and files that are no config."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from bad_input.judge import Case, Server, cases, judge, write_graph
from bad_input.test_metadata_keys import NAN, NO_MAP, NO_TEXT, named
from commands import call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_NUMBER = (None, -1, 0.5, NAN, "2", True, [], [2], {}, 2**63, 10**30)
PAIRS = [[0, 9], [9, 20]]

KEYS: list[tuple[tuple[str | int, ...], tuple[Any, ...]]] = [
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


@pytest.fixture(scope="session")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("partitions")
    write_graph(directory / "in")
    assert call("partition", directory / "in", directory / "out", "--num-parts", "2", "--quiet") == 0
    return directory / "out"


def put(keys: tuple[str | int, ...], value: Any) -> Callable[[Path], object]:
    """Change one value."""

    def damage(out: Path) -> None:
        content = inner = json.loads((out / "g.json").read_text())
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (out / "g.json").write_text(json.dumps(content))

    return damage


def drop(key: str) -> Callable[[Path], object]:
    def damage(out: Path) -> None:
        content = json.loads((out / "g.json").read_text())
        del content[key]
        (out / "g.json").write_text(json.dumps(content))

    return damage


VALUES = [Case(named(keys, value), put(keys, value), ()) for keys, values in KEYS for value in values]
MISSING = [
    Case(f"no {key}", drop(key), ("g.json", key))
    for key in ("num_parts", "num_nodes", "num_edges", "node_map", "edge_map", "part-0", "part-1", "ntypes", "etypes")
    if key not in ("ntypes", "etypes", "part-0")
] + [
    Case("no part-0", drop("part-0"), ("g.json", "num_parts", "1, as there are keys")),
    Case("no ntypes", drop("ntypes"), ("g.json", "node_map.n")),
    Case("no etypes", drop("etypes"), ("g.json", "edge_map.n:e:n")),
]


def text(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda out: (out / "g.json").write_bytes(change((out / "g.json").read_bytes()))


def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(out: Path) -> None:
        (out / "g.json").unlink()
        make(out / "g.json")

    return damage


WHOLE_FILES = [
    Case("empty", text(lambda _: b""), ("g.json", "not valid JSON")),
    Case("cut short", text(lambda c: c[:-20]), ("g.json", "not valid JSON")),
    Case("a list", text(lambda c: b"[" + c + b"]"), ("g.json", "not a JSON object")),
    Case("UTF-16", text(lambda c: c.decode().encode("utf-16")), ("g.json", "utf-8")),
    Case("a key twice", text(lambda c: b'{"num_parts": 3,' + c[1:]), ("g.json", "'num_parts' is given twice")),
    Case("nested", text(lambda _: b'{"part-0": ' + b"[" * 5000 + b"]" * 5000 + b"}"), ("g.json", "nested too deeply")),
    Case("sparse and huge", lambda out: os.truncate(out / "g.json", 1 << 40), ("g.json", "too large")),
    Case("a directory", instead(lambda path: path.mkdir()), ("g.json",)),
    Case("a FIFO", instead(os.mkfifo), ("g.json", "no such file")),
    Case("missing", instead(lambda path: None), ("g.json", "no such file")),
    Case("a link to itself", instead(lambda path: path.symlink_to(path)), ("g.json", "no such file")),
]


@cases([*VALUES, *MISSING, *WHOLE_FILES])
def test_a_config_that_is_wrong_is_one_error(case: Case, partitions: Path, tmp_path: Path, server: Server) -> None:
    out = tmp_path / "out"
    shutil.copytree(partitions, out)
    case.damage(out)
    judge(server.read(out / "g.json"), case)
    found = server.run("remap", out / "g.json", out / "in.npy", out / "out.npy")
    judge(found, case)
