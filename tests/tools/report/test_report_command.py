"""`report` on the command line: text, JSON, a page; a mistake is one error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from commands import call

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    assert call("generate", root / "graph", "--kind", "mag", "--nodes", "2000", "--edges", "20000", "--quiet") == 0
    out = root / "partitions"
    assert call("partition", root / "graph", out, "--num-parts", "3", "--method", "fennel", "--quiet") == 0
    return out


def test_text_is_the_default(partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", partitions, "--quiet") == 0
    shown = capsys.readouterr().out
    for word in (
        "Partitions of 'graph': 3 parts", "method: fennel", "constraints: nodes 1.0", "(at most 1.", "edge cut",
        "Balanced", "replication factor", "halo nodes",
        "nodes of paper", "paper/train_mask", "edge type", "Edges between parts", "In-degrees",
        "Classes of paper/label", "total variation", "graph.dgl",
    ):  # fmt: skip
        assert word in shown


def test_json_agrees_with_python_and_with_the_manifest(partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", partitions, "--format", "json", "--quiet") == 0
    content = json.loads(capsys.readouterr().out)
    assert content == dgp.open_partitions(partitions).report().to_dict()
    assert content["num_edges"] == 20_000
    assert content["edge_cut"]["by_edge_type"].keys() == content["num_edges_per_type"].keys()
    again = dgp.open_partitions(partitions).report(memory=1 << 25, cluster="processes", workers=2)
    assert again.to_dict() == content


def test_the_name_of_the_output_tells_the_format(
    partitions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, begin in (("r.html", b"<!doctype html>"), ("r.json", b"{"), ("r.txt", b"Partitions of")):
        assert call("report", partitions, "--output", tmp_path / name) == 0
        assert capsys.readouterr().out == f"report      {tmp_path / name}\n"
        assert (tmp_path / name).read_bytes().startswith(begin)
    assert call("report", partitions, "--format", "json", "--output", tmp_path / "r.txt", "--quiet") == 0
    assert json.loads((tmp_path / "r.txt").read_text())["num_parts"] == 3


def test_labels_may_be_given(partitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", partitions, "--labels", "paper/year", "--format", "json", "--quiet") == 0
    assert list(json.loads(capsys.readouterr().out)["labels"]) == ["paper/year"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--labels", "paper/nope"),
            "--labels: no such labels: expected one whole number per node: one of paper/label",
        ),
        (("--labels", "paper/feat"), "found paper/feat, float"),
        (("--memory", "1MB"), "--memory 1MB is too small"),
        (("--output", "/no/such/directory/r.html"), "/no/such/directory: no such directory"),
        (("--output", "r.pdf"), "--output r.pdf has no known format. Let its name end in .txt, .json, .html, .htm"),
    ],
)
def test_a_mistake_is_one_error(
    arguments: tuple[str, ...], words: str, partitions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("report", partitions, *arguments, "--quiet") == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.splitlines()) == 1


def test_a_directory_without_partitions_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", tmp_path, "--quiet") == 2
    assert "no partition config in this directory" in capsys.readouterr().err
