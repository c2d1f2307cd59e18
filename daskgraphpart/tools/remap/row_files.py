"""Read and write rows of nodes or edges: npy, zarr, torch tensors (``*.pt``) and parquet.

Parquet holds numbers or lists of numbers, and perhaps a column `id`. On reading, `id` must count rows from 0, since
rows are taken by position. On writing, it has the original ID, or the user's own ID if there is an ID map.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import (
    InputFileError,
    InputFileNotFoundError,
    LayoutError,
    OptionError,
    OutputExistsError,
    check_choice,
)
from daskgraphpart.extras import torch_module
from daskgraphpart.graph.output import parquet_writer, to_arrow
from daskgraphpart.graph.read_parquet import read_parquet_header, read_rows, row_of
from daskgraphpart.graph.rows import refuse_missing_values
from daskgraphpart.ids.id_map import COLUMN, find_map, id_batches
from daskgraphpart.ids.ranges import is_tensor, to_array, to_tensor
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.partitioned.part_collections import lazy_rows
from daskgraphpart.partitioned.stored_rows import Reordered, StoredRows
from daskgraphpart.schema import BFLOAT16, DataSpec
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.paths import AnyPath, Location, is_remote, join_path, leads_outside, resolve_path, to_key
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.storage.zarr_arrays import open_rows_array
from daskgraphpart.tools.remap.decode import Categories

if TYPE_CHECKING:
    from collections.abc import Mapping

SUFFIXES = (".npy", ".zarr", ".pt", ".parquet")
VALUE = "value"
"""Column of a parquet file that is written."""


def open_rows(rows: Any, num_rows: int, what: str) -> Any:
    """Open given rows as something with `shape`, `dtype` and slices."""
    refuse_missing_values(rows, what)
    array, source = rows, None
    if isinstance(rows, (str, os.PathLike)):
        source = os.fspath(rows)
        array = _open_file(source)
    elif is_tensor(rows):
        array = to_array(rows)
    elif hasattr(rows, "to_dask_array"):
        array = rows.to_dask_array(lengths=True)
    elif not hasattr(rows, "dtype") or hasattr(rows, "to_numpy"):  # pandas rows go by position, too
        array = np.asarray(rows)
    if not array.shape or array.shape[0] != num_rows:
        is_unknown = array.shape and np.isnan(array.shape[0])
        raise OptionError(
            f"the rows do not fit the {what}",
            file=source,
            expected=f"{num_rows:,} rows",
            found="an unknown number" if is_unknown else f"an array of shape {array.shape}",
            hint="call compute_chunk_sizes() of the dask array first" if is_unknown else None,
        )
    return array


def _open_file(path: str) -> Any:
    suffix = Path(path).suffix
    if suffix == ".parquet":
        return lazy_rows(ParquetRows(path), name=False)
    if suffix in (".pt", ".pth"):
        return _load_tensor(path)
    if suffix not in SUFFIXES:
        raise OptionError(f"{path} has no known format", hint=f"give a file that ends in {', '.join(SUFFIXES)}")
    return open_rows_array(path) if Path(path).is_dir() else StoredRows(path, [open_npy(path)])


def _load_tensor(path: str) -> np.ndarray:
    """Map the tensor in a file of `torch.save`; unpickle nothing else."""
    torch = torch_module()
    try:
        tensor = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
        if is_tensor(tensor):
            return to_array(tensor)
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path) from fault
    except Exception as fault:  # torch raises RuntimeError, pickle's errors, TypeError for dtypes numpy lacks, ...
        if getattr(fault, "errno", None):
            raise  # the machine's fault, not the file's
        text = str(fault).splitlines()[0][:200]
        hint = "save it by torch.save(rows.cpu().float(), path)"
        raise InputFileError("cannot read this tensor", file=path, found=text, hint=hint) from fault
    hint = "save one tensor with a row per node by torch.save"
    raise InputFileError("not a tensor", file=path, expected="one tensor", found=type(tensor).__name__, hint=hint)


class ParquetRows:
    """Rows of a parquet file, read by slices."""

    def __init__(self, path: str) -> None:
        header = read_parquet_header(path)
        names = header.schema.names
        self.path, self.has_ids = path, COLUMN in names
        self.names = [name for name in names if name != COLUMN]
        if self.has_ids:
            header = replace(header, schema=header.schema.remove(names.index(COLUMN)))
        self.dtype, row_shape = row_of(header, path)
        is_scalar = len(self.names) == 1 and row_shape == (1,) and b"shape" not in (header.schema.metadata or {})
        self.shape = (header.num_rows, *(() if is_scalar else row_shape or (0,)))
        self.ndim = len(self.shape)

    def __getitem__(self, where: Any) -> np.ndarray:
        first, *rest = where if isinstance(where, tuple) else (where,)
        start, stop, _ = first.indices(self.shape[0])
        if self.has_ids:
            ids = read_rows(self.path, start, stop, DataSpec(COLUMN, np.dtype(np.int64)), [COLUMN])
            wrong = np.flatnonzero(ids != np.arange(start, stop))
            if wrong.size:
                raise InputFileError(
                    "IDs must count the rows from 0",
                    file=self.path,
                    place=f"row {start + int(wrong[0]):,}, column {COLUMN!r}",
                    expected=f"{start + int(wrong[0]):,}",
                    found=int(ids[wrong[0]]),
                    hint=f"sort the rows by ID, or leave out the column {COLUMN!r}",
                )
        spec = DataSpec(VALUE, self.dtype, self.shape[1:])
        return read_rows(self.path, start, stop, spec, self.names)[(slice(None), *rest)]


def check_output(out: Path, dtype: np.dtype, overwrite: bool) -> None:
    """Check that the output can be replaced, and that its format is known and can hold the dtype."""
    check_choice("format of the output", str(out), out.suffix, (".npy", ".pt") if dtype == BFLOAT16 else SUFFIXES)
    if out.exists():
        if not overwrite:
            raise OutputExistsError("the output exists", file=str(out), hint="add --overwrite, or choose another name")
        if out.is_dir():
            if not (out / "zarr.json").is_file():
                raise OutputExistsError("the output is a directory, but no zarr array", file=str(out), hint="remove it")
            shutil.rmtree(out)
    out.parent.mkdir(parents=True, exist_ok=True)


def save_tensor(rows: str, out: Path) -> None:
    """Write the rows of an npy file as a tensor, by memory mapping."""
    torch = torch_module()
    with whole_file(out) as temporary:
        torch.save(to_tensor(map_npy(rows)), temporary)


@dataclass(frozen=True, slots=True)
class Legend:
    """Files with what the user calls rows, a map of IDs, and their values, text of codes."""

    id_map: Location | None = None
    categories: Location | None = None


NUMBERS = Legend()
"""Rows are counted, and their values are numbers."""


@dataclass(frozen=True, slots=True)
class TableConfig:
    """Rows to write, in the new order, and their file."""

    rows: Reordered
    out: Path


def write_table(legend: Legend, config: TableConfig) -> None:
    """Task of the pass `write-table`: write all rows in order, with mapped IDs or row numbers."""
    import pyarrow as pa

    rows = config.rows
    num_rows, done = rows.shape[0], 0
    categories = None if legend.categories is None else Categories(legend.categories)
    value = pa.from_numpy_dtype(rows.dtype) if categories is None else pa.string()
    with whole_file(config.out) as temporary:
        ids = id_batches(legend.id_map, num_rows, rows.block_rows)
        id_type = next(ids)
        fields = [(COLUMN, id_type), (VALUE, pa.list_(value) if rows.ndim > 1 else value)]
        schema = pa.schema(fields, metadata={b"shape": str(rows.shape).encode()})
        with parquet_writer(temporary, schema) as writer:
            for batch in ids:
                block = rows[done : done + len(batch)]
                values = to_arrow(block) if categories is None else categories.decode(block)
                writer.write_table(pa.table([batch, values], schema=schema))
                done += len(batch)


def recorded_maps(
    config_path: Location, graph_name: str, *, confined: bool
) -> tuple[Location, Mapping[str, str]] | None:
    """Read from the manifest where the ID maps of the partitioned graph are, and their checksums."""
    parent = config_path.parent
    manifest = find_manifest(parent, graph_name)
    stated = None if manifest is None else IdMaps.of(read_manifest(manifest).content, manifest)
    if stated is None:
        return None
    if is_remote(parent):
        return join_path(parent, stated.directory), stated.checksums
    directory = os.path.normpath(os.path.join(str(parent), stated.directory))
    if confined and leads_outside(directory, parent):
        what = "--confined refuses the ID map, which lies outside the partitions"
        hint = "give its path by --id-map"
        raise LayoutError(what, file=str(manifest), place="id_map", found=directory, hint=hint)
    return Path(directory), stated.checksums


def find_id_map(
    given: AnyPath | None, ntype: str, config_path: Location, graph_name: str, *, confined: bool
) -> Location | None:
    """Find a node type's ID map: a graph, its directory ``id_map``, or the file; by default from the manifest.

    Returns None if neither names one.
    """
    checksum = None
    if given is None:
        stated = recorded_maps(config_path, graph_name, confined=confined)
        if stated is None:
            return None
        given, checksum = stated[0], stated[1].get(ntype)
    if (path := find_map(resolve_path(given), ntype)) is not None:
        if checksum is not None and hash_file(to_key(path)).digest != checksum:
            what = f"the ID map of {ntype!r} has been replaced since partitioning"
            raise InputFileError(what, file=str(path), hint="give the original map by --id-map")
        return path
    raise InputFileNotFoundError(
        f"no ID map of {ntype!r}",
        file=str(given),
        expected=f"the graph that `chunk --map-ids` wrote, with id_map/{ntype}.parquet",
        hint="give --id-map, or write .npy, .zarr or .pt, which have no IDs",
    )
