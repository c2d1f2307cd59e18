"""The noun `Report`: figures of partitions as text that fits a terminal, and as one HTML page.

Text and page have the same tables: frames, how their values are written, what bars show. The page has no script, needs
no other file and no network. Its tables are pandas' `Styler`, whose bars are backgrounds of cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from daskgraphpart.errors import OptionError
from daskgraphpart.reporting.figures import Figures, Labels, balance
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.units import format_count, format_number, format_size, printable, text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


MAX_ROWS, MAX_COLUMNS = 16, 17
"""Of a table in text."""

MAX_MATRIX = 32
"""Parts whose edges between each other are a matrix on a page."""

STYLE = """
.dgp-report{--high:#f3b27a;--low:#8fbbe8;--bar:#a9cfc0;--line:#8884;color-scheme:light dark;
 color:CanvasText;background:Canvas;font:14px/1.45 system-ui,sans-serif;padding:20px;
 display:flex;flex-wrap:wrap;gap:0 36px}
@media (prefers-color-scheme:dark){.dgp-report{--high:#8a5426;--low:#2d5a87;--bar:#2f6a55}}
.dgp-report>*{max-width:100%;min-width:0}
.dgp-report header{width:100%}
.dgp-report pre{white-space:pre-wrap;overflow-wrap:anywhere}
.dgp-report section div{max-height:640px;overflow:auto;border:1px solid var(--line)}
.dgp-report section div::-webkit-scrollbar{width:12px;height:12px;background:var(--line)}
.dgp-report section div::-webkit-scrollbar-thumb{background:#888;border-radius:6px}
.dgp-report table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.dgp-report th,.dgp-report td{padding:3px 12px;text-align:right;white-space:nowrap;border-top:1px solid var(--line)}
.dgp-report th{position:sticky;top:0;background:Canvas;z-index:1}
.dgp-report th:first-child,.dgp-report td:first-child{text-align:left;position:sticky;left:0;background:Canvas}
.dgp-report th:first-child{z-index:2}
@media (max-width:800px){.dgp-report td:first-child{white-space:normal;overflow-wrap:anywhere;max-width:200px}}
"""

MAX_CLASSES = 12
CUT, OF_ALL, ON_DISK, RATIO, VARIATION = "cut", "of all", "on disk", "largest / average", "total variation"
FORMATS: dict[Any, Any] = {
    **dict.fromkeys((CUT, OF_ALL), "{:.1%}".format),
    **dict.fromkeys((RATIO, VARIATION, "replication"), "{:.3f}".format),
    **dict.fromkeys((ON_DISK, "all parts", "average", "largest"), format_size),
}
"""How the values of a column are written: by default as counts, below a number (of a part, a class) as shares."""


class Report(Figures):
    """Quality of partitions: cut, volume, HALO, balance, edges between parts, degrees, labels, sizes on disk.

    All of it is computed from the files of the parts. Attributes are those of `Figures`.

    Examples
    --------
    >>> report = open_partitions("partitions").report()  # doctest: +SKIP
    >>> print(report)  # doctest: +SKIP
    >>> report.cut_share, report.replication_factor  # doctest: +SKIP
    >>> report.to_html("report.html")  # doctest: +SKIP
    """

    @overload
    def to_html(self) -> str: ...

    @overload
    def to_html(self, path: str | os.PathLike[str]) -> Path: ...

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Lay out the report as one HTML page, which needs no other file, no script and no network.

        With a path, write it there and return the path.
        """
        page = (
            "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width,initial-scale=1'>"
            f"<title>{_title(self)}</title></head>\n<body>{self._repr_html_()}</body></html>\n"
        )
        return page if path is None else write_text(page, path)

    def __str__(self) -> str:
        title = f"Partitions of {printable(repr(self.graph_name))}: {title_of(self)}"
        tables = [f"{printable(section.title)}\n{_text_of(section)}" for section in all_sections(self, MAX_ROWS)]
        return "\n\n".join([f"{title}\n{_head(self)}", *tables, *_notes(self)])

    def __repr__(self) -> str:
        return f"<Report of {self.graph_name!r}: {format_number(self.num_parts, 'part')}, cut {self.cut_share:.2%}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page without its frame, whose style touches nothing else."""
        parts = [f"<style>{STYLE}</style><div class='dgp-report'><header><h1>{_title(self)}</h1>"]
        parts.append(f"<p>{title_of(self)}</p><pre>{escape(_head(self))}</pre></header>")
        for number, section in enumerate(all_sections(self, MAX_MATRIX)):
            parts.append(f"<section><h2>{escape(printable(section.title))}</h2><p>{section.about}</p>")
            parts.append(f"<div>{_table_of(section, f'dgp{number}')}</div></section>")
        parts += [f"<pre>{escape(note)}</pre>" for note in _notes(self)]
        return "".join([*parts, "</div>"])


def write_text(content: str, path: str | os.PathLike[str]) -> Path:
    """Write text atomically, with a newline at its end."""
    with environment_faults():
        write_bytes(check_directory_of(path), (content.rstrip("\n") + "\n").encode())
    return Path(path)


def check_directory_of(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file whose directory has to be there."""
    directory = Path(path).parent
    if not directory.is_dir():
        raise OptionError("no such directory", file=directory, hint="make it, or give another file")
    return Path(path)


def _head(report: Figures) -> str:
    """Where the partitions are, how they were made, and what matters most."""
    lines = [f"{name}: {value}" for name, value in report.about.items()]
    lines += ["", *(f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(report))]
    return printable("\n".join(lines))


def _notes(report: Figures) -> list[str]:
    return ["Notes\n" + printable("\n".join(report.notes))] if report.notes else []


def _text_of(section: Section) -> str:
    table = section.table.iloc[:, :MAX_COLUMNS]
    heads = [str(column) for column in table]
    rows = [[section.text(*cell) for cell in zip(table, row, strict=True)] for row in table.itertuples(index=False)]
    if heads[0] == "part" and len(rows) > MAX_ROWS:
        rows = [*rows[: MAX_ROWS - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
    return text_table(heads, rows, align="<" + ">" * (len(heads) - 1))


def _title(report: Figures) -> str:
    return escape(printable(f"Partitions of {report.graph_name}"))


def _table_of(section: Section, name: str) -> str:
    table = section.table
    style = Styler(table, uuid=name, cell_ids=False).hide(axis="index")
    style = style.format_index(lambda column: escape(printable(str(column))), axis=1)
    style = style.format({column: partial(_cell, section, column) for column in table})
    means = {column: table[column].mean() for column in section.means if table[column].nunique() > 1}
    farthest = max((abs(table[column] / mean - 1).max() for column, mean in means.items()), default=0.0)
    for column, mean in means.items():
        ends = {"vmin": mean * (1 - farthest), "vmax": mean * (1 + farthest)}
        style = style.bar([column], align="mean", color=["var(--low)", "var(--high)"], **ends)
    highest = max((table[column].max() for column in section.bars), default=0)
    if highest > section.least:
        style = style.bar(list(section.bars), vmin=section.least, vmax=highest, color="var(--bar)")
    return style.to_html()


def _cell(section: Section, column: Any, value: Any) -> str:
    return escape(section.text(column, value))


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One table; columns beside the first are aligned to the right."""

    title: str
    table: pd.DataFrame
    means: tuple[Any, ...] = ()  # columns whose bars begin at the average
    bars: tuple[Any, ...] = ()  # columns whose bars begin at the smallest value a bar may have
    least: float = 0.0  # that value
    about: str = ""

    def text(self, column: Any, value: Any) -> str:
        """Return a value of a column as text; a dash if there is none."""
        if isinstance(value, str):
            return printable(value)
        if pd.isna(value):
            return "-"
        default = FORMATS[OF_ALL] if isinstance(column, int) else format_count
        return str(FORMATS.get(column, default)(value))


def all_sections(report: Figures, max_matrix: int) -> Iterator[Section]:
    """Yield all tables, in the order of text and page; with the edges between at most so many parts."""
    yield _parts(report)
    yield _balance(report)
    if len(report.ntypes) > 1:
        inner, halo = report.inner_nodes.sum(axis=0), report.halo_nodes.sum(axis=0)
        columns = {"nodes": inner, "HALO nodes": halo, "replication": 1 + _shares(halo, inner)}
        yield Section("Node types", pd.DataFrame({"node type": report.ntypes, **columns}))
    if len(report.etypes) > 1:
        edges, cut = report.owned_edges.sum(axis=0), report.cut_edges.sum(axis=0)
        columns = {"edges": edges, "cut edges": cut, CUT: _shares(cut, edges)}
        yield Section("Edge types", pd.DataFrame({"edge type": report.etypes, **columns}), bars=(CUT,))
    if 1 < report.num_parts <= max_matrix and report.num_edges:
        parts = range(report.num_parts)
        table = pd.DataFrame(report.edge_matrix / report.num_edges, columns=list(parts))
        table.insert(0, "", _names(report.num_parts))
        about = "Row: owner of the source, column: owner of the destination."
        yield Section("Edges between parts", table, bars=tuple(parts), about=about)
    yield _degrees(report)
    yield from map(_labels, report.labels)
    yield _files(report)


def key_figures(report: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and explanation of what matters most."""
    yield "edge cut", f"{report.cut_share:.2%}", f"{format_count(report.num_cut_edges)} edges"
    yield "communication volume", format_count(report.communication_volume), "HALO nodes of one hop, all parts"
    stored = f", {report.stored_replication_factor:.3f} stored" if report.has_more_halo else ""
    yield "replication factor", f"{report.replication_factor:.3f}", f"nodes held per node of the graph{stored}"
    for name in ("nodes", "edges"):
        yield f"balance of {name}", f"{balance(report.measures[name]):.3f}", "largest part over the average"
    yield ON_DISK, format_size(int(report.nbytes.sum())), f"balance {balance(report.nbytes):.3f}"


def title_of(report: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    counts = (
        (report.num_parts, "part"),
        (report.num_nodes, "node"),
        (report.num_edges, "edge"),
        (report.halo_hops, "hop"),
    )
    return f"{', '.join(format_number(*count) for count in counts)} of HALO nodes"


def _parts(report: Figures) -> Section:
    counts = {"inner nodes": report.inner_nodes, "HALO nodes": report.halo_nodes}
    if report.has_more_halo:
        counts["HALO stored"] = report.stored_halo_nodes
    counts["owned edges"] = report.owned_edges
    columns: dict[str, Any] = {"part": _names(report.num_parts)}
    columns |= {name: by_type.sum(axis=1) for name, by_type in counts.items()}
    columns |= {CUT: _shares(report.cut_edges.sum(axis=1), columns["owned edges"]), ON_DISK: report.nbytes}
    about = "Bars show how far a part is from the average."
    return Section("Parts", pd.DataFrame(columns), means=(*counts, ON_DISK), about=about)


def _balance(report: Figures) -> Section:
    rows = []
    for name, values in report.measures.items():
        shown = format_size if name == "bytes" else format_count
        mean = int(values.sum()) / len(values)
        rows.append((name, *map(shown, (int(values.min()), round(mean), int(values.max()))), balance(values)))
    table = pd.DataFrame(rows, columns=["what", "smallest", "average", "largest", RATIO])
    return Section("Balance", table, bars=(RATIO,), least=1.0)


def _degrees(report: Figures) -> Section:
    counts = report.in_degrees.sum(axis=0)
    lows = [0, *(1 << (b - 1) for b in range(1, counts.size))]
    names = [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in lows]
    table = pd.DataFrame({"in-degree": names, "nodes": counts, OF_ALL: counts / max(1, report.num_nodes)})
    return Section("In-degrees", table, bars=(OF_ALL,))


def _labels(labels: Labels) -> Section:
    of_part, shares = labels.counts.sum(axis=1), _shares(labels.counts, labels.counts.sum(axis=1)[:, None])
    columns: dict[Any, Any] = {"part": _names(len(of_part)), "labelled": of_part, "unlabelled": labels.unlabelled}
    columns["most frequent"] = [
        f"{labels.classes[int(row.argmax())]} ({row.max():.1%})" if row.any() else "-" for row in shares
    ]
    columns[VARIATION] = np.array(labels.total_variation, float)
    shown = np.argsort(-labels.counts.sum(axis=0), kind="stable")[:MAX_CLASSES].tolist()
    columns |= {labels.classes[i]: shares[:, i] for i in shown}
    classes = tuple(labels.classes[i] for i in shown)
    about = "Distance of the classes of each part from those of the graph (total variation), and shares of classes."
    return Section(f"Classes of {labels.key}", pd.DataFrame(columns), means=classes, bars=(VARIATION,), about=about)


def _files(report: Figures) -> Section:
    sizes = np.array([*report.file_sizes.values()]).reshape(-1, report.num_parts)
    total = sizes.sum(axis=1)
    columns = {"file": list(report.file_sizes), "all parts": total, "average": sizes.mean(axis=1)}
    shares = total / max(1, int(total.sum()))
    return Section("On disk", pd.DataFrame({**columns, "largest": sizes.max(axis=1), OF_ALL: shares}), bars=(OF_ALL,))


def _names(num_parts: int) -> list[str]:
    return [str(part) for part in range(num_parts)]


def _shares(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Counts over totals; 0 where there is nothing."""
    shares: np.ndarray = counts / np.maximum(totals, 1)
    return shares
