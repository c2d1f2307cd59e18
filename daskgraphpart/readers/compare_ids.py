"""Compare the IDs of a column with those that should be there, by SQL; guess why hardly any is there.

Queries have one column, `id`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from daskgraphpart.readers.database import count_rows, quote, run

if TYPE_CHECKING:
    import duckdb

IDS_OF_STRANGERS = 100
"""If at most one in so many IDs of a column, or of the list, is in the other, they do not belong together."""
_BLANKS = " \t\r\n\v\f\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u202f\u3000\ufeff"
_SPELLINGS = (
    (f"trim({{}}, {quote(_BLANKS)})", "IDs differ by blanks: remove these"),
    ("lower({})", "IDs differ by upper and lower case: spell them alike"),
    ("TRY_CAST({} AS BIGINT)", "IDs differ by the spelling of numbers: --id-type integer takes them as numbers"),
)


def has_blanks(value: str) -> str:
    """SQL of whether a text has blanks at its ends: an eighth of the time that removing them takes."""
    blank = r"[\s\v\p{Z}\x{200B}\x{FEFF}]"
    return f"regexp_matches({value}, '^{blank}|{blank}$')"


def without_blanks(value: str) -> str:
    """SQL of a text without blanks at its ends, those of Unicode among them."""
    return _SPELLINGS[0][0].format(value)


def count_matches(connection: duckdb.DuckDBPyConnection, ids: str, listed: str) -> tuple[int, int]:
    """Return the numbers of different IDs, and of those that are listed."""
    query = f"SELECT count(*), count(*) FILTER (id IN (SELECT id FROM ({listed}))) FROM (SELECT DISTINCT id FROM"
    ((count, matching),) = run(connection, f"{query} ({ids}) WHERE id IS NOT NULL)")
    return int(count), int(matching)


def are_strangers(connection: duckdb.DuckDBPyConnection, count: int, matching: int, listed: str) -> bool:
    """Whether so few of some IDs are listed that they must be others."""
    if matching * IDS_OF_STRANGERS > count or not count:
        return False
    num_listed = count_rows(connection, f"(SELECT DISTINCT id FROM ({listed}))")
    return matching * IDS_OF_STRANGERS <= num_listed


def some_ids(connection: duckdb.DuckDBPyConnection, ids: str) -> str:
    """Show the three least IDs."""
    values = run(connection, f"SELECT DISTINCT id FROM ({ids}) WHERE id IS NOT NULL ORDER BY id LIMIT 3")
    return ", ".join(repr(value) for (value,) in values) or "none"


def not_listed(ids: str, listed: str) -> str:
    """Return a query of the IDs that are not listed."""
    return f"SELECT id FROM ({ids}) WHERE id NOT IN (SELECT id FROM ({listed}) WHERE id IS NOT NULL)"


def guess_spelling(connection: duckdb.DuckDBPyConnection, ids: str, listed: str) -> str | None:
    """Say which change of both sides makes most IDs match: blanks, case, text and numbers."""
    for how, hint in _SPELLINGS:
        wrapped = [f"SELECT {how.format('id::VARCHAR')} AS id FROM ({query})" for query in (ids, listed)]
        if do_most_match(connection, *wrapped):
            return hint
    return None


def guess_column(connection: duckdb.DuckDBPyConnection, columns: Iterable[tuple[str, Any]], ids: str) -> str | None:
    """Return the name of the first column, given by its first values as Arrow strings, most of which are IDs."""
    for name, values in columns:
        connection.register("first_values", values)
        try:
            if do_most_match(connection, "SELECT id FROM first_values", f"SELECT id::VARCHAR AS id FROM ({ids})"):
                return name
        finally:
            connection.unregister("first_values")
    return None


def do_most_match(connection: duckdb.DuckDBPyConnection, ids: str, listed: str) -> bool:
    """Whether more than half of some IDs are listed."""
    count, matching = count_matches(connection, ids, listed)
    return matching * 2 > count


def match_without_blanks(connection: duckdb.DuckDBPyConnection, ids: str, listed: str) -> int:
    """Count the IDs that are not listed, but would be without blanks around them."""
    strangers, stripped = not_listed(ids, listed), without_blanks("id")
    is_there = f"{stripped} IN (SELECT {stripped} FROM ({listed}))"
    return count_rows(connection, f"(SELECT DISTINCT id FROM ({strangers})) WHERE {is_there}")
