"""Graphs in dictionaries: edge type -> frame of pandas or dask, or pair of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.chunking.objects.from_arrays import rows_of
from daskgraphpart.chunking.objects.rows import ArrayRows, as_array, as_id_array
from daskgraphpart.chunking.objects.source import GraphSource, LazyFrame, canonical_name, ntypes_of
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunking.objects.rows import Rows
    from daskgraphpart.chunking.objects.source import LazyArray


def from_edges(edges: Mapping[Any, Any]) -> GraphSource:
    """Describe a graph given by its edges.

    Parameters
    ----------
    edges : mapping
        By canonical edge type (a tuple, or ``"src:rel:dst"``): a frame whose columns `src` and `dst`, or else whose
        first two, are type-wise IDs and whose others are features; or a pair of arrays, sources and destinations.

    Raises
    ------
    OptionError
        If the edges of a type are something else.
    """
    if not edges:
        raise OptionError("a graph without edge types", expected="{('user', 'follows', 'user'): edges, ...}")
    found: dict[str, Any] = {}
    edge_data: dict[str, Mapping[str, Rows | LazyArray]] = {}
    for key, value in edges.items():
        etype = canonical_name(key)
        if etype in found:
            raise OptionError("edge type is given twice", found=etype)
        if hasattr(value, "columns"):
            found[etype], edge_data[etype] = _from_frame(etype, value)
        else:
            found[etype] = _from_pair(etype, value)
    return GraphSource(dict.fromkeys(ntypes_of(list(found))), found, {}, edge_data)


def _from_frame(etype: str, frame: Any) -> tuple[Any, dict[str, Any]]:
    names = list(frame.columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise OptionError(
            f"edges of type {etype!r}: not a frame of edges", expected="columns src and dst, each name once",
            found=", ".join(map(str, names)) or "no columns",
        )  # fmt: skip
    ends = ["src", "dst"] if {"src", "dst"} <= set(names) else names[:2]
    features = [name for name in names if name not in ends]
    if hasattr(frame, "npartitions"):
        return LazyFrame(frame, [*ends, *features]), {}
    src, dst = (ArrayRows(as_id_array(as_array(frame[end], etype), f"{etype}, column {end!r}")) for end in ends)
    return (src, dst), {str(name): rows_of(frame[name], f"{etype}, column {name!r}") for name in features}


def _from_pair(etype: str, value: Any) -> tuple[Any, Any]:
    pair: Sequence[Any] = value if isinstance(value, (tuple, list)) else ()
    if hasattr(value, "shape") and tuple(value.shape[:1]) == (2,):  # edge_index of PyG
        pair = (value[0], value[1])
    if len(pair) != 2:
        raise OptionError(
            f"edges of type {etype!r} are not edges",
            expected="a frame with columns src and dst, or a pair (sources, destinations)",
            found=type(value).__name__,
        )
    src, dst = (_ids_of(end, f"{etype}, {name}") for end, name in zip(pair, ("sources", "destinations"), strict=True))
    return src, dst


def _ids_of(values: Any, what: str) -> Any:
    if hasattr(values, "dask"):
        return rows_of(values, what)
    return ArrayRows(as_id_array(as_array(values, what), what))
