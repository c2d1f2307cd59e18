"""Rows of CSV that look like a comment, or like the start of another table, are rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from constructions import chunk

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "".join(f"a{i},a{i + 1}\n" for i in range(300))
ODD = {
    "comment": (PLAIN + "#5,a6\n" + PLAIN, 601),
    "second table": (PLAIN + "src,dst\n" + PLAIN * 2, 901),
    "blank lines": (PLAIN + "\n\n" + PLAIN, 600),
}


@pytest.mark.parametrize("rows", ODD)
def test_no_row_vanishes(rows: str, tmp_path: Path) -> None:
    text, expected = ODD[rows]
    (tmp_path / "e.csv").write_text("src,dst\n" + text)
    form = {"name": "csv", "separator": ","}
    edges = {"relation": ["n", "r", "n"], "format": form, "files": str(tmp_path / "e.csv")}
    ends = {"source_id_col": "src", "dest_id_col": "dst"}
    (tmp_path / "n.csv").write_text("id\n" + "".join(f"a{i}\n" for i in range(301)) + "#5\nsrc\ndst\n")
    nodes = {"node_type": "n", "node_id_col": "id", "format": form, "files": str(tmp_path / "n.csv")}
    graph = chunk({"version": "gconstruct-v0.1", "nodes": [nodes], "edges": [edges | ends]}, tmp_path / "out")
    assert graph.schema.num_edges == expected
