"""Figures as one HTML page: no script, no other file, no network; the same bytes for the same figures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from daskgraphpart.reporting.charts import degree_chart, halo_chart, label_chart, matrix_chart, measure_strips
from daskgraphpart.reporting.figures import share
from daskgraphpart.reporting.style import style
from daskgraphpart.reporting.text import key_figures, title_of
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from daskgraphpart.reporting.figures import Figures

SCOPE = "dgp-report"


def report_page(figures: Figures) -> str:
    """Return a whole page."""
    title = escape(f"Partitions of {figures.graph_name}")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{title}</title><style>body{{margin:0}}</style></head>\n<body>{report_fragment(figures)}</body></html>\n"
    )


def report_fragment(figures: Figures) -> str:
    """Return what a notebook shows: the page without its frame, whose style touches nothing else."""
    return f"<style>{style(SCOPE)}</style><div class='{SCOPE}'><main>{''.join(_content(figures))}</main></div>"


def _content(figures: Figures) -> Iterator[str]:
    yield f"<h1>Partitions of {escape(figures.graph_name)}</h1><p>{escape(title_of(figures))}</p>"
    yield f"<div class='cards'>{''.join(_card(*key) for key in key_figures(figures))}</div>"
    about = "One bar per part; the dashed line is the average. The number is the largest over the average: 1 is even."
    yield _section("Balance", about, measure_strips(figures))
    yield _structure(figures)
    for labels in figures.labels:
        about = f"Share of each class among the {format_count(int(labels.counts.sum()))} labelled nodes."
        yield _section(f"Classes of {labels.key}", about, label_chart(labels))
    yield from _types(figures)
    yield _section("On disk", "Bytes by kind of file.", _files(figures))
    yield _section("Parts", "", _parts(figures))
    if figures.notes:
        yield _section("Notes", " ".join(figures.notes), "")
    yield "<footer>Computed from the files of the partitions by daskgraphpart.</footer>"


def _structure(figures: Figures) -> str:
    """Edges between parts on the left, in-degrees and HALO nodes on the right; of one part in-degrees alone."""
    about = "Number of nodes by in-degree, both axes logarithmic; bins are powers of two."
    degrees = _section("In-degrees", about, degree_chart(figures))
    if figures.num_parts == 1:
        return degrees
    about = "From the owner of the source to the owner of the destination; on the diagonal they are the same."
    matrix = _section("Edges between parts", about, matrix_chart(figures))
    halo = _section("HALO nodes", "Nodes of other parts that each part holds.", halo_chart(figures))
    return f"<div class='two'><div>{matrix}</div><div>{degrees}{halo}</div></div>"


def _card(name: str, value: str, more: str) -> str:
    texts = f"<span class='name'>{escape(name)}</span><b>{escape(value)}</b><span>{escape(more)}</span>"
    return f"<div class='card'>{texts}</div>"


def _section(title: str, about: str, content: str) -> str:
    below = f"<p>{escape(about)}</p>" if about else ""
    return f"<section><h2>{escape(title)}</h2>{below}{content}</section>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells that begin with a bar are markup of ours."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='table'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _share(count: int, total: int) -> str:
    """A share as text with a small bar."""
    part = share(count, total)
    return f"{part:.2%}<span class='share'><i style='width:{part:.1%}'></i></span>"


def _types(figures: Figures) -> Iterator[str]:
    if len(figures.ntypes) > 1:
        inner, halo = figures.inner_nodes.sum(axis=0).tolist(), figures.halo_nodes.sum(axis=0).tolist()
        rows = [
            [escape(ntype), format_count(nodes), format_count(far), f"{1 + share(far, nodes):.3f}"]
            for ntype, nodes, far in zip(figures.ntypes, inner, halo, strict=True)
        ]
        yield _section("Node types", "", _table(["node type", "nodes", "HALO nodes", "replication"], rows))
    if figures.etypes:
        edges, cut = figures.owned_edges.sum(axis=0).tolist(), figures.cut_edges.sum(axis=0).tolist()
        rows = [
            [escape(etype), format_count(count), format_count(of), _share(of, count)]
            for etype, count, of in zip(figures.etypes, edges, cut, strict=True)
        ]
        yield _section("Edge types", "", _table(["edge type", "edges", "cut edges", "cut"], rows))


def _files(figures: Figures) -> str:
    total = int(figures.nbytes.sum())
    rows = []
    for name, sizes in [*figures.file_sizes.items(), ("all", figures.nbytes)]:
        mine = int(sizes.sum())
        shown = (mine, mine / len(sizes), int(sizes.max()))
        rows.append([escape(name), *(format_size(nbytes) for nbytes in shown), _share(mine, total)])
    return _table(["file", "all parts", "average part", "largest part", "share"], rows)


def _parts(figures: Figures) -> str:
    columns: list[np.ndarray] = [
        figures.inner_nodes.sum(axis=1),
        figures.halo_nodes.sum(axis=1),
        figures.owned_edges.sum(axis=1),
        figures.cut_edges.sum(axis=1),
        figures.max_in_degrees,
        *figures.masks.values(),
    ]
    heads = ["part", "inner nodes", "HALO nodes", "owned edges", "cut edges", "largest in-degree", *figures.masks]
    if figures.has_more_halo:
        columns.insert(2, figures.stored_halo_nodes.sum(axis=1))
        heads.insert(3, "HALO stored")
    rows = []
    for part, counts in enumerate(zip(*columns, strict=True)):
        rows.append(
            [str(part), *(format_count(int(count)) for count in counts), format_size(int(figures.nbytes[part]))]
        )
    return _table([*heads, "on disk"], rows)
