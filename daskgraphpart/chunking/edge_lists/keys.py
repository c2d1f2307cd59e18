"""Original IDs of nodes in memory and in files: int64 numbers, or strings as their UTF-8 bytes.

Both kinds are sorted, searched, written and read by the same functions. Their order is that of numbers, or of bytes,
and nothing else, so that new IDs depend on neither locale nor blocks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.kernels.strings import lower_bounds
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGERS, STRINGS = "integers", "strings"
BYTES_PER_KEY = 8  # of an integer, or of where a string begins

_INT64, _UINT8 = np.dtype("<i8"), np.dtype("u1")


@dataclass(frozen=True, slots=True, eq=False)
class StringKeys:
    """Strings one behind the other.

    Parameters
    ----------
    offsets : int64 array (strings + 1,)
        Where each begins in `data`; the first is 0.
    data : uint8 array (bytes,)
        UTF-8.
    """

    offsets: np.ndarray
    data: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1


Keys: TypeAlias = np.ndarray | StringKeys


@dataclass(frozen=True, slots=True)
class KeyFile:
    """Sorted keys in a file: numbers; or the offsets of strings, then their bytes.

    Parameters
    ----------
    path : str
        The file.
    kind : str
        `INTEGERS` or `STRINGS`.
    num_keys : int
        Number of keys.
    num_bytes : int
        Bytes of all strings; 0 for integers.
    """

    path: str
    kind: str
    num_keys: int
    num_bytes: int

    @property
    def nbytes(self) -> int:
        """Size of the file, roughly."""
        return self.num_keys * BYTES_PER_KEY + self.num_bytes

    def read(self, start: int = 0, stop: int | None = None) -> Keys:
        """Read keys ``[start, stop)``."""
        stop = self.num_keys if stop is None else stop
        if self.kind == INTEGERS:
            return Region(self.path, 0, _INT64, (self.num_keys,)).read(start, stop)
        offsets = self.offsets.read(start, stop + 1)
        data = Region(self.path, self.offsets.nbytes, _UINT8, (self.num_bytes,))
        return StringKeys(offsets - offsets[0], data.read(int(offsets[0]), int(offsets[-1])))

    @property
    def offsets(self) -> Region:
        """Where strings begin."""
        return Region(self.path, 0, _INT64, (self.num_keys + 1,))

    def entry_starts(self) -> np.ndarray:
        """Bytes that the keys before each key take, int64 (keys + 1,)."""
        counted = np.arange(self.num_keys + 1, dtype=np.int64) * BYTES_PER_KEY
        return counted if self.kind == INTEGERS else counted + self.offsets.read()


def kind_of(keys: Keys) -> str:
    """`INTEGERS` or `STRINGS`."""
    return STRINGS if isinstance(keys, StringKeys) else INTEGERS


def write_keys(path: str | os.PathLike[str], keys: Keys) -> KeyFile:
    """Write keys to a new file."""
    name = os.fspath(path)
    with attach_path_to_error(name), open(name, "wb") as file:
        if isinstance(keys, StringKeys):
            file.write(keys.offsets.astype(_INT64, copy=False).data)
            file.write(np.ascontiguousarray(keys.data).data)
            return KeyFile(name, STRINGS, len(keys), int(keys.offsets[-1]))
        file.write(np.ascontiguousarray(keys, _INT64).data)
    return KeyFile(name, INTEGERS, len(keys), 0)


def unique_keys(keys: Keys) -> tuple[Keys, np.ndarray]:
    """Sort keys, each once.

    Returns
    -------
    unique : Keys
        Ascending.
    inverse : int32 array (keys,)
        For each key its position in `unique`.
    """
    if not isinstance(keys, StringKeys):
        order = np.argsort(keys)
        ordered = keys[order]
        is_new = _is_first(ordered)
        ranks = np.empty(len(keys), np.int32)
        ranks[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        return ordered[is_new], ranks
    encoded = _as_arrow(keys).dictionary_encode()
    unique, order = _sorted(encoded.dictionary)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return unique, rank[encoded.indices.to_numpy()]


def merge_keys(batches: Sequence[Keys]) -> Keys:
    """Sort the keys of all batches, each once."""
    if not isinstance(batches[0], StringKeys):
        ordered: np.ndarray = np.sort(np.concatenate(batches))  # type: ignore[arg-type]
        found: np.ndarray = ordered[_is_first(ordered)]
        return found
    import pyarrow as pa

    chunks = pa.chunked_array([_as_arrow(keys) for keys in batches])  # type: ignore[arg-type]
    return _sorted(chunks.unique())[0]


def lower_bound(keys: Keys, needles: Keys) -> np.ndarray:
    """For each of some ascending needles, how many of the sorted keys are smaller; int64 (needles,)."""
    if not isinstance(keys, StringKeys):
        return np.searchsorted(keys, needles).astype(np.int64, copy=False)  # type: ignore[arg-type]
    assert isinstance(needles, StringKeys), "keys of two kinds"
    positions = np.empty(len(needles), np.int64)
    lower_bounds(keys.data, keys.offsets, needles.data, needles.offsets, positions)
    return positions


def take_keys(keys: Keys, positions: np.ndarray) -> Keys:
    """Keys at some positions."""
    if not isinstance(keys, StringKeys):
        found: np.ndarray = keys[positions]
        return found
    return _from_arrow(_as_arrow(keys).take(_positions(positions)))


def concatenate_keys(batches: Sequence[Keys]) -> Keys:
    """Keys of several batches of one kind, one behind the other."""
    if len(batches) == 1:
        return batches[0]
    if not isinstance(batches[0], StringKeys):
        return np.concatenate(batches)  # type: ignore[arg-type]
    strings = [keys for keys in batches if isinstance(keys, StringKeys)]
    assert len(strings) == len(batches), "keys of two kinds"
    lengths = np.concatenate([np.diff(keys.offsets) for keys in strings])
    return StringKeys(group_starts(lengths), np.concatenate([keys.data for keys in strings]))


def slice_keys(keys: Keys, start: int, stop: int) -> Keys:
    """Keys ``[start, stop)``."""
    if not isinstance(keys, StringKeys):
        return keys[start:stop]
    offsets = keys.offsets[start : stop + 1]
    return StringKeys(offsets - offsets[0], keys.data[offsets[0] : offsets[-1]])


def to_arrow(keys: Keys) -> Any:
    """Arrow array of int64 or of strings."""
    import pyarrow as pa

    if not isinstance(keys, StringKeys):
        return pa.array(keys)
    return pa.Array.from_buffers(pa.large_string(), len(keys), _as_arrow(keys).buffers())


def strings_of(array: Any) -> StringKeys:
    """Keys of an Arrow array of strings or bytes without nulls."""
    import pyarrow as pa

    return _from_arrow(array.cast(pa.large_binary()))


def show_key(keys: Keys, position: int) -> str:
    """A key, as messages quote it."""
    one = slice_keys(keys, position, position + 1)
    if not isinstance(one, StringKeys):
        return str(int(one[0]))
    text = one.data[:200].tobytes().decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:60] + "...")


def _is_first(ordered: np.ndarray) -> np.ndarray:
    """Whether each number is the first of its value."""
    # numpy.unique hashes instead, which was measured to take a hundred times as long as sorting
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def _sorted(array: Any) -> tuple[StringKeys, np.ndarray]:
    """Sort an Arrow array of different strings; the keys, and where each was."""
    import pyarrow.compute as pc

    order = pc.sort_indices(array)
    return _from_arrow(array.take(order)), order.to_numpy()


def _positions(positions: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.array(positions)


def _as_arrow(keys: StringKeys) -> Any:
    import pyarrow as pa

    buffers = [None, pa.py_buffer(np.ascontiguousarray(keys.offsets)), pa.py_buffer(np.ascontiguousarray(keys.data))]
    return pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)


def _from_arrow(array: Any) -> StringKeys:
    if len(array) == 0:
        return StringKeys(np.zeros(1, np.int64), np.empty(0, np.uint8))
    _, offsets, data = array.buffers()
    found = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return StringKeys(found - found[0], content[found[0] : found[-1]])
