"""Write what `torch.save` writes, without torch: a zip archive of a pickle and of the bytes of each tensor, not packed.

Sources: pytorch 2.2, torch/serialization.py, torch/csrc/serialization and caffe2/serialize/inline_container.cc; read
back by torch 2.2 and 2.13. Tensors are streamed; dates are those of the beginning of zip, so that bytes are the same.
"""

from __future__ import annotations

import math
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STORAGES = {
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
}
ALIGNMENT = 64
HEADER_NBYTES, ZIP64_NBYTES, PADDING_HEADER_NBYTES = 30, 20, 4


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor in C order, whose values come in pieces."""

    dtype: np.dtype
    shape: tuple[int, ...]
    pieces: Iterable[np.ndarray]

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize


class TorchPickle:
    """Makes the pickle of values, in which tensors are named by their places in `tensors`."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []

    def dumps(self, value: Any) -> bytes:
        """Opcodes that put text, whole numbers, tuples, dictionaries and tensors on the stack."""
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


def write_torch_file(path: str, root: str, pickled: bytes, tensors: Sequence[Tensor]) -> None:
    """Write a file of a pickle, without its first and last opcode, and its tensors; `root` is a directory in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, f"{root}/data.pkl", b"\x80\x02" + pickled + b".")
        _add(archive, f"{root}/byteorder", b"little")
        for place, tensor in enumerate(tensors):
            with _open(archive, f"{root}/data/{place}", tensor.nbytes) as file:
                for piece in tensor.pieces:
                    file.write(np.ascontiguousarray(piece, tensor.dtype).tobytes())
        _add(archive, f"{root}/version", b"3\n")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    with _open(archive, name, len(content)) as file:
        file.write(content)


def _open(archive: zipfile.ZipFile, name: str, nbytes: int) -> Any:
    """Open an entry whose content will be aligned, as torch needs it to map a file."""
    info, is_large = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), nbytes * 1.05 > zipfile.ZIP64_LIMIT
    info.file_size = nbytes
    assert archive.fp is not None, "the archive is open"
    content = archive.fp.tell() + HEADER_NBYTES + len(name) + ZIP64_NBYTES * is_large + PADDING_HEADER_NBYTES
    padding = -content % ALIGNMENT
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    return archive.open(info, "w", force_zip64=is_large)
