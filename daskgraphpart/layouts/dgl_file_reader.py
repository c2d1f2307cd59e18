"""Read DGL's containers without trusting them: every size is compared with what the file can hold.

DGL's own reader loads truncated files silently or crashes on them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_encoding import BFLOAT16, CPU, MAGIC_ARRAY, dtype_of_code
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open
from daskgraphpart.storage.npy_header import MAX_AXES, checked_nbytes
from daskgraphpart.storage.paths import to_key
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    from daskgraphpart.storage.paths import AnyPath

MAX_ARRAYS = 1 << 20
MAX_NAME_NBYTES = 1 << 12
MIN_NAMED_ARRAY_NBYTES = 48  # length of the name, header of an array with no axis


class FileReader:
    """A file and a position in it; all errors, which are `LayoutError`, name both."""

    def __init__(self, path: AnyPath) -> None:
        self.path = to_key(path)
        if not is_file(self.path):
            raise LayoutError("no such file", file=self.path, hint="check the paths in the partition config")
        self._file = open_for_reading(self.path)  # closed by __exit__
        self.size = size_of_open(self._file)

    def __enter__(self) -> FileReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def position(self) -> int:
        """Byte that is read next."""
        return self._file.tell()

    def fault(self, what: str, **details: Any) -> LayoutError:
        """Error at this position."""
        return LayoutError(what, file=self.path, place=f"byte {self.position:,}", **details)

    def seek(self, position: int) -> None:
        """Go to a byte of the file."""
        if not 0 <= position <= self.size:
            raise self.fault("offset outside the file", expected=f"at most {self.size:,}", found=f"{position:,}")
        self._file.seek(position)

    def take(self, count: int) -> bytes:
        """Read exactly so many bytes."""
        left = self.size - self.position
        if count < 0 or count > left:
            raise self.fault(
                "file is truncated or damaged",
                expected=f"{count:,} more bytes",
                found=f"{left:,}",
                hint="copy the file again, or make the partitions again",
            )
        with attach_path_to_error(self.path):
            content = self._file.read(count)
        if len(content) < count:
            raise self.fault("file became shorter while it was read", expected=f"{self.size:,} bytes")
        return content

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Read numbers."""
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def u64(self) -> int:
        """Read an unsigned number."""
        return int(self.unpack("Q")[0])

    def i64(self) -> int:
        """Read a signed number."""
        return int(self.unpack("q")[0])

    def magic(self, expected: int, what: str) -> None:
        """Read a magic number."""
        found = self.u64()
        if found != expected:
            self.seek(self.position - 8)
            if found == int.from_bytes(expected.to_bytes(8, "little"), "big"):
                raise self.fault(f"{what} of another byte order", hint="write it again; DGL's files are little-endian")
            raise self.fault(f"not a {what} of DGL", expected=f"{expected:#x}", found=f"{found:#x}")

    def count(self, smallest_entry: int, what: str) -> int:
        """Read a number of entries, none of which can be smaller than `smallest_entry` bytes."""
        found = self.u64()
        if found * smallest_entry > self.size - self.position:
            raise self.fault(f"impossible number of {what}", found=f"{found:,}")
        return found

    def text(self) -> str:
        """Read a name."""
        length = self.count(1, "characters")
        if length > MAX_NAME_NBYTES:
            raise self.fault("name is too long", expected=f"at most {MAX_NAME_NBYTES:,} bytes", found=f"{length:,}")
        content = self.take(length)
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise self.fault("name is not UTF-8", found=repr(content[:40])) from error

    def array(self) -> Region:
        """Read the header of an array and skip its elements."""
        self.magic(MAGIC_ARRAY, "array")
        _, device, _, num_axes, code, bits, lanes = self.unpack("QiiiBBH")
        if device != CPU or lanes != 1 or not 1 <= num_axes <= MAX_AXES:
            raise self.fault(
                "not an array DGL writes",
                expected="CPU, 1 lane, 1 to 32 axes",
                found=f"device {device}, {lanes} lanes, {num_axes} axes",
            )
        shape = self.unpack(f"{num_axes}q")
        dtype = self._dtype(code, bits)
        nbytes, expected = self.i64(), checked_nbytes(shape, dtype)
        if expected is None:
            raise self.fault("impossible shape of an array", found=shape)
        if nbytes != expected:
            raise self.fault("size of an array is not that of its shape", expected=f"{expected:,}", found=f"{nbytes:,}")
        offset = self.position
        if nbytes > self.size - offset:
            raise self.fault(
                "file is truncated inside an array",
                expected=f"{offset + nbytes:,} bytes",
                found=f"{self.size:,}",
                hint="copy the file again, or make the partitions again",
            )
        self.seek(offset + nbytes)
        return Region(self.path, offset, dtype, shape)

    def named_arrays(self) -> dict[str, Region]:
        """Read a dictionary of arrays; of entries with the same name the last is kept, as in DGL."""
        entries = self.count(MIN_NAMED_ARRAY_NBYTES, "arrays")
        if entries > MAX_ARRAYS:
            raise self.fault("impossible number of arrays", expected=f"at most {MAX_ARRAYS:,}", found=f"{entries:,}")
        found = {}
        for _ in range(entries):
            name = self.text()
            found[name] = self.array()
        return found

    def _dtype(self, code: int, bits: int) -> np.dtype:
        dtype = dtype_of_code(code, bits)
        if dtype is None:
            kind = "bfloat16, which numpy lacks" if (code, bits) == BFLOAT16 else f"type code {code} with {bits} bits"
            raise self.fault(
                "array of a dtype that is not supported", found=kind, hint="convert it to float32 with DGL"
            )
        return dtype
