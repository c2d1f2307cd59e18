"""One zarr array per feature, in owner order, until its rows are exported.

Tasks fill a staged array in any order, and parts read it in theirs. Chunks are uncompressed files into which tasks
write at offsets, as in output files: no lock, nothing read back, the same bytes if a task runs twice. Every part begins
with its own chunk; the rest of its last chunk is a hole. Any reader of zarr (v3) can open the array; its attributes
`num_rows` and `first_rows` say where parts are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.errors import InputFileNotFoundError
from daskgraphpart.schema import BFLOAT16
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.local_store import write_exactly
from daskgraphpart.storage.region import Region
from daskgraphpart.storage.zarr_arrays import open_rows_array

CHUNK_NBYTES = 8 << 20


@dataclass(frozen=True, slots=True, eq=False)
class StagedArray:
    """A zarr array of rows: `num_rows`, int64 (parts,), per part, in zarr chunks of at most `chunk_rows` rows."""

    path: str
    dtype: np.dtype
    row_shape: tuple[int, ...]
    num_rows: np.ndarray
    chunk_rows: int

    @classmethod
    def of(
        cls, path: str, dtype: np.dtype, row_shape: tuple[int, ...], num_rows: np.ndarray, max_nbytes: int
    ) -> StagedArray:
        """Name an array with zarr chunks of at most 8 MiB and, unless a row is larger, `max_nbytes`."""
        row_nbytes = max(1, int(np.prod(row_shape, dtype=np.int64)) * dtype.itemsize)
        chunk_rows = min(CHUNK_NBYTES, max_nbytes) // row_nbytes
        return cls(path, dtype, row_shape, num_rows, max(1, min(chunk_rows, int(num_rows.max(initial=0)))))

    def create(self, name: str) -> None:
        """Write the metadata; zarr chunks come with their first rows."""
        import zarr

        num_chunks = self._num_chunks()
        with attach_path_to_error(self.path):
            zarr.create_array(
                self.path,
                name=None,
                shape=(int(num_chunks.sum()) * self.chunk_rows, *self.row_shape),
                chunks=(self.chunk_rows, *self.row_shape),
                dtype=np.uint16 if self.dtype == BFLOAT16 else self.dtype,  # zarr has no bfloat16, but its bits
                compressors=None,
                filters=None,
                chunk_key_encoding={"name": "v2", "separator": "."},  # all chunks in one directory
                attributes={
                    "name": name,
                    "num_rows": self.num_rows.tolist(),
                    "first_rows": (self._first_chunks() * self.chunk_rows).tolist(),
                },
                overwrite=True,
            )

    def write(self, part: int, start: int, rows: np.ndarray) -> None:
        """Write rows of a part, from its row `start` on."""
        rows = np.ascontiguousarray(rows, self.dtype)
        content, done = memoryview(rows.reshape(-1).view(np.uint8).data), 0
        for chunk, stop in self._chunks(part, start, start + len(rows)):
            nbytes = (stop - start) * chunk.row_nbytes
            fd = os.open(chunk.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                with attach_path_to_error(chunk.path):
                    os.ftruncate(fd, self.chunk_rows * chunk.row_nbytes)
                write_exactly(fd, content[done : done + nbytes], chunk.offset, chunk.path)
            finally:
                os.close(fd)
            start, done = stop, done + nbytes

    def blocks(self, part: int) -> Iterator[np.ndarray]:
        """Read a part's rows by zarr chunk; a missing one is an error, unlike in zarr."""
        for chunk, _ in self._chunks(part, 0, int(self.num_rows[part])):
            yield chunk.read()

    def _chunks(self, part: int, start: int, stop: int) -> Iterator[tuple[Region, int]]:
        """Regions of chunk files with rows ``[start, stop)`` of a part, each with the row after its last."""
        first_chunk, zeros = int(self._first_chunks()[part]), ".0" * len(self.row_shape)
        row_nbytes = int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize
        while start < stop:
            number, within = divmod(start, self.chunk_rows)
            count = min(stop - start, self.chunk_rows - within)
            path = f"{self.path}/{first_chunk + number}{zeros}"
            start += count
            yield Region(path, within * row_nbytes, self.dtype, (count, *self.row_shape)), start

    def _num_chunks(self) -> np.ndarray:
        return -(-self.num_rows // self.chunk_rows)

    def _first_chunks(self) -> np.ndarray:
        chunks = self._num_chunks()
        first: np.ndarray = np.cumsum(chunks) - chunks
        return first


def open_staged(workspace: str | os.PathLike[str]) -> dict[str, Any]:
    """Open the staged features of a running, stopped or kept job.

    Parameters
    ----------
    workspace : path
        The job's workspace: ``.daskgraphpart-work`` in its output directory, or its directory in `workspace`.

    Returns
    -------
    dict of str to dask.array.Array
        Features as stored, by ``node_data/<ntype>/<feature>`` or ``edge_data/<etype>/<feature>``. Rows are in the order
        of new IDs; chunks end where parts end. Rows not yet staged are 0.

    Raises
    ------
    InputFileNotFoundError
        If the workspace has no staged features.

    Examples
    --------
    >>> parts = dgp.partition("shop", "parts", 4, workspace_options={"staging": "zarr", "keep_workspace": True})
    >>> staged = dgp.open_staged("parts/.daskgraphpart-work")
    >>> staged["node_data/user/age"][:5].compute()
    array([48, 21, 60, 41, 78])
    """
    import dask.array as da

    by_name = {}
    for path in sorted(Path(workspace, "staged").glob("*.zarr")):
        array = open_rows_array(path)
        rows = da.from_zarr(array)
        parts = zip(array.attrs["first_rows"], array.attrs["num_rows"], strict=True)
        by_name[str(array.attrs["name"])] = da.concatenate([rows[first : first + count] for first, count in parts])
    if not by_name:
        raise InputFileNotFoundError(
            "no staged features in this workspace", file=workspace, hint="run with --staging zarr"
        )
    return by_name
