"""Edge lists for tests: written in every format, chunked with bites of any size, and read back."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from daskgraphpart import read_chunked, read_id_map
from daskgraphpart.readers.tables.scan_tables import described_tables

DEFAULT = "_N:_E:_N"


WRITING = (
    "num_chunks",
    "edge_format",
    "data_format",
    "overwrite",
    "memory",
    "cluster",
    "workers",
    "workspace",
    "progress",
)


def chunk_edge_lists(out: str | Path, edges: Any, **keywords: Any) -> Path:
    """Write a chunked graph of tables; return the path of its metadata."""
    writing = {name: keywords.pop(name) for name in WRITING if name in keywords}
    described_tables({"edges": edges, **keywords}).write_chunked(out, **writing)
    return Path(out) / "metadata.json"


def chunk(out: Path, edges: Any, workers: int = 1, **options: Any) -> Path:
    """Call `chunk_edge_lists` with few resources."""
    chunk_edge_lists(out, edges, memory=64 << 20, cluster="sync", workers=workers, **options)
    return out


def edges_of(directory: Path, etype: str = DEFAULT) -> tuple[np.ndarray, np.ndarray]:
    """Sources and destinations of a chunked graph."""
    frame = read_chunked(directory).edges[etype].compute(scheduler="sync")
    return frame["src"].to_numpy(), frame["dst"].to_numpy()


def originals(directory: Path, ntype: str = "_N") -> list[Any]:
    """Original IDs in the order of the new ones."""
    return list(read_id_map(directory, ntype)["id"].compute(scheduler="sync"))


def write_edge_list(path: Path, form: str, src: Any, dst: Any) -> Path:
    """Write edges in one of the forms that are read."""
    if form == "parquet":
        parquet.write_table(pa.table({"src": src, "dst": dst}), path, row_group_size=7)
    elif form == "npz":
        np.savez(path, src=np.asarray(src), dst=np.asarray(dst))
    elif form == "npz-compressed":
        np.savez_compressed(path, row=np.asarray(src), col=np.asarray(dst))
    elif form == "npz-pairs":
        np.savez(path, edges=np.stack([src, dst], axis=1))
    elif form == "npy":
        np.save(path, np.stack([src, dst], axis=1))
    elif form == "npy-wide":
        np.save(path, np.stack([src, dst]))
    elif form == "gz":
        path.write_bytes(gzip.compress("".join(f"{a} {b}\n" for a, b in zip(src, dst, strict=True)).encode()))
    elif form == "npy-fortran":
        np.save(path, np.asfortranarray(np.stack([src, dst], axis=1)))
    else:
        delimiter, _, header = form.partition("+")
        lines = ([f"src{delimiter}dst"] if header else []) + [
            f"{a}{delimiter}{b}" for a, b in zip(src, dst, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


SUFFIXES = {
    "npz": ".npz",
    "npz-compressed": ".npz",
    "npz-pairs": ".npz",
    "npy": ".npy",
    "npy-fortran": ".npy",
    "npy-wide": ".npy",
    "gz": ".txt.gz",
}
FORMS = (",", ",+header", "\t", "\t+header", " ", "  ", ";", " \t", "parquet", *SUFFIXES)


def path_of_form(directory: Path, form: str) -> Path:
    """A file name for a form."""
    return directory / f"edges{'.parquet' if form == 'parquet' else SUFFIXES.get(form, '.txt')}"
