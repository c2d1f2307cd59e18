"""Bring features into the order of nodes and edges: columns of tables, masks from lists, rows of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.check_changes import split_column
from daskgraphpart.chunked.output import CATEGORIES
from daskgraphpart.chunked.rows import ConstantRows, KeptRows
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.plugins.tables.describe.columns import STRINGS, TIMES, filled_dtype, shown
from daskgraphpart.plugins.tables.describe.split_sets import IN_NONE, SETS, SPLIT, set_of
from daskgraphpart.plugins.tables.describe.tables import TableGroup, check_row_count
from daskgraphpart.plugins.tables.load.read_table import (
    TableJob,
    count_rows,
    drop_rows,
    first_twice,
    rank_ids,
    stage_feature,
)
from daskgraphpart.sources.database import quote, run
from daskgraphpart.storage.region import Region, create_npy
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.source import Source


MISSING_CODE = -1
"""Of strings that are missing: no category."""


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePlacer:
    """Places features; `given` are the tables' rows as read, before any were dropped."""

    job: TableJob
    num_nodes: Mapping[str, int]
    given: Mapping[str, int]

    def table(self, group: TableGroup) -> dict[str, Source]:
        """Place a table's features, in its own order or by its node IDs."""
        if group.mask:
            self._check_mask(group)
            ones = ConstantRows(np.dtype(bool), (self.job.new_ids(group, 0).num_rows,), 1)
            return {group.mask: self._scatter(group, group.mask, ones, 0)}
        order = self._node_order(group)
        if order:
            self._check_list(group)
        by_row = order or "ORDER BY t.row"
        features: dict[str, Source] = {name: self._staged(group, name, by_row) for name in group.features}
        if not group.ends:
            return self.rows(group.of_type, features, group.tables[0].path)
        return features if order or len(group.ends) == 2 else self._scattered(group, features)

    def _node_order(self, group: TableGroup) -> str:
        """Return SQL that brings a table's rows `t` into the order of nodes, if it has all of them; "" otherwise."""
        job, num_nodes = self.job, self.num_nodes.get(group.of_type)
        if len(group.ends) != 1 or not group.features or count_rows(job.connection, group.name) != num_nodes:
            return ""
        if not job.inputs.options.map_ids:
            return "ORDER BY t.c0"
        return f"JOIN {job.ids(group.of_type)} i ON t.c0 = i.id ORDER BY i.new_id"

    def rows(self, of_type: str, features: Mapping[str, Source], path: str = "") -> dict[str, Source]:
        """Place rows that follow edges, a list of nodes, or node IDs."""
        inputs = self.job.inputs
        group = inputs.ordered(of_type)
        expected = self.num_nodes[of_type] if group is None else self.given[group.name]
        for name, rows in features.items():
            paths = [path] if path else rows.paths
            check_row_count(inputs, of_type, name, paths, rows.shape[0], expected)
        if group is None:
            return dict(features)
        if self.job.num_rows(group) != expected:
            query, where = f"SELECT row FROM {group.name} ORDER BY row", str(self.job.directory / f"{of_type}-kept")
            numbers = self.job.stage(query, where, np.dtype(np.int64))
            features = {name: KeptRows(rows, numbers) for name, rows in features.items()}
        return self._scattered(group, features) if len(group.ends) == 1 else dict(features)

    def _staged(self, group: TableGroup, name: str, order: str) -> Region:
        """Write a feature in an order; strings become codes, with their values kept."""
        job, number = self.job, group.features[name][0]
        path, kind = str(job.directory / f"{group.name}-{number}"), group.kind(number)
        where = f"{group.tables[0].path}, column {group.column(number).name!r}"
        if name == SPLIT:
            self._tell_sets(group, set_of(f"c{number}"), where)
            query = f"SELECT coalesce({set_of(f't.c{number}')}, {IN_NONE}) FROM {group.name} t {order}"
            return job.stage(query, path, np.dtype(np.int8))
        if kind == TIMES:
            job.progress.note(f"{where}: times, kept as microseconds since 1970")
        if kind != STRINGS:
            return stage_feature(job, group, name, path, order)
        table = f"{group.name}_{number}"
        every = f"SELECT c{number} AS id FROM {group.name} WHERE c{number} IS NOT NULL"
        kept = job.out / CATEGORIES / group.of_type / f"{name}.parquet"
        old = job.inputs.old_codes.get((group.of_type, name))
        num_old = rank_ids(job.connection, table, every, kept, is_text=True, old=old)
        code = self._code_of_missing(group, name)
        self._tell_codes(group, name, count_rows(job.connection, table), num_old, code)
        codes = f"SELECT coalesce(k.new_id, {code}) FROM {group.name} t LEFT JOIN {table} k ON t.c{number} = k.id"
        return job.stage(f"{codes} {order}", path, np.dtype(np.int64))

    def _tell_sets(self, group: TableGroup, number: str, where: str) -> None:
        """Report how many nodes are in each set."""
        counts = ", ".join(f"count(*) FILTER ({number} = {i})" for i in range(len(SETS)))
        (found,) = run(self.job.connection, f"SELECT {counts} FROM {group.name}")
        shown_counts = [f"{mask} {count:,}" for mask, count in zip(SETS, found, strict=True)]
        others = self.num_nodes[group.of_type] - sum(found)
        self.job.progress.note(f"{where}: {', '.join(shown_counts)}; in none: {others:,} {group.of_type!r} nodes")

    def _code_of_missing(self, group: TableGroup, name: str) -> int:
        """Return the code of missing strings: -1, or that of a category given as the fill value."""
        if name == SPLIT:
            return IN_NONE
        job, number, fill = self.job, group.features[name][0], self.job.fill(group, name)
        if job.is_split(group, name):  # a gap has no name for a relation
            ((count,),) = run(job.connection, f"SELECT count(*) FROM {group.name} WHERE c{number} IS NULL")
            if count:
                what, hint = "edges without a value to split them by", f"give them one by --fill {name}=VALUE"
                raise InputFileError(what, file=group.tables[0].path, place=f"column {name!r}", found=count, hint=hint)
            return MISSING_CODE
        if fill is None:
            return MISSING_CODE
        found = run(job.connection, f"SELECT new_id FROM {group.name}_{number} WHERE id = {quote(fill)}")
        if not found and fill == str(MISSING_CODE):
            return MISSING_CODE
        if not found:
            what, hint = (
                f"the fill value is no category of {name!r}",
                f"leave it out: missing values become {MISSING_CODE}",
            )
            raise OptionError(what, place="--fill", found=fill, hint=hint)
        return int(found[0][0])

    def _tell_codes(self, group: TableGroup, name: str, count: int, num_old: int, code: int) -> None:
        """Report that a feature has codes, and where their values are; split edge types share them."""
        inputs, of_type, column = self.job.inputs, group.of_type, group.column(group.features[name][0])
        if of_type in inputs.etypes and split_column(inputs.changes, of_type) is not None:
            if self.job.is_split(group, name):
                return  # they become relations
            src, _, dst = of_type.split(":")
            of_type = f"{src}:*:{dst}"
        how = "as codes" if inputs.options.codes_from is None else f"as codes: {num_old:,} old, {count - num_old:,} new"
        path = f"{CATEGORIES}/{of_type}/{name}.parquet"
        where = f"{group.tables[0].path}, column {column.name!r}"
        query = f"SELECT count(*) FROM {group.name} WHERE c{group.features[name][0]} IS NULL"
        ((missing,),) = run(self.job.connection, query)
        if len(group.ends) == 1:  # nodes without a row
            missing += max(0, self.num_nodes[group.of_type] - count_rows(self.job.connection, group.name))
        gaps = f"; {format_number(missing, 'missing value')}, as {code}" if missing else ""
        self.job.progress.note(f"{where}: {count:,} categories, {how}; {path} has them{gaps}")

    def _check_mask(self, group: TableGroup) -> None:
        """Refuse, or drop, a mask's IDs that are no nodes."""
        job, ntype = self.job, group.of_type
        is_unknown = f"c0 >= {self.num_nodes[ntype]}"
        if job.inputs.options.map_ids:
            is_unknown = f"NOT EXISTS (SELECT 1 FROM {job.ids(ntype)} i WHERE i.id = {group.name}.c0)"
        if job.inputs.options.unknown_nodes == "drop":
            drop_rows(job.connection, group.name, is_unknown)
        ((value,),) = run(job.connection, f"SELECT min(c0) FROM {group.name} WHERE {is_unknown}")
        if value is not None:
            what, hint = (
                f"mask {group.mask!r} lists an unknown {ntype!r} node",
                "skip it by --unknown-nodes drop",
            )
            raise InputFileError(what, file=group.tables[0].path, found=_shown(value), hint=hint)

    def _scattered(self, group: TableGroup, features: Mapping[str, Source]) -> dict[str, Source]:
        """Bring rows into node order by a table's IDs; nodes without a row get the fill value."""
        if not features:
            return {}
        job = self.job
        self._check_list(group)
        missing = self.num_nodes[group.of_type] - count_rows(job.connection, group.name)
        self._check_rows(group, features, missing)
        fills: dict[str, Any] = {}
        for name in features if missing else ():
            is_text = group.kind_of(name) == STRINGS
            fills[name] = self._code_of_missing(group, name) if is_text else job.fill(group, name)
        return {name: self._scatter(group, name, rows, fills.get(name, 0)) for name, rows in features.items()}

    def _scatter(self, group: TableGroup, name: str, rows: Source, fill: Any) -> Region:
        job, num_nodes = self.job, self.num_nodes[group.of_type]
        if job.counts_only:
            return Region("", 0, filled_dtype(rows.dtype, str(fill)), (num_nodes, *rows.shape[1:]))
        ids = job.new_ids(group, 0)
        return scatter_rows(rows, ids, num_nodes, fill, f"{ids.path}-{name}", job.memory // 16)

    def _check_rows(self, group: TableGroup, features: Mapping[str, Source], missing: int) -> None:
        """Refuse features that lack rows of some nodes, unless they are filled."""
        numbers = [name for name in features if group.kind_of(name) != STRINGS] if missing else []
        lacking = [name for name in numbers if self.job.fill(group, name) is None]
        if lacking:
            what = f"{group.of_type!r} nodes without a row: {missing:,} of {self.num_nodes[group.of_type]:,}"
            place = f"feature{'s' if lacking[1:] else ''} {', '.join(map(repr, lacking))}"
            fills = " ".join(f"--fill {name}=VALUE" for name in lacking)
            gives = "gives them one" if len(lacking) == 1 else "give them one each"
            other = "drop unlisted nodes by --unknown-nodes drop"
            if self.job.inputs.options.ids_from is not None:
                other = "nodes of the earlier graph that are gone are among them"
            hint = f"{fills} {gives}; {other}"
            raise InputFileError(what, file=group.tables[0].path, place=place, hint=hint)

    def _check_list(self, group: TableGroup) -> None:
        """Refuse a table that has a node twice, if features follow it."""
        value = first_twice(self.job.connection, group.name, "c0")
        if value is not None:
            what, expected = (
                f"a {group.of_type!r} node is listed twice",
                "every ID once, since features follow the list",
            )
            raise InputFileError(what, file=group.tables[0].path, expected=expected, found=_shown(value))


def _shown(value: Any) -> str:
    return shown(value) if isinstance(value, str) else str(value)


def scatter_rows(rows: Source, new_ids: Region, num_rows: int, fill: Any, path: str, max_bytes: int) -> Region:
    """Bring rows to their new IDs, in a file: sort blocks, then read a range of IDs from each; others get `fill`.

    Holds about four times `max_bytes`.
    """
    dtype = filled_dtype(rows.dtype, str(fill))
    placed = create_npy(f"{path}.npy", dtype, (num_rows, *rows.shape[1:]))
    sorted_rows = create_npy(f"{path}-rows.npy", dtype, rows.shape)
    sorted_ids = create_npy(f"{path}-ids.npy", np.int64, rows.shape[:1])
    step = max(1, max_bytes // (8 + placed.row_nbytes))
    for start in range(0, rows.shape[0], step):
        stop = min(start + step, rows.shape[0])
        ids = new_ids.read(start, stop)
        order = np.argsort(ids, kind="stable")
        sorted_ids.write(ids[order], start)
        sorted_rows.write(rows.read(start, stop)[order], start)
    ids, begins = sorted_ids.memmap(), list(range(0, rows.shape[0], step))  # of what is left of each block
    for first in range(0, num_rows, step):
        last = min(first + step, num_rows)
        block = np.full((last - first, *rows.shape[1:]), fill, dtype)
        for number, start in enumerate(begins):
            stop = start + int(np.searchsorted(ids[start : (number + 1) * step], last))
            block[ids[start:stop] - first] = sorted_rows.read(start, stop)
            begins[number] = stop
        placed.write(block, first)
    return placed
