"""Bring rows from the order of new IDs into input order, and back, in bounded memory.

Row i of the result is row ``places[i]`` of the input. To get original order, places are the original IDs in the parts;
to get new order, they are the inverse, written to a temporary file. Blocks of the result are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import LayoutError
from daskgraphpart.partitioned.part_collections import reordered_array
from daskgraphpart.partitioned.stored_rows import BLOCK_NBYTES, Reordered, StoredRows
from daskgraphpart.source import Input
from daskgraphpart.storage.atomic import publish, temporary_path
from daskgraphpart.storage.faults import attach_path_to_error, environment_faults
from daskgraphpart.storage.region import Region, create_npy, map_npy
from daskgraphpart.storage.scratch import lasting_directory, scratch_directory
from daskgraphpart.storage.zarr_arrays import create_rows_array
from daskgraphpart.tools.reorder.row_files import (
    NUMBERS,
    LargestColumn,
    Legend,
    TableConfig,
    check_output,
    decode_block,
    open_rows,
    save_tensor,
    write_table,
)

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources

IDS_PER_READ = 1 << 20


def reorder(
    rows: Any,
    originals: StoredRows,
    out: Path | None,
    *,
    to_original: bool,
    legend: Legend = NUMBERS,
    resources: Resources,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Bring rows into the other order; see `PartitionedGraph.to_original`."""
    rows = open_rows(rows, len(originals), originals.name)
    resources = resources.limited(2 * BLOCK_NBYTES)
    with environment_faults(), open_runner(resources, progress) as runner:
        if out is None:
            inverse = invert(originals, lasting_directory(resources.workspace), runner)
            reordered = reordered_array(Reordered(rows, inverse, 1) if to_original else Reordered(rows, originals, 0))
            if legend.categories is None:
                return reordered
            return reordered.map_blocks(decode_block, legend.categories, dtype=object)
        check_output(out, rows.dtype, overwrite)
        with scratch_directory(resources.workspace or out.parent) as scratch:
            inverse = invert(originals, scratch, runner)
            rows = _as_stored(rows, scratch, runner)
            how = Reordered(rows, inverse, 1) if to_original else Reordered(rows, originals, 0)
            if out.suffix == ".parquet":  # one file is written from front to back
                runner.run(Pass("write-table", write_table, [Unit(legend, BLOCK_NBYTES)], TableConfig(how, out)))
            elif out.suffix == ".pt":
                _write(how, scratch / "reordered.npy", runner)
                save_tensor(str(scratch / "reordered.npy"), out)
            else:
                _write(how, out, runner)
        return out


def invert(originals: StoredRows, scratch: Path, runner: Runner) -> StoredRows:
    """Write new IDs by original ID, counted from 1; check that every original ID occurs once."""
    num_rows = len(originals)
    inverse = create_npy(scratch / "inverse.npy", np.int64, (num_rows,), is_mapped=True)
    units = [Unit(start, 8 * IDS_PER_READ) for start in range(0, num_rows, IDS_PER_READ)]
    config = InverseConfig(originals, inverse)
    runner.run(Pass("invert-map", _invert, units, config))
    runner.run(Pass("check-map", _check, units, config))
    return StoredRows("new IDs", [inverse])


@dataclass(frozen=True, slots=True)
class InverseConfig:
    """Original IDs, and the file for their inverse."""

    originals: StoredRows
    inverse: Region


def _invert(start: int, config: InverseConfig) -> None:
    originals = config.originals
    ids, num_rows = originals[start : start + IDS_PER_READ], len(originals)
    outside = ids[(ids < 0) | (ids >= num_rows)]
    if outside.size:
        raise LayoutError(
            "original ID out of range",
            file=originals.regions[0].path,
            expected=f"[0, {num_rows:,})",
            found=int(outside[0]),
        )
    map_npy(config.inverse.path)[ids] = np.arange(start + 1, start + 1 + len(ids))


def _check(start: int, config: InverseConfig) -> None:
    originals, inverse = config.originals, config.inverse
    missing = np.flatnonzero(inverse.read(start, min(start + IDS_PER_READ, inverse.num_rows)) == 0)
    if missing.size:
        raise LayoutError(
            "an original ID is missing or repeated",
            file=originals.regions[0].path,
            found=f"no node or edge {start + int(missing[0]):,}",
            hint="partition the graph again",
        )


def _as_stored(rows: Any, scratch: Path, runner: Runner) -> Any:
    """Store what tasks cannot read: dask arrays, computed once, and arrays in our memory."""
    if isinstance(rows, LargestColumn):
        return LargestColumn(_as_stored(rows.rows, scratch, runner))
    if hasattr(rows, "dask"):
        if rows.ndim > 1:
            rows = rows.rechunk(dict.fromkeys(range(1, rows.ndim), -1))
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        firsts = np.cumsum([0, *rows.chunks[0][:-1]]).tolist()
        partitions = rows.to_delayed().reshape(-1).tolist()
        units = [
            Unit(StoreUnit(Input(np.asarray, partition), first), count * region.row_nbytes)
            for partition, first, count in zip(partitions, firsts, rows.chunks[0], strict=True)
        ]
        runner.run(Pass("store-rows", _store, units, region))
    elif isinstance(rows, np.ndarray) and runner.resources.cluster not in ("threads", "sync"):
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        region.write(rows, 0)
    else:
        return rows
    return StoredRows("rows", [region])


@dataclass(frozen=True, slots=True)
class StoreUnit:
    """A chunk of a dask array, and its first row."""

    block: Input[np.ndarray]
    first: int


def _store(unit: StoreUnit, region: Region) -> None:
    region.write(unit.block.read(), unit.first)


def _write(rows: Reordered, out: Path, runner: Runner) -> None:
    """Write all rows to ``*.npy`` or ``*.zarr``, which appears when complete."""
    step = rows.block_rows
    if out.suffix == ".zarr":
        target = create_rows_array(temporary_path(out), rows.shape, rows.dtype, step)
    else:
        target = create_npy(temporary_path(out), rows.dtype, rows.shape)
    starts = list(range(0, rows.shape[0], step))
    if not rows.shift:
        # new IDs run part by part, each through the whole input: read the same of all parts at a time
        starts.sort(key=lambda start: int(rows.places[start]))
    units = [Unit(start, BLOCK_NBYTES) for start in starts]
    runner.run(Pass("reorder-rows", _write_block, units, ReorderConfig(rows, target)))
    publish(out)


@dataclass(frozen=True, slots=True)
class ReorderConfig:
    """Rows to write, in the new order, and the file or zarr array for them."""

    rows: Reordered
    target: Any


def _write_block(start: int, config: ReorderConfig) -> None:
    rows, target = config.rows, config.target
    stop = min(start + rows.block_rows, rows.shape[0])
    if isinstance(target, Region):
        target.write(rows[start:stop], start)
        return
    with attach_path_to_error(str(target.store_path)):
        target[start:stop] = rows[start:stop]
