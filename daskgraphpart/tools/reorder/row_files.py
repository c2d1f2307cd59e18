"""Read and write rows of nodes or edges: npy, zarr, torch tensors (``*.pt``) and parquet.

Parquet holds numbers or lists of numbers, and perhaps a column `id`. On reading, `id` must count rows from 0, since
rows are taken by position. On writing, it has the original ID, or the user's own ID if there is an ID map.

Scores become the number of their largest column, and codes of a feature the text they stand for.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from daskgraphpart.errors import (
    InputFileError,
    InputFileNotFoundError,
    LayoutError,
    OptionError,
    OutputExistsError,
    check_choice,
)
from daskgraphpart.extras import torch_module
from daskgraphpart.graph.companion_files import codes_name
from daskgraphpart.graph.output import parquet_writer, to_arrow
from daskgraphpart.graph.read_parquet import open_parquet, read_parquet_header, read_rows, row_of
from daskgraphpart.graph.rows import refuse_missing_values
from daskgraphpart.ids.id_map import COLUMN, find_map, id_batches
from daskgraphpart.ids.ranges import is_tensor, to_array, to_tensor
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.partitioned.part_collections import lazy_rows
from daskgraphpart.partitioned.stored_rows import BLOCK_NBYTES, Reordered, StoredRows
from daskgraphpart.schema import BFLOAT16, DataSpec
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.paths import AnyPath, Location, is_remote, join_path, leads_outside, resolve_path, to_key
from daskgraphpart.storage.region import map_npy, open_npy
from daskgraphpart.storage.zarr_arrays import open_rows_array

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
    """Files with what the user calls rows, a map of IDs, and their values, text of codes; without, they are numbers."""

    id_map: Location | None = None
    categories: Location | None = None


def write_table(legend: Legend, config: tuple[Reordered, Path]) -> None:
    """Task of the pass `write-table`: write all rows in order into a file, with mapped IDs or row numbers."""
    rows, out = config
    num_rows, done = rows.shape[0], 0
    categories = None if legend.categories is None else Categories(legend.categories)
    value = pa.from_numpy_dtype(rows.dtype) if categories is None else pa.string()
    with whole_file(out) as temporary:
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
        expected=f"the graph that `build --map-ids` wrote, with id_map/{ntype}.parquet",
        hint="give --id-map, or write .npy, .zarr or .pt, which have no IDs",
    )


MISSING_CODE = -1


class LargestColumn:
    """Rows of one number: which column of other rows is the largest, the first of equal ones."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.shape, self.ndim, self.dtype = rows.shape[:1], 1, np.dtype(np.int64)
        self.step = max(1, BLOCK_NBYTES // max(1, rows.shape[1] * rows.dtype.itemsize))

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        pieces = [ids[start : start + self.step] for start in range(0, len(ids), self.step)]
        return np.concatenate([_largest(self.rows[piece]) for piece in pieces] or [np.empty(0, self.dtype)])


def largest_column(rows: Any, place: str) -> Any:
    """Return rows with the number of each row's largest column; dask arrays stay lazy."""
    if len(rows.shape) != 2 or not rows.shape[1]:
        what, hint = "there are no columns to choose from", "leave it out for rows of one number"
        raise OptionError(what, place=place, expected="a score per class", found=f"shape {rows.shape}", hint=hint)
    if hasattr(rows, "dask"):
        return rows.rechunk({1: -1}).map_blocks(_largest, dtype=np.int64, drop_axis=1)
    return LargestColumn(rows)


def _largest(scores: np.ndarray) -> np.ndarray:
    if (scores != scores).any():
        raise OptionError("some scores are NaN, so no column is the largest", hint="replace them first")
    classes: np.ndarray = np.argmax(scores, axis=1)
    return classes


def codes_of(rows: Any, place: str) -> Any:
    """Return codes: rows of integers as they are, or the largest columns of scores."""
    if len(rows.shape) == 2:
        return largest_column(rows, place)
    if rows.dtype.kind not in "iu" or len(rows.shape) != 1:
        expected, kind = "integers, or a score per class", f"{rows.dtype} of shape {rows.shape}"
        raise OptionError("these rows are no codes of categories", place=place, expected=expected, found=kind)
    return rows


def find_categories(of_type: str, features: Collection[str], decoded: str, places: Iterable[Location]) -> Location:
    """Find the file with the text of a feature's codes: a path, or in one of these directories of graphs."""
    if decoded.endswith(".parquet"):
        return resolve_path(decoded)
    for place in places:
        paths = {feature: join_path(place, codes_name(of_type, feature)) for feature in features}
        known = [feature for feature, path in paths.items() if is_file(path)]
        if decoded in known:
            return paths[decoded]
        if known:
            raise OptionError(f"no text of {of_type}/{decoded}", option="decode", expected=f"one of {', '.join(known)}")
    hint = f"give the graph by --id-map, or the file: --decode GRAPH/{codes_name(of_type, decoded)}"
    raise OptionError(f"no text of {of_type}/{decoded} next to the partitions", option="decode", hint=hint)


class Categories:
    """The text that codes of a feature stand for."""

    def __init__(self, path: Location) -> None:
        self.path = path
        with open_parquet(to_key(path)) as file:
            self.texts = file.read().column(0).combine_chunks()
        if not pa.types.is_string(self.texts.type):
            expected = "a file of a graph's categories"
            raise InputFileError("no text of codes", file=str(path), expected=expected, found=str(self.texts.type))

    def decode(self, codes: np.ndarray) -> Any:
        """Return an Arrow array with the text of each code; null for the code of missing values."""
        outside = codes[(codes < MISSING_CODE) | (codes >= len(self.texts))]
        if outside.size:
            expected = f"codes below {len(self.texts):,}, or {MISSING_CODE} for missing values"
            raise OptionError(
                "no category has this code", file=str(self.path), expected=expected, found=int(outside[0])
            )
        return self.texts.take(pa.array(codes, pa.int64(), mask=codes == MISSING_CODE))


def decode_block(codes: np.ndarray, path: Location) -> np.ndarray:
    """Return the text of codes as an array of objects."""
    texts: np.ndarray = Categories(path).decode(codes).to_numpy(zero_copy_only=False)
    return texts
