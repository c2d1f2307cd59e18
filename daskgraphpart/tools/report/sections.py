"""What a report says, as text or page: a verdict and advice in words, key figures, and tables as frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from daskgraphpart.errors import printable
from daskgraphpart.tools.report.figures import Fetching, Figures, Labels, balance, share
from daskgraphpart.units import format_count, format_number, format_rate, format_seconds, format_size

EVEN, UNEVEN, SMALL = 1.105, 1.25, 0.6
"""A part may be so much larger than the average and be called balanced; so much, and be called nearly so. Parts
below the third are named."""

LIKE_RANDOM = 0.9
"""Parts that cut or fetch more than this share of what random ones do are not worth a partitioner."""

TERMS = {
    "edge cut": "edges whose two ends have different owners. Sampling across them fetches features from another part.",
    "halo node": "a node that a part holds because one of its edges starts there, although another part owns it.",
    "replication factor": "nodes that all parts hold, own and halo, over the nodes of the graph.",
    "balance": "the largest part over the average. 1.00 is perfectly even.",
    "remote rows": "of the rows of features that a batch needs, those that another part owns, and sends.",
    "hot rows": "the rows of other parts that a part's trainers fetch most; `part.hot_rows` finds them.",
    "total variation": "how far the mix of classes in a part is from that of the graph: 0 is the same, 1 is disjoint.",
}

LEAST_WAIT = 0.1  # seconds of an epoch that are worth a sentence
MAX_CLASSES = 12
CUT, OF_ALL, ON_DISK, RATIO, VARIATION = "cut", "of all", "on disk", "largest / average", "total variation"
REMOTE, ROWS, FETCHED, SECONDS = "remote rows", "rows in an epoch", "bytes in an epoch", "fetching takes"
COLD_ROWS, COLD = "rows with hot rows", "bytes with hot rows"
FORMATS: dict[Any, Any] = {
    **dict.fromkeys((CUT, OF_ALL, REMOTE), "{:.1%}".format),
    **dict.fromkeys((RATIO, VARIATION, "replication"), "{:.3f}".format),
    **dict.fromkeys((ON_DISK, FETCHED, COLD), format_size),
    SECONDS: format_seconds,
}
"""How the values of a column are written: by default as counts, below a number (of a part, a class) as shares."""


def verdict(report: Figures) -> str:
    """Return the most important facts in a few sentences."""
    return " ".join(_sentences(report))


def _sentences(report: Figures) -> Iterator[str]:
    if report.num_parts == 1:
        yield "One part holds the whole graph: nothing is cut, and nothing has to be balanced."
        return
    if report.sampling is not None:
        yield from _rows(report.sampling)
    yield _evenness(report)
    if not report.num_edges:
        yield "There are no edges to cut."
        return
    halo = share(report.communication_volume, report.num_nodes)
    copies = f"parts hold {halo:.2f} halo nodes for each node that they own"
    yield f"{report.cut_share:.1%} of edges are cut, and {copies}."
    shares = report.cut_edges.sum(axis=0) / np.maximum(report.owned_edges.sum(axis=0), 1)
    worst = int(shares.argmax())
    if len(report.etypes) > 1 and shares[worst] > report.cut_share:
        yield f"The edge type that is cut most is {report.etypes[worst]} ({shares[worst]:.1%})."


def _rows(of: Fetching) -> Iterator[str]:
    hot = f"; with the hottest 5% beside each part, {of.cold_share:.0%}" if of.hot_rows.any() else ""
    random = f"with random parts {of.random_share:.0%}"
    yield f"A trainer fetches {of.share:.0%} of its rows from other parts ({random}{hot})."
    most = int(of.by_part["bytes_per_epoch"].max(initial=0))
    if (waits := of.by_part["seconds_per_epoch"].max(initial=0)) >= LEAST_WAIT:
        how_long = f"{format_seconds(waits)} of a network of {format_rate(of.network)}"
        yield f"The part that fetches most gets {format_size(most)} an epoch, {how_long}."


def advice(report: Figures) -> str:
    """Return what to do next, as one line."""
    if report.num_parts == 1 or not report.num_edges:
        return "Use more parts to train on several machines."
    if report.about.get("method") == "random":
        return "The assignment is random: --method auto cuts fewer edges wherever the graph has structure."
    balances = {name: balance(values) for name, values in _balanced(report).items()}
    worst = max(balances, key=balances.__getitem__)
    random = 1 - 1 / report.num_parts
    if balances[worst] > EVEN:
        item = worst if worst in ("nodes", "edges") else f"types:{worst.removeprefix('nodes in ')}"
        return f"To even out the {worst}, partition with {item} in --balance, or lower its tolerance ({item}=0.03)."
    of = report.sampling
    if of is None:
        if report.cut_share > LIKE_RANDOM * random:
            return f"A random assignment cuts {random:.1%} of edges, hardly more: see by --fanouts what this saves."
        return "Add --fanouts 10,10 to see what trainers fetch."
    if of.hot_rows.any() and of.cold_share < LIKE_RANDOM * of.share:
        return f"Keep hot rows beside the parts (--hot-rows 5%): trainers fetch {of.cold_share:.0%} then."
    if of.share > LIKE_RANDOM * of.random_share:
        return "On this graph no parts save much: those of --method random train as well, and are made faster."
    if "training" not in report.about:
        numbers = ",".join(map(str, of.fanouts))
        return f"To fetch fewer rows, partition for how you train: --objtype fetch --fanouts {numbers}."
    return "Train on these parts."


def _balanced(report: Figures) -> dict[str, np.ndarray]:
    """Return the measures to balance, of each part: nodes, edges, and nodes to train on."""
    # what is sampled was balanced in place of edges
    constraints = report.about.get("constraints", "").split(", ")
    is_for_training = any(constraint.startswith("work ") for constraint in constraints)
    of_parts = {name: report.measures[name] for name in ("nodes", "edges")[: 1 if is_for_training else 2]}
    return of_parts | {f"nodes in {key}": marked for key, marked in report.masks.items() if "train" in key}


def _evenness(report: Figures) -> str:
    of_parts = _balanced(report)
    balances = {name: balance(values) for name, values in of_parts.items()}
    worst = max(balances, key=balances.__getitem__)
    excess = {name: f"{value - 1:.0%} more {name}" for name, value in balances.items()}
    least = {name: share(int(values.min()) * len(values), int(values.sum())) for name, values in of_parts.items()}
    emptiest = min(least, key=least.__getitem__)
    small = f"part {of_parts[emptiest].argmin()} has {1 - least[emptiest]:.0%} fewer {emptiest}"
    if balances[worst] <= EVEN:
        rest = f", but {small}" if least[emptiest] < SMALL else ""
        more = " and ".join(excess[name] for name in ("nodes", "edges") if name in excess)
        return f"Balanced: the largest part has {more} than the average{rest}."
    how = "Unbalanced" if balances[worst] > UNEVEN else "Not quite balanced"
    rest = f", and {small}" if least[emptiest] < SMALL else ""
    return f"{how}: part {of_parts[worst].argmax()} has {excess[worst]} than the average{rest}."


def title_of(report: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    counts = ((report.num_parts, "part"), (report.num_nodes, "node"), (report.num_edges, "edge"))
    hops = format_number(report.halo_hops, "hop")
    return f"{', '.join(format_number(*count) for count in counts)}, {hops} of halo nodes"


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One table; columns after the first are right-aligned."""

    title: str
    table: pd.DataFrame
    about: str = ""

    def cells(self, max_rows: int, max_columns: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Return heads and rows as text; of too many parts, the first ones and the last."""
        table = self.table.iloc[:, :max_columns]
        heads = [str(column) for column in table]
        rows = [[self.text(*cell) for cell in zip(table, row, strict=True)] for row in table.itertuples(index=False)]
        if heads[0] == "part" and len(rows) > max_rows:
            rows = [*rows[: max_rows - 1], ["...", *([""] * (len(heads) - 1))], rows[-1]]
        return heads, rows

    def text(self, column: Any, value: Any) -> str:
        """Return a column's value as text; a dash for none."""
        if isinstance(value, str):
            return printable(value)
        if pd.isna(value):
            return "-"
        default = FORMATS[OF_ALL] if isinstance(column, int) else format_count
        return str(FORMATS.get(column, default)(value))


def all_sections(report: Figures, max_matrix: int) -> Iterator[Section]:
    """Yield all tables in order; edges between parts up to a number of parts."""
    if report.sampling is not None:
        yield _sampling(report.sampling)
    yield _parts(report)
    yield _balance(report)
    if len(report.ntypes) > 1:
        inner, halo = report.inner_nodes.sum(axis=0), report.halo_nodes.sum(axis=0)
        columns = {"nodes": inner, "halo nodes": halo, "replication": 1 + _shares(halo, inner)}
        yield Section("Node types", pd.DataFrame({"node type": report.ntypes, **columns}))
    if len(report.etypes) > 1:
        edges, cut = report.owned_edges.sum(axis=0), report.cut_edges.sum(axis=0)
        columns = {"edges": edges, "cut edges": cut, CUT: _shares(cut, edges)}
        yield Section("Edge types", pd.DataFrame({"edge type": report.etypes, **columns}))
    if 1 < report.num_parts <= max_matrix and report.num_edges:
        parts = range(report.num_parts)
        table = pd.DataFrame(report.edge_matrix / report.num_edges, columns=list(parts))
        table.insert(0, "", _names(report.num_parts))
        about = "Row: owner of the source, column: owner of the destination."
        yield Section("Edges between parts", table, about=about)
    yield _degrees(report)
    yield from map(_labels, report.labels)
    yield _files(report)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One of the most important figures."""

    name: str
    value: str
    more: str
    meaning: str


def key_figures(report: Figures) -> Iterator[KeyFigure]:
    """Yield the most important figures."""
    if report.sampling is not None:
        of, shares = report.sampling, report.sampling.by_part["remote_share"]
        more = f"with random parts {of.random_share:.1%}; most in part {shares.argmax()}, {shares.max():.1%}; "
        more += f"{format_size(int(of.by_part['bytes_per_epoch'].sum()))} an epoch"
        more += f"; {of.cold_share:.1%} with hot rows" if of.hot_rows.any() else ""
        yield KeyFigure(REMOTE, f"{of.share:.1%}", more, TERMS[REMOTE])
    yield KeyFigure(
        "edge cut", f"{report.cut_share:.1%}", f"{format_count(report.num_cut_edges)} edges", TERMS["edge cut"]
    )
    stored = f", {report.stored_replication_factor:.2f} stored" if report.has_more_halo else ""
    halo = f"{format_count(report.communication_volume)} halo nodes{stored}"
    yield KeyFigure("replication factor", f"{report.replication_factor:.2f}", halo, TERMS["replication factor"])
    for name in ("nodes", "edges"):
        value = f"{balance(report.measures[name]):.3f}"
        yield KeyFigure(f"balance of {name}", value, "largest part over average", TERMS["balance"])
    total, largest = format_sizes([int(report.nbytes.sum()), int(report.nbytes.max(initial=0))])
    yield KeyFigure("on disk", total, f"largest part {largest}", "files of all parts")


def _parts(report: Figures) -> Section:
    counts = {"own nodes": report.inner_nodes, "halo nodes": report.halo_nodes}
    if report.has_more_halo:
        counts["halo stored"] = report.stored_halo_nodes
    counts["own edges"] = report.owned_edges
    columns: dict[str, Any] = {"part": _names(report.num_parts)}
    columns |= {name: by_type.sum(axis=1) for name, by_type in counts.items()}
    columns |= {CUT: _shares(report.cut_edges.sum(axis=1), columns["own edges"]), ON_DISK: report.nbytes}
    return Section("Parts", pd.DataFrame(columns))


def _balance(report: Figures) -> Section:
    rows = []
    for name, values in report.measures.items():
        spread = [int(values.min()), round(int(values.sum()) / len(values)), int(values.max())]
        shown = format_sizes(spread) if name == "bytes" else map(format_count, spread)
        rows.append((name, *shown, balance(values)))
    table = pd.DataFrame(rows, columns=["what", "smallest", "average", "largest", RATIO])
    return Section("Balance", table)


def _sampling(fetching: Fetching) -> Section:
    of = fetching.by_part
    columns = {"part": _names(len(fetching.seeds)), "training nodes": of["training_nodes"], "batches": of["batches"]}
    columns |= {"input nodes of one": np.rint(of["input_nodes"]), REMOTE: of["remote_share"]}
    columns |= {ROWS: of["rows_per_epoch"], FETCHED: of["bytes_per_epoch"], SECONDS: of["seconds_per_epoch"]}
    if has_hot := bool(fetching.hot_rows.any()):
        columns |= {COLD_ROWS: fetching.per_epoch(fetching.cold_nodes)}
        columns |= {COLD: fetching.per_epoch(fetching.cold_nbytes)}
    drawn = "training nodes" if fetching.has_masks else "all nodes, as no mask tells which are trained on"
    fanouts = " x ".join("all" if number < 0 else str(number) for number in fetching.fanouts)
    about = f"Estimated from sampled batches of {fetching.batch_size:,} {drawn}, {fanouts} neighbours."
    about += f" Fetching takes what a network of {format_rate(fetching.network)} needs for these bytes."
    if has_hot:
        about += " With hot rows: if the rows that are fetched most, 5% of a part's nodes, lie beside the part."
    return Section("What training fetches", pd.DataFrame(columns), about=about)


def _degrees(report: Figures) -> Section:
    counts = report.in_degrees.sum(axis=0)
    lows = [0, *(1 << (b - 1) for b in range(1, counts.size))]
    names = [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in lows]
    table = pd.DataFrame({"in-degree": names, "nodes": counts, OF_ALL: counts / max(1, report.num_nodes)})
    return Section("In-degrees", table)


def _labels(labels: Labels) -> Section:
    of_part, shares = labels.counts.sum(axis=1), _shares(labels.counts, labels.counts.sum(axis=1)[:, None])
    columns: dict[Any, Any] = {"part": _names(len(of_part)), "labelled": of_part, "unlabelled": labels.unlabelled}
    columns["most frequent"] = [
        f"{labels.classes[int(row.argmax())]} ({row.max():.1%})" if row.any() else "-" for row in shares
    ]
    columns[VARIATION] = np.array(labels.total_variation, float)
    shown = np.argsort(-labels.counts.sum(axis=0), kind="stable")[:MAX_CLASSES].tolist()
    columns |= {labels.classes[i]: shares[:, i] for i in shown}
    about = "How far the classes of each part are from those of the graph (total variation), and the shares of classes."
    return Section(f"Classes of {labels.key}", pd.DataFrame(columns), about=about)


def _files(report: Figures) -> Section:
    sizes = np.array([*report.file_sizes.values()]).reshape(-1, report.num_parts)
    total = sizes.sum(axis=1)
    rows = [format_sizes(of) for of in zip(total, sizes.mean(axis=1), sizes.max(axis=1), strict=True)]
    table = pd.DataFrame(rows, columns=["all parts", "average", "largest"])
    table.insert(0, "file", [*report.file_sizes])
    return Section("On disk", table.assign(**{OF_ALL: total / max(1, int(total.sum()))}))


def format_sizes(sizes: Sequence[float]) -> list[str]:
    """Bytes with one unit for all, which suits the smallest that is not 0."""
    smallest = min((size for size in sizes if size), default=0)
    power = next((power for power in range(5) if smallest < 1000 ** (power + 1)), 4)
    digits = 1 if power and smallest < 100 * 1000**power else 0
    return [f"{size / 1000**power:,.{digits}f} {('B', 'kB', 'MB', 'GB', 'TB')[power]}" for size in sizes]


def _names(num_parts: int) -> list[str]:
    return [str(part) for part in range(num_parts)]


def _shares(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Counts over totals; 0 where both are 0."""
    shares: np.ndarray = counts / np.maximum(totals, 1)
    return shares
