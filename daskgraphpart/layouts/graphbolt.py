"""GraphBolt's file of a part, `fused_csc_sampling_graph.pt`: a graph by in-edges that `dgl.graphbolt` samples from.

As `dgl.distributed.dgl_partition_to_graphbolt` of DGL 2.1 to 2.5 makes it with `store_eids` and formats coo and csc
(python/dgl/distributed/partition.py): with new IDs of nodes and edges, and what `DistGraph.find_edges` needs. Local IDs
are those of `graph.dgl`. Integers are as short as DGL makes them, so arrays are collected in a raw file first.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts.file_layout import ArraySpec, raw_file_layout
from daskgraphpart.layouts.torch_file import Tensor, TorchPickle, global_name, write_torch_file
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from daskgraphpart.layouts.file_layout import FileLayout
    from daskgraphpart.layouts.layout import GraphSizes
    from daskgraphpart.storage.region import Region

ROWS_PER_PIECE = 1 << 18
INT64 = np.dtype("<i8")
VERSION_NUMBER = Tensor(INT64, (1,), [np.array([6199])])


def graphbolt_layout(sizes: GraphSizes, part: int) -> FileLayout:
    """Lay out the arrays of the file of one part."""
    num_nodes, num_edges, schema = sizes.num_local_nodes(part), sizes.num_local_edges(part), sizes.schema
    arrays = [
        ArraySpec("nodes/id", INT64, (num_nodes,)),
        ArraySpec("edges/id", INT64, (num_edges,)),
        ArraySpec("csc/indptr", INT64, (num_nodes + 1,)),
        ArraySpec("csc/indices", INT64, (num_edges,)),
        ArraySpec("csc/eids", INT64, (num_edges,)),
    ]
    if schema.is_heterogeneous:
        arrays.append(ArraySpec("edges/type", np.dtype("<i4"), (num_edges,)))
    file = GraphBoltFile(schema.ntypes, schema.etypes, schema.num_nodes, schema.num_edges)
    return raw_file_layout(arrays, file)


@dataclass(frozen=True, slots=True)
class GraphBoltFile:
    """Encodes the file of a part: types, nodes and edges of the whole graph."""

    ntypes: tuple[str, ...]
    etypes: tuple[str, ...]
    num_nodes: int
    num_edges: int

    def __call__(self, arrays: Mapping[str, Region], path: str) -> None:
        """Write the file of the arrays that are complete."""
        with _inverse(arrays["csc/eids"]) as slots:
            write_sampling_graph(self._state(arrays, slots), path)

    def _state(self, arrays: Mapping[str, Region], slots: np.ndarray) -> dict[str, Any]:
        """What the object is made of; `slots` are places in CSC by local edge ID."""
        nids, new_eids, indptr, indices, eids = (arrays[name] for name in _ARRAYS)
        num_nodes, num_edges = nids.num_rows, new_eids.num_rows
        independent = {
            "version_number": VERSION_NUMBER,
            "indptr": read_tensor(indptr, shortest_int(num_edges)),
            "indices": read_tensor(indices, shortest_int(num_nodes)),
        }
        state: dict[str, Any] = {"independent_tensors": independent}
        if "edges/type" in arrays:
            types = arrays["edges/type"]
            dtype = shortest_int(len(self.etypes), 1, 2, 4)
            independent["type_per_edge"] = read_tensor(eids, dtype, types.take)
            state["node_type_to_id"] = type_numbers(self.ntypes)
            state["edge_type_to_id"] = type_numbers(self.etypes)
        slot_dtype, dst_dtype = shortest_int(self.num_edges), shortest_int(self.num_nodes)
        state["node_attributes"] = {"_ID": read_tensor(nids, INT64)}
        state["edge_attributes"] = {
            # mapped once: a map of each piece would bring in all pages again
            "_ID": read_tensor(eids, INT64, np.asarray(new_eids.memmap()).take),
            "_dgl2gb_eid": Tensor(slot_dtype, (num_edges,), _cut(slots)),
            "_gb_dst_id": Tensor(dst_dtype, (num_edges,), _rows_of(indptr)),
        }
        return state


_ARRAYS = ("nodes/id", "edges/id", "csc/indptr", "csc/indices", "csc/eids")


def write_sampling_graph(state: dict[str, Any], path: str) -> None:
    """Write a pickled `FusedCSCSamplingGraph` of what it is made of."""
    pickle = TorchPickle()
    pickled = (
        global_name("dgl.graphbolt.impl.fused_csc_sampling_graph", "FusedCSCSamplingGraph")
        + b")\x81}"
        + pickle.dumps("_c_csc_graph")
        + global_name("torch", "ScriptObject")
        + b")\x81"
        + pickle.dumps((state, "__torch__.torch.classes.graphbolt.FusedCSCSamplingGraph"))
        + b"bsb"
    )
    with whole_file(path) as temporary:
        write_torch_file(temporary, "fused_csc_sampling_graph", pickled, pickle.tensors)


@contextmanager
def _inverse(eids: Region) -> Iterator[np.ndarray]:
    """Place in CSC of each local edge ID, in a temporary file: there may be more of them than memory."""
    directory = os.path.dirname(str(eids.path))
    with attach_path_to_error(directory), tempfile.TemporaryFile(dir=directory) as file:
        if not eids.num_rows:
            yield np.empty(0, np.int64)
            return
        os.posix_fallocate(file.fileno(), 0, eids.nbytes)
        slots = np.memmap(file, np.int64, "r+", shape=eids.shape)
        first = 0
        for piece in read_pieces(eids):
            slots[piece] = np.arange(first, first + piece.size)
            first += piece.size
        yield slots


def _rows_of(indptr: Region) -> Iterator[np.ndarray]:
    """Row of each entry of a matrix, in pieces of bounded size."""
    for start in range(0, indptr.num_rows - 1, ROWS_PER_PIECE):
        ends = indptr.read(start, min(start + ROWS_PER_PIECE + 1, indptr.num_rows))
        for first in range(int(ends[0]), int(ends[-1]), ROWS_PER_PIECE):
            in_piece = np.diff(np.clip(ends, first, first + ROWS_PER_PIECE))
            yield np.repeat(np.arange(start, start + in_piece.size), in_piece)


def shortest_int(limit: int, *sizes: int) -> np.dtype:
    """Integers of the first size in bytes, by default 4 or 8, whose largest is above a limit, as DGL chooses them."""
    nbytes = next(size for size in (*(sizes or (4,)), 8) if limit < (1 << 8 * size - 1) - 1)
    return np.dtype(f"<i{nbytes}")


def type_numbers(names: tuple[str, ...]) -> dict[str, Tensor]:
    """Number of each type."""
    return {name: Tensor(INT64, (), [np.array(number)]) for number, name in enumerate(names)}


def read_tensor(region: Region, dtype: np.dtype, look_up: Callable[[np.ndarray], np.ndarray] | None = None) -> Tensor:
    """Tensor of the values of a region, or of what they are looked up to be."""
    pieces = read_pieces(region)
    return Tensor(dtype, region.shape, pieces if look_up is None else map(look_up, pieces))


def read_pieces(region: Region) -> Iterator[np.ndarray]:
    """Read all rows, a bounded number at a time."""
    for start in range(0, region.num_rows, ROWS_PER_PIECE):
        yield region.read(start, min(start + ROWS_PER_PIECE, region.num_rows))


def _cut(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), ROWS_PER_PIECE):
        yield rows[start : start + ROWS_PER_PIECE]
