"""Files of tables that are cut off, damaged, pipes or links: all that they hold is read, or none of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from bad_input.judge import run
from edge_lists import DEFAULT, chunk, edges_of
from graphs import file_hashes
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EDGES = np.stack([np.arange(20_000), np.arange(20_000)[::-1]])
TEXT = "".join(f"{src},{dst}\n" for src, dst in EDGES.T.tolist()).encode()
HALF = TEXT.index(b"\n", len(TEXT) // 2) + 1


def zstd(content: bytes) -> bytes:
    """Pack with a frame that tells its size, and has no checksum."""
    packed: bytes = pa.compress(content, "zstd", asbytes=True)
    return packed


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "zst": zstd, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress
}  # fmt: skip
SKIPPABLE = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"words"
RUN = b"\x28\xb5\x2f\xfd\x20\x04" + (4 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"\n"  # a block of four newlines


@pytest.mark.parametrize("name", PACKINGS)
def test_a_packed_file_that_is_cut_off_is_refused_wherever_it_ends(name: str, tmp_path: Path) -> None:
    whole = PACKINGS[name](TEXT)
    two = PACKINGS[name](TEXT[:HALF]) + PACKINGS[name](TEXT[HALF:])
    path = tmp_path / f"e.csv.{name}"
    for content in (whole, two):
        path.write_bytes(content)
        np.testing.assert_array_equal(edges_of(chunk(tmp_path / "out", path, overwrite=True)), EDGES)
        for missing in (1, 3, 4, 5, 9, 100, len(content) // 3, len(content) // 2 - 2, len(content) - 20):
            path.write_bytes(content[:-missing])
            with pytest.raises(InputFileError) as caught:
                chunk(tmp_path / "cut", path)
            assert caught.value.file == str(path)
            assert not (tmp_path / "cut").exists()


def test_frames_of_zstd_that_hold_nothing_or_runs_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.zst"
    path.write_bytes(SKIPPABLE + zstd(TEXT) + RUN + SKIPPABLE)
    np.testing.assert_array_equal(edges_of(chunk(tmp_path / "out", path)), EDGES)
    for content in (zstd(TEXT) + b"rest", zstd(TEXT) + SKIPPABLE[:-1], RUN[:-1]):
        path.write_bytes(content)
        with pytest.raises(InputFileError) as caught:
            chunk(tmp_path / "cut", path)
        assert caught.value.hint


def test_checksums_of_gzip_are_compared(tmp_path: Path) -> None:
    stored = bytearray(gzip.compress(TEXT, 0))
    stored[stored.index(b"500,") : stored.index(b"500,") + 1] = b"7"  # text as sound as before
    for content in (bytes(stored), gzip.compress(TEXT)[:-1] + b"\x09"):
        (tmp_path / "e.csv.gz").write_bytes(content)
        with pytest.raises(InputFileError, match="damaged"):
            chunk(tmp_path / "out", tmp_path / "e.csv.gz")


@pytest.mark.parametrize("name", ["e.csv.gz", "e.csv.bz2", "e.csv.xz", "e.csv.zst", "e.csv.lz4", "e.jsonl"])
def test_a_directory_of_any_tables_is_given_in_place_of_a_graph(name: str, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    lines = TEXT if not name.endswith("jsonl") else b"".join(b'{"src":%d,"dst":%d}\n' % (*of,) for of in EDGES.T)
    path = tmp_path / "table" / name
    with pa.output_stream(path, "lz4") if name.endswith("lz4") else open(path, "wb") as file:
        file.write(PACKINGS.get(name.rpartition(".")[2], bytes)(lines))
    parts = dgp.partition(tmp_path / "table", tmp_path / "out", 2, method="random")
    assert sum(parts.num_edges(etype) for etype in parts.etypes) == EDGES.shape[1]


@pytest.mark.parametrize("given", ["table", "table/*", "ta*/"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda p: p.symlink_to("none")])
def test_what_is_no_file_in_a_directory_is_refused_and_not_waited_for(
    given: str, make: Callable[[Path], object], tmp_path: Path
) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "a.csv").write_text("0,1\n")
    make(tmp_path / "table" / "b.csv")
    with pytest.raises(InputFileError) as caught:
        chunk(tmp_path / "out", str(tmp_path / given))
    assert caught.value.file == str(tmp_path / "table" / "b.csv")


def test_directories_that_are_links_belong_to_a_table_once(tmp_path: Path) -> None:
    for name, text in (("table/y=1", "0,1\n"), ("elsewhere", "2,3\n")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.csv").write_text(text)
    (tmp_path / "table" / "y=2").symlink_to(tmp_path / "elsewhere")
    assert edges_of(chunk(tmp_path / "out", tmp_path / "table"))[0].tolist() == [0, 2]
    for name, target in (("y=3", "elsewhere"), ("y=4", "table")):
        (tmp_path / "table" / name).symlink_to(tmp_path / target)
        with pytest.raises(InputFileError, match="twice"):
            chunk(tmp_path / "twice", tmp_path / "table")
        (tmp_path / "table" / name).unlink()


@pytest.mark.parametrize(
    "options",
    [("--edges", "-"), ("--nodes", "-"), ("--node-data", "x=-"), ("--edge-data", "x=-:1"), ("--mask", "m=-")],
)
@pytest.mark.parametrize("is_pipe", [True, False])
def test_standard_input_is_given_once(
    options: tuple[str, ...], is_pipe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,0\n")
    read, write = os.pipe()
    os.write(write, b"0,1\n1,0\n")
    os.close(write)
    saved = os.dup(0)
    with (tmp_path / "e.csv").open() as file:
        os.dup2(read if is_pipe else file.fileno(), 0)
        try:
            code, message = run("build", tmp_path / "out", "--edges", "-", *options)
        finally:
            os.dup2(saved, 0)
            os.close(saved)
            os.close(read)
    assert (code, "given twice" in message, (tmp_path / "out").exists()) == (2, True, False)


def test_a_pipe_is_given_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OptionError, match="given twice"):
        chunk(tmp_path / "out", [tmp_path / "pipe", tmp_path / "pipe"])
    how: dict[str, Any] = {"nodes": {"_N": tmp_path / "pipe"}}
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("0,1\n1,0\n",))
    with pytest.raises(OptionError, match="given twice"):
        chunk(tmp_path / "out", {DEFAULT: tmp_path / "pipe"}, **how)
    writer.start()
    np.testing.assert_array_equal(edges_of(chunk(tmp_path / "out", tmp_path / "pipe")), [[0, 1], [1, 0]])
    writer.join()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, b"") for name in ("part-00001", "1.csv", "1.csv.gz", "1.tsv.bz2")),
        ("1.csv.gz", gzip.compress(b"", mtime=0)),
    ],
)
def test_text_of_no_bytes_beside_other_files_is_left_out_with_a_note(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    listener = Listener()
    for other, text in ((name, content), ("0.csv", b"a,b\n"), ("2.csv.gz", gzip.compress(b"b,c\n"))):
        (tmp_path / "edges" / other).write_bytes(text)
    out = chunk(tmp_path / "out", str(tmp_path / "edges"), header=False, progress=listener)
    assert np.stack(edges_of(out)).tolist() == [[0, 1], [1, 2]]
    assert f"{tmp_path}/edges: empty files left out: 1" in listener.lines


def test_files_of_no_bytes_are_refused_alone_or_if_they_are_no_text(tmp_path: Path) -> None:
    pd.DataFrame({"src": ["a"], "dst": ["b"]}).to_parquet(tmp_path / "0.parquet")
    for name in ("1.parquet", "1.csv"):
        (tmp_path / name).touch()
    for given in ([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "1.csv"):
        with pytest.raises(InputFileError, match="empty file: expected rows, found 0 bytes"):
            dgp.scan_tables(given).collect(memory="64MB")


@pytest.mark.parametrize("ids", [["b", "a", "c"], [1, 0, 2]])
def test_types_of_columns_without_rows_say_nothing(ids: list[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"src": ids, "dst": ids[::-1], "name": ["x", "y", "x"]})
    frame.to_parquet(tmp_path / "1.parquet")
    for name in ("0.parquet", "2.parquet"):  # as pandas writes a frame of empty lists
        pd.DataFrame({column: np.empty(0) for column in frame}).to_parquet(tmp_path / name)
    hashes = []
    for pattern in ("1.parquet", "*.parquet"):
        out = tmp_path / pattern.replace("*", "all").replace(".", "-")
        chunk(out, str(tmp_path / pattern), edge_features="name")
        hashes.append({name: of for name, of in file_hashes(out).items() if name != "metadata.json"})
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) > 1
