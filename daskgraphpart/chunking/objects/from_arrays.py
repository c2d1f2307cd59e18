"""Features in any form: arrays, memory maps, tensors, files, arrays of dask."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunking.objects.rows import ArrayRows, as_array, file_rows
from daskgraphpart.chunking.objects.source import LazyArray, canonical_name
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.objects.rows import Rows


def rows_of(values: Any, what: str) -> Rows | LazyArray:
    """Describe a feature.

    Parameters
    ----------
    values : array, memmap, tensor, dask array, path or sequence of paths
        One row per node or edge; paths are those of npy or parquet files.
    what : str
        Its name, for messages.

    Raises
    ------
    OptionError, InputFileError
        If it is none of these.
    """
    if isinstance(values, (str, os.PathLike)):
        return file_rows(what, [os.fspath(values)])
    if isinstance(values, (list, tuple)) and values and all(isinstance(value, (str, os.PathLike)) for value in values):
        return file_rows(what, [os.fspath(value) for value in values])
    if hasattr(values, "dask") and hasattr(values, "to_dask_array"):  # a column of a dask frame
        return LazyArray(values.to_dask_array())
    if hasattr(values, "dask") and hasattr(values, "chunks"):
        return LazyArray(values)
    sliced = hasattr(values, "shape") and hasattr(values, "dtype") and hasattr(values, "__array__")
    if sliced and not hasattr(values, "detach") and not hasattr(values, "to_numpy"):
        array = values
    else:
        array = as_array(values, what)
    if not array.shape:
        raise OptionError(f"{what}: not rows", expected="one row per node or edge", found="a single value")
    return ArrayRows(array)


def data_of(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, dict[str, Rows | LazyArray]]:
    """Describe all features, by type and name; of a graph with one type they may be given by name only.

    Parameters
    ----------
    data : mapping, optional
        ``{type: {name: values}}``, or ``{name: values}``.
    types : sequence of str
        Node types or canonical edge types of the graph.
    what : str
        ``"node"`` or ``"edge"``.

    Raises
    ------
    OptionError
        If a type is unknown.
    """
    if not data:
        return {}
    nested = all(isinstance(value, Mapping) for value in data.values())
    if not nested:
        if len(types) != 1 or any(isinstance(value, Mapping) for value in data.values()):
            raise OptionError(
                f"{what} data of a graph with several {what} types", expected=f"{{{what} type: {{name: rows}}}}",
                found=", ".join(map(str, list(data)[:5])),
            )  # fmt: skip
        data = {types[0]: data}
    found: dict[str, dict[str, Rows | LazyArray]] = {}
    for key, features in data.items():
        name = key if what == "node" else canonical_name(key)
        if name not in types:
            raise OptionError(f"{what} data of an unknown type", expected=f"one of {', '.join(types)}", found=name)
        found[name] = {feature: rows_of(values, f"{name}/{feature}") for feature, values in features.items()}
    return found
