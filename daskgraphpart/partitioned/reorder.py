"""Write rows in new-ID order back in the order of the input graph, and the reverse, in bounded memory.

An embedding that was computed on partitions has its rows in new type-wise order. Input: an array, an npy file, a zarr
array, or a dask array, which is stored first. Output: a dask array, or an npy file or zarr array.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import is_tensor
from daskgraphpart.engine.plan import Pass
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import InputFileNotFoundError, OptionError, OutputExistsError
from daskgraphpart.partitioned.original_order import BLOCK_NBYTES, open_order
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.storage.atomic import lasting_directory, publish, scratch_directory, temporary_path
from daskgraphpart.storage.faults import attach_path_to_error, environment_faults
from daskgraphpart.storage.npy_header import read_npy_header
from daskgraphpart.storage.region import Region, create_mapped_npy, create_npy
from daskgraphpart.storage.zarr_arrays import create_rows_array, open_rows_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioned.original_order import OriginalOrder


def reorder(
    rows: Any,
    originals: StoredRows,
    out: Path | None,
    *,
    to_original: bool,
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Bring rows into the other order; see `PartitionedGraph.to_original`."""
    rows = _open_rows(rows, len(originals), originals.name)
    resources = (resources or detect_resources()).limited(2 * BLOCK_NBYTES)
    with environment_faults(), open_runner(resources, progress) as runner:
        if out is None:
            order = open_order(originals.regions, _row_nbytes(rows), Path(lasting_directory()), runner)
            from daskgraphpart.partitioned.collections import in_new_order, in_original_order

            return in_original_order(rows, order) if to_original else in_new_order(rows, order)
        _check_output(out, overwrite)
        with scratch_directory(resources.workspace or out.parent) as scratch:
            order = open_order(originals.regions, _row_nbytes(rows), scratch, runner)
            _write_reordered(_as_stored(rows, scratch, runner), order, out, scratch, runner, to_original=to_original)
        return out


def _open_rows(rows: Any, num_rows: int, what: str) -> Any:
    """Open what a user gave as rows: something with `shape`, `dtype` and slices of rows."""
    found, source = rows, None
    if isinstance(rows, (str, os.PathLike)):
        source = os.fspath(rows)
        if Path(source).is_dir():
            found = open_rows_array(source)
        elif Path(source).exists():
            header = read_npy_header(source)
            if header.is_fortran and len(header.shape) > 1:
                raise OptionError("rows in Fortran order", file=source, hint="save them with numpy.ascontiguousarray")
            found = StoredRows(source, [Region(source, header.offset, header.dtype, header.shape)])
        else:
            raise InputFileNotFoundError("no such file", file=source, expected="an npy file or a zarr array")
    elif is_tensor(rows):
        found = rows.detach().cpu().numpy()
    elif not hasattr(rows, "dtype"):
        found = np.asarray(rows)
    if not found.shape or found.shape[0] != num_rows:
        raise OptionError(
            f"wrong number of rows for {what}", file=source, expected=f"{num_rows:,}", found=f"shape {found.shape}"
        )
    return found


def _row_nbytes(rows: Any) -> int:
    return int(np.prod(rows.shape[1:], dtype=np.int64)) * int(rows.dtype.itemsize)


def _check_output(out: Path, overwrite: bool) -> None:
    """Refuse an output that is there and may not be replaced, or that is neither ``*.npy`` nor ``*.zarr``."""
    if out.suffix not in (".npy", ".zarr"):
        raise OptionError("unknown format of the output", file=str(out), expected="a name that ends in .npy or .zarr")
    if out.exists():
        if not overwrite:
            raise OutputExistsError("the output exists", file=str(out), hint="give another name, or --overwrite")
        if out.is_dir():
            if not (out / "zarr.json").is_file():
                raise OutputExistsError("a directory that is not a zarr array", file=str(out), hint="remove it")
            shutil.rmtree(out)
    out.parent.mkdir(parents=True, exist_ok=True)


def _as_stored(rows: Any, scratch: Path, runner: Runner) -> Any:
    """Store what tasks cannot read from anywhere: dask arrays, whose chunks are computed once, and our own memory."""
    if hasattr(rows, "dask"):
        if rows.ndim > 1:
            rows = rows.rechunk(dict.fromkeys(range(1, rows.ndim), -1))
        if np.isnan(np.array(rows.chunks[0], float)).any():
            raise OptionError("a dask array of unknown chunks", hint="call compute_chunk_sizes() first")
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        firsts = np.cumsum([0, *rows.chunks[0][:-1]]).tolist()
        units = [(rows.blocks[i], first) for i, first in enumerate(firsts)]
        runner.run(Pass("store-rows", _store_chunk, units, region, [int(block.nbytes) for block, _ in units]))
    elif isinstance(rows, np.ndarray) and runner.resources.cluster not in ("threads", "sync"):
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        region.write(rows, 0)
    else:
        return rows
    return StoredRows("rows", [region])


def _store_chunk(unit: tuple[Any, int], region: Region) -> None:
    block, first = unit
    region.write(block.compute(scheduler="synchronous"), first)


@dataclass(frozen=True, slots=True, eq=False)
class _Reorder:
    """What tasks share: the map, rows in one order, and the region or zarr array for the other."""

    order: OriginalOrder
    rows: Any
    out: Any


def _write_reordered(
    rows: Any, order: OriginalOrder, out: Path, scratch: Path, runner: Runner, *, to_original: bool
) -> None:
    """Write all rows in the other order to ``*.npy`` or ``*.zarr``, which appears when it is whole."""

    def run(name: str, task: Callable[[int, _Reorder], None], rows: Any, target: Any) -> None:
        numbers = list(range(order.num_blocks))
        nbytes = [_row_nbytes(rows) * order.block_rows] * len(numbers)
        runner.run(Pass(name, task, numbers, _Reorder(order, rows, target), nbytes))

    target: Any = None
    if out.suffix == ".zarr":
        target = create_rows_array(temporary_path(out), rows.shape, rows.dtype, order.block_rows)
    if to_original:
        if target is None:
            target = create_npy(temporary_path(out), rows.dtype, rows.shape)
        run("to-original", _gather, rows, target)
    else:
        create = create_npy if order.inverse is None else create_mapped_npy
        # rows of a block go all over the output: into a file, and from there into chunks
        region = create(temporary_path(out) if target is None else scratch / "new.npy", rows.dtype, rows.shape)
        run("to-new", _scatter, rows, region)
        if target is not None:
            run("write-zarr", _copy, StoredRows("rows", [region]), target)
    publish(out)


def _gather(number: int, how: _Reorder) -> None:
    _write(how.order.gather(how.rows, number), how, number)


def _scatter(number: int, how: _Reorder) -> None:
    start, stop = how.order.block(number)
    how.order.scatter(how.rows[start:stop], number, how.out)


def _copy(number: int, how: _Reorder) -> None:
    start, stop = how.order.block(number)
    _write(how.rows[start:stop], how, number)


def _write(rows: np.ndarray, how: _Reorder, number: int) -> None:
    """Write one block to a file or a zarr array."""
    start, stop = how.order.block(number)
    if isinstance(how.out, Region):
        how.out.write(rows, start)
        return
    with attach_path_to_error(str(how.out.store_path)):
        how.out[start:stop] = rows
