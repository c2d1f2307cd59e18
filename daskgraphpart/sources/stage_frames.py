"""Pass `stage-frames`: write frames of edges and nodes into parquet files, so that they are tables like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.sources.arrays import as_array
from daskgraphpart.sources.describe import by_type
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, canonical_name
from daskgraphpart.sources.stage_collections import computed
from daskgraphpart.sources.table_files import TableFile

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.options import GraphChanges, ReadOptions


def is_frame(value: Any) -> bool:
    """Whether something is a frame of pandas or dask."""
    return hasattr(value, "columns") and hasattr(value, "dtypes")


def is_split_by_text(graph: Any, changes: GraphChanges) -> bool:
    """Whether edges in frames are split by a column that is not of numbers."""
    frames = graph if isinstance(graph, Mapping) else {HOMOGENEOUS_EDGES: graph}
    columns = [
        (frame, changes.split_column(canonical_name(etype))) for etype, frame in frames.items() if is_frame(frame)
    ]
    return any(name in frame.columns and frame.dtypes[name].kind not in "biuf" for frame, name in columns)


@dataclass(frozen=True, slots=True, eq=False)
class FrameStage:
    """Where frames are written, how they will be read, and what computes those of dask."""

    directory: Path
    options: ReadOptions
    runner: Runner

    def tables(self, graph: Any, num_nodes: Any, node_data: Any, edge_data: Any) -> dict[str, Any]:
        """Write all frames; return what `open_inputs` takes."""
        edges = self.edges(graph)
        ntypes = list(dict.fromkeys(end for etype in edges for end in etype.split(":")[::2]))
        data: dict[str, Any] = {ntype: table for ntype, table in (node_data or {}).items() if is_frame(table)}
        for ntype in data:
            check_choice("node type", "ndata_paths", ntype, ntypes)
        data |= by_type({key: rows for key, rows in (node_data or {}).items() if key not in data}, ntypes, "node")
        lists, features = self.nodes(data)
        of_edges = {
            etype: {name: self.rows(rows, f"{etype}/{name}") for name, rows in of_type.items()}
            for etype, of_type in by_type(edge_data, list(edges), "edge").items()
        }
        counts = (
            num_nodes
            if isinstance(num_nodes, Mapping)
            else {}
            if num_nodes is None
            else dict.fromkeys(ntypes, num_nodes)
        )
        return {
            "edges": edges,
            "nodes": lists,
            "num_nodes": counts,
            "node_data": features,
            "edge_data": of_edges,
            "masks": {},
        }

    def edges(self, graph: Any) -> dict[str, list[TableFile]]:
        """Write frames, or pairs of arrays, of edges; columns that are not IDs become features."""
        graph = graph if isinstance(graph, Mapping) else {HOMOGENEOUS_EDGES: graph}
        found = {}
        for key, value in graph.items():
            etype = canonical_name(key)
            what = f"edges of type {etype!r}"
            frame = value if is_frame(value) else _frame_of_pair(value, what)
            names = [str(name) for name in frame.columns]
            if len(names) < 2:
                raise OptionError(f"{what}: not a frame of edges", expected="columns src and dst", found=names)
            ends = ("src", "dst") if {"src", "dst"} <= set(names) else tuple(names[:2])
            options = replace(self.options, columns=ends, edge_columns=tuple(n for n in names if n not in ends))
            found[etype] = [replace(file, options=options) for file in self.write(frame, what)]
        return found

    def nodes(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Write tables of nodes: files of the lists of nodes, and of features, by node type.

        A frame has IDs in its column `id`, or else the first; ``{name: rows}`` is in the order of IDs.
        """
        lists: dict[str, Any] = {}
        features: dict[str, dict[str, Any]] = {}
        for ntype, value in data.items():
            if not is_frame(value):
                features[ntype] = {name: self.rows(rows, f"{ntype}-{name}") for name, rows in value.items()}
                continue
            names = [str(name) for name in value.columns]
            own = "id" if "id" in names else names[0]
            files = self.write(value, f"table of {ntype!r} nodes")
            lists[ntype] = [replace(file, columns=(own,)) for file in files]
            features[ntype] = {
                name: [replace(file, columns=(own, name)) for file in files] for name in names if name != own
            }
        return lists, features

    def rows(self, rows: Any, name: str) -> Any:
        """Return the paths of a feature; arrays are written into a file."""
        if isinstance(rows, (str, os.PathLike)) or (
            isinstance(rows, (list, tuple)) and isinstance(rows[0], (str, os.PathLike))
        ):
            return rows
        if hasattr(rows, "dask"):
            hint = "make it a column of the frame of its nodes or edges"
            raise OptionError(
                f"{name}: an array of dask beside IDs that are mapped", expected="an array or paths", hint=hint
            )
        path = self.directory / f"{len(os.listdir(self.directory))}.npy"
        np.save(path, as_array(rows, name))
        return [str(path)]

    def write(self, frame: Any, what: str) -> list[TableFile]:
        """Write a frame, a file for each partition."""
        where = self.directory / f"frame-{len(os.listdir(self.directory))}"
        where.mkdir()
        if not hasattr(frame, "npartitions"):
            write_frame(frame, (what, str(where / "0")), None)
            return [TableFile(what, self.options, content=str(where / "0"))]
        partitions = frame.to_delayed()
        units = [(f"{what}, partition {i}", str(where / str(i))) for i in range(len(partitions))]
        computed(self.runner, Pass("stage-frames", write_frame, units, None, [1] * len(units), partitions=partitions))
        return [TableFile(of_partition, self.options, content=path) for of_partition, path in units]


def write_frame(frame: Any, unit: tuple[str, str], _: None) -> None:
    """Write a frame of pandas."""
    import pyarrow as pa  # a job without frames does without it
    from pyarrow import parquet

    what, path = unit
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError) as fault:
        hint = "each column holds values of one kind"
        raise OptionError(f"{what}: not a table", found=str(fault)[:200], hint=hint) from fault
    parquet.write_table(table, path, row_group_size=1 << 16, compression="lz4")


def _frame_of_pair(value: Any, what: str) -> Any:
    import pandas as pd

    if not isinstance(value, (tuple, list)) or len(value) != 2:
        expected = "a frame with columns src and dst, or a pair of arrays"
        raise OptionError(f"{what} are not edges", expected=expected, found=type(value).__name__)
    ends = [as_array(end, what) for end in value]
    if len(ends[0]) != len(ends[1]):
        raise OptionError(f"{what}: not as many sources as destinations", found=[len(end) for end in ends])
    return pd.DataFrame({"src": ends[0], "dst": ends[1]})
