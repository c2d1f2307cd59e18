"""Every figure of a measurement in README, the pages and their pictures is that of ``benchmarks/results``.

Figures stand between comments that name them, and ``python benchmarks/table.py`` writes what stands there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import daskgraphpart as dgp

ROOT = Path(__file__).parent.parent.parent
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
BLOCK = re.compile(r"<!-- (\w+) -->\n?(.*?)\n?<!-- end -->", re.DOTALL)
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
MEASURED = re.compile(
    r"(?<![\w.])\d[\d.,]* ?(?:s|ms|ns|seconds|minutes|hours|h|[kMGT]B|%|dollars|cents)(?!\w)"
    r"|\b(?:half|third|quarter|fifth|tenth|twice)\b|(?<![\w.])[01]\.\d\d(?![\d.])"
)
SETTINGS = {
    "README.md": {"24 GB"},
    "docs/index.md": {"24 GB", "10 minutes"},
    "docs/benchmarks.md": {"tenth", "quarter"},
    "docs/clusters.md": {"half", "twice", "15 seconds", "20 seconds", "1 GB"},
    "docs/command_line.md": {"twice"},
    "docs/compatibility.md": {"1.26", "0.60"},
    # bytes of structures; and, of prototypes that there are no longer, what they took
    "docs/design.md": {"half", "twice", "quarter", "third", "7.4 GB", "1.3 GB", "16.9 s"},
    "docs/formats.md": {"half", "twice"},
    "docs/howto/dgl.md": {"5 %"},
    "docs/howto/partition_for_training.md": {"half", "twice", "tenth", "1 %", "2 %", "3 %", "5 %", "10 %"},
    "docs/howto/pyg.md": {"twice", "half"},
    "docs/howto/two_machines.md": {"half"},
    "docs/install.md": {"0.68"},
    "docs/memory_and_disk.md": {"half", "200 MB", "64 MB", "1 MB", "100 MB", "5 %"},
    "docs/new_data.md": {"tenth"},
    "docs/notebooks.md": {"twice"},
    "docs/partitioners.md": {"half", "twice", "5 %", "3 %", "10 %", "30 %"},
    "docs/reference/resources.md": {"half"},
    "docs/resume.md": {"1 kB"},
    "docs/sizing.md": {"half", "2 GB", "64 GB", "1.2 GB"},
    "docs/stores.md": {"20 seconds"},
    "docs/troubleshooting.md": {"twice", "1 GB"},
    "docs/tutorial.md": {"75%"},
}
"""Figures that stand elsewhere: limits, settings, defaults and sizes by definition, not what was measured."""


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> object:
    """The script that writes them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import table  # type: ignore[import-not-found]

    return table


def test_every_block_says_what_the_results_say(table: object) -> None:
    expected: dict[str, dict[str, str]] = defaultdict(dict)
    for page, name, content in table.blocks():  # type: ignore[attr-defined]
        expected[str(page.relative_to(ROOT))][name] = content
    shown = {page: dict(BLOCK.findall((ROOT / page).read_text())) for page in PAGES}
    wrong = {page: names for page, names in shown.items() if names != expected.get(page, {})}
    assert wrong == {}, "`python benchmarks/table.py` writes them anew"


def test_a_graph_that_two_sections_measured_has_one_cut(table: object) -> None:
    """Which part a node is in does not depend on memory or machine: one that differs is of an older edition."""
    tables = table.partitioner_tables  # type: ignore[attr-defined]
    large, differ = {tuple(row[key] for key in tables.LARGE_KEY): row["cut"] for row in tables.kept("large")}, []
    for row in tables.kept("cuts"):
        for balance, of in (("nodes", row), ("nodes,edges", row["both"])):
            for method in ("metis", "auto"):
                cuts = [
                    cut
                    for key, cut in large.items()
                    if (key[0], *key[2:]) == (row["graph"], row["parts"], balance, method)
                ]
                differ += [(row["graph"], row["parts"], balance, method) for cut in cuts if cut != of[method]["cut"]]
    assert differ == []


def test_no_figure_of_a_measurement_stands_elsewhere() -> None:
    texts = {page: CODE.sub("", BLOCK.sub("", (ROOT / page).read_text())) for page in PAGES}
    found = {page: set(MEASURED.findall(text)) - SETTINGS.get(page, set()) for page, text in texts.items()}
    assert {page: figures for page, figures in found.items() if figures} == {}


def test_bytes_per_node_and_edge_are_those_that_jobs_reserve(table: object) -> None:
    predict, maps = table.predict, "5"  # type: ignore[attr-defined]  # of owners and new IDs, by definition
    held = {method: f"{predict.needed(10**9, method) / 1e9:.0f}" for method in ("multilevel", "fennel")}
    texts = {page: CODE.sub("", (ROOT / page).read_text()) for page in PAGES}
    per_node = re.compile(r"(\d+) bytes\s(?:of memory )?(?:a|per)\snode")
    found = {page: set(per_node.findall(text)) - {*held.values(), maps} for page, text in texts.items()}
    assert {page: numbers for page, numbers in found.items() if numbers} == {}
    assert f"{held['multilevel']} bytes of memory a node" in texts["README.md"]


def test_pictures_show_what_the_results_say(table: object, tmp_path: Path) -> None:
    table.charts.draw_all(tmp_path)  # type: ignore[attr-defined]
    assert len(compared(tmp_path)) == 4


@pytest.mark.filterwarnings("ignore")  # of PyG, as it is imported
def test_pictures_of_concepts_show_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "pictures"))
    import draw_concepts  # type: ignore[import-not-found]

    draw_concepts.draw_all(tmp_path)
    assert len(compared(tmp_path)) == 3


def test_the_tree_on_the_page_of_concepts_has_every_file(tmp_path: Path) -> None:
    (tmp_path / "follows.csv").write_text("src,dst\nann,bob\nbob,cid\ncid,dan\n")
    edges = dgp.scan_tables(str(tmp_path / "follows.csv"), map_ids=True)
    parts = dgp.partition(edges, tmp_path / "parts", 2, progress=False)
    written = {path.name for path in parts.config.parent.rglob("*") if path.is_file()}
    page = (ROOT / "docs" / "concepts.md").read_text()
    assert written == set(re.findall(r"── (?:\w+/)?([\w.]+\.\w+) ", page))


def compared(drawn: Path) -> list[Path]:
    """Pictures in a directory, each equal to the one in the docs."""
    found = sorted(drawn.glob("*.svg"))
    assert [labels(path) for path in found] == [labels(ROOT / "docs" / "pictures" / path.name) for path in found]
    return found


def labels(picture: Path) -> list[str]:
    """What is written in a picture, and where lines and bars are, to a tenth of a point."""
    text = picture.read_text()
    places = [
        f"{float(number):.1f}" for path in re.findall(r' d="([^"]*)"', text) for number in re.findall(r"[\d.]+", path)
    ]
    return re.findall(r">([^<\n]+)</text>", text) + places
