"""A fill value stands for vectors that are missing, and for missing elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "500MB", "workers": 1}
GAPS = [None, [1, None, 3], [4, 5, 6], [None, None, None]]
KINDS = {
    "lists": pl.List(pl.Float32), "integers": pl.List(pl.Int16), "arrays": pl.Array(pl.Float64, 3),
}  # fmt: skip


@pytest.mark.parametrize(
    ("fill", "kind"), [(0, "lists"), (0, "integers"), (0, "arrays"), (-1.5, "integers"), (7, "lists")]
)
@pytest.mark.parametrize("of", ["nodes", "edges"])
def test_every_element_of_a_gap_is_filled(kind: str, fill: float, of: str, tmp_path: Path) -> None:
    vectors = pl.DataFrame({"id": ["a", "b", "c", "d"], "v": GAPS}, schema={"id": pl.String, "v": KINDS[kind]})
    edges = pl.DataFrame({"src": ["a", "b", "c", "d"], "dst": ["b", "c", "d", "a"]})
    if of == "nodes":
        given: dict[str, Any] = {"edges": edges, "nodes": {"_N": vectors}}
    else:
        given = {"edges": edges.with_columns(vectors["v"])}
    with pytest.raises(InputFileError, match="fill v=VALUE"):
        dgp.scan_tables(**given, map_ids=True).collect(**HOW)
    graph = dgp.scan_tables(**given, map_ids=True, fill={"v": fill}).collect(**HOW)
    data = graph.node_data["_N"] if of == "nodes" else graph.edge_data["_N:_E:_N"]
    expected = [[fill] * 3, [1, fill, 3], [4, 5, 6], [fill] * 3]
    assert data["v"].compute().tolist() == expected
    assert data["v"].dtype == (
        np.float64 if fill == -1.5 or kind == "arrays" else np.float32 if kind == "lists" else np.int16
    )


def test_a_vector_of_another_length_is_still_refused(tmp_path: Path) -> None:
    edges = pl.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0], "v": [None, [1.0, 2.0], [1.0]]})
    with pytest.raises(InputFileError, match="not a vector like the first one"):
        dgp.scan_tables(edges=edges, fill={"v": 0}).collect(**HOW)
