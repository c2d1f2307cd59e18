"""The site that `make site` has built shows what the project wrote: nothing of Python's own, and nothing private."""

from __future__ import annotations

import os
import re
from html import unescape
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent.parent / "build" / "site"
LEAKS = {
    "a docstring of Python's own": re.compile(
        r"int\(\[x\]\)|bool\(x\) -&gt;|Built-in immutable sequence|str\(object=|Type variable\.|dict\(\) -&gt;"
    ),
    "a name for type checkers, or a private one": re.compile(r'id="[\w.]*(?:TYPE_CHECKING|\b[A-Z]\w*T|\._\w+)"'),
    "a constant of a module": re.compile(r'id="daskgraphpart\.[\w.]+\.[A-Z][A-Z_]+"'),
    "an address in memory": re.compile(r"object at 0x|&lt;function "),
    "the source of a notebook as its description": re.compile(r'name="description" content="\{'),
    "a link that was not found": re.compile(r"\[<?[\w`</>]+\]\[daskgraphpart"),
}
TAGS = re.compile(r"</?([a-z]\w*(?: \w+)?)[\s>]")
"""Words in angle brackets that a browser takes for tags: `<graph name>`, `<ntype>`."""
NOT_HTML = re.compile(r"graph|ntype|etype|nodetype|num_parts|relation|rel|src")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """HTML of all pages; without a site a test is skipped."""
    if not (SITE / "index.html").exists():
        pytest.skip("no site: run `make site`")
    return {str(path.relative_to(SITE)): path.read_text(encoding="utf-8") for path in SITE.rglob("*.html")}


@pytest.mark.parametrize("leak", LEAKS)
def test_no_page_shows(leak: str, pages: dict[str, str]) -> None:
    assert {name: found[0] for name, page in pages.items() if (found := LEAKS[leak].search(page))} == {}


def test_words_in_angle_brackets_are_no_tags(pages: dict[str, str]) -> None:
    assert {name for name, page in pages.items() if any(NOT_HTML.fullmatch(of) for of in TAGS.findall(page))} == set()
    assert "<graph name>.json" in unescape(pages["reference/partition/index.html"])


@pytest.mark.parametrize("name", ["make", "read", "ids", "chunked", "cli"])
def test_the_first_page_of_a_section_links_to_the_pages_of_all_that_it_lists(name: str, pages: dict[str, str]) -> None:
    links = re.findall(r'<td><a href="([\w./-]+)/"', pages[f"reference/{name}/index.html"])
    assert len(links) > 5
    reached = {link: os.path.normpath(f"reference/{name}/{link}/index.html") for link in links}
    assert {link for link, page in reached.items() if page not in pages} == set()


def test_parameters_of_partition_are_in_the_groups_of_the_command_line(pages: dict[str, str]) -> None:
    titles = re.findall(r'doc-section-title">([\w ]+):<', pages["reference/partition/index.html"])
    assert titles == ["Parameters", "Method", "Output", "Resources", "Progress", "Returns", "Raises", "Examples"]


def test_a_method_is_shown_with_its_class_and_without_its_object(pages: dict[str, str]) -> None:
    page = re.sub(r"<[^>]+>", "", pages["reference/PartitionedGraph.own_ids/index.html"])
    assert "own_ids(ntype, new_ids, *, id_map=None)" in unescape(page)


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("Tables with string IDs?", "input"),
        ("PyG?", "howto/pyg"),
        ("DGL on two machines?", "howto/two_machines"),
        ("SLURM?", "clusters"),
        ("How much memory and disk?", "memory_and_disk"),
        ("It was stopped: what now?", "resume"),
        ("Several types, and features of edges?", "howto/heterogeneous"),
        ("Predictions under my own IDs?", "new_data"),
        ("How do I cite it?", "cite"),
        ("Which methods has a graph?", "reference/classes/Graph"),
        ("Does it train faster?", "howto/partition_for_training"),
        ("What does it cost?", "sizing"),
        ("Several GPUs?", "howto/plain_torch"),
        ("What does this error mean?", "troubleshooting"),
        ("What stays compatible?", "compatibility"),
    ],
)
def test_the_text_of_the_front_page_answers_a_question_within_two_clicks(
    question: str, page: str, pages: dict[str, str]
) -> None:
    reached = {"."}
    for _ in range(2):
        reached |= {target for found in reached for target in links_in_text(found, pages)}
    assert page in reached, question


def links_in_text(page: str, pages: dict[str, str]) -> set[str]:
    """Pages that the text of a page links to, without menus."""
    _, _, article = pages[os.path.normpath(f"{page}/index.html")].partition("<article")
    links = re.findall(r'href="([\w./]+)[#"]', article.partition("</article>")[0])
    found = {os.path.normpath(os.path.join(page, link)) for link in links}
    return {of for of in found if f"{of}/index.html" in pages}


def test_every_page_of_a_notebook_has_outputs(pages: dict[str, str]) -> None:
    notebooks = {name: page for name, page in pages.items() if re.match(r"notebooks/\d", name)}
    assert len(notebooks) == len(list((SITE.parents[1] / "notebooks").glob("*.ipynb")))
    assert [name for name, page in notebooks.items() if page.count("jp-OutputArea-output") < 5] == []
