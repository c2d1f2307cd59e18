"""What every scan does: one suite, a subclass for each kind; and that nothing is read before a job, then once."""

from __future__ import annotations

import builtins
import json
import os
import pickle
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import pytest
from graphs import file_hashes
from inside import Resources
from keywords import spelled
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.changed_scan import ChangedScan
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.readers.construction.build import ConstructionScan
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.readers.tables.table_scan import TableScan

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart import Scan

SMALL = Resources(1 << 28, "sync", 1)
HOW = spelled(SMALL)
ENDS = [("a", "b"), ("b", "a"), ("b", "c"), ("b", "c"), ("c", "c")]
DUPLICATES = 1


def write_edges(directory: Path) -> Path:
    lines = ["src,dst", *(",".join(edge) for edge in ENDS)]
    (directory / "e.csv").write_text("\n".join(lines) + "\n")
    return directory / "e.csv"


class ScanSuite:
    """The properties of a scan; `make` describes the graph of `ENDS`, of type ``n:r:n``."""

    num_edges = len(ENDS)

    @abstractmethod
    def make(self, tmp_path: Path) -> Scan:
        """Return the scan."""

    def test_it_is_shown_and_travels(self, tmp_path: Path) -> None:
        scan = self.make(tmp_path)
        again = pickle.loads(pickle.dumps(scan))
        assert repr(again) == repr(scan)
        assert scan.name in repr(scan)
        assert scan._repr_html_().startswith("<pre>")
        assert again.identity() == scan.identity()
        assert again.files == scan.files
        json.dumps(scan.identity())

    def test_what_is_not_read_says_so(self, tmp_path: Path) -> None:
        scan = self.make(tmp_path)
        for name in ("schema", "edges", "node_data", "edge_data"):
            with pytest.raises(AttributeError, match="collect"):
                getattr(scan, name)
        with pytest.raises(OptionError, match="collect"):
            dgp.read_assignment(tmp_path, scan)  # type: ignore[arg-type]  # what is tried

    def test_it_is_collected_as_it_is_written_and_counted(self, tmp_path: Path) -> None:
        scan, before = self.make(tmp_path), file_hashes(tmp_path)
        graph = scan.collect(**HOW)
        assert graph.schema.num_edges == self.num_edges
        assert scan.collect_schema(**HOW) == graph.schema
        assert file_hashes(tmp_path) == before
        written = scan.write_chunked(tmp_path / "scan", **HOW)
        assert written.schema == graph.schema
        graph.write_chunked(tmp_path / "graph", **HOW)
        found, expected = file_hashes(tmp_path / "scan"), file_hashes(tmp_path / "graph")
        assert found == expected

    def test_changes_of_it_are_those_of_its_graph(self, tmp_path: Path) -> None:
        scan = self.make(tmp_path)
        for changed in (scan.without_duplicates().with_reverse_edges(), scan.with_reverse_edges().without_duplicates()):
            assert isinstance(changed, dgp.Scan)
            assert {*changed.files} <= {*scan.files}  # a view of a chunked graph has no metadata
            assert changed.identity() != scan.identity()
        graph = scan.collect(**HOW)
        pairs = [(scan.with_reverse_edges(), graph.with_reverse_edges()), (scan, graph)]
        pairs += [(scan.without_self_loops(), graph.without_self_loops())]
        for i, (one, other) in enumerate(pairs):
            one.write_chunked(tmp_path / f"one-{i}", **HOW)
            other.write_chunked(tmp_path / f"other-{i}", **HOW)
            assert file_hashes(tmp_path / f"one-{i}") == file_hashes(tmp_path / f"other-{i}")

    def test_the_door_leaves_it_as_it_is(self, tmp_path: Path) -> None:
        scan = self.make(tmp_path)
        assert open_scan(scan) is scan


class TestTables(ScanSuite):
    def make(self, tmp_path: Path) -> TableScan:
        return open_tables(tmp_path)


class TestChanged(ScanSuite):
    num_edges = len(ENDS) - DUPLICATES

    def make(self, tmp_path: Path) -> ChangedScan:
        scan = open_tables(tmp_path).with_reverse_edges("{}-by").without_duplicates("n:r:n").without_self_loops("n:r:n")
        found = dgp.from_edges({"n:r:n": ([0, 1, 1, 1, 2], [1, 0, 2, 2, 2])}, num_nodes=3).without_duplicates()
        assert isinstance(scan, ChangedScan)
        assert isinstance(found, ChangedScan)
        return found


class TestConstruction(ScanSuite):
    def make(self, tmp_path: Path) -> ConstructionScan:
        edges = {
            "relation": ["n", "r", "n"],
            "format": {"name": "csv", "separator": ","},
            "files": [str(write_edges(tmp_path))],
            "source_id_col": "src",
            "dest_id_col": "dst",
        }
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"version": "gconstruct-v0.1", "nodes": [], "edges": [edges]}))
        scan = dgp.scan_graphstorm_config(path)
        assert isinstance(scan, ConstructionScan)
        assert isinstance(open_scan(path), ConstructionScan)
        return scan


class TestGraph(ScanSuite):
    def make(self, tmp_path: Path) -> GraphScan:
        graph = dgp.from_edges({"n:r:n": ([0, 1, 1, 1, 2], [1, 0, 2, 2, 2])}, num_nodes=3)
        scan = open_scan(graph.write_chunked(tmp_path / "input", **HOW))
        assert isinstance(scan, GraphScan)
        return scan


def open_tables(directory: Path) -> TableScan:
    scan = dgp.scan_tables({"n:r:n": str(write_edges(directory))}, map_ids=True)
    assert isinstance(scan, TableScan)
    assert isinstance(open_scan(directory / "e.csv"), TableScan)
    return scan


def test_what_only_describes_reads_no_table_and_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_edges(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    opened: list[str] = []

    def spied(name: Any, *how: Any, **more: Any) -> Any:
        opened.append(str(name))
        return open(name, *how, **more)

    monkeypatch.setattr(builtins, "open", spied)
    scan = dgp.scan_tables({"n:r:n": str(path)}, map_ids=True)
    changed = scan.without_duplicates().with_reverse_edges().without_self_loops().astype({"x": "float32"})
    assert "e.csv" in repr(changed)
    assert "deduplicate" in changed._repr_html_()
    assert not [name for name in opened if name.endswith("e.csv")]
    assert os.listdir(tmp_path / "tmp") == []


def test_a_job_after_changes_stages_once(tmp_path: Path) -> None:
    listener = Listener()
    scan = dgp.scan_tables({"n:r:n": str(write_edges(tmp_path))}, map_ids=True)
    changed = scan.without_duplicates().with_reverse_edges()
    repr(changed)
    dgp.partition(changed, tmp_path / "parts", 2, method="random", **HOW | {"progress": listener})
    assert listener.begun.count("read-edges") == 1
