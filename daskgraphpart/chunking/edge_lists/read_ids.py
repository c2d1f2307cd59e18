"""Read blocks of edges and of nodes, whatever their format: IDs that are dense already, keys that are to be mapped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import Keys, strings_of
from daskgraphpart.chunking.edge_lists.read_tables import TableRows, read_table
from daskgraphpart.chunking.edge_lists.read_text import TextRows, first_invalid, read_text
from daskgraphpart.chunking.edge_lists.tables import STRING_IDS, TEXT
from daskgraphpart.errors import InputFileError
from daskgraphpart.kernels import text_fields as fields

if TYPE_CHECKING:
    from daskgraphpart.chunking.edge_lists.keys import StringKeys
    from daskgraphpart.chunking.edge_lists.tables import TableBlock

Rows: TypeAlias = TextRows | TableRows

LONGEST_ID = 1 << 16
"""Bytes of an ID; it bounds what a few IDs can take of the memory."""

_INT64 = np.iinfo(np.int64)
_FLOAT = re.compile(r"'\s*[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d+|nan|inf)\s*'", re.IGNORECASE)


def read_table_rows(block: TableBlock) -> Rows:
    """Read the chosen columns of a block."""
    return read_text(block) if block.table.format == TEXT else read_table(block)


def dense_ids(rows: Rows, column: int, ntype: str, num_nodes: int | None) -> np.ndarray:
    """Read a column of IDs that are not mapped.

    Parameters
    ----------
    rows : TextRows or TableRows
        A block.
    column : int
        Which of its columns.
    ntype : str
        Node type, for messages.
    num_nodes : int or None
        Number of its nodes, if it is known.

    Returns
    -------
    int64 array (rows,)

    Raises
    ------
    InputFileError
        If an ID is missing, not an integer, negative or too large.
    """
    values = _text_integers(rows, column) if isinstance(rows, TextRows) else _table_integers(rows, column)
    negative = np.flatnonzero(values < 0)
    if negative.size:
        raise rows.fault(
            f"negative ID of a {ntype!r} node", column, int(negative[0]), expected="0 or more", hint="use --map-ids"
        )
    too_large = np.flatnonzero(values >= (num_nodes if num_nodes is not None else _INT64.max))
    if too_large.size:
        raise rows.fault(
            f"ID of a {ntype!r} node too large",
            column,
            int(too_large[0]),
            expected="an integer of 63 bits" if num_nodes is None else f"an ID below {num_nodes:,}",
            hint="use --map-ids" + ("" if num_nodes is None else ", or check --num-nodes"),
        )
    return values


def key_ids(rows: Rows, column: int, id_type: str) -> Keys:
    """Read a column of IDs that are to be mapped.

    Parameters
    ----------
    rows : TextRows or TableRows
        A block.
    column : int
        Which of its columns.
    id_type : str
        ``"integer"``, ``"string"``, or ``"auto"``: the type of the column; in text, integers if they look like it.

    Returns
    -------
    Keys
        One for each row.

    Raises
    ------
    InputFileError
        If an ID is missing, too long, not UTF-8, not of that type, or if text has both kinds.
    """
    if isinstance(rows, TextRows):
        return _text_keys(rows, column, id_type)
    kind = rows.block.table.columns[column].kind
    if kind == STRING_IDS:
        strings = _checked_strings(rows, column, strings_of(rows.arrow(column)))
        return strings if id_type != "integer" else _parsed(rows, column)
    values = _table_integers(rows, column)
    if id_type != "string":
        return values
    import pyarrow as pa

    return strings_of(pa.array(values).cast(pa.large_string()))


def _text_integers(rows: TextRows, column: int) -> np.ndarray:
    values, kinds = rows.integers(column)
    bad = np.flatnonzero(kinds > fields.LOOSE)
    if not bad.size:
        return values
    row, kind = int(bad[0]), int(kinds[bad[0]])
    if kind == fields.EMPTY:
        raise _missing(rows, column, row)
    if kind == fields.TOO_LARGE:
        raise rows.fault("ID too large", column, row, expected="an integer of 63 bits", hint="use --map-ids")
    what = "a float" if _FLOAT.fullmatch(rows.text(column, row)) else "not an integer"
    raise rows.fault(f"ID is {what}", column, row, expected="an integer from 0", hint=_not_an_integer(rows))


def _not_an_integer(rows: TextRows) -> str:
    table = rows.block.table
    return "use --map-ids" if table.begin else "use --map-ids; or --header if the first line names the columns"


def _missing(rows: Rows, column: int, row: int) -> InputFileError:
    return rows.fault("ID is missing", column, row, expected="the ID of a node")


def _table_integers(rows: TableRows, column: int) -> np.ndarray:
    """Column of integers, or of floats that are whole, as int64."""
    array = rows.columns[column]
    if isinstance(array, np.ndarray):
        numbers = array
    else:
        if array.null_count:
            row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise _missing(rows, column, row)
        numbers = array.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "u":
        bad = numbers > np.uint64(_INT64.max)
    elif numbers.dtype.kind == "f":
        # 2**63 is a float, the largest int64 is not
        bad = ~((numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63))
    else:
        bad = np.zeros(0, np.bool_)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise rows.fault(
            "ID is not an integer of 64 bits", column, row, expected="integers or strings", hint="store it as a string"
        )
    return numbers.astype(np.int64)


def _text_keys(rows: TextRows, column: int, id_type: str) -> Keys:
    values, kinds = rows.integers(column)
    empty = np.flatnonzero(kinds == fields.EMPTY)
    if empty.size:
        raise _missing(rows, column, int(empty[0]))
    if id_type == "integer":
        bad = np.flatnonzero(kinds > fields.LOOSE)
        if bad.size:
            raise rows.fault("ID is not an integer", column, int(bad[0]), expected="an integer of 64 bits")
        return values
    plain = kinds == fields.CANONICAL
    if id_type == "auto" and plain.any():
        if plain.all():
            return values
        integer, string = int(np.argmax(plain)), int(np.argmin(plain))
        raise mixed_ids(rows, column, string, f"integers, as in {rows.place(column, integer)}")
    return _checked_strings(rows, column, rows.strings(column))


def mixed_ids(rows: Rows, column: int, row: int, expected: str) -> InputFileError:
    """Describe an ID that is of another kind than others of its node type."""
    return rows.fault(
        "integers and strings are mixed among the IDs of one node type",
        column,
        row,
        expected=expected,
        hint="--id-type string makes all of them strings",
    )


def _checked_strings(rows: Rows, column: int, strings: StringKeys) -> StringKeys:
    long = np.flatnonzero(np.diff(strings.offsets) > LONGEST_ID)
    if long.size:
        raise rows.fault("ID too long", column, int(long[0]), expected=f"at most {LONGEST_ID:,} bytes")
    invalid = first_invalid(strings)
    if invalid is not None:
        raise rows.fault("ID is not UTF-8", column, invalid, expected="text in UTF-8", hint="convert the file first")
    return strings


def _parsed(rows: TableRows, column: int) -> np.ndarray:
    """Strings that are integers."""
    import pyarrow as pa

    try:
        values: np.ndarray = rows.arrow(column).cast(pa.large_string()).cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as fault:
        raise InputFileError(
            "ID is not an integer",
            file=rows.block.table.path,
            place=f"column {rows.block.table.columns[column].name!r}",
            expected="integers of 64 bits",
            found=str(fault).splitlines()[0],
            hint="leave out --id-type",
        ) from None
    return values
