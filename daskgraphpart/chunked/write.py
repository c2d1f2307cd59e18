"""Write chunked graphs: single files, metadata in both dialects, and whole graphs from arrays in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.write_pieces import EDGES_PER_PIECE, SUFFIXES, edge_writer, row_writer, rows_per_piece
from daskgraphpart.errors import InputFileError
from daskgraphpart.schema import DataSpec
from daskgraphpart.storage.atomic import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.schema import GraphSchema


def write_edges(path: str | Path, src: np.ndarray, dst: np.ndarray, format: str, delimiter: str = " ") -> None:
    """Write one file of edges.

    Parameters
    ----------
    path : path
        The file; its directory is made if need be.
    src, dst : int64 array (edges,)
        Type-wise IDs.
    format : str
        ``"csv"``, ``"numpy"`` or ``"parquet"``.
    delimiter : str
        Between the columns of CSV.
    """
    with edge_writer(path, format, len(src), delimiter) as write:
        for start in range(0, len(src), EDGES_PER_PIECE):
            piece = slice(start, start + EDGES_PER_PIECE)
            write(np.stack([src[piece], dst[piece]], axis=1))


def write_rows(path: str | Path, rows: np.ndarray, format: str) -> None:
    """Write one file of a feature.

    Parameters
    ----------
    path : path
        The file; its directory is made if need be.
    rows : array (rows, ...)
        The feature.
    format : str
        ``"numpy"`` or ``"parquet"``.
    """
    spec = DataSpec("data", rows.dtype, rows.shape[1:])
    at_once = rows_per_piece(spec)
    with row_writer(path, format, spec, len(rows)) as write:
        for start in range(0, len(rows), at_once):
            write(rows[start : start + at_once])


def write_metadata(
    directory: str | Path,
    schema: GraphSchema,
    edge_files: Mapping[str, Sequence[str | Path]],
    node_files: Mapping[str, Mapping[str, Sequence[str | Path]]],
    edge_data_files: Mapping[str, Mapping[str, Sequence[str | Path]]],
    *,
    edge_format: str,
    data_format: str,
    delimiter: str = " ",
) -> Path:
    """Write `metadata.json` in both dialects, last of all files.

    Parameters
    ----------
    directory : path
        Where it goes; paths inside it are written relative to it.
    schema : GraphSchema
        Types and counts.
    edge_files, node_files, edge_data_files : mapping
        Files of each edge type, of each feature of each node type, of each feature of each edge type.
    edge_format, data_format : str
        Formats of edges and of features.
    delimiter : str
        Of CSV.

    Returns
    -------
    Path
        The file.
    """
    directory = Path(directory).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    edge_entry: dict[str, str] = {"name": edge_format}
    if edge_format == "csv":
        edge_entry["delimiter"] = delimiter

    def entry(form: dict[str, str], paths: Sequence[str | Path]) -> dict[str, Any]:
        return {"format": form, "data": [_relative(path, directory) for path in paths]}

    def data(files: Mapping[str, Mapping[str, Sequence[str | Path]]]) -> dict[str, Any]:
        form = {"name": data_format}
        return {kind: {name: entry(form, paths) for name, paths in of.items()} for kind, of in files.items() if of}

    content = {
        "graph_name": schema.name,
        "node_type": list(schema.ntypes),
        "num_nodes_per_type": [t.num_nodes for t in schema.node_types],
        "num_nodes_per_chunk": [[t.num_nodes] for t in schema.node_types],
        "edge_type": list(schema.etypes),
        "num_edges_per_type": [t.num_edges for t in schema.edge_types],
        "num_edges_per_chunk": [[t.num_edges] for t in schema.edge_types],
        "edges": {etype: entry(edge_entry, edge_files.get(etype, ())) for etype in schema.etypes},
        "node_data": data(node_files),
        "edge_data": data(edge_data_files),
    }
    path = directory / "metadata.json"
    write_json(path, content)
    return path


def write_chunked(
    directory: str | Path,
    schema: GraphSchema,
    edges: Mapping[str, tuple[np.ndarray, np.ndarray]],
    node_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    edge_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    *,
    edge_format: str = "csv",
    data_format: str = "numpy",
    num_chunks: int | tuple[int, int] = 1,
    delimiter: str = " ",
) -> Path:
    """Write a graph that is in memory as a chunked graph.

    Parameters
    ----------
    directory : path
        Made if need be.
    schema : GraphSchema
        Types and counts; features are taken from the arrays.
    edges : mapping of str to (src, dst)
        By canonical edge type, type-wise IDs.
    node_data, edge_data : mapping of str to mapping of str to array, optional
        By type and feature.
    edge_format, data_format : str
        Formats of edges and of features.
    num_chunks : int or (int, int)
        Files for each edge type and each feature; two numbers set them apart.
    delimiter : str
        Of CSV.

    Returns
    -------
    Path
        The metadata file.
    """
    directory = Path(directory)
    edge_chunks, data_chunks = (num_chunks, num_chunks) if isinstance(num_chunks, int) else num_chunks
    edge_files = {}
    for number, edge_type in enumerate(schema.edge_types):
        ends = edges[edge_type.name]
        if len(ends[0]) != edge_type.num_edges or len(ends[1]) != edge_type.num_edges:
            raise InputFileError(
                f"wrong number of edges of type {edge_type.name!r}", expected=edge_type.num_edges, found=len(ends[0])
            )
        paths = [directory / "edges" / f"{number}-{i}.{SUFFIXES[edge_format]}" for i in range(edge_chunks)]
        for path, src, dst in zip(paths, *(np.array_split(end, edge_chunks) for end in ends), strict=True):
            write_edges(
                path, src.astype(np.int64, copy=False), dst.astype(np.int64, copy=False), edge_format, delimiter
            )
        edge_files[edge_type.name] = paths
    return write_metadata(
        directory,
        schema,
        edge_files,
        _write_data(directory / "node_data", schema.ntypes, node_data or {}, data_format, data_chunks),
        _write_data(directory / "edge_data", schema.etypes, edge_data or {}, data_format, data_chunks),
        edge_format=edge_format,
        data_format=data_format,
        delimiter=delimiter,
    )


def _write_data(
    directory: Path, types: Sequence[str], data: Mapping[str, Mapping[str, np.ndarray]], form: str, num_chunks: int
) -> dict[str, dict[str, list[Path]]]:
    files: dict[str, dict[str, list[Path]]] = {}
    for number, type_name in enumerate(types):
        for i, (name, rows) in enumerate(data.get(type_name, {}).items()):
            paths = [directory / f"{number}-{i}-{chunk}.{SUFFIXES[form]}" for chunk in range(num_chunks)]
            for path, piece in zip(paths, np.array_split(rows, num_chunks), strict=True):
                write_rows(path, piece, form)
            files.setdefault(type_name, {})[name] = paths
    return files


def _relative(path: str | Path, directory: Path) -> str:
    absolute = Path(path).absolute()
    return os.fspath(absolute.relative_to(directory) if absolute.is_relative_to(directory) else absolute)
