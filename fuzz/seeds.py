"""Valid files, from which the fuzzers start."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from daskgraphpart.layouts.dgl_graph_file import graph_file_layout, tensor_file_layout
from daskgraphpart.layouts.layout import ArraySpec, create_file
from daskgraphpart.storage.atomic import publish


def metadata() -> list[Any]:
    """Metadata in both dialects, of the files in `targets.graph_directory`."""
    by_type = {
        "graph_name": "g",
        "node_type": ["n"],
        "num_nodes_per_type": [3],
        "edge_type": ["n:e:n"],
        "num_edges_per_type": [3],
        "edges": {"n:e:n": {"format": {"name": "csv", "delimiter": " "}, "data": ["e.csv"]}},
        "node_data": {"n": {"x": {"format": {"name": "numpy"}, "data": ["x.npy"]}}},
        "edge_data": {"n:e:n": {"y": {"format": {"name": "numpy"}, "data": ["y.npy"]}}},
    }
    by_chunk = {name: value for name, value in by_type.items() if not name.endswith("per_type")}
    by_chunk |= {"num_nodes_per_chunk": [[3]], "num_edges_per_chunk": [[1, 2]]}
    empty = {
        "graph_name": "g",
        "node_type": ["n"],
        "num_nodes_per_type": [3],
        "edge_type": [],
        "num_edges_per_type": [],
    }
    return [by_type, by_chunk, empty]


def configs() -> list[Any]:
    """Partition configs, of the files in `targets.partition_directory`."""
    parts = {
        f"part-{part}": {
            "node_feats": f"part{part}/node_feat.dgl",
            "edge_feats": f"part{part}/edge_feat.dgl",
            "part_graph": f"part{part}/graph.dgl",
        }
        for part in range(2)
    }
    numbers = {"num_parts": 2, "num_nodes": 5, "num_edges": 4, "halo_hops": 1, "part_method": "metis"}
    homogeneous = {
        "graph_name": "g",
        **numbers,
        "node_map": {"_N": [[0, 3], [3, 5]]},
        "edge_map": [[0, 2], [2, 4]],
        **parts,
    }
    heterogeneous = {
        "graph_name": "g",
        **numbers,
        "node_map": {"a": [[0, 2], [3, 5]], "b": [[2, 3], [5, 5]]},
        "edge_map": {"a:r:b": [[0, 2], [2, 4]]},
        "ntypes": {"a": 0, "b": 1},
        "etypes": {"a:r:b": 0},
        **parts,
    }
    return [homogeneous, heterogeneous]


def json_files() -> list[bytes]:
    """Metadata and configs as text."""
    return [json.dumps(content).encode() for content in (*metadata(), *configs())]


def csv_files() -> list[bytes]:
    """Edges with several delimiters; see `targets.check_csv` for the first two bytes."""
    texts = (b"0 1\n1 2\n", b"0,1\r\n-1,+2,x\r\n", b"0\t1\n\n1\t2\t\n", b"0 ; 1\n 1;2 \n", b"0|1", b"0 1 2\n4 5 6\n")
    return [bytes([number, 5]) + text for number, text in zip((0, 1, 2, 3, 4, 0), texts, strict=True)]


def npy_files() -> list[bytes]:
    """Edges and features, in C and Fortran order and of several dtypes."""
    arrays = [
        np.arange(20).reshape(10, 2),
        np.asfortranarray(np.arange(20, dtype="i4").reshape(10, 2)),
        np.arange(12, dtype=">u2").reshape(6, 2),
        np.linspace(0, 1, 12, dtype="f4").reshape(2, 3, 2),
        np.zeros((0, 3)),
        np.ones(5, bool),
    ]
    files = []
    for array in arrays:
        file = io.BytesIO()
        np.save(file, array)
        files.append(file.getvalue())
    for version in ((2, 0), (3, 0)):
        file = io.BytesIO()
        np.lib.format.write_array(file, arrays[0], version)
        files.append(file.getvalue())
    return files


def parquet_files() -> list[bytes]:
    """Edges, lists, matrices and scalars, compressed and not."""
    ids = np.arange(20)
    lists = pa.array(np.arange(60, dtype="f4").reshape(20, 3).tolist(), pa.list_(pa.float32()))
    tables = [
        pa.table({"src": ids, "dst": ids[::-1].copy()}),
        pa.table({"a": ids.astype("i4"), "b": ids.astype("u1")}),
        pa.table({"x": lists}),
        pa.table({"x": lists}).replace_schema_metadata({b"shape": b"(20, 3, 1)"}),
        pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(40.0)), 2)}),
        pa.table({"x": ids / 3}),
        pa.table({"x": ids % 2 == 0}),
        pa.table({"src": [f"node {i % 5}" for i in ids], "dst": [b"x" * i for i in ids.tolist()]}),
    ]
    return [
        parquet_file(table, compression=codec, data_page_version=version, use_dictionary=number % 2 == 0)
        for number, table in enumerate(tables)
        for codec, version in zip((PARQUET_CODECS * 2)[number : number + 3], ("1.0", "2.0", "1.0"), strict=True)
    ]


PARQUET_CODECS = ("snappy", "none", "zstd", "gzip", "brotli", "lz4")


def parquet_file(table: pa.Table, **how: Any) -> bytes:
    """Bytes of a file of several row groups."""
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=8, **how)
    return file.getvalue()


def dgl_files() -> list[bytes]:
    """Tensor files, and graph files of all formats."""
    files = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.dgl"
        dtypes = ("<i8", "<f4", "<u1", "<f2")
        specs = [ArraySpec(f"n/x{i}", np.dtype(dtype), (4, 2)[: 1 + i % 2]) for i, dtype in enumerate(dtypes)]
        for layout in (tensor_file_layout([]), tensor_file_layout(specs)):
            create_file(path, layout)
            publish(path)
            files.append(path.read_bytes())
        nodes, edges = [ArraySpec("_ID", np.dtype("<i8"), (4,))], [ArraySpec("inner_edge", np.dtype("<u1"), (6,))]
        for formats in (("coo",), ("csc",), ("coo", "csr"), ("csr",)):
            regions = create_file(path, graph_file_layout(4, 6, formats, nodes, edges))
            for name, region in regions.items():
                values = np.array([0, 2, 3, 6, 6]) if name.endswith("indptr") else np.arange(region.num_rows)
                region.write(values if name.endswith(("data", "indptr", "_ID")) else values % 4, 0)
            publish(path)
            files.append(path.read_bytes())
    return files
