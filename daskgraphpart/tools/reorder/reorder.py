"""Bring rows from the order of new IDs into input order, and back, in bounded memory.

Row i of the result is row ``places[i]`` of the input. To get original order, places are the original IDs in the parts;
to get new order, they are the inverse, written to a temporary file. Blocks of the result are independent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import LayoutError
from daskgraphpart.graph.dask_sources import DaskRows, run_collections
from daskgraphpart.partitioned.part_collections import reordered_array
from daskgraphpart.partitioned.stored_rows import BLOCK_NBYTES, Reordered, StoredRows
from daskgraphpart.storage.atomic import publish, temporary_path
from daskgraphpart.storage.faults import attach_path_to_error, environment_faults
from daskgraphpart.storage.region import Region, create_npy, map_npy
from daskgraphpart.storage.scratch import lasting_directory, scratch_directory
from daskgraphpart.storage.zarr_arrays import create_rows_array
from daskgraphpart.tools.reorder import row_files

if TYPE_CHECKING:
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.source import Block

IDS_PER_READ = 1 << 20


def reorder(
    rows: Any,
    originals: StoredRows,
    out: Path | None,
    *,
    to_original: bool,
    legend: row_files.Legend = row_files.Legend(),  # noqa: B008  # frozen
    resources: Resources,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Bring rows into the other order; see `PartitionedGraph.to_original`."""
    rows = row_files.open_rows(rows, len(originals), originals.name)
    resources = resources.limited(2 * BLOCK_NBYTES)
    with environment_faults(), open_runner(resources, progress) as runner:
        if out is None:
            inverse = invert(originals, lasting_directory(resources.workspace), runner)
            reordered = reordered_array(Reordered(rows, inverse, 1) if to_original else Reordered(rows, originals, 0))
            if legend.categories is None:
                return reordered
            return reordered.map_blocks(row_files.decode_block, legend.categories, dtype=object)
        row_files.check_output(out, rows.dtype, overwrite)
        with scratch_directory(resources.workspace or out.parent) as scratch:
            inverse = invert(originals, scratch, runner)
            rows = _as_stored(rows, scratch, runner)
            how = Reordered(rows, inverse, 1) if to_original else Reordered(rows, originals, 0)
            if out.suffix == ".parquet":  # one file is written from front to back
                runner.run(Pass("write-table", row_files.write_table, [Unit(legend, BLOCK_NBYTES)], (how, out)))
            elif out.suffix == ".pt":
                _write(how, scratch / "reordered.npy", runner)
                row_files.save_tensor(str(scratch / "reordered.npy"), out)
            else:
                _write(how, out, runner)
        return out


def invert(originals: StoredRows, scratch: Path, runner: Runner) -> StoredRows:
    """Write new IDs by original ID, counted from 1; check that every original ID occurs once."""
    num_rows = len(originals)
    inverse = create_npy(scratch / "inverse.npy", np.int64, (num_rows,), is_mapped=True)
    units = [Unit(start, 8 * IDS_PER_READ) for start in range(0, num_rows, IDS_PER_READ)]
    runner.run(Pass("invert-map", _invert, units, (originals, inverse)))
    runner.run(Pass("check-map", _check, units, (originals, inverse)))
    return StoredRows("new IDs", [inverse])


def _invert(start: int, config: tuple[StoredRows, Region]) -> None:
    originals, inverse = config
    ids, num_rows = originals[start : start + IDS_PER_READ], len(originals)
    outside = ids[(ids < 0) | (ids >= num_rows)]
    if outside.size:
        raise LayoutError(
            "original ID out of range",
            file=originals.regions[0].path,
            expected=f"[0, {num_rows:,})",
            found=int(outside[0]),
        )
    map_npy(inverse.path)[ids] = np.arange(start + 1, start + 1 + len(ids))


def _check(start: int, config: tuple[StoredRows, Region]) -> None:
    originals, inverse = config
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
    if isinstance(rows, row_files.LargestColumn):
        return row_files.LargestColumn(_as_stored(rows.rows, scratch, runner))
    if hasattr(rows, "dask"):
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        blocks = DaskRows("rows", rows).blocks(1)  # its chunks
        units = [Unit(block, block.num_rows * region.row_nbytes) for block in blocks]
        run_collections(runner, Pass("store-rows", _store, units, region))
    elif isinstance(rows, np.ndarray) and runner.resources.cluster not in ("threads", "sync"):
        region = create_npy(scratch / "rows.npy", rows.dtype, rows.shape)
        region.write(rows, 0)
    else:
        return rows
    return StoredRows("rows", [region])


def _store(block: Block[np.ndarray], region: Region) -> None:
    region.write(block.read(), block.first_row)


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
    runner.run(Pass("reorder-rows", _write_block, units, (rows, target)))
    publish(out)


def _write_block(start: int, config: tuple[Reordered, Any]) -> None:
    """Write rows, in the new order, into a file or zarr array."""
    rows, target = config
    stop = min(start + rows.block_rows, rows.shape[0])
    if isinstance(target, Region):
        target.write(rows[start:stop], start)
        return
    with attach_path_to_error(str(target.store_path)):
        target[start:stop] = rows[start:stop]
