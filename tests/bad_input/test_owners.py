"""Directories of owners that are not what they should be: text, npy, parquet, zarr, JSON, trainers."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import zarr
from bad_input.judge import NUM_NODES, Case, Server, cases, expect_refusal, write_graph
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

META = {"version": "1.0.0", "num_parts": 2, "algo_name": "random"}
OWNERS = np.arange(NUM_NODES) % 2


def text(content: str, name: str = "n.txt") -> Callable[[Path], object]:
    return lambda owners: (owners / name).write_text(content)


def array(rows: Any) -> Callable[[Path], object]:
    return lambda owners: np.save(owners / "n.npy", rows)


def table(**columns: Any) -> Callable[[Path], object]:
    return lambda owners: parquet.write_table(pa.table(columns), owners / "n.parquet")


def stored(change: Callable[[Path], object], **how: Any) -> Callable[[Path], object]:
    """A zarr array, changed."""

    def damage(owners: Path) -> None:
        made = zarr.create_array(owners / "n.zarr", shape=(NUM_NODES,), dtype="i4", chunks=(4,), **how)
        made[:] = OWNERS
        change(owners / "n.zarr")

    return damage


def meta(content: str, name: str = "partition_meta.json") -> Callable[[Path], object]:
    return lambda owners: (text("0\n" * NUM_NODES)(owners), text(content, name)(owners))


def trainers(values: Any, **others: Any) -> Callable[[Path], object]:
    def damage(owners: Path) -> None:
        array(OWNERS)(owners)
        (owners / "trainer_id").mkdir()
        np.save(owners / "trainer_id" / "n.npy", np.asarray(values, **others))

    return damage


def reshape(directory: Path, **changes: Any) -> None:
    """Change the metadata of a zarr array."""
    content = json.loads((directory / "zarr.json").read_text())
    (directory / "zarr.json").write_text(json.dumps({**content, **changes}))


def huge_chunk(directory: Path) -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [2**30]}}
    reshape(directory, chunk_grid=grid)


def instead(place: int, value: int) -> np.ndarray:
    changed = OWNERS * 2
    changed[place] = value
    return changed


FILES = [
    Case("short text", text("0\n" * 19), ("n.txt", "expected 20", "found 19")),
    Case("long text", text("0\n" * 21), ("n.txt", "found 21")),
    Case("empty text", text(""), ("n.txt", "found 0")),
    Case("text out of range", text("0\n" * 6 + "2\n" + "0\n" * 13), ("n.txt", "row 6", "[0, 2)", "found 2")),
    Case("text with a header", text("part\n" + "0\n" * 20), ("n.txt", "not one integer per line")),
    Case("text of floats", text("0.5\n" * 20), ("n.txt", "not one integer per line")),
    Case("another type", text("0\n" * 20, "m.txt"), ("no owners for node type 'n'", "n.txt")),
    Case("two forms", lambda o: (text("0\n" * 20)(o), array(OWNERS)(o)), ("several forms", "keep one")),
    Case("a directory", lambda o: (o / "n.txt").mkdir(), ("n.txt",)),
    Case("short array", array(np.zeros(19, int)), ("n.npy", "found 19")),
    Case("array out of range", array(np.full(20, 5)), ("n.npy", "row 0", "found 5")),
    Case("negative array", array(np.full(20, -1)), ("n.npy", "found -1")),
    Case("array beyond int64", array(np.full(20, 2**64 - 1, np.uint64)), ("n.npy", "row 0")),
    Case("array of floats", array(np.zeros(20)), ("n.npy", "integers")),
    Case("matrix", array(np.zeros((20, 1), int)), ("n.npy", "one-dimensional")),
    Case("two columns", table(a=[0] * 20, b=[0] * 20), ("n.parquet", "one column of integers")),
    Case("column of floats", table(a=[0.0] * 20), ("n.parquet", "one column of integers")),
    Case("column with nulls", table(a=[*[0] * 19, None]), ("n.parquet", "owners are missing", "1 nulls")),
    Case("column out of range", table(a=[*[0] * 19, 2]), ("n.parquet", "row 19", "[0, 2)", "found 2")),
    Case("long column", table(a=[0] * 21), ("n.parquet", "expected 20", "found 21")),
    Case("no parquet", text("PAR1", "n.parquet"), ("n.parquet", "not a readable parquet file")),
    *(
        Case(f"zarr of {name}", lambda o, c=content: ((o / "n.zarr").mkdir(), text(c, "n.zarr/zarr.json")(o)), words)
        for name, content, words in (
            ("half an object", "{", ("n.zarr", "not a readable zarr array")),
            ("an object of nothing", "{}", ("n.zarr", "not a readable zarr array")),
        )
    ),
    Case("zarr without metadata", lambda o: (o / "n.zarr").mkdir(), ("n.zarr", "not a readable zarr array")),
    Case("damaged chunk", stored(lambda z: (z / "c" / "1").write_bytes(b"xx"), fill_value=-1), ("n.zarr", "damaged")),
    Case("lost chunk", stored(lambda z: (z / "c" / "1").unlink()), ("n.zarr", "missing", "5 chunks", "found 4")),
    Case("lost chunks", stored(lambda z: shutil.rmtree(z / "c")), ("n.zarr", "missing", "found 0")),
    Case("lost shard", stored(lambda z: (z / "c" / "1").unlink(), shards=(8,)), ("n.zarr", "missing")),
    Case("pipe for a chunk", stored(lambda z: os.mkfifo(z / "c" / "9")), ("n.zarr/c/9", "not a regular file")),
    Case("pipe for metadata", lambda o: ((o / "n.zarr").mkdir(), os.mkfifo(o / "n.zarr" / "zarr.json")), ("regular",)),
    Case("endless zarr", stored(lambda z: reshape(z, shape=[2**60])), ("n.zarr", "expected 20,")),
    Case("zarr of one huge chunk", stored(lambda z: huge_chunk(z)), ("n.zarr", "too large to be unpacked")),
    Case("lost chunk, zarr 2", stored(lambda z: (z / "1").unlink(), zarr_format=2), ("n.zarr", "missing")),
    *(
        Case(f"meta {content}", meta(content), ("partition_meta.json", word))
        for content, word in (
            ("{", "not valid JSON"),
            ("[]", "not a JSON object"),
            ("{}", "num_parts"),
            ("{}x", "not valid JSON"),
            ('{"num_parts": "2"}', "num_parts: "),
            ('{"num_parts": true}', "num_parts: "),
            ('{"num_parts": 0}', "found 0"),
            ('{"num_parts": 3}', "expected 2, found 3"),
            ('{"num_parts": 2, "num_parts": 3}', "'num_parts' is given twice"),
            ('{"num_parts": 2, "algo_name": 7}', "algo_name"),
            ('{"a":' * 100_000, "nested too deeply"),
        )
    ),
    Case("ours", meta('{"text_crc32": [1]}', "assignment.json"), ("assignment.json", "text_crc32")),
    Case("trainers of floats", trainers(OWNERS * 2.0), ("trainer_id/n.npy", "int64", "float64")),
    Case("too few trainers", trainers(OWNERS[:9]), ("trainer_id/n.npy", "(20,)", "(9,)")),
    Case("negative trainer", trainers(instead(0, -1)), ("trainer_id", "part 0", "found -1 to 0")),
    Case("huge trainer", trainers(instead(1, 2**62)), ("trainer_id", "part")),
    Case("trainer of another part", trainers(instead(0, 2)), ("trainer_id", "part", "trainers of its own")),
]


@cases(FILES)
def test_bad_owners_are_one_error(case: Case, tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    (owners / "partition_meta.json").write_text(json.dumps(META))
    case.damage(owners)
    expect_refusal(server, graph, case, "--method", owners)


def write_owners(graph: Path, server: Server, form: str = "npy") -> Path:
    owners = graph.parent / "owners"
    options = ("--num-parts", "2", "--quiet", "--method", "random", "--form", form)
    assert server.run("assign", graph, owners, *options)["code"] == 0
    return owners


def test_text_changed_after_its_binary_form_is_noticed(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    owners = write_owners(graph, server)
    content = (owners / "n.txt").read_text()
    (owners / "n.txt").write_text(content.translate(str.maketrans("01", "10")))
    expect_refusal(server, graph, Case("", str, ("n.txt", "changed", "delete n.npy")), "--method", owners)


def test_a_binary_form_changed_after_its_text_is_noticed(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    owners = write_owners(graph, server)
    np.save(owners / "n.npy", 1 - np.load(owners / "n.npy"))
    expect_refusal(server, graph, Case("", str, ("n.npy", "not what was written")), "--method", owners)


def test_lost_chunks_of_our_own_are_noticed(tmp_path: Path, server: Server) -> None:
    graph = write_graph(tmp_path / "in")
    owners = write_owners(graph, server, "zarr")
    shutil.rmtree(owners / "n.zarr" / "c")
    expect_refusal(server, graph, Case("", str, ("n.zarr", "missing")), "--method", owners)


def test_trainers_that_fit_are_taken(tmp_path: Path, server: Server) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    (owners / "partition_meta.json").write_text(json.dumps(META))
    trainers(OWNERS * 3 + np.arange(NUM_NODES) % 3)(owners)
    assert server.run("dispatch", graph, owners, tmp_path / "out", "--quiet")["code"] == 0
