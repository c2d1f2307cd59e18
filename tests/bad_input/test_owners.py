"""Directories of owners that are not what they should be: text, npy, parquet, zarr, JSON, trainers."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import pyarrow as pa
import pytest
import zarr
from bad_input.judge import NUM_NODES, RANDOM, cases, refuse_graph, run, write_graph
from pyarrow import parquet

if TYPE_CHECKING:
    from pathlib import Path

    from bad_input.judge import Damage

META = {"version": "1.0.0", "num_parts": 2, "algo_name": "random"}
OWNERS = np.arange(NUM_NODES) % 2


def text(content: str, name: str = "n.txt") -> Damage:
    return lambda owners: (owners / name).write_text(content)


def array(rows: Any) -> Damage:
    return lambda owners: np.save(owners / "n.npy", rows)


def table(**columns: Any) -> Damage:
    return lambda owners: parquet.write_table(pa.table(columns), owners / "n.parquet")


BOMBS = {
    "zstd": numcodecs.Zstd(), "blosc": numcodecs.Blosc(), "lz4": numcodecs.LZ4(), "gzip": numcodecs.GZip(),
    "zlib": numcodecs.Zlib(), "bz2": numcodecs.BZ2(), "lzma": numcodecs.LZMA(),
}  # fmt: skip


def stored(change: Damage, **how: Any) -> Damage:
    """A zarr array, changed."""

    def damage(owners: Path) -> None:
        made = zarr.create_array(owners / "n.zarr", shape=(NUM_NODES,), dtype="i4", chunks=(4,), **how)
        made[:] = OWNERS
        change(owners / "n.zarr")

    return damage


def meta(content: str, name: str = "partition_meta.json") -> Damage:
    return lambda owners: (text("0\n" * NUM_NODES)(owners), text(content, name)(owners))


def trainers(values: Any, **others: Any) -> Damage:
    def damage(owners: Path) -> None:
        array(OWNERS)(owners)
        (owners / "trainer_id").mkdir()
        np.save(owners / "trainer_id" / "n.npy", np.asarray(values, **others))

    return damage


EMPTY_CHUNKS = {"name": "regular", "configuration": {"chunk_shape": [0]}}


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
    ("short text", text("0\n" * 19), ("n.txt", "expected 20", "found 19")),
    ("long text", text("0\n" * 21), ("n.txt", "found 21")),
    ("empty text", text(""), ("n.txt", "found 0")),
    ("text out of range", text("0\n" * 6 + "2\n" + "0\n" * 13), ("n.txt", "row 6", "[0, 2)", "found 2")),
    ("text with a header", text("part\n" + "0\n" * 20), ("n.txt", "not one integer per line")),
    ("text of floats", text("0.5\n" * 20), ("n.txt", "not one integer per line")),
    ("another type", text("0\n" * 20, "m.txt"), ("no owners for node type 'n'", "n.txt")),
    ("two forms", lambda o: (text("0\n" * 20)(o), array(OWNERS)(o)), ("several forms", "Keep one")),
    ("a directory", lambda o: (o / "n.txt").mkdir(), ("n.txt",)),
    ("short array", array(np.zeros(19, int)), ("n.npy", "found 19")),
    ("array out of range", array(np.full(20, 5)), ("n.npy", "row 0", "found 5")),
    ("negative array", array(np.full(20, -1)), ("n.npy", "found -1")),
    ("array beyond int64", array(np.full(20, 2**64 - 1, np.uint64)), ("n.npy", "row 0")),
    ("array of floats", array(np.zeros(20)), ("n.npy", "integers")),
    ("matrix", array(np.zeros((20, 1), int)), ("n.npy", "one-dimensional")),
    ("too many parts", meta('{"num_parts": 1000000000000}'), ("partition_meta.json", "num_parts", "65535")),
    *(
        (f"meta {content}", meta(content), ("partition_meta.json", word))
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
    ("ours", meta('{"text_crc32": [1]}', "assignment.json"), ("assignment.json", "text_crc32")),
    ("trainers of floats", trainers(OWNERS * 2.0), ("trainer_id/n.npy", "int64", "float64")),
    ("too few trainers", trainers(OWNERS[:9]), ("trainer_id/n.npy", "(20,)", "(9,)")),
    ("negative trainer", trainers(instead(0, -1)), ("trainer_id", "part 0", "found -1 to 0")),
    ("huge trainer", trainers(instead(1, 2**62)), ("trainer_id", "part")),
    ("trainer of another part", trainers(instead(0, 2)), ("trainer_id", "part", "its own trainers")),
]
FORMS = [
    ("two columns", table(a=[0] * 20, b=[0] * 20), ("n.parquet", "one column of integers")),
    ("column of floats", table(a=[0.0] * 20), ("n.parquet", "one column of integers")),
    ("column with nulls", table(a=[*[0] * 19, None]), ("n.parquet", "owners are missing", "1 nulls")),
    ("column out of range", table(a=[*[0] * 19, 2]), ("n.parquet", "row 19", "[0, 2)", "found 2")),
    ("long column", table(a=[0] * 21), ("n.parquet", "expected 20", "found 21")),
    ("no parquet", text("PAR1", "n.parquet"), ("n.parquet", "not a readable parquet file")),
    *(
        (f"zarr of {name}", lambda o, c=content: ((o / "n.zarr").mkdir(), text(c, "n.zarr/zarr.json")(o)), words)
        for name, content, words in (
            ("half an object", "{", ("n.zarr", "not a readable zarr array")),
            ("an object of nothing", "{}", ("n.zarr", "not a readable zarr array")),
        )
    ),
    ("zarr without metadata", lambda o: (o / "n.zarr").mkdir(), ("n.zarr", "not a readable zarr array")),
    ("damaged chunk", stored(lambda z: (z / "c" / "1").write_bytes(b"xx"), fill_value=-1), ("n.zarr", "damaged")),
    *(
        (
            f"chunk that unpacks to more, {name}",
            stored(
                lambda z, c=codec: (z / "0").write_bytes(c.encode(bytes(1 << 22))),
                zarr_format=2,
                compressors=codec,
            ),
            ("n.zarr, chunk 0", "larger than"),
        )
        for name, codec in BOMBS.items()
    ),
    (
        "chunk that is longer",
        stored(lambda z: (z / "c" / "0").write_bytes(bytes(1 << 20)), compressors=None),
        ("n.zarr, chunk c/0", "larger than"),
    ),
    ("lost chunk", stored(lambda z: (z / "c" / "1").unlink()), ("n.zarr", "missing", "5 chunks", "found 4")),
    ("lost chunks", stored(lambda z: shutil.rmtree(z / "c")), ("n.zarr", "missing", "found 0")),
    ("lost shard", stored(lambda z: (z / "c" / "1").unlink(), shards=(8,)), ("n.zarr", "missing")),
    ("pipe for a chunk", stored(lambda z: os.mkfifo(z / "c" / "9")), ("n.zarr/c/9", "not a regular file")),
    ("pipe for metadata", lambda o: ((o / "n.zarr").mkdir(), os.mkfifo(o / "n.zarr" / "zarr.json")), ("regular",)),
    ("zarr of empty chunks", stored(lambda z: reshape(z, chunk_grid=EMPTY_CHUNKS)), ("n.zarr", "chunks of shape (0,)")),
    ("endless zarr", stored(lambda z: reshape(z, shape=[2**60])), ("n.zarr", "expected 20,")),
    ("zarr of one huge chunk", stored(lambda z: huge_chunk(z)), ("n.zarr", "too large to be unpacked")),
    ("lost chunk, zarr 2", stored(lambda z: (z / "1").unlink(), zarr_format=2), ("n.zarr", "missing")),
]


@cases(FILES)
def test_bad_owners_are_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    refuse_owners(damage, words, tmp_path)


@cases(FORMS)
def test_bad_parquet_and_zarr_are_one_error(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    refuse_owners(damage, words, tmp_path)


def refuse_owners(damage: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    (owners / "partition_meta.json").write_text(json.dumps(META))
    damage(owners)
    refuse_graph(graph, words, "--method", owners)


@pytest.mark.parametrize(
    ("form", "damage", "words"),
    [
        (
            "npy",
            lambda owners: (owners / "n.txt").write_text((owners / "n.txt").read_text()[::-1].lstrip() + "\n"),
            ("n.txt", "changed", "Delete n.npy"),
        ),
        (
            "npy",
            lambda owners: np.save(owners / "n.npy", 1 - np.load(owners / "n.npy")),
            ("n.npy", "does not match the text", "Delete it"),
        ),
        pytest.param(
            "zarr",
            lambda owners: shutil.rmtree(owners / "n.zarr" / "c"),
            ("n.zarr", "missing"),
        ),
    ],
)
def test_owners_of_our_own_that_changed_are_noticed(
    form: str, damage: Any, words: tuple[str, ...], tmp_path: Path
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert run("assign", graph, owners, *RANDOM, "--form", form)[0] == 0
    damage(owners)
    refuse_graph(graph, words, "--method", owners)


def test_trainers_that_fit_are_taken(tmp_path: Path) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    (owners / "partition_meta.json").write_text(json.dumps(META))
    trainers(OWNERS * 3 + np.arange(NUM_NODES) % 3)(owners)
    assert run("dispatch", graph, owners, tmp_path / "out", "--quiet")[0] == 0
