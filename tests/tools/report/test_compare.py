"""`compare` tabulates methods; `assign` says what it did."""

from __future__ import annotations

import csv
import json
import resource
from typing import TYPE_CHECKING

import pytest
from commands import call

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("compare") / "graph"
    sizes = ("--nodes", "3000", "--edges", "30000", "--features", "0")
    assert call("generate", directory, "--kind", "communities", *sizes, "--quiet") == 0
    return directory


def test_methods_are_tabulated_as_text_csv_and_plot(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, plot = tmp_path / "methods.csv", tmp_path / "methods.png"
    options = ("--num-parts", "4,5000", "--methods", "metis", "--balance", "nodes", "--memory", "1GB")
    assert call("compare", graph, *options, "--csv", table, "--plot", plot, "--progress", "json") == 0
    shown, progress = capsys.readouterr()
    events = [(of["event"], of.get("units_done")) for of in map(json.loads, progress.splitlines())]
    told = [event for event in events if event[0] != "advance"]  # which is left out soon after another
    assert told == [("begin", 0), ("note", None), ("note", None), ("end", 2)]
    for word in (
        "parts",
        "edge cut",
        "replication",
        "peak memory",
        "metis",
        "is more than the graph's",
        f"table       {table}",
        f"plot        {plot}",
    ):
        assert word in shown
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["parts"], row["method"]) for row in rows] == [("4", "metis"), ("5000", "metis")]
    assert 0 < float(rows[0]["cut_share"]) < 0.75
    assert all(int(row["peak_bytes"]) > 50_000_000 for row in rows)
    assert float(rows[0]["balance of nodes"]) <= 1.0301
    assert "is more than the graph's" in rows[1]["fault"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_without_any_result_it_fails_as_its_runs_do(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", graph, "--num-parts", "5000", "--methods", "metis", "--quiet") == 2
    assert "is more than the graph's" in capsys.readouterr().out


def test_a_run_that_fails_leaves_no_workspace_and_cannot_be_continued(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, usual[1]))
    try:
        options = ("--num-parts", "4", "--methods", "fennel", "--memory", "1GB", "--quiet")
        assert call("compare", graph, *options, "--workspace", tmp_path) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    shown = capsys.readouterr().out
    assert "choose another directory. [EnvironmentFaultError]" in shown and "--restart" not in shown
    assert [*tmp_path.iterdir()] == []


def test_methods_are_sorted_by_what_training_fetches(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--num-parts", "4", "--methods", "random,metis", "--fanouts", "5,5", "--batch-size", "100")
    assert call("compare", graph, *options, "--csv", tmp_path / "methods.csv", "--memory", "1GB", "--quiet") == 0
    assert "remote rows" in capsys.readouterr().out
    with (tmp_path / "methods.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["metis", "random"]
    assert 0 < float(rows[0]["remote_share"]) < float(rows[1]["remote_share"]) < 0.75
    assert 0 < int(rows[0]["remote_rows"]) < int(rows[1]["remote_rows"])
    assert float(rows[0]["busiest"]) >= 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--fanouts", "5", "--batch-size", "0"), "--batch-size"),
        (("--fanouts", "ten"), "--fanouts"),
        (("--methods", "nope"), "Unknown method 'nope'"),
        (("--num-parts", "a,b"), "not a list of numbers"),
        (("--num-parts", "0"), "Nothing to compare"),
        (("--plot", "methods.doc"), "has no known format"),
    ],
)
def test_a_mistake_is_one_error(
    arguments: tuple[str, ...], word: str, graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", graph, *arguments) == 2
    assert word in capsys.readouterr().err


def test_assign_reports_cut_volume_balance_and_reason(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert call("assign", graph, tmp_path / "owners", "--num-parts", "4", "--report", report) == 0
    shown = capsys.readouterr().out
    for word in ("method", "edge cut", "halo nodes", "nodes 1.", "edges 1.", "at most", f"report      {report}"):
        assert word in shown
    found = json.loads(report.read_text())
    assert found["num_edges"] == 30_000
    assert 0 < found["cut_share"] < 1
    assert found["warnings"] == []
