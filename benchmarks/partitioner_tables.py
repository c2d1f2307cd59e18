"""Tables of `partitioners.py` from its results: every case in results/partitioners.md, means for docs/benchmarks.md.

`table.py` inserts the means; ``python benchmarks/partitioner_tables.py`` writes every case again without measuring.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
KEPT = HERE / "results" / "partitioners.json"
EVERY_CASE = HERE / "results" / "partitioners.md"
METHODS = ("metis", "auto", "kaminpar", "multilevel", "fennel", "random")
LOOSER = (*(f"nodes,edges={share}" for share in (0.05, 0.1, 0.2, 0.3, 0.5)), "nodes")
WEIGHTED = ("metis", "auto", "kaminpar", "multilevel", "fennel", "auto, unweighted")
EFFORTS = ("normal", "low", "high")
LARGE_KEY = ("graph", "edges", "parts", "balance", "method")
METIS_TOLERANCE = 1.03005  # METIS takes 3 % and a little more
NEXT_TO_NOTHING = 1000  # nodes and edges
MOST_SHOWN = 100  # with decimals
KINDS = {
    "cora": "citations, friends, authors",
    "musae_github": "citations, friends, authors",
    "coauthor_physics": "citations, friends, authors",
    "cnr2000": "web",
    "usa_road_ny": "roads",
    "dblp_hetero": "several types",
    "fb15k237": "several types",
    "oewn": "several types",
    "vcs_networkit": "files and commits",
    "vcs_curl": "files and commits",
}  # all others are meshes
SHOWN = ("coauthor_physics", "cnr2000", "dblp_hetero", "vcs_curl")


def main() -> None:
    write(json.loads(KEPT.read_text(encoding="utf-8")))


def write(found: dict[str, Any]) -> None:
    """Write every case."""
    lines = ["# Partitioners: every case", "", "Written by `benchmarks/partitioner_tables.py`.", "", *every_case(found)]
    EVERY_CASE.write_text("\n".join(lines), encoding="utf-8")


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Lines of a page that show when the reader opens them."""
    return ["<details markdown>", f"<summary>{title}</summary>", "", *lines, "</details>", ""]


def cuts_means(rows: list[dict[str, Any]]) -> list[str]:
    """Cut and CPU time of `auto` over METIS', by number of parts and kind of graph; the cuts of some graphs."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"{row['parts']} parts", []).append(row)
    for row in rows:
        groups.setdefault(KINDS.get(row["graph"], "meshes"), []).append(row)
    body = []
    for name, of in {**groups, "**all**": rows}.items():
        cells = []
        for pairs in ([(row["auto"], row["metis"]) for row in of], [(b["auto"], b["metis"]) for b in map(both, of)]):
            ours, theirs = (sum(each["cpu"] for each in side) for side in zip(*pairs, strict=True))
            cells += [f"{ours / theirs:.1f}", mean_and_worst([over(*pair) for pair in pairs])]
        ratios = [over(both(row)["auto"], row["dgl"]["edges"]) for row in of if is_comparable(row["dgl"])]
        body.append([name, *cells, mean_and_worst(ratios) if ratios else ""])
    cases = []
    for row in rows:
        if row["parts"] == 8 and row["graph"] in SHOWN:
            found = [row["metis"], row["auto"], both(row)["metis"], both(row)["auto"]]
            dgl = (
                [percent(row["dgl"]["edges"]["cut"]), f"{row['dgl']['edges']['nodes']:.2f}"] if row["dgl"] else ["", ""]
            )
            cases.append([row["graph"], *(percent(each["cut"]) for each in found), *dgl])
    heads = ["", "nodes: CPU time", "edges cut", "nodes and edges: CPU time", "edges cut", "edges cut, over DGL's"]
    means = folded(
        "Means by number of parts and kind of graph (<code>partitioners.py --sections cuts</code>)",
        [
            "CPU time and edges cut (mean, worst) of `auto` divided by those of METIS. Nodes are balanced (3 %), then",
            "nodes and edges (10 %). The last column compares with DGL's `balance_edges=True`, which balances edges",
            "only.",
            "",
            *table(heads, body),
        ],
    )
    heads = ["", "METIS", "auto", "nodes and edges: METIS", "auto", "DGL", "nodes of DGL's largest part / average"]
    return [*means, *folded("Edges cut of four graphs in 8 parts", table(heads, cases))]


def both(row: dict[str, Any]) -> dict[str, Any]:
    """What was found with nodes and edges balanced."""
    return row["both"]  # type: ignore[no-any-return]


def is_comparable(dgl: dict[str, Any] | None) -> bool:
    """Whether DGL kept its own tolerance."""
    return dgl is not None and dgl["edges"]["edges"] <= METIS_TOLERANCE


def mean_and_worst(ratios: Sequence[float]) -> str:
    return f"{statistics.mean(ratios):.2f} ({max(ratios):.2f})"


def every_case(found: dict[str, Any]) -> list[str]:
    """Tables of all sections."""
    lines: list[str] = []
    if "cuts" in found:
        lines += cuts_tables(found["cuts"])
    if "types" in found:
        lines += ["## Several constraints: every node type and edges within 5 %", ""]
        lines += table(
            ["graph", "parts", "method", "cut, nodes only", "cut", "all constraints kept", "worst ratio / allowed"],
            [
                [
                    r["graph"], r["parts"], r["method"], percent(r["free"]["cut"]), percent(r["bound"]["cut"]),
                    "yes" if r["kept"] else "no",
                    f"{max(ratio / allowed for ratio, allowed in r['bound']['balances'].values() if allowed):.3f}",
                ]
                for r in found["types"]
            ],
        )  # fmt: skip
    lines += large_table(found.get("large", []))
    if "weights" in found:
        lines += weights_table(found["weights"])
    if "limits" in found:
        lines += limits_table(found["limits"])
    if "efforts" in found:
        lines += efforts_table(found["efforts"])
    if "external" in found:
        lines += ["## multilevel with a budget of 256 MB, 8 parts", ""]
        empty = [r["peak"] / 1e9 for r in found["external"] if r["edges"] == NEXT_TO_NOTHING]
        if empty:
            lines += [
                f"Of the memory {max(empty):.2f} GB are interpreter and libraries: that much a job with next to",
                "nothing to do takes. The budget, and at most 32 bytes per node, come on top, however many edges.",
                "Times are medians of several runs in turn, memory is the largest of all.",
                "",
            ]
        lines += table(
            ["nodes", "edges", "cores", "cut", "seconds", "peak memory", "as fast as one core"],
            [
                [f"{r['nodes']:,}", f"{r['edges']:,}", r["workers"], percent(r["cut"]), f"{r['seconds']:.1f}",
                 f"{r['peak'] / 1e9:.2f} GB", times_as_fast(r["faster"])]
                for r in found["external"] if r["edges"] > NEXT_TO_NOTHING
            ],
        )  # fmt: skip
    return lines


def cuts_tables(rows: list[dict[str, Any]]) -> list[str]:
    """Cuts with balanced nodes, and with nodes and edges balanced, against METIS; CPU time of `auto` and METIS."""
    others = [method for method in METHODS[1:] if method in rows[0]]
    head = ["graph", "parts", "METIS", *others, "METIS, s", "auto, s", "both: METIS", "auto", "METIS, s", "auto, s"]
    body, ratios = [], []
    for row in rows:
        metis, both, auto = row["metis"], row["both"]["metis"], row["both"]["auto"]
        ratios.append([*(over(row[method], metis) for method in others), over(auto, both)])
        seconds = [[f"{each['cpu']:.1f}" for each in pair] for pair in ((metis, row["auto"]), (both, auto))]
        cells = [f"{ratio:.3f}" for ratio in ratios[-1]]
        body.append([row["graph"], row["parts"], percent(metis["cut"]), *cells[:-1], *seconds[0]])
        body[-1] += [percent(both["cut"]) + excess(both), cells[-1] + excess(auto), *seconds[1]]
    columns = list(zip(*ratios, strict=True))
    for name, figure in (("mean", statistics.mean), ("worst", max)):
        cells = [f"{figure(column):.3f}" for column in columns]
        body.append([f"**{name}**", "", "", *cells[:-1], "", "", "", cells[-1], "", ""])
    pairs = [(row["metis"], row["auto"], row["both"]["metis"], row["both"]["auto"]) for row in rows]
    sums = [f"{sum(each['cpu'] for each in column):.0f}" for column in zip(*pairs, strict=True)]
    body.append(["**sum**", "", "", *("" for _ in others), *sums[:2], "", "", *sums[2:]])
    return [
        "## Real graphs: cut against METIS",
        "",
        "METIS: share of edges cut; the others: their cut over METIS'. Nodes are balanced (3 %), in the last four",
        "columns nodes and edges (10 %), METIS being given both; + tells by how much the worst constraint is exceeded.",
        "CPU seconds include reading the graph and building the adjacency.",
        "",
        *table(head, body),
        *dgl_tables(rows),
    ]


def excess(found: dict[str, Any]) -> str:
    """By how much the worst constraint is exceeded, if one is."""
    worst = max(ratio / allowed for ratio, allowed in found["balances"].values() if allowed)
    return f" (+{worst - 1:.1%})" if worst > 1 + 1e-6 else ""


def dgl_tables(rows: list[dict[str, Any]]) -> list[str]:
    """`auto` with both constraints against DGL's METIS with ``balance_edges=True``."""
    body = []
    for row in rows:
        if row["dgl"]:
            theirs, ours = row["dgl"]["edges"], row["both"]["auto"]
            balances = [f"{ours['balances'][name][0]:.3f}" for name in ("nodes", "edges")]
            cells = [percent(theirs["cut"]), f"{theirs['nodes']:.3f}", f"{theirs['edges']:.3f}"]
            ratio = f"{over(ours, theirs):.3f}" if theirs["edges"] <= METIS_TOLERANCE else ""
            body.append([row["graph"], row["parts"], percent(ours["cut"]), *balances, *cells, ratio])
    head = ["graph", "parts", "our cut", "nodes", "edges", "DGL's cut", "nodes", "edges", "ours / DGL's"]
    return [
        "## Nodes and edges balanced: `auto` against DGL's METIS",
        "",
        "DGL with `balance_edges=True` balances edges (in-degree) alone; what it does to nodes is in the table. Where",
        "its largest part is beyond its tolerance of 3 %, there is nothing to compare.",
        "",
        *table(head, body),
    ]


def large_cases() -> dict[tuple[Any, ...], dict[str, dict[str, Any]]]:
    """What was measured of large graphs, by graph, edges, parts and balance, then by method."""
    return by_case(kept("large"))


def kept(section: str) -> list[dict[str, Any]]:
    """The results of one section."""
    found: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found[section]


def by_case(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, dict[str, Any]]]:
    cases: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        cases.setdefault(tuple(row[key] for key in LARGE_KEY[:-1]), {})[row["method"]] = row
    return cases


def large_table(rows: list[dict[str, Any]], *, short: bool = False) -> list[str]:
    """Cut, CPU time and peak memory of every method over those of METIS for the same graph, parts and balance.

    The short table has the cases with nodes and edges balanced, and the means of all.
    """
    if not rows:
        return []
    cases = by_case(rows)
    others = list(dict.fromkeys(row["method"] for row in rows if row["method"] != "metis"))
    figures = [(method, key) for method in others for key in ("cpu", "peak", "cut")]
    head = ["graph", "edges", "parts", "balance", "METIS: CPU time", "peak memory", "edges cut"]
    names = {"cpu": "CPU time", "peak": "peak memory", "cut": "edges cut"}
    head += [f"{method}: {names[key]}" if key == "cpu" else names[key] for method, key in figures]
    body: list[list[Any]] = []
    ratios_of: dict[str, list[list[float]]] = {}
    for case, found in cases.items():
        metis = found["metis"]
        ratios = [found[m][key] / metis[key] if m in found else float("nan") for m, key in figures]
        ratios_of.setdefault(case[3], []).append(ratios)
        if short and case[3] != "nodes,edges":
            continue
        first = [case[0], f"{case[1]:,}", case[2], case[3]]
        cells = [f"{metis['cpu']:.1f} s", f"{metis['peak'] / 1e9:.2f} GB", percent(metis["cut"])]
        body.append([*first, *cells, *("" if ratio != ratio else f"{ratio:.2f}" for ratio in ratios)])  # is it NaN
    for balance, of_balance in ratios_of.items():
        columns = [[ratio for ratio in column if ratio == ratio] for column in zip(*of_balance, strict=True)]
        for name, figure in (("mean", statistics.mean), ("worst", max)):
            shown = [f"{figure(column):.2f}" if column else "" for column in columns]
            body.append([f"**{name}**", "", "", balance, "", "", "", *shown])
    lines = [
        "Whole `assign` commands in turn, from the files to the owners. `auto:low` is `--effort low`. Its figures",
        "and those of `auto` are divided by those of `--method metis`, which is given the same constraints.",
        "",
        *table(head, body),
    ]
    if short:
        return folded("All graphs, with 4, 8 and 64 parts (<code>partitioners.py --sections large</code>)", lines)
    return ["## More than a million edges: whole commands against METIS", "", *lines]


def weights_table(rows: list[dict[str, Any]]) -> list[str]:
    """Weighted cuts over that of METIS, called directly."""
    body, ratios = [], []
    for row in rows:
        ratios.append([row[name] / row["METIS"] for name in WEIGHTED])
        cells = [f"{ratio:.3f}" if ratio < MOST_SHOWN else f"{ratio:.0f}" for ratio in ratios[-1]]
        body.append([row["graph"], row["weights"], row["parts"], f"{row['METIS']:.3%}", *cells])
    means = [statistics.geometric_mean(column) for column in zip(*ratios, strict=True)]
    body.append(["**mean**", "", "", "", *(f"{mean:.3f}" if mean < MOST_SHOWN else f"{mean:.0f}" for mean in means)])
    return [
        "## Weights of edges: cut against METIS",
        "",
        "METIS: share of the weight that is cut by `pymetis.part_graph` on the whole graph in memory, with the same",
        "weights; the others: their cut over that, nodes balanced (3 %), with `--edge-weight` but for the last column.",
        "Means are geometric.",
        "",
        *table(["graph", "weights", "parts", "METIS", *WEIGHTED], body),
    ]


def limits_table(rows: list[dict[str, Any]]) -> list[str]:
    """Cuts from the tightest limits to the loosest, and the most that a looser limit cuts, over the least before."""
    body = []
    for row in rows:
        cuts = [row[balance] for balance in LOOSER]
        rise = max(cut / min(cuts[: i + 1]) for i, cut in enumerate(cuts[1:]))
        body.append([row["graph"], row["parts"], *map(percent, cuts), f"{rise:.3f}"])
    return [
        "## Looser limits: cut of `auto`",
        "",
        "Nodes within 3 %; edges within 5 to 50 %, then not at all. The last column is the worst rise: the cut within",
        "a limit, over the smallest cut within any tighter limit.",
        "",
        *table(["graph", "parts", *(balance.rpartition(",")[2] for balance in LOOSER), "rises to"], body),
    ]


def efforts_table(rows: list[dict[str, Any]]) -> list[str]:
    """Cut and CPU time over normal effort's."""
    ratios = [effort_ratios(row) for row in rows]
    columns = [*zip(*ratios, strict=True)]
    body = [[row["graph"], row["parts"], percent(row["normal"]["cut"]), *map(hundredths, of)]
            for row, of in zip(rows, ratios, strict=True)]  # fmt: skip
    body.append(["**mean**", "", "", *(hundredths(statistics.geometric_mean(column)) for column in columns)])
    headers = ["graph", "parts", "normal: cut", *(f"{e}: {what}" for e in EFFORTS[1:] for what in ("cut", "CPU time"))]
    return ["## `--effort` beside normal, nodes and edges balanced", "", *table(headers, body)]


def effort_ratios(row: dict[str, Any]) -> list[float]:
    """Cut and CPU time of every other effort over normal effort's."""
    return [row[effort][what] / row["normal"][what] for effort in EFFORTS[1:] for what in ("cut", "cpu")]


def hundredths(ratio: float) -> str:
    return f"{ratio:.2f}"


def times_as_fast(ratios: list[float] | None) -> str:
    """Median of ratios, smallest and largest."""
    return f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else ""


def over(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    return float(ours["cut"] / theirs["cut"]) if theirs["cut"] else 1.0


def percent(share: float) -> str:
    return f"{share:.2%}"


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    shown = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in (headers, *rows)]
    return [shown[0], "|---" * len(headers) + "|", *shown[1:], ""]


if __name__ == "__main__":
    main()
