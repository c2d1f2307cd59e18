"""Parquet: a table per node type and edge type, cut by part as in Hive.

``parquet/nodes/<ntype>/part=<i>/data.parquet`` has `new_id`, `own_id` (the user's own ID, if IDs were mapped),
`orig_id` and features; edges have `new_id`, `src`, `dst`, `orig_id` and features. `src` and `dst` are new IDs; all IDs
but own ones are type-wise; vectors are lists of fixed length. ``parquet/hot/<ntype>/part=<i>/data.parquet`` has the
rows of other parts that are kept beside a part: `new_id`, `fetches` in an epoch, and features.
`parquet.json` is written last. For WholeGraph, there are ``parquet/<array>_part_<i>_of_<n>.parquet`` instead, named as
in `ranks.py`.

Values have no fixed place in parquet, so arrays go to a raw file per table, which is encoded once complete, block by
block, in a few times the memory of a row group. IDs there have 32 bits if they fit. Each part reads the map of own
IDs once, since its nodes are in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import daskgraphpart.extension as ext

PARQUET, OWN_ID = "parquet", "own_id"
VERSION = 1
ROW_GROUP_NBYTES = 8 << 20
IDS = {"orig_nids": "orig_id", "edge_src": "src", "edge_dst": "dst", "orig_eids": "orig_id", "hot_nids": "new_id"}
COLUMNS = {**IDS, "hot_fetches": "fetches"}
"""Columns of arrays that are no features."""


@dataclass(frozen=True, slots=True, eq=False)
class ParquetLayout(ext.Layout):
    """Tables by type and part; masks are features here."""

    own_files = r"(nodes|edges|hot)/[^/]+/part=\d+/data\.parquet|.+_part_\d+_of_\d+\.parquet"

    wholegraph: bool = ext.option(
        False,
        "Instead of tables, write each array to Parquet files of its own, one a part, with scalar columns, as "
        "WholeGraph and cuGraph-PyG read them.",
    )

    def check_fits(self, schema: ext.GraphSchema) -> None:
        ext.check_file_names(schema, PARQUET)
        ext.refuse_bfloat16(schema, PARQUET, "parquet has")
        for kind in schema.row_types:
            for spec in kind.data:
                taken = dict.fromkeys(("part", "new_id", OWN_ID, *COLUMNS.values()))
                if 0 in spec.row_shape or spec.name.lower() in taken:
                    raise ext.OptionError(
                        "this feature cannot be a table column",
                        place=f"layout {PARQUET}",
                        expected=f"at least one number per row, and a name other than {', '.join(taken)}",
                        found=f"{kind.name}/{spec.name} of shape {list(spec.row_shape)}",
                        hint="rename it or leave it out, or use the layout ranks",
                    )

    def wants(self, schema: ext.GraphSchema) -> Collection[str]:
        """Hot rows; lists of marked nodes, in files of their own."""
        return ext.split_names(schema) if self.wholegraph else (ext.HOT_ROWS,)

    def part_files(self, sizes: ext.GraphSizes, part: int) -> dict[str, ext.FileLayout]:
        if self.wholegraph:
            suffix = f"_part_{{part}}_of_{sizes.num_parts}.parquet"
            arrays = ext.all_arrays(sizes, part)
            return {
                f"{PARQUET}/{ext.file_name(of.key)}{suffix}": ext.raw_file_layout([of], ScalarColumns(of))
                for of in arrays
            }
        raw_ids = np.dtype(np.int32 if max(sizes.schema.num_nodes, sizes.schema.num_edges) < 2**31 else np.int64)
        tables = {
            f"{kind}/{ext.file_name(name)}": Table(tuple(arrays), int(counts[:part].sum()), sizes.id_maps.get(name))
            for kind, of_types, owned in (
                ("nodes", ext.node_arrays(sizes, part), sizes.num_nodes),
                ("edges", ext.edge_arrays(sizes, part), sizes.num_edges),
            )
            for (name, arrays), counts in zip(of_types.items(), owned.T, strict=True)
        }
        tables |= {f"hot/{ext.file_name(name)}": Table(tuple(of)) for name, of in ext.hot_arrays(sizes, part).items()}
        return {
            f"{PARQUET}/{name}/part={{part}}/data.parquet": ext.raw_file_layout(
                [replace(spec, dtype=raw_ids) if spec.key.partition("/")[0] in IDS else spec for spec in table.arrays],
                table,
            )
            for name, table in tables.items()
        }

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        return (ext.description_of(PARQUET),)

    def describe(self, graph: ext.DispatchedGraph) -> dict[str, dict[str, Any]]:
        of_arrays = {"options": {"wholegraph": True}, "arrays": ext.describe_arrays(graph.sizes)}
        return ext.describe_layout(graph, PARQUET, VERSION, of_arrays if self.wholegraph else {})


@dataclass(frozen=True, slots=True)
class ScalarColumns:
    """Encodes an array as a file with a column for each number of a row, in row groups that are read on their own.

    As pylibwholegraph 26.10 reads them (torch/tensor.py): names do not matter, and each process decodes the row groups
    that meet its rows.
    """

    array: ext.ArraySpec

    def __call__(self, arrays: Mapping[str, ext.Region], path: str) -> None:
        """Write the file from the complete array."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        rows, kind = arrays[self.array.key], pa.from_numpy_dtype(self.array.dtype)
        schema = pa.schema([pa.field(str(i), kind, nullable=False) for i in range(math.prod(self.array.shape[1:]))])
        group_rows = max(1, ROW_GROUP_NBYTES // _row_nbytes(self.array))
        how: Any = {"use_dictionary": False, "write_statistics": False}
        with ext.whole_file(path) as temporary, ParquetWriter(temporary, schema, **how) as writer:
            for _, piece in rows.pieces(group_rows):
                values = piece.astype(self.array.dtype, copy=False).reshape(len(piece), -1)
                columns = [_arrow_array(np.ascontiguousarray(column), kind) for column in values.T]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), group_rows)


@dataclass(frozen=True, slots=True)
class Table:
    """Encodes a table from the arrays of its columns (raw values may have another dtype) and its first new ID, if any.

    The map has the own IDs of nodes, by original ID.
    """

    arrays: tuple[ext.ArraySpec, ...]
    first_id: int | None = None
    id_map: ext.IdMapFile | None = None

    def __call__(self, arrays: Mapping[str, ext.Region], path: str) -> None:
        """Write the table from its complete arrays."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        num_rows = self.arrays[0].shape[0]
        id_map = None if self.id_map is None else self.id_map.on_disk()
        row_nbytes = sum(_row_nbytes(spec) for spec in self.arrays) + (0 if id_map is None else id_map.mean_bytes())
        group_rows = max(1, ROW_GROUP_NBYTES // (8 + row_nbytes))
        types = {_column(spec): _arrow_type(spec.dtype, spec.shape[1:]) for spec in self.arrays}
        if id_map is not None:
            types = {OWN_ID: id_map.take(np.empty(0, np.int64)).type, **types}
        # nullability and statistics of features would take a quarter of the time, for nothing
        fields = [pa.field(name, kind, nullable=False) for name, kind in {"new_id": pa.int64(), **types}.items()]
        schema = pa.schema(fields)
        # IDs mostly ascend: a seventh of the bytes in half the time
        encoding = {name: "DELTA_BINARY_PACKED" for name in dict.fromkeys(IDS.values()) if name in schema.names}
        how: Any = {"use_dictionary": False, "write_statistics": ["new_id", OWN_ID], "column_encoding": encoding}
        with ext.whole_file(path) as temporary, ParquetWriter(temporary, schema, **how) as writer:
            for start in range(0, num_rows, group_rows):
                stop = min(start + group_rows, num_rows)
                rows = [] if self.first_id is None else [np.arange(self.first_id + start, self.first_id + stop)]
                rows += [arrays[spec.key].read(start, stop).astype(spec.dtype, copy=False) for spec in self.arrays]
                kinds = [field.type for field in fields if field.name != OWN_ID]
                columns = [_arrow_array(values, kind) for values, kind in zip(rows, kinds, strict=True)]
                if id_map is not None:  # original IDs are the first array of nodes
                    columns.insert(1, id_map.take(rows[1]))
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), stop - start)


def _column(spec: ext.ArraySpec) -> str:
    kind, _, name = spec.key.partition("/")
    return COLUMNS.get(kind, name.rpartition("/")[2])


def _row_nbytes(spec: ext.ArraySpec) -> int:
    return spec.dtype.itemsize * math.prod(spec.shape[1:])


def _arrow_type(dtype: np.dtype, row_shape: tuple[int, ...]) -> Any:
    import pyarrow as pa

    arrow_type = pa.from_numpy_dtype(dtype)
    for length in reversed(row_shape):
        arrow_type = pa.list_(pa.field("element", arrow_type, nullable=False), length)
    return arrow_type


def _arrow_array(rows: np.ndarray, kind: Any) -> Any:
    import pyarrow as pa

    if rows.ndim > 1:
        values = _arrow_array(rows.reshape(-1, *rows.shape[2:]), kind.value_type)
        return pa.FixedSizeListArray.from_arrays(values, type=kind)
    # pa.array would import pandas, which takes longer than a small graph
    bits = np.packbits(rows, bitorder="little") if rows.dtype == np.bool_ else rows
    return pa.Array.from_buffers(kind, rows.size, [None, pa.py_buffer(bits)])
