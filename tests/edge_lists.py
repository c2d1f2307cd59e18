"""Edge lists for tests: written in every format, chunked with bites of any size, and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet

from daskgraphpart import chunk_edge_lists, read_chunked, read_id_map
from daskgraphpart.api import edge_lists
from daskgraphpart.chunking.edge_lists.options import Sizes
from daskgraphpart.engine.resources import Resources

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = "_N:_E:_N"


@dataclass(frozen=True)
class Way:
    """What must not matter: bites of the passes, scheduler, workers."""

    sizes: Sizes
    cluster: str = "sync"
    workers: int = 1


SMALL = Way(Sizes(64, 64, 64))

ways = st.builds(
    Way,
    st.builds(
        Sizes,
        st.sampled_from((1, 17, 64, 1000, 1 << 20)),
        st.sampled_from((1, 40, 200, 1 << 20)),
        st.sampled_from((1, 100, 1 << 20)),
    ),
    st.sampled_from(("sync", "threads")),
    st.integers(1, 3),
)


def chunk(out: Path, edges: Any, way: Way = SMALL, **options: Any) -> Path:
    """Call `chunk_edge_lists`, but with bites that a memory budget would never be so small as to cause."""
    resources = Resources(1 << 30, way.cluster, way.workers)
    with mock.patch.object(edge_lists, "choose_sizes", return_value=way.sizes):
        chunk_edge_lists(out, edges, resources=resources, **options)
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
    elif form == "npy-fortran":
        np.save(path, np.asfortranarray(np.stack([src, dst], axis=1)))
    else:
        delimiter, _, header = form.partition("+")
        lines = ([f"src{delimiter}dst"] if header else []) + [
            f"{a}{delimiter}{b}" for a, b in zip(src, dst, strict=True)
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


SUFFIXES = {"npz": ".npz", "npz-compressed": ".npz", "npz-pairs": ".npz", "npy": ".npy", "npy-fortran": ".npy"}
FORMS = (",", ",+header", "\t", "\t+header", " ", "  ", ";", " \t", "parquet", *SUFFIXES)


def path_of_form(directory: Path, form: str) -> Path:
    """A file name for a form."""
    return directory / f"edges{'.parquet' if form == 'parquet' else SUFFIXES.get(form, '.txt')}"
