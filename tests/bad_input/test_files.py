"""Files of any format that are no regular files, or whose bytes are those of something else."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from bad_input.judge import change, instead, refuse_graph, write_graph
from pyarrow import feather, parquet

if TYPE_CHECKING:
    from pathlib import Path

NO_FILE = "no such file"
SPECIAL = {
    "missing": lambda path: None,
    "a directory": lambda path: path.mkdir(),
    "a FIFO": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path),
}
# files by the format of the graph they belong to, and what is said of bytes of something else
CSV, NPY, PARQUET = "not a CSV file", "not a readable npy file", "not a readable parquet file"
FILES = {
    "metadata.json": ("csv", "not valid JSON"),
    "edges/0-0.csv": ("csv", CSV),
    "edges/0-0.npy": ("numpy", NPY),
    "node_data/0-0-1.npy": ("csv", NPY),
    "edges/0-0.parquet": ("parquet", PARQUET),
    "node_data/0-0-1.parquet": ("parquet", PARQUET),
}


def saved(write: object, *what: object) -> bytes:
    file = io.BytesIO()
    write(file, *what)  # type: ignore[operator]
    return file.getvalue()


CONTENTS = {
    "gzip": gzip.compress(b"1 2\n"),
    "bzip2": bz2.compress(b"1 2\n"),
    "xz": lzma.compress(b"1 2\n"),
    "zstandard": b"\x28\xb5\x2f\xfd\x04\x00",
    "zip": saved(np.savez, np.zeros((25, 2), int)),
    "UTF-16": "1 2\n".encode("utf-16"),
    "UTF-16 without a mark": "1 2\n".encode("utf-16-le"),
    "byte-order mark": b"\xef\xbb\xbf1 2\n",
    "npy of the future": b"\x93NUMPY\x09\x00v\x00{}\n",
    "feather": saved(lambda file: feather.write_feather(pa.table({"src": [1], "dst": [1]}), file)),
    "zeros": bytes(1000),
    "noise": bytes(range(128, 256)) * 50,
    "HTML": b"<!DOCTYPE html>\n<p>404</p>\n",
    "git LFS pointer": b"version https://git-lfs\noid sha\n",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", SPECIAL)
def test_what_is_no_file_is_one_error(what: str, name: str, tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in", FILES[name][0])
    instead(name, SPECIAL[what])(graph)
    refuse_graph(graph, (name, NO_FILE))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_form_is_one_error(name: str, tmp_path: Path) -> None:
    form, word = FILES[name]
    graph = write_graph(tmp_path / "in", form)
    for what, content in CONTENTS.items():
        (graph / name).write_bytes(content)
        try:
            refuse_graph(graph, (name, word))
        except AssertionError as error:
            raise AssertionError(what) from error


@pytest.mark.parametrize(
    ("name", "other"), [("edges/0-0.csv", PARQUET), ("edges/0-0.npy", CSV), ("edges/0-0.csv", NPY)]
)
def test_a_file_of_another_format_of_ours_is_one_error(name: str, other: str, tmp_path: Path) -> None:
    content = {
        CSV: b"0 1\n" * 25,
        NPY: saved(np.save, np.zeros((25, 2), int)),
        PARQUET: saved(lambda file: parquet.write_table(pa.table({"src": [1] * 25, "dst": [1] * 25}), file)),
    }
    graph = write_graph(tmp_path / "in", FILES[name][0])
    change(name, lambda _: content[other])(graph)
    refuse_graph(graph, (name, FILES[name][1]))


def test_of_several_bad_files_one_is_read_and_missing_ones_are_counted(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    for name in ("edges/0-0.csv", "edges/0-1.csv"):
        (graph / name).write_bytes(b"x y\n" * 25)
    refuse_graph(graph, ("edges/0-0.csv", "row 0"))
    for name in ("edges/0-0.csv", "node_data/0-0-1.npy"):
        (graph / name).unlink()
    refuse_graph(graph, ("2 things", "edges/0-0.csv", "node_data/0-0-1.npy"))
