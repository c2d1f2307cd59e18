"""A graph as it was handed in, before anything lazy in it is computed: its edges and features in any form."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.formats import feature_files
from daskgraphpart.chunked.metadata import Files
from daskgraphpart.chunked.read_parquet import read_parquet_header
from daskgraphpart.chunked.rows import array_rows, refuse_gaps
from daskgraphpart.chunked.sources import FileRows, Rows, is_rows
from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


HOMOGENEOUS_NODES, HOMOGENEOUS_EDGES = DEFAULT_NTYPE, DEFAULT_ETYPE


@dataclass(frozen=True, slots=True, eq=False)
class LazyRows:
    """A dask array, or a column of a dask frame; `what` it is, for messages."""

    what: str
    collection: Any
    column: Any = None
    is_ids: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GraphSource:
    """A graph as it was handed in; node and edge types are in the order of type IDs.

    A number of nodes is None where nobody has said; `edges` are pairs of sources and destinations, `data` features by
    any type and name: first in any form, then as `Rows` or `LazyRows`. `files` are those that edges are read from.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, tuple[Any, Any]]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Any]:
        """All ends of edges and features."""
        ends = [end for pair in self.edges.values() for end in pair]
        return ends + [rows for features in self.data.values() for rows in features.values()]


def canonical_name(etype: Any, known: Collection[str] = ()) -> str:
    """Return ``src:rel:dst`` of a tuple or of that name itself; of a plain relation, the one known type that has it.

    Where no types are known, a plain relation joins nodes of the one default type.
    """
    parts = etype.split(":") if isinstance(etype, str) else etype
    if isinstance(etype, str) and len(parts) == 1 and etype:
        found = [name for name in known if name.split(":")[1] == etype]
        if len(found) > 1 or (known and not found):
            what = "several edge types have this name" if found else "edge data of an unknown type"
            raise OptionError(what, expected=f"one of {', '.join(found or known)}", found=etype)
        return found[0] if found else f"{HOMOGENEOUS_NODES}:{etype}:{HOMOGENEOUS_NODES}"
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        expected = "('user', 'follows', 'user') or 'user:follows:user'"
        raise OptionError("not a canonical edge type", expected=expected, found=repr(etype))
    return ":".join(parts)


_FORMS = {".npy": "numpy", ".parquet": "parquet", ".pq": "parquet"}


def rows_of(values: Any, what: str) -> Rows | LazyRows:
    """Describe a feature: an array, memmap, tensor, dask array or column, path of an npy or parquet file, or paths."""
    if isinstance(values, LazyRows) or is_rows(values):
        rows: Rows | LazyRows = values
        return rows
    if (paths := paths_in(values)) is not None:
        return file_rows(what.rpartition("/")[2], paths)
    if hasattr(values, "dask"):
        return LazyRows(what, values)
    is_sliced = hasattr(values, "shape") and hasattr(values, "dtype") and hasattr(values, "__array__")
    if not is_sliced or hasattr(values, "detach") or hasattr(values, "to_numpy"):
        values = as_array(values, what)
    if not values.shape:
        raise OptionError(f"{what}: not rows", expected="one row per node or edge", found="a single value")
    return array_rows(values, what)


def paths_in(values: Any) -> list[str] | None:
    """Return the path, or the paths, that a feature is given by; None if it is given otherwise."""
    values = [values] if isinstance(values, (str, os.PathLike)) else values
    is_paths = isinstance(values, (list, tuple)) and values and all(isinstance(v, (str, os.PathLike)) for v in values)
    return list(map(os.fspath, values)) if is_paths else None


def file_rows(name: str, paths: Sequence[str], place: str | None = None) -> FileRows:
    """Open the npy or parquet files of a feature, which must agree in dtype and shape of a row."""
    forms = {_FORMS.get(Path(path).suffix.lower(), "") for path in paths}
    form = forms.pop() if len(forms) == 1 else ""
    if not form:
        raise InputFileError(
            f"feature {name!r} is in files of unknown kind, or of several",
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
    """Whether a parquet file has one number in each row; DGL's reader of CGDF makes a row of one number of it."""
    header = read_parquet_header(path)
    return b"shape" not in (header.schema.metadata or {}) and header.schema.field(0).type.num_fields == 0


def as_array(values: Any, what: str) -> np.ndarray:
    """Return a tensor, a column of a frame or a list as an array; arrays and memory maps stay what they are."""
    refuse_gaps(values, what)
    if isinstance(values, np.ndarray):
        return values
    try:
        array: np.ndarray = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as fault:
        raise OptionError(f"{what}: not an array that numpy can hold", found=str(fault)[:200]) from fault
    return array


def ids_of(values: Any, what: str) -> Rows | LazyRows:
    """Describe one end of edges: node IDs, as int64; whether there are such nodes is checked when they are written."""
    if isinstance(values, LazyRows):
        return replace(values, what=what, is_ids=True)
    return LazyRows(what, values, is_ids=True) if hasattr(values, "dask") else array_rows(as_ids(values, what))


def as_ids(values: Any, what: str) -> np.ndarray:
    """Return node IDs as int64; refuse what is no column of whole numbers."""
    array, found = as_array(values, what), ""
    if array.ndim != 1:
        raise OptionError(f"{what}: not a column of node IDs", expected="one dimension", found=f"shape {array.shape}")
    if array.dtype == object and array.size and isinstance(array[0], (int, np.integer)):  # pandas' with missing values
        try:
            return np.array(array.tolist(), np.int64)
        except (TypeError, ValueError, OverflowError):
            found = "missing values, or something that is no whole number of 63 bits"
    elif array.dtype.kind == "f" and np.isnan(array).any():
        found = "missing values"
    elif array.dtype.kind not in "iu" and array.size:
        found = f"dtype {array.dtype}"
    elif array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        found = f"{array.max()}, which takes 64 bits"
    if found:
        hint = "IDs are whole numbers from 0; for names, write an edge list and use `daskgraphpart chunk --map-ids`"
        raise OptionError(f"{what}: not node IDs", expected="whole numbers", found=found, hint=hint)
    return array.astype(np.int64, copy=False)
