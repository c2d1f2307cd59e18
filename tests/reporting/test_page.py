"""The page: well-formed, whole without any other file, the same bytes each time, whatever the number of parts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest

from daskgraphpart.reporting.figures import Labels
from daskgraphpart.reporting.report import Report
from daskgraphpart.reporting.svg import compact, nice_steps

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


class Checker(HTMLParser):
    """Every element is closed, in order; nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.numbers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), attrs
        assert not {"src", "href", "srcset", "onload", "xlink:href"} & set(names)
        self.numbers += [value or "" for name, value in attrs if name in ("x", "y", "width", "height", "points")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("num_parts", [1, 2, 16, 17, 64, 65, 256, 300])
@pytest.mark.parametrize("scale", [0, 1000])
def test_the_page_is_well_formed_and_needs_nothing_else(num_parts: int, scale: int) -> None:
    page = report_of(num_parts, scale=scale).to_html()
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert {"svg", "rect", "table"} <= checker.seen
    assert not {"script", "link", "img", "iframe", "object"} & checker.seen
    assert not re.search(r"https?:|//|@import|url\(", page)
    assert "<graph>" not in page
    assert "&lt;graph&gt;" in page
    assert not [text for text in checker.numbers if "nan" in text or "inf" in text]
    assert not [text for text in checker.numbers if text.startswith("-")]
    assert len(page) < 2_000_000


@pytest.mark.parametrize(("num_types", "num_classes"), [(1, 0), (1, 1), (40, 4096)])
def test_any_number_of_types_and_classes_is_drawn(num_types: int, num_classes: int) -> None:
    report = report_of(5, num_types, num_classes)
    checker = Checker()
    checker.feed(report.to_html())
    assert checker.open == []
    assert "train_mask" in str(report)


def test_many_parts_share_the_cells_of_the_matrix() -> None:
    report = report_of(256)
    page = report.to_html()
    count = int(report.edge_matrix[0:4, 8:12].sum())
    assert f"<title>0-3 to 8-11: {count / report.num_edges:.1%}, {count:,} edges</title>" in page
    assert "inside each group of 4 parts" in page


def test_values_are_told_when_pointed_at() -> None:
    report = report_of(3)
    page = report.to_html()
    for part, value in enumerate(report.measures["nodes"].tolist()):
        assert f"<title>{part}: {value:,}</title>" in page
    assert f"{int(report.edge_matrix[0, 1]):,} edges</title>" in page


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    pages = [report_of(9).to_html(tmp_path / name) for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes() == pages[0].encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_notebook_gets_the_page_without_its_frame() -> None:
    shown = report_of(2)._repr_html_()
    assert shown.startswith("<style>.dgp-report{")
    assert "<html" not in shown
    rules = re.search(r"<style>(.*?)</style>", shown, re.DOTALL)
    assert rules is not None
    selectors = re.findall(r"(?:^|[}\n,])\s*([^{}@,\n]+)\{", rules[1])
    assert all(".dgp-report" in selector for selector in selectors)


def test_json_has_plain_numbers_and_stable_keys() -> None:
    content = json.loads(json.dumps(report_of(3).to_dict(), allow_nan=False))
    assert list(content) == [
        "format", "version", "graph_name", "num_parts", "num_nodes", "num_edges", "halo_hops", "num_nodes_per_type",
        "num_edges_per_type", "edge_cut", "communication_volume", "replication_factor", "stored_replication_factor",
        "halo", "balance", "edge_matrix", "in_degrees", "labels", "masks", "files", "notes",
    ]  # fmt: skip
    assert (content["format"], content["version"]) == ("daskgraphpart report", 1)
    assert content["in_degrees"]["least_of_bin"] == [0, 1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("num_parts", [1, 16, 17, 300])
def test_text_is_as_long_as_a_terminal_can_bear(num_parts: int) -> None:
    lines = str(report_of(num_parts)).splitlines()
    assert len(lines) < 150
    assert max(map(len, lines)) < 200


def test_numbers_on_axes_are_short() -> None:
    assert [compact(n) for n in (0, 950, 1000, 1250, 35_000_000, 2_000_000_000)] == [
        "0", "950", "1k", "1.2k", "35M", "2B",
    ]  # fmt: skip
    assert nice_steps(0.0) == (1.0, 1.0)
    for highest in (1, 3, 7, 99, 101, 2_500_000):
        top, step = nice_steps(highest)
        assert highest <= top <= 2 * highest
        assert 2 <= round(top / step) <= 6
