"""`verify` compares what numbers stand for: other IDs or categories in the same order are faults."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from commands import call
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import verify

if TYPE_CHECKING:
    from pathlib import Path

ROWS, IDS, CODES = 40, "id_map/_N.parquet", "categories/_N:_E:_N/kind.parquet"
OTHERS = {"ids": ("v", "xyz", IDS, "v00", "u00", ROWS), "codes": ("u", "abc", CODES, "a", "x", 3)}
"""First letters of IDs, categories, and the one fault: file, expected, found, number of rows."""


def scan(path: Path, letter: str = "u", kinds: str = "xyz") -> Any:
    """A table of edges with string IDs and categories; other words in the same order give the same numbers."""
    rows = [f"{letter}{i:02},{letter}{(7 * i + 1) % ROWS:02},{kinds[i % 3]}\n" for i in range(ROWS)]
    path.write_text("".join(["src,dst,kind\n", *rows]))
    return dgp.scan_tables(str(path), map_ids=True, edge_features="kind")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chunked graph, and partitions made of tables, of this graph, and for GraphStorm."""
    root = tmp_path_factory.mktemp("made")
    tables = scan(root / "tables.csv")
    graph = tables.write_chunked(root / "graph")
    for name, given, layout in (("of-tables", tables, "dgl"), ("of-graph", graph, "dgl"), ("gs", tables, "graphstorm")):
        dgp.partition(given, root / name, 2, method="random", layout=layout)
    return root


@pytest.mark.parametrize("parts", ["of-tables", "of-graph", "gs", "gs/dist_graph"])
def test_other_words_in_the_same_order_are_faults(parts: str, made: Path, tmp_path: Path) -> None:
    assert verify(scan(tmp_path / "same.csv"), made / parts).ok
    for name, (letter, kinds, *fault) in OTHERS.items():
        for quick in (False, True):
            report = verify(scan(tmp_path / f"{name}.csv", letter, kinds), made / parts, quick=quick)
            (found,) = report.findings
            assert [found.file, found.expected, found.found, found.count] == fault and found.row == 0


def test_the_command_refuses_other_words(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scan(tmp_path / "e.csv", "v")
    how = ("--edges", tmp_path / "e.csv", "--map-ids", "--edge-features", "kind")
    assert call("verify", made / "of-tables", *how) == 1
    assert f"maps: {IDS}: row 0: expected v00, found u00 (and 39 more like it)" in capsys.readouterr().out


def test_a_graph_that_was_replaced_is_a_fault(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "of-graph", tmp_path / "parts")
    scan(tmp_path / "e.csv", "v").write_chunked(tmp_path / "graph")
    (found,) = verify(tmp_path / "graph", tmp_path / "parts").findings
    assert (found.check, found.file) == ("maps", IDS) and "made with" in found.what


def test_maps_of_the_same_words_may_have_other_bytes(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "graph", tmp_path / "graph")
    for name in (IDS, CODES):
        path = tmp_path / "graph" / name
        parquet.write_table(parquet.read_table(path), path, compression="gzip")
    assert verify(tmp_path / "graph", made / "of-tables").ok


def test_maps_that_cannot_be_read_are_a_fault(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "graph", tmp_path / "graph")
    (tmp_path / "graph" / CODES).write_bytes(b"PAR1")
    (found,) = verify(tmp_path / "graph", made / "of-tables").findings
    assert (found.check, found.file) == ("maps", CODES)
