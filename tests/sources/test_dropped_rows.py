"""What is left out of a table is left out with all that belongs to it, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.engine.resources import Resources
from daskgraphpart.sources.database import open_database, run
from daskgraphpart.sources.read_table import drop_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_numbers_of_rows_last_when_others_are_dropped(tmp_path: Path) -> None:
    with open_database(tmp_path, Resources(256 << 20, "sync")) as connection:
        run(connection, "CREATE TABLE t AS SELECT i AS c0 FROM range(1000000) r(i)")
        for condition in ("c0 % 3 <> 0 AND c0 < 800000", "c0 % 5 = 0", "c0 < 0"):
            drop_rows(connection, "t", condition)
            run(connection, "CHECKPOINT")  # where DuckDB gives new numbers to what a DELETE has left
        ((count, wrong),) = run(connection, "SELECT count(*), count(*) FILTER (c0 <> row) FROM t")
        ((in_order,),) = run(
            connection, "SELECT bool_and(c0 >= before) FROM (SELECT c0, lag(c0) OVER () AS before FROM t)"
        )
    assert (count, wrong, in_order) == (
        sum(1 for i in range(1_000_000) if (i % 3 == 0 or i >= 800_000) and i % 5),
        0,
        True,
    )
