"""Read DGL's containers without trust: every size is checked against the file.

DGL's own reader loads truncated files silently, or crashes.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_encoding import ARRAY_HEADER, CPU, DTYPES, MAGIC_ARRAY
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open
from daskgraphpart.storage.paths import AnyPath, FilePath, to_key
from daskgraphpart.storage.region import MAX_AXES, Region, checked_nbytes

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_ARRAYS = 1 << 20
MAX_NAME_NBYTES = 1 << 12
MIN_NAMED_ARRAY_NBYTES = 48  # name length, array header without axes
COPY_AGAIN = "copy the file again, or partition the graph again"


@contextmanager
def open_container(path: AnyPath) -> Iterator[FileReader]:
    """Open a DGL file."""
    key = to_key(path)
    if not is_file(key):
        raise LayoutError("no such file", file=key, hint="check the paths in the partition config")
    # once, because it takes as long as one of the many small reads
    with attach_path_to_error(key), open_for_reading(key) as file:
        yield FileReader(key, file)


class FileReader:
    """A file and a position; errors (`LayoutError`) name both."""

    def __init__(self, path: FilePath, file: BinaryIO) -> None:
        self.path = path
        self.size = size_of_open(file)
        self.position = 0
        self._file = file

    def fault(self, what: str, **details: Any) -> LayoutError:
        """Error at this position."""
        return LayoutError(what, file=self.path, place=f"byte {self.position:,}", **details)

    def seek(self, position: int) -> None:
        """Go to a byte of the file."""
        if not 0 <= position <= self.size:
            raise self.fault("offset outside the file", expected=f"at most {self.size:,}", found=f"{position:,}")
        self._file.seek(position)
        self.position = position

    def take(self, count: int) -> bytes:
        """Read exactly `count` bytes."""
        left = self.size - self.position
        content = self._file.read(count) if 0 <= count <= left else b""
        if len(content) != count:
            expected = f"{count:,} more bytes"
            raise self.fault("file is truncated or damaged", expected=expected, found=f"{left:,}", hint=COPY_AGAIN)
        self.position += count
        return content

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Read numbers."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def number(self, form: str = "<Q") -> int:
        """Read one number, unsigned by default."""
        return int(self.unpack(form)[0])

    def magic(self, expected: int, what: str) -> None:
        """Read a magic number."""
        found = self.number()
        if found != expected:
            self.seek(self.position - 8)
            if found == int.from_bytes(expected.to_bytes(8, "little"), "big"):
                raise self.fault(f"{what} is not little-endian", hint="write it on a little-endian machine")
            raise self.fault(f"not a {what} of DGL", expected=f"{expected:#x}", found=f"{found:#x}")

    def one(self, what: str) -> None:
        """Read a number that is 1 in the graph of a partition."""
        found = self.number()
        if found != 1:
            raise self.fault(f"not the graph of a partition: wrong number of {what}", expected=1, found=found)

    def count(self, smallest_entry: int, most: int, what: str) -> int:
        """Read a number of entries, each of at least `smallest_entry` bytes."""
        found = self.number()
        fitting = (self.size - self.position) // smallest_entry
        if found > min(fitting, most):
            raise self.fault(f"invalid number of {what}", expected=f"at most {min(fitting, most):,}", found=found)
        return found

    def text(self) -> str:
        """Read a name."""
        content = self.take(self.count(1, MAX_NAME_NBYTES, "characters"))
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise self.fault("name is not UTF-8", found=repr(content[:40])) from error

    def array(self) -> Region:
        """Read an array's header and skip its elements."""
        self.magic(MAGIC_ARRAY, "array")
        _, device, _, num_axes, code, bits, lanes = self.unpack(ARRAY_HEADER)
        if device != CPU or lanes != 1 or not 1 <= num_axes <= MAX_AXES:
            found = f"device {device}, {lanes} lanes, {num_axes} axes"
            raise self.fault("DGL writes no such array", expected="CPU, 1 lane, 1 to 32 axes", found=found)
        *shape, nbytes = self.unpack(f"<{num_axes + 1}q")
        dtype = DTYPES.get((code, bits))
        if dtype is None:
            found, hint = f"type code {code} with {bits} bits", "convert it to float32 with DGL"
            raise self.fault("unsupported dtype of an array", found=found, hint=hint)
        expected = checked_nbytes(tuple(shape), dtype)
        if nbytes != expected:
            raise self.fault(
                "invalid shape or size of an array",
                expected=None if expected is None else f"{expected:,} bytes",
                found=f"{nbytes:,} bytes of shape {shape}",
            )
        offset = self.position
        if nbytes > self.size - offset:
            expected_size, found = f"{offset + nbytes:,} bytes", f"{self.size:,}"
            raise self.fault("file is truncated inside an array", expected=expected_size, found=found, hint=COPY_AGAIN)
        self.seek(offset + nbytes)
        return Region(self.path, offset, dtype, tuple(shape))

    def named_arrays(self) -> dict[str, Region]:
        """Read a dictionary of arrays; of equal names the last counts, as in DGL."""
        return {self.text(): self.array() for _ in range(self.count(MIN_NAMED_ARRAY_NBYTES, MAX_ARRAYS, "arrays"))}
