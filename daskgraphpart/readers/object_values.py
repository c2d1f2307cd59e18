"""Rows as users give them: arrays, tensors and columns; node IDs; files of features."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.graph.formats import feature_files
from daskgraphpart.graph.metadata import Files
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.graph.rows import refuse_missing_values
from daskgraphpart.graph.sources import FileRows
from daskgraphpart.readers.list_files import local_name
from daskgraphpart.readers.tabular import what_to_give

_FORMS = {".npy": "numpy", ".parquet": "parquet", ".pq": "parquet"}


def paths_in(values: Any) -> list[str] | None:
    """Return the paths that name a feature; None if it is given otherwise."""
    values = [values] if isinstance(values, (str, os.PathLike)) else values
    is_paths = isinstance(values, (list, tuple)) and values and all(isinstance(v, (str, os.PathLike)) for v in values)
    return list(map(os.fspath, values)) if is_paths else None


def file_rows(name: str, paths: Sequence[str], place: str | None = None) -> FileRows:
    """Open a feature's npy or parquet files, which must agree in dtype and row shape."""
    paths = [local_name(path) for path in paths]
    forms = {_FORMS.get(Path(path).suffix.lower(), "") for path in paths}
    form = forms.pop() if len(forms) == 1 else ""
    if not form:
        raise InputFileError(
            f"feature {name!r} has files of unknown or mixed kinds",
            file=paths[0] if paths else None,
            place=place,
            expected="npy files, or parquet files",
            found=", ".join(paths[:3]) or "none",
        )
    for path in paths:
        if not Path(path).is_file():
            raise InputFileNotFoundError("no such file", file=path, place=f"feature {name!r}")
    spec, files = feature_files(name, Files(form, " ", tuple(paths)))
    if spec.row_shape == (1,) and form == "parquet" and _is_plain_column(paths[0]):
        spec = replace(spec, row_shape=())
    return FileRows(files, spec)


def _is_plain_column(path: str) -> bool:
    """Whether a parquet file has one number per row; DGL's reader makes it a row of one number."""
    header = read_parquet_header(path)
    return b"shape" not in (header.schema.metadata or {}) and header.schema.field(0).type.num_fields == 0


def as_array(values: Any, what: str) -> np.ndarray:
    """Return a tensor, frame column or list as an array; arrays and memory maps stay."""
    refuse_missing_values(values, what)
    try:
        array: np.ndarray = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as fault:
        raise OptionError(f"{what}: not an array that numpy can hold", found=str(fault)[:200]) from fault
    if array.ndim == 0:
        kind = type(values).__name__
        expected, hint = "an array, a frame, or paths of files", what_to_give(values)
        raise OptionError(f"{what}: no rows", expected=expected, found=kind, hint=hint)
    return values if isinstance(values, np.ndarray) else array


def as_ids(values: Any, what: str) -> np.ndarray:
    """Return node IDs as int64; refuse anything but a column of integers."""
    array, fault = as_array(values, what), ""
    if array.ndim != 1:
        raise OptionError(f"{what}: not a column of node IDs", expected="one dimension", found=f"shape {array.shape}")
    if (
        array.dtype == object and array.size and isinstance(array[0], (int, np.integer))
    ):  # pandas' form with missing values
        try:
            return np.array(array.tolist(), np.int64)
        except (TypeError, ValueError, OverflowError):
            fault = "missing values, or values that are no 63-bit integers"
    elif array.dtype.kind == "f" and np.isnan(array).any():
        fault = "missing values"
    elif array.dtype.kind not in "iu" and array.size:
        fault = f"dtype {array.dtype}"
    elif array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        fault = f"{array.max()}, which takes 64 bits"
    if fault:
        hint = "give integers from 0, or map names by scan_tables(..., map_ids=True)"
        raise OptionError(f"{what}: not node IDs", expected="whole numbers", found=fault, hint=hint)
    return array.astype(np.int64, copy=False)
