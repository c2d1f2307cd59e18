"""GraphBolt's file of a part, `fused_csc_sampling_graph.pt`: a graph by in-edges for sampling by `dgl.graphbolt`.

As made by `dgl.distributed.dgl_partition_to_graphbolt` of DGL 2.1 to 2.5 with formats coo and csc
(python/dgl/distributed/partition.py): with new IDs of nodes, optionally of edges, and what `DistGraph.find_edges`
needs. Local IDs are those of `graph.dgl`. Integers are as short as in DGL.

It is what `torch.save` writes, without torch: an uncompressed zip of a pickle and the bytes of each tensor. Sources:
pytorch 2.2, torch/serialization.py, torch/csrc/serialization and caffe2/serialize/inline_container.cc; read back by
torch 2.2 and 2.13. The place of tensors follows from their shapes, so they are written in place; checksums, which zip
has before and after them, come last. Dates are zip's earliest, to keep bytes the same.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts.layout import ArraySpec, FileLayout, GraphBoltAttributes, GraphSizes, LayoutBuilder
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from daskgraphpart.storage.region import Region


INT64, UINT8 = np.dtype("<i8"), np.dtype(np.uint8)
STORAGES = {
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
}
ALIGNMENT = 64
ROWS_PER_PIECE = 1 << 18
HEADER_NBYTES, ZIP64_NBYTES, PADDING_HEADER_NBYTES = 30, 20, 4


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor in C order: its values, or the name of the array that has them."""

    dtype: np.dtype
    shape: tuple[int, ...]
    values: np.ndarray | str

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def content(self) -> bytes | ArraySpec:
        """Stored values, or an empty array of the same form."""
        if isinstance(self.values, str):
            return ArraySpec(self.values, self.dtype, self.shape)
        return np.ascontiguousarray(self.values, self.dtype).tobytes()


class TorchPickle:
    """Pickles values; tensors are named by their places in `tensors`."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def dumps(self, value: Any) -> bytes:
        """Opcodes that put text, integers, tuples, dictionaries and tensors on the stack."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, str):
            return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
        if isinstance(value, int):
            return b"\x8a\x08" + struct.pack("<q", value)
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.dumps, value)) + b"t"
        assert isinstance(value, dict), f"no way to pickle {type(value)}"
        return b"}(" + b"".join(self.dumps(key) + self.dumps(of) for key, of in value.items()) + b"u"

    def _tensor(self, tensor: Tensor) -> bytes:
        size = math.prod(tensor.shape)
        if tensor not in self.tensors:  # by identity: one that is there twice is stored once
            self.tensors.append(tensor)
        place = str(self.tensors.index(tensor))
        strides = tuple(math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
        storage = b"".join(
            (
                b"(",
                self.dumps("storage"),
                global_name("torch", STORAGES[tensor.dtype.name]),
                *map(self.dumps, (place, "cpu", size)),
                b"tQ",
            )
        )
        arguments = b"".join(map(self.dumps, (0, tensor.shape, strides)))
        no_hooks = b"\x89" + global_name("collections", "OrderedDict") + b")R"
        return global_name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + arguments + no_hooks + b"tR"


def global_name(module: str, name: str) -> bytes:
    """Opcode that puts a class or function on the stack."""
    return f"c{module}\n{name}\n".encode()


@dataclass(frozen=True, slots=True, eq=False)
class TorchFile:
    """A file of a pickle, without its first and last opcode, and its tensors; `root` is its inner directory."""

    root: str
    pickled: bytes
    tensors: tuple[Tensor, ...]

    def layout(self) -> FileLayout:
        """Lay out the tensors that are arrays; the rest is written once they are complete."""
        builder = LayoutBuilder()
        for name, nbytes, content in self._entries():
            builder.offset += _header_nbytes(name, nbytes)
            builder.offset += _padding(builder.offset)
            if isinstance(content, ArraySpec):
                builder.add_array(content)
            else:
                builder.offset += nbytes
        return replace(builder.finish(), complete=self)

    def __call__(self, arrays: Mapping[str, Region], path: str) -> None:
        """Write everything except arrays, in place."""
        with (
            attach_path_to_error(path),
            _FilledFile(io.FileIO(path, "r+")) as file,
            zipfile.ZipFile(file, "w") as archive,
        ):
            for name, nbytes, content in self._entries():
                with _open(archive, name, nbytes) as entry:
                    file.is_filled = isinstance(content, ArraySpec)
                    if isinstance(content, ArraySpec):
                        for _, piece in arrays[content.key].pieces(ROWS_PER_PIECE):
                            entry.write(piece.view(np.uint8))
                    else:
                        entry.write(content)
                    file.is_filled = False

    def _entries(self) -> Iterator[tuple[str, int, bytes | ArraySpec]]:
        for name, content in (("data.pkl", b"\x80\x02" + self.pickled + b"."), ("byteorder", b"little")):
            yield f"{self.root}/{name}", len(content), content
        for place, tensor in enumerate(self.tensors):
            yield f"{self.root}/data/{place}", tensor.nbytes, tensor.content
        yield f"{self.root}/version", 2, b"3\n"


class _FilledFile(io.BufferedRandom):
    """A file that already holds some of what is written."""

    is_filled = False

    def write(self, content: Any) -> int:
        """Write, or move on."""
        if not self.is_filled:
            return super().write(content)
        self.seek(len(content), os.SEEK_CUR)
        return len(content)


def _is_large(nbytes: int) -> bool:
    return nbytes * 1.05 > zipfile.ZIP64_LIMIT


def _header_nbytes(name: str, nbytes: int) -> int:
    """Bytes before the padding of an entry."""
    return HEADER_NBYTES + len(name) + ZIP64_NBYTES * _is_large(nbytes) + PADDING_HEADER_NBYTES


def _padding(offset: int) -> int:
    return -offset % ALIGNMENT


def _open(archive: zipfile.ZipFile, name: str, nbytes: int) -> Any:
    """Open an entry with aligned content, as torch needs to map it."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.file_size = nbytes
    assert archive.fp is not None, "the archive is open"
    padding = _padding(archive.fp.tell() + _header_nbytes(name, nbytes))
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    return archive.open(info, "w", force_zip64=_is_large(nbytes))


VERSION_NUMBER = Tensor(INT64, (1,), np.array([6199]))


def graphbolt_layout(sizes: GraphSizes, part: int, stored: GraphBoltAttributes) -> FileLayout:
    """Lay out the file of one part.

    Own nodes come first and own their in-edges, so `inner_edge` is the same by edge ID and in file order.
    """
    num_nodes, num_edges, schema = sizes.num_local_nodes(part), sizes.num_local_edges(part), sizes.schema
    independent = {
        "version_number": VERSION_NUMBER,
        "indptr": Tensor(shortest_int(num_edges), (num_nodes + 1,), "csc/indptr"),
        "indices": Tensor(shortest_int(num_nodes), (num_edges,), "csc/indices"),
    }
    state: dict[str, Any] = {"independent_tensors": independent}
    if schema.is_heterogeneous:
        independent["type_per_edge"] = Tensor(shortest_int(len(schema.etypes), 1, 2, 4), (num_edges,), "csc/type")
        state["node_type_to_id"] = type_numbers(schema.ntypes)
        state["edge_type_to_id"] = type_numbers(schema.etypes)
    state["node_attributes"] = {
        **(_types_and_owners(sizes, num_nodes) if stored.types_and_owners else {}),
        "_ID": Tensor(INT64, (num_nodes,), "nodes/id"),
        **({"inner_node": Tensor(UINT8, (num_nodes,), "nodes/inner")} if stored.inner_node else {}),
    }
    types = independent.get("type_per_edge") if stored.types_and_owners else None
    state["edge_attributes"] = {
        **({} if types is None else {"_TYPE": types}),
        **({"_ID": Tensor(INT64, (num_edges,), "csc/id")} if stored.eids else {}),
        **({"inner_edge": Tensor(UINT8, (num_edges,), "edges/inner")} if stored.inner_edge else {}),
    }
    if stored.coo:  # as DGL since 2.3: its `DistGraph.find_edges` needs both
        state["edge_attributes"] |= {
            "_dgl2gb_eid": Tensor(shortest_int(schema.num_edges), (num_edges,), "csc/places"),
            "_gb_dst_id": Tensor(shortest_int(schema.num_nodes), (num_edges,), "csc/rows"),
        }
    return sampling_graph_layout(state)


def _types_and_owners(sizes: GraphSizes, num_nodes: int) -> dict[str, Tensor]:
    """Types of nodes, if there are several, and the parts that own them."""
    schema, every = sizes.schema, (1, 2, 4, 8)
    types = Tensor(shortest_int(len(schema.ntypes), *every), (num_nodes,), "nodes/type")
    owners = Tensor(shortest_int(sizes.num_parts, *every), (num_nodes,), "nodes/part")
    return {**({"_TYPE": types} if schema.is_heterogeneous else {}), "part_id": owners}


def sampling_graph_layout(state: dict[str, Any]) -> FileLayout:
    """Lay out a pickled `FusedCSCSamplingGraph` from its state."""
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
    return TorchFile("fused_csc_sampling_graph", pickled, tuple(pickle.tensors)).layout()


def shortest_int(limit: int, *sizes: int) -> np.dtype:
    """First integer size, by default 4 or 8 bytes, whose largest value exceeds a limit, as in DGL."""
    nbytes = next(size for size in (*(sizes or (4,)), 8) if limit < (1 << 8 * size - 1) - 1)
    return np.dtype(f"<i{nbytes}")


def type_numbers(names: tuple[str, ...]) -> dict[str, Tensor]:
    """Number of each type."""
    return {name: Tensor(INT64, (), np.array(number)) for number, name in enumerate(names)}
