"""Find and read the files of ParMETIS' programs, lines of numbers separated by blanks; read owners as an assignment.

`pm_dglpart`, `pm_dglpart2` and `pm_dglpart3` are on the branch `dgl` of ParMETIS; DGL's user guide 7.1 (0.7 and 0.8)
describes the files. The programs read from the working directory, so one directory has the files of a graph.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.partitioner.assignment import MAX_PARTS, Owners, create_owner_files, owner_regions
from daskgraphpart.readers.database import open_database, quote, read, run, translated_errors
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

logger = logging.getLogger(__name__)

EXACT = 1 << 53  # floats hold smaller integers exactly
PART_SUFFIX = r"_part\.([1-9]\d*)"
SQL_TYPES = {"float16": "FLOAT", "float32": "FLOAT", "float64": "DOUBLE"} | {
    f"{'u' * (not signed)}int{bits}": f"{'U' * (not signed)}{name}"
    for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))
    for signed in (True, False)
}


@dataclass(frozen=True, slots=True)
class ParmetisFiles:
    """The files of one graph in a directory."""

    directory: Path
    graph: str

    def text(self, kind: str) -> Path:
        """Name a file for ParMETIS.

        ``"nodes"``: lines `ntype weights... type_nid`, whose number is the homogeneous ID; ``"edges"``: lines
        `src dst type_eid etype`, in homogeneous IDs; ``"removed_edges"``: self-loops and repeated edges, likewise;
        ``"stats"``:
        one line, `num_nodes num_edges num_node_weights`, written last.
        """
        return self.directory / f"{self.graph}_{kind}.txt"

    @property
    def ranges(self) -> Path:
        """JSON with the ranges of homogeneous IDs of all types."""
        return self.directory / f"{self.graph}.json"

    @property
    def written(self) -> tuple[Path, ...]:
        """All of these, in writing order."""
        return *(self.text(kind) for kind in ("nodes", "edges", "removed_edges")), self.ranges, self.text("stats")

    def of_part(self, part: int, kind: str) -> Path:
        """Name a file of `pm_dglpart`: lines `new_nid <line of nodes>`, or `new_src new_dst <line of edges>`."""
        return self.directory / f"p{part:03d}-{self.graph}_{kind}.txt"


@dataclass(frozen=True, slots=True)
class PartFiles:
    """Parts from ParMETIS: one file of `pm_dglpart2`, or one per part from `pm_dglpart`."""

    paths: tuple[Path, ...]
    num_parts: int | None  # None: the largest part in the file, plus one
    by_part: bool
    num_node_weights: int | None = None  # in a line of nodes, if given


def find_parts(
    path: Path, graph: str, num_parts: int | None, num_node_weights: int | None = None, *, by_part_only: bool = False
) -> PartFiles:
    """Find ParMETIS' output."""
    if num_node_weights is not None and num_node_weights < 0:
        raise OptionError("invalid number", option="num_node_weights", expected="0 or more", found=num_node_weights)
    if not path.is_file() and not path.is_dir():
        raise InputFileNotFoundError("no such file or directory", file=str(path), hint="give the output of ParMETIS")
    single, by_part = _found(path, graph)
    files = {} if by_part_only else {k: file for k, file in single.items() if k == num_parts} or single
    if not files and not by_part:
        what, of_part = f"no output of ParMETIS for graph {graph!r}", f"p000-{graph}_nodes.txt and so on"
        expected = of_part if by_part_only else f"{graph}_part.<num_parts>, or {of_part}"
        raise InputFileNotFoundError(what, file=str(path), expected=expected)
    if len(files) + bool(by_part) > 1:
        names = ", ".join([file.name for file in (*files.values(), *by_part.values())][:4])
        hint = "give one file, or the number of parts"
        raise OptionError("several outputs of ParMETIS to choose from", file=str(path), found=names, hint=hint)
    if by_part:
        return _by_part(ParmetisFiles(path, graph), by_part, num_parts, num_node_weights)
    ((named, file),) = files.items()
    if None not in (named, num_parts) and named != num_parts:
        what = "the file has a different number of parts"
        raise AssignmentError(what, file=str(file), expected=num_parts, found=named)
    return PartFiles((file,), named or num_parts, by_part=False)


def _found(path: Path, graph: str) -> tuple[dict[int | None, Path], dict[int, Path]]:
    """Files of `pm_dglpart2` by number of parts, if named so, and node files of `pm_dglpart` by part."""
    if path.is_file():
        suffix = re.search(PART_SUFFIX + "$", path.name)
        return {int(suffix[1]) if suffix else None: path}, {}
    single: dict[int | None, Path] = {}
    by_part: dict[int, Path] = {}
    name = re.escape(graph)
    for file in sorted(path.iterdir()):
        if match := re.fullmatch(name + PART_SUFFIX, file.name):
            single[int(match[1])] = file
        elif match := re.fullmatch(rf"p(\d{{3}}|[1-9]\d{{3,}})-{name}_nodes\.txt", file.name):
            by_part[int(match[1])] = file
    return single, dict(sorted(by_part.items()))


def _by_part(
    files: ParmetisFiles, by_number: dict[int, Path], num_parts: int | None, num_node_weights: int | None
) -> PartFiles:
    last = max(by_number)
    num_parts = last + 1 if num_parts is None else num_parts
    if last >= num_parts:
        what, expected = "the files have a different number of parts", f"parts below {num_parts}"
        raise AssignmentError(what, file=str(by_number[last]), expected=expected)
    for part in range(num_parts):
        if part not in by_number:
            hint = f"each of {num_parts} parts has a file; copy those of all machines into one directory"
            raise InputFileNotFoundError("no node file of this part", file=str(files.of_part(part, "nodes")), hint=hint)
    return PartFiles(tuple(by_number.values()), num_parts, by_part=True, num_node_weights=num_node_weights)


@dataclass(frozen=True, slots=True)
class IdColumn:
    """An ID column: name, number in a line, and end of its range as SQL over earlier columns."""

    name: str
    number: int
    stop: str


@dataclass(frozen=True, slots=True)
class LineFile:
    """A file of uniform lines: ID columns, and the first column of attributes, if any."""

    path: Path
    columns: tuple[IdColumn, ...]
    num_columns: int
    attributes: tuple[int, np.dtype] | None = None

    @property
    def lines(self) -> str:
        """SQL of the lines, with words in columns w0, w1, ..."""
        types = dict.fromkeys((f"w{i}" for i in range(self.num_columns)), "VARCHAR")
        if self.attributes is not None:
            first, dtype = self.attributes
            types |= {f"w{i}": SQL_TYPES[dtype.name] for i in range(first, self.num_columns)}
        options = "delim = ' ', header = false, quote = '', escape = '', auto_detect = false"
        return f"read_csv({quote(str(self.path))}, {options}, columns = {types})"

    @property
    def values(self) -> str:
        """SQL of IDs as c0, c1, ... (null for other words), and of attributes as a list."""
        values = [f"{_whole_number(f'w{column.number}')} AS c{i}" for i, column in enumerate(self.columns)]
        if self.attributes is not None:
            names = ", ".join(f"w{i}" for i in range(self.attributes[0], self.num_columns))
            values.append(f"[{names}] AS attributes")
        return ", ".join(values)


def _whole_number(word: str) -> str:
    """SQL of the integer in a word, which numpy.savetxt writes as a float: ``3.000000000000000000e+00``."""
    number = f"TRY_CAST({word} AS DOUBLE)"
    return (
        f"CASE WHEN regexp_full_match({word}, '-?[0-9]+') THEN TRY_CAST({word} AS BIGINT) "
        f"WHEN regexp_full_match({word}, '[0-9]+[.][0-9]*(e[+-][0-9]+)?') AND {number} < {EXACT} AND {number} % 1 = 0 "
        f"THEN TRY_CAST({number} AS BIGINT) END"
    )


def read_lines(connection: DuckDBPyConnection, table: str, files: Sequence[LineFile]) -> None:
    """Read files into a table, with each row's file number; refuse invalid IDs."""
    for number, file in enumerate(files):
        into = f"INSERT INTO {table}" if number else f"CREATE TABLE {table} AS"
        try:
            with translated_errors(str(file.path)):
                run(connection, f"{into} SELECT {number} AS file, {file.values} FROM {file.lines}")
        except InputFileError as fault:
            of_attributes = "" if file.attributes is None else f", the last of dtype {file.attributes[1]}"
            names = ", ".join(column.name for column in file.columns)
            raise AssignmentError(
                "line cannot be read",
                file=str(file.path),
                place=fault.place,
                expected=f"{file.num_columns} columns, among them {names}{of_attributes}",
                found=fault.found,
            ) from fault
    for i, column in enumerate(files[0].columns):
        wrong = f"c{i} IS NULL OR c{i} < 0 OR c{i} >= {column.stop}"
        for (number,) in run(connection, f"SELECT min(file) FROM {table} WHERE {wrong} HAVING count(*) > 0"):
            file = files[number]
            word = f"w{file.columns[i].number}"
            lines = f"SELECT row_number() OVER () AS line, {word}, {file.values} FROM {file.lines}"
            query = f"SELECT line, {word}, {column.stop} FROM ({lines}) WHERE {wrong} ORDER BY line LIMIT 1"
            ((line, wrong_id, stop),) = run(connection, query)
            what, place = f"{column.name} out of range", f"line {line:,}"
            raise AssignmentError(what, file=str(file.path), place=place, expected=f"[0, {stop:,})", found=wrong_id)


def count_columns(paths: Iterable[Path]) -> int:
    """Count the columns of the first non-blank line; 0 if there is none."""
    for path in paths:
        with attach_path_to_error(path), path.open("rb") as file:
            for line in file:
                if line.strip():
                    return len(line.split())
    return 0


def count_node_weights(parts: PartFiles, graph: str) -> int:
    """Count the weights in `pm_dglpart`'s lines: as given, from the stats file, or all columns but three."""
    if parts.num_node_weights is not None:
        return parts.num_node_weights
    stats = ParmetisFiles(parts.paths[0].parent, graph).text("stats")
    if not stats.is_file():
        return max(0, (count_columns(parts.paths) or 3) - 3)
    with attach_path_to_error(stats):
        text = stats.read_text(encoding="ascii", errors="replace")
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        what, expected = "not a stats file of ParMETIS", "num_nodes num_edges num_node_weights"
        raise AssignmentError(what, file=str(stats), expected=expected, found=repr(text[:60]))
    return int(words[2])


def read_nodes(
    connection: DuckDBPyConnection, parts: PartFiles, graph: str, starts: np.ndarray, dtype: np.dtype | None = None
) -> int:
    """Read `pm_dglpart`'s lines `new_nid ntype weights... type_nid attributes...`; return the number of attributes.

    The view `nodes` then has `id` (original homogeneous ID), `part`, and, given a dtype, `attributes`.
    """
    sizes, place = np.diff(starts).tolist(), 2 + count_node_weights(parts, graph)
    stop = f"{sizes}[c0 + 1]"
    columns = (
        IdColumn("node type", 1, str(len(sizes))),
        IdColumn(f"ID in its node type (behind {place - 2} weights)", place, stop),
    )
    width = max(place + 1, count_columns(parts.paths))
    attributes = None if dtype is None else (place + 1, dtype)
    read_lines(connection, "node_lines", [LineFile(path, columns, width, attributes) for path in parts.paths])
    names = "" if dtype is None else ", attributes"
    view = f"SELECT {starts.tolist()}[c0 + 1] + c1 AS id, file AS part{names} FROM node_lines"
    run(connection, f"CREATE VIEW nodes AS {view}")
    return width - place - 1


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where rows go: files of types with consecutive IDs; and what they are, for messages."""

    kind: str  # node, edge
    targets: Mapping[str, Region]
    source: str  # file or directory of the input
    hint: str  # what to do about a wrong number of rows

    def place(self, connection: DuckDBPyConnection, query: str, to_rows: Callable[..., np.ndarray]) -> None:
        """Write the rows that `to_rows` makes of a query's columns after `id`; every ID must occur once."""
        starts = np.cumsum([0, *(region.num_rows for region in self.targets.values())])
        ((count,),) = run(connection, f"SELECT count(*) FROM ({query})")
        if count != starts[-1]:
            what, expected = f"wrong number of {self.kind}s", f"{starts[-1]:,}, a line for each"
            raise AssignmentError(what, file=self.source, expected=expected, found=f"{count:,}", hint=self.hint)
        first = 0
        for batch in read(connection, f"{query} ORDER BY id"):
            ids, *columns = (column.flatten() if column.type.num_fields else column for column in batch.columns)
            self._check_ids(ids.to_numpy(), first, starts)
            rows, stop = to_rows(*(column.to_numpy() for column in columns)), first + batch.num_rows
            for region, begin, end in zip(self.targets.values(), starts, starts[1:], strict=False):
                low, high = max(first, begin), min(stop, end)
                if low < high:
                    region.write(rows[low - first : high - first], int(low - begin))
            first = stop

    def _check_ids(self, ids: np.ndarray, first: int, starts: np.ndarray) -> None:
        """Refuse sorted IDs that do not continue the earlier ones."""
        for bad in np.flatnonzero(ids != np.arange(first, first + ids.size))[:1].tolist():
            of_type = int(np.searchsorted(starts, ids[bad], side="right")) - 1
            name = f"{list(self.targets)[of_type]!r} {self.kind} {ids[bad] - starts[of_type]:,}"
            what, expected = f"{self.kind} is listed twice", f"every {self.kind} once"
            if ids[bad] > first + bad:
                what, name = f"{self.kind} is missing", f"{name} after a gap"
            raise AssignmentError(what, file=self.source, expected=expected, found=name)


def read_found_parts(
    path: Path, schema: GraphSchema, workspace: Path, runner: Runner, num_parts: int | None
) -> Owners | None:
    """Read the parts at a path, as a step of a job; None if ParMETIS wrote nothing there."""
    if not (path.is_file() or (path.is_dir() and any(_found(path, schema.name)))):
        return None
    files, resources = find_parts(path, schema.name, num_parts), runner.resources
    parts = runner.step("read-parmetis", lambda: read_parmetis_parts(files, schema, workspace, resources).num_parts)
    return Owners(parts, "parmetis", owner_regions(workspace, schema, parts))


def read_parmetis_parts(parts: PartFiles, schema: GraphSchema, workspace: Path, resources: Resources) -> Owners:
    """Read and check the part of every node into owner files of a workspace: an assignment ``"parmetis"``."""
    source, num_parts = parts.paths[0].parent if parts.by_part else parts.paths[0], parts.num_parts
    with scratch_directory(workspace) as scratch, open_database(scratch, resources) as connection:
        if parts.by_part:
            read_nodes(connection, parts, schema.name, np.array(schema.homo_starts))
        else:
            # as in DGL's parmetis_postprocess.py; more parts than nodes mean another kind of file
            stop = str(num_parts or min(schema.num_nodes, MAX_PARTS))
            columns = IdColumn("homogeneous node ID", 0, str(schema.num_nodes)), IdColumn("part", 1, stop)
            read_lines(connection, "node_lines", [LineFile(parts.paths[0], columns, num_columns=2)])
            run(connection, "CREATE VIEW nodes AS SELECT c0 AS id, c1 AS part FROM node_lines")
        if num_parts is None:
            ((num_parts,),) = run(connection, "SELECT coalesce(max(part), 0) + 1 FROM nodes")
            logger.info("%s: the largest part is %d, so there are %d parts", source, num_parts - 1, num_parts)
        owners = create_owner_files(workspace, schema, num_parts)
        placement = Placement("node", owners, str(source), "check that it is complete and for this graph")
        placement.place(connection, "SELECT id, part FROM nodes", lambda part: part)
    return Owners(num_parts, "parmetis", owners)
