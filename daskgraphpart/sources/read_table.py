"""Read files of edges, or of nodes, into a table of their IDs, with every value checked; features go to files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.rows import array_rows, joined_rows
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import STRINGS, feature_values, id_value, shown
from daskgraphpart.sources.database import run, stage_column, translated_errors
from daskgraphpart.sources.text_table import TextTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import duckdb

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.sources.edge_list_inputs import Inputs
    from daskgraphpart.sources.open_table import Table

MAX_ID = 2**63 - 2


@dataclass(frozen=True, slots=True, eq=False)
class TableReader:
    """What tables are read with: the input, a database, a directory for features, a listener."""

    inputs: Inputs
    connection: duckdb.DuckDBPyConnection
    directory: Path
    progress: ProgressListener

    def read(
        self, name: str, tables: Sequence[Table], ntypes: Sequence[str], kinds: Mapping[str, tuple[str, str]]
    ) -> dict[str, Rows]:
        """Fill a table with all rows of all files: IDs c0 and c1, features as floats c2 and integers n2, and so on.

        Returns the features, in files. Arrays with more than one number in a row stay where they are.
        """
        wide = {i for table in tables for i, array in enumerate(table.arrays) if array.ndim > 1}
        features = [i for i in range(len(ntypes), len(tables[0].columns)) if i not in wide]
        types = [f"c{i} {'VARCHAR' if kinds[ntype][0] == STRINGS else 'BIGINT'}" for i, ntype in enumerate(ntypes)]
        types += [f"c{i} DOUBLE, n{i} BIGINT" for i in features]
        run(self.connection, f"CREATE TABLE {name} ({', '.join(types)})")
        num_rows, filled = 0, []
        for table in tables:
            with translated_errors(table.path):
                self._insert(name, table, [kinds[ntype][0] for ntype in ntypes], features)
                self._check(name, num_rows, table, [(ntype, *kinds[ntype]) for ntype in ntypes], features)
            ((count,),) = run(self.connection, f"SELECT count(*) FROM {name}")
            filled += [table] if count > num_rows else []
            num_rows = count
            self.progress.advance(os.path.getsize(table.path))
        found: dict[str, Rows] = {}
        for i, column in enumerate(tables[0].columns[len(ntypes) :], len(ntypes)):
            if i in wide:
                found[column.name] = _joined_arrays(i, filled or tables[:1])
            else:
                found[column.name] = self._stage_feature(name, i, filled or tables)
        return found

    def _insert(self, name: str, table: Table, kinds: Sequence[str], features: Sequence[int]) -> None:
        """Insert the rows of a file; what cannot be is NULL."""
        id_type = self.inputs.options.id_type if self.inputs.options.map_ids else "integer"
        values = [id_value(i, table.columns[i], kind, id_type) for i, kind in enumerate(kinds)]
        values += [value for i in features for value in feature_values(i, table.columns[i])]
        for relation in table.relations(self.connection):
            run(self.connection, f"INSERT INTO {name} SELECT {', '.join(values)} FROM {relation}")

    def _stage_feature(self, name: str, column: int, tables: Sequence[Table]) -> Rows:
        """Write a feature into a file, in the dtype that holds it in all files; text holds floats or integers."""
        ((is_integer,),) = run(self.connection, f"SELECT count(*) > 0 AND count(*) = count(n{column}) FROM {name}")
        text = np.dtype(np.int64 if is_integer else np.float64)
        dtype = np.result_type(*(table.columns[column].dtype or text for table in tables))
        query = f"SELECT {'c' if dtype.kind == 'f' else 'n'}{column} FROM {name}"
        return stage_column(self.connection, query, str(self.directory / f"{name}-{column}"), dtype)

    def _check(
        self, name: str, first: int, table: Table, ends: Sequence[tuple[str, str, str]], features: Sequence[int]
    ) -> None:
        """Refuse the first row of a file with a value that is missing or cannot be."""
        bad = {i: f"c{i} IS NULL" for i in [*range(len(ends)), *features]}
        limits = [] if self.inputs.options.map_ids else [self.inputs.num_nodes[ntype] for ntype, _, _ in ends]
        for i, limit in enumerate(limits):
            bad[i] += f" OR c{i} NOT BETWEEN 0 AND {MAX_ID if limit is None else limit - 1}"
        is_bad = f"SELECT min(rowid) FROM {name} WHERE rowid >= {first} AND ({' OR '.join(bad.values())})"
        ((row,),) = run(self.connection, is_bad)
        if row is None:
            return
        (are_bad,) = run(self.connection, f"SELECT {', '.join(bad.values())} FROM {name} WHERE rowid = {row}")
        column = list(bad)[are_bad.index(True)]
        ((value,),) = run(self.connection, f"SELECT c{column} FROM {name} WHERE rowid = {row}")
        place, text = table.locate(self.connection, row - first, column)
        what, expected, hint = "not a number", "a number, to be a feature", None
        if column < len(ends):
            ntype, kind, known = ends[column]
            what, expected, hint = self._explain_id(ntype, kind, known, value, table)
        if text is None:
            what, hint = "ID is missing" if column < len(ends) else "value is missing", None
        found = "nothing" if text is None else shown(text)
        raise InputFileError(what, file=table.path, place=place, expected=expected, found=found, hint=hint)

    def _explain_id(self, ntype: str, kind: str, known: str, value: Any, table: Table) -> tuple[str, str, str | None]:
        """Tell what is wrong with an ID (NULL if it is none of its kind), what was expected, and what to do."""
        what, limit = f"IDs of {ntype!r} nodes are not all {kind}", self.inputs.num_nodes[ntype]
        if self.inputs.options.map_ids:
            return what, known, "--id-type string makes all of them strings"
        hint = "use --map-ids" + ("" if limit is None else ", or check --num-nodes")
        if value is not None:
            expected = "an integer of 63 bits from 0" if limit is None else f"an ID from 0 and below {limit:,}"
            return f"ID of a {ntype!r} node out of range", expected, hint
        if isinstance(table, TextTable) and not table.skipped:
            hint += "; or --header if the first line names the columns"
        return what, known, hint


def _joined_arrays(column: int, tables: Sequence[Table]) -> Rows:
    """Join arrays of all files with rows of one shape."""
    shapes = {table.arrays[column].shape[1:] if table.arrays else () for table in tables}
    if len(shapes) > 1:
        what = f"column {tables[0].columns[column].name!r} differs in shape between files"
        raise InputFileError(what, file=tables[0].path, found=" and ".join(map(str, sorted(shapes))))
    return joined_rows([array_rows(table.arrays[column]) for table in tables])
