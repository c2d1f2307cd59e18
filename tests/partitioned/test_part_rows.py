"""Rows that one trainer computed, of the nodes of its part, are brought back to the IDs of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path

IDS = np.arange(80)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dgp.PartitionedGraph:
    graph = dgp.from_edges(
        {"user:follows:user": (IDS, np.roll(IDS, 3)), "user:buys:item": (IDS, IDS % 9)},
        num_nodes={"user": 80, "item": 9},
        node_data={"user": {"x": IDS * 10}},
    )
    return dgp.partition(graph, tmp_path_factory.mktemp("rows") / "parts", 3, method="random", cluster="sync")


def test_rows_of_all_parts_are_those_of_the_graph(parts: dgp.PartitionedGraph) -> None:
    seen = []
    for part_id in range(3):
        part = parts.part(part_id)
        rows = part.node_rows.features["user"]["x"].memmap()
        ids, values = part.to_original("user", rows)
        assert (np.diff(ids) > 0).all()
        assert np.array_equal(values, ids * 10)
        seen.append(ids)
        edges, same = part.to_original(("user", "buys", "item"), part.original_ids["buys"].compute())
        assert np.array_equal(edges, same)
    assert np.array_equal(np.sort(np.concatenate(seen)), IDS)


def test_rows_of_another_number_are_refused(parts: dgp.PartitionedGraph) -> None:
    with pytest.raises(OptionError, match="user in part 1"):
        parts.part(1).to_original("user", np.zeros(81))


def test_a_part_is_shown_in_short(parts: dgp.PartitionedGraph) -> None:
    assert "user:buys:item" in repr(parts.part(0))
    assert "<table" in parts.part(0)._repr_html_()


def test_verify_without_the_graph_honours_quick_and_refuses_to_sample(parts: dgp.PartitionedGraph) -> None:
    assert parts.verify(quick=True).ok
    with pytest.raises(OptionError) as caught:
        parts.verify(sample=0.5)
    assert caught.value.option == "sample"


def test_a_report_becomes_a_page(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    assert parts.report(cluster="sync").to_html(tmp_path / "report.html").stat().st_size > 1000


def test_functions_end_with_a_line_that_says_what_was_made(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    dgp.partition((IDS, np.roll(IDS, 1)), tmp_path / "parts", 2, progress=events.append, cluster="sync")
    notes = [str(event["text"]) for event in events if event["event"] == "note"]
    assert notes[-1].startswith("2 parts, ")
    assert str(tmp_path / "parts") in notes[-1]
