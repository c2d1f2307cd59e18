"""JSON lines and Arrow IPC are tables like Parquet."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inside import Resources
from keywords import spelled
from pyarrow import feather

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(4)
HOW: dict[str, Any] = spelled(Resources(1 << 28, "sync", 1))
EDGES = pd.DataFrame(
    {
        "src": [f"u{i}" for i in RNG.integers(0, 30, 200)],
        "dst": [f"u{i}" for i in RNG.integers(0, 30, 200)],
        "w": [1, *RNG.random(199).round(3)],
        "day": ["2024-05-01"] * 100 + ["2024-05-02T10:00:00"] * 100,
        "v": list(RNG.random((200, 2))),
    }
)


def write(form: str, path: Path) -> None:
    lines = "".join(
        json.dumps({k: v.tolist() if k == "v" else int(v) if v == 1 else v for k, v in row.items()}) + "\n"
        for row in EDGES.to_dict("records")
    )
    table = pa.Table.from_pandas(EDGES, preserve_index=False)
    if form == "jsonl":
        path.write_text(lines)
    elif form == "ndjson.gz":
        path.write_bytes(gzip.compress(lines.removesuffix("\n").encode()))
    elif form == "jsonl.lz4":
        with pa.CompressedOutputStream(str(path), "lz4") as file:
            file.write(lines.encode())
    elif form == "feather":
        feather.write_feather(table, path, chunksize=70)
    else:
        opened = pa.ipc.new_stream if form == "stream.arrow" else pa.ipc.new_file
        with pa.OSFile(str(path), "w") as file, opened(file, table.schema) as writer:
            writer.write_table(table, 70)


@pytest.mark.parametrize("form", ["jsonl", "ndjson.gz", "jsonl.lz4", "feather", "file.arrow", "stream.arrow"])
def test_files_give_the_graph_of_parquet(form: str, tmp_path: Path) -> None:
    EDGES.to_parquet(tmp_path / "e.parquet")
    write(form, tmp_path / f"e.{form}")
    graphs = [
        dgp.scan_tables(tmp_path / name, map_ids=True, edge_features=["w", "day", "v"]).collect(**HOW)
        for name in ("e.parquet", f"e.{form}")
    ]
    etype = "_N:_E:_N"
    expected, actual = (graph.edges[etype].compute().to_numpy().tolist() for graph in graphs)
    assert actual == expected
    for name in ("w", "day", "v"):
        expected, actual = (graph.edge_data[etype][name].compute() for graph in graphs)
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", b'{"src": 0, "dst": 1}\n{"src": 0, "dst"\n', "Malformed JSON"),
        ("e.jsonl", b'{"src": 0, "dst": 1}\n{"src": "a", "dst": 1}\n', "'src' has values of different types"),
        ("e.jsonl", b"[1, 2]\n", "expected records"),
        ("e.arrow", b"ARROW1\0\0cut off", "not a file of Arrow IPC"),
    ],
)
def test_a_damaged_file_is_one_error(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputFileError, match=message) as caught:
        dgp.scan_tables(tmp_path / name).collect(**HOW)
    assert caught.value.file == str(tmp_path / name)
