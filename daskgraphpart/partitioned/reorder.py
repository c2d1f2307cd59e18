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
from daskgraphpart.storage.region import Region, create_mapped_npy, create_npy, read_npy_header
from daskgraphpart.storage.zarr_arrays import create_rows_array, open_rows_array

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioned.original_order import OriginalOrder


def reorder(
    rows: Any,
    originals: StoredRows,
    out: Path | None,
    resources: Resources | None,
    how: tuple[bool, Progress | None],
    *,
    to_original: bool,
) -> Any:
    """Bring rows into the other order; see `PartitionedGraph.to_original`."""
    overwrite, progress = how
    rows = open_rows(rows, len(originals), originals.name)
    row_nbytes = int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize
    resources = (resources or detect_resources()).limited(2 * BLOCK_NBYTES)
    with environment_faults(), open_runner(resources, progress) as runner:
        if out is None:
            order = open_order(originals.regions, row_nbytes, Path(lasting_directory()), runner)
            from daskgraphpart.partitioned.collections import in_new_order, in_original_order

            return in_original_order(rows, order) if to_original else in_new_order(rows, order)
        check_output(out, overwrite)
        with scratch_directory(resources.workspace or out.parent) as scratch:
            order = open_order(originals.regions, row_nbytes, scratch, runner)
            reorder_to_file(rows, order, out, scratch, runner, to_original=to_original)
        return out


def open_rows(rows: Any, num_rows: int, what: str) -> Any:
    """Open what a user gave as rows.

    Parameters
    ----------
    rows : array, tensor, dask array or path
        Path of an npy file, or of a zarr array.
    num_rows : int
        Rows there have to be.
    what : str
        The type, for messages.

    Returns
    -------
    array-like
        With `shape`, `dtype` and slices of rows: ndarray, `zarr.Array`, or dask array.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    OptionError
        If there is another number of rows.
    """
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


@dataclass(frozen=True, slots=True, eq=False)
class _Reorder:
    order: OriginalOrder
    rows: Any
    out: Any


def reorder_to_file(
    rows: Any, order: OriginalOrder, out: Path, scratch: Path, runner: Runner, *, to_original: bool
) -> None:
    """Write all rows in the other order.

    Parameters
    ----------
    rows : array-like
        What `open_rows` returned.
    order : OriginalOrder
        The map.
    out : Path
        File ``*.npy`` or array ``*.zarr``; appears when it is whole.
    scratch : Path
        Directory for rows on their way.
    runner : Runner
        Runs the passes.
    to_original : bool
        Whether rows are in new order and wanted in original order; otherwise the reverse.
    """
    if hasattr(rows, "dask"):
        rows = _store(rows, scratch / "rows.npy", runner)
    elif isinstance(rows, np.ndarray) and runner.resources.cluster not in ("threads", "sync"):
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)  # other processes cannot see our memory
        region.write(rows, 0)
        rows = StoredRows(region.path, [region])
    numbers = list(range(order.num_blocks))
    nbytes = [int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize * order.block_rows] * len(numbers)
    is_zarr = out.suffix == ".zarr"
    if is_zarr and to_original:
        target = create_rows_array(temporary_path(out), rows.shape, rows.dtype, order.block_rows)
        runner.run(Pass("to-original", _gather_to_zarr, numbers, _Reorder(order, rows, target), nbytes))
    else:
        create = create_npy if to_original or order.inverse is None else create_mapped_npy
        region = create(scratch / "new.npy" if is_zarr else temporary_path(out), rows.dtype, rows.shape)
        task = _gather if to_original else _scatter
        runner.run(
            Pass("to-original" if to_original else "to-new", task, numbers, _Reorder(order, rows, region), nbytes)
        )
        if is_zarr:
            target = create_rows_array(temporary_path(out), rows.shape, rows.dtype, order.block_rows)
            runner.run(Pass("write-zarr", _copy_to_zarr, numbers, _Reorder(order, region, target), nbytes))
    publish(out)


def check_output(out: Path, overwrite: bool) -> None:
    """Refuse an output that is there, or of no format.

    Raises
    ------
    OptionError
        If it is neither ``*.npy`` nor ``*.zarr``.
    OutputExistsError
        If it exists and may not be replaced.
    """
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


def _gather(number: int, how: _Reorder) -> None:
    how.out.write(how.order.gather(how.rows, number), how.order.block(number)[0])


def _gather_to_zarr(number: int, how: _Reorder) -> None:
    start, stop = how.order.block(number)
    with attach_path_to_error(str(how.out.store_path)):
        how.out[start:stop] = how.order.gather(how.rows, number)


def _scatter(number: int, how: _Reorder) -> None:
    start, stop = how.order.block(number)
    how.order.scatter(how.rows[start:stop], number, how.out)


def _copy_to_zarr(number: int, how: _Reorder) -> None:
    start, stop = how.order.block(number)
    with attach_path_to_error(str(how.out.store_path)):
        how.out[start:stop] = how.rows.read(start, stop)


def _store(array: Any, path: Path, runner: Runner) -> StoredRows:
    """Write a dask array to a file, each of its chunks computed once."""
    if array.ndim > 1:
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    if np.isnan(np.array(array.chunks[0], float)).any():
        raise OptionError("a dask array of unknown chunks", hint="call compute_chunk_sizes() first")
    region = create_npy(path, array.dtype, array.shape)
    firsts = np.cumsum([0, *array.chunks[0][:-1]]).tolist()
    units = [(array.blocks[i], first) for i, first in enumerate(firsts)]
    runner.run(Pass("store-rows", _store_chunk, units, region, [int(block.nbytes) for block, _ in units]))
    return StoredRows(str(path), [region])


def _store_chunk(unit: tuple[Any, int], region: Region) -> None:
    block, first = unit
    region.write(block.compute(scheduler="synchronous"), first)
