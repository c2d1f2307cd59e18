"""Write what `torch.save` writes, without torch: an uncompressed zip of a pickle and the bytes of each tensor.

Sources: pytorch 2.2, torch/serialization.py, torch/csrc/serialization and caffe2/serialize/inline_container.cc; read
back by torch 2.2 and 2.13. The place of tensors follows from their shapes, so they are written in place; checksums,
which zip has before and after them, come last. Dates are zip's earliest, to keep bytes the same.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts.layout import ArraySpec, FileLayout, LayoutBuilder
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.storage.region import Region

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
        place, size = str(len(self.tensors)), math.prod(tensor.shape)
        self.tensors.append(tensor)
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
                    for piece in _pieces(arrays[content.key]) if isinstance(content, ArraySpec) else (content,):
                        entry.write(piece)
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


def _pieces(region: Region) -> Iterator[np.ndarray]:
    for start in range(0, region.num_rows, ROWS_PER_PIECE):
        yield region.read(start, min(start + ROWS_PER_PIECE, region.num_rows)).view(np.uint8)


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
