"""The page: well-formed, whole without any other file, the same bytes each time, whatever the number of parts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pytest

from daskgraphpart.tools.report.figures import Labels
from daskgraphpart.tools.report.report import Report

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta"}


def report_of(num_parts: int, num_types: int = 2, num_classes: int = 12, scale: int = 1000) -> Report:
    rng = np.random.default_rng(num_parts)

    def counts(*shape: int) -> np.ndarray:
        return rng.integers(0, scale, shape) if scale else np.zeros(shape, np.int64)

    halo = counts(num_parts, num_types)
    return Report(
        "<graph> & 'co'",
        2,
        tuple(f"n<{i}>" for i in range(num_types)),
        tuple(f"n:r{i}:n" for i in range(num_types)),
        counts(num_parts, num_types),
        halo,
        halo + counts(num_parts, num_types),
        counts(num_parts, num_types) * 2,
        counts(num_parts, num_types),
        counts(num_parts, num_parts),
        counts(num_parts, 7),
        counts(num_parts),
        (Labels("n/y", tuple(range(num_classes)), counts(num_parts, num_classes), counts(num_parts)),),
        {"n/train_mask": counts(num_parts)},
        {"graph.dgl": counts(num_parts) * 10**6},
        ("n/z has more than 4,096 classes and is left out",),
    )


@cache
def page_of(num_parts: int, scale: int) -> str:
    """Draw a page, which takes a second."""
    return report_of(num_parts, scale=scale).to_html()


class Checker(HTMLParser):
    """Every element is closed, in order; nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.styles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        assert not {"src", "srcset", "onload", "xlink:href"} & set(names)
        for value in [value or "" for name, value in attrs if name == "href"]:
            assert value.startswith(("#", "data:image/png;base64,"))
        self.styles += [value or "" for name, value in attrs if name == "style"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("num_parts", "scale"), [*((num_parts, 1000) for num_parts in (1, 2, 17, 32, 33, 300)), (1, 0), (32, 0), (300, 0)]
)
def test_the_page_is_well_formed_and_needs_nothing_else(num_parts: int, scale: int) -> None:
    page = page_of(num_parts, scale)
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert "table" in checker.seen
    assert not {"script", "link", "img", "iframe", "object"} & checker.seen
    assert not re.search(r"https?:|@import|url\((?!#)", page)
    assert "<graph>" not in page
    assert "&lt;graph&gt;" in page
    assert not [style for style in checker.styles if "nan" in style or "inf" in style]
    assert len(page) < 300_000


@pytest.mark.parametrize(("num_types", "num_classes"), [(1, 0), (1, 1), (40, 4096)])
def test_any_number_of_types_and_classes_is_drawn(num_types: int, num_classes: int) -> None:
    report = report_of(5, num_types, num_classes)
    checker = Checker()
    checker.feed(report.to_html())
    assert checker.open == []
    assert "train_mask" in str(report)


def cells_of(page: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", page)


def test_cells_have_the_figures() -> None:
    report = report_of(3)
    page = page_of(3, 1000)
    nodes = report.inner_nodes.sum(axis=1)
    assert {f"{count:,}" for count in nodes.tolist()} < set(cells_of(page))
    assert f"{int(report.edge_matrix[0, 1]) / report.num_edges:.1%}" in cells_of(page)


def drawn(page: str, question: str) -> str:
    found = re.search(rf"<h2>{re.escape(question)}</h2>.*?(<svg.*?</svg>)", page, re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("num_parts", [2, 8, 64, 65, 256])
def test_pictures_answer_questions_in_the_ink_of_the_page(num_parts: int) -> None:
    page = page_of(num_parts, 1000)
    for question in ("How even are the parts?", "Which types are cut?", "What is on disk?"):
        assert "currentColor" in drawn(page, question)
        assert drawn(page, question).startswith("<svg role='img' ") and f"<title>{question}</title><desc>" in page
    assert "data:image/png" in drawn(page, "Who talks to whom?")
    assert "n:r0:n" in drawn(page, "Which types are cut?")


def even(num_parts: int) -> Report:
    """Parts of 100 nodes and 200 edges, a fifth of which are cut."""
    ones = np.ones((num_parts, 1), np.int64)
    matrix = np.full((num_parts, num_parts), 40 // max(1, num_parts - 1))
    parts = (100 * ones, 30 * ones, 30 * ones, 200 * ones, 40 * ones)
    sizes = {"graph.dgl": 1000 * ones[:, 0]}
    return Report("g", 1, ("n",), ("n:r:n",), *parts, matrix, 100 * ones, ones[:, 0], (), {}, sizes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ["Balanced", "20.0% of edges are cut", "0.30 halo nodes"]),
        ({"owned_edges": np.array([[400], [200], [200], [200]])}, ["Unbalanced", "part 0", "60% more edges"]),
        ({"inner_nodes": np.array([[100], [100], [100], [115]])}, ["Not quite balanced", "part 3", "11% more nodes"]),
        ({"masks": {"n/train_mask": np.array([9, 0, 9, 9])}}, ["Unbalanced", "part 1 has 100% fewer"]),
        ({"owned_edges": np.zeros((4, 1), np.int64)}, ["no edges"]),
    ],
)
def test_the_verdict_says_in_words_what_the_figures_mean(change: dict[str, Any], words: list[str]) -> None:
    report = replace(even(4), **change)
    for shown in (report.to_html(), " ".join(str(report).split())):
        for word in words:
            assert word in shown


def test_one_part_has_nothing_to_balance() -> None:
    assert "whole graph" in str(even(1))


def test_the_edges_between_many_parts_are_no_table() -> None:
    assert "Edges between parts" in page_of(32, 1000)
    assert "Edges between parts" not in page_of(33, 1000)


def test_the_head_says_where_the_partitions_are_and_how_they_were_made() -> None:
    report = replace(report_of(2), about={"path": "s3://b/<p>", "method": "metis", "options": "formats coo"})
    page = report.to_html()
    assert "<dt>path</dt><dd>s3://b/&lt;p&gt;</dd><dt>method</dt><dd>metis</dd>" in page
    assert "method: metis" in str(report)
    assert report.to_dict()["about"]["options"] == "formats coo"


def test_names_cannot_reach_a_terminal_or_a_page_as_commands() -> None:
    report = replace(report_of(2, 2), graph_name="a\x1b[2J\udc80<script>", ntypes=("t\x1b]0;x\x07", "<img src=x>"))
    page = report.to_html()
    for shown in (page, str(report)):
        assert "\x1b" not in shown
        assert "\x07" not in shown
        shown.encode()
    assert "<script" not in page
    assert "<img" not in page


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    paths = [report_of(9).to_html(tmp_path / name) for name in ("a.html", "b.html")]
    assert paths == [tmp_path / "a.html", tmp_path / "b.html"]
    assert paths[0].read_bytes() == paths[1].read_bytes() == page_of(9, 1000).encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_the_style_of_other_plots_is_not_taken_over() -> None:
    with mpl.rc_context({"axes.grid": True, "lines.linewidth": 7.0}):
        styled = report_of(9).to_html()
    assert styled == page_of(9, 1000)


def test_a_notebook_gets_the_page_without_its_frame() -> None:
    shown = report_of(2)._repr_html_()
    assert shown.startswith("<style>\n.dgp-report{")
    assert "<html" not in shown
    rules = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)
    assert rules is not None
    selectors = re.findall(r"(?:^|[}\n,])\s*([^{}@,\n]+)\{", rules[1])
    assert all(".dgp-report" in selector for selector in selectors)


def test_json_has_plain_numbers_and_stable_keys() -> None:
    content = json.loads(json.dumps(report_of(3).to_dict(), allow_nan=False))
    assert list(content) == [
        "format", "version", "about", "graph_name", "num_parts", "num_nodes", "num_edges", "halo_hops",
        "num_nodes_per_type",
        "num_edges_per_type", "edge_cut", "communication_volume", "replication_factor", "stored_replication_factor",
        "halo", "balance", "edge_matrix", "in_degrees", "labels", "masks", "files", "notes",
    ]  # fmt: skip
    assert (content["format"], content["version"]) == ("daskgraphpart report", 1)
    assert content["in_degrees"]["least_of_bin"] == [0, 1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("num_parts", [1, 16, 17, 300])
def test_text_is_as_long_as_a_terminal_can_bear(num_parts: int) -> None:
    lines = str(report_of(num_parts)).splitlines()
    assert len(lines) < 150
    assert max(map(len, lines)) < 220
