"""Partitioners side by side: cut, balance, time and memory; writes docs/partitioners.md.

Sections: ``cuts`` (all real graphs: auto, multilevel, fennel, ldg and random against METIS with balanced nodes; auto
against real DGL's METIS with ``balance_edges=True``), ``types`` (several constraints on heterogeneous graphs),
``large`` (graphs with more than ten million edges: time and memory of fresh processes, METIS on our adjacency and in
real DGL), ``external`` (memory and speed of multilevel, edges quadrupled at equal nodes, one core against two).
``python benchmarks/partitioners.py --sections cuts``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import RESULTS, generate_once, measure, our_command, touch_memory

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from graphs import REAL_GRAPHS, load_real_graph  # noqa: E402

PAGE = HERE.parent / "docs" / "partitioners.md"
KEPT = RESULTS / "partitioners.json"
METHODS = ("metis", "auto", "kaminpar", "multilevel", "fennel", "ldg", "random")
HETEROGENEOUS = ("dblp_hetero", "vcs_networkit", "oewn")
ALIKE = "edges=0.03"  # the one constraint that DGL has with `balance_edges=True`
METIS_TOLERANCE = 1.03005  # METIS takes 3 % and a little more
NEXT_TO_NOTHING = 1000  # nodes and edges
MULTILEVEL_SHARE = 8  # multilevel gets memory for a coarsest graph of an eighth of the arcs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default="cuts,types,large,external")
    parser.add_argument("--graphs", default=",".join(REAL_GRAPHS))
    parser.add_argument("--parts", default="4,8,64")
    parser.add_argument(
        "--columns", default=",".join((*METHODS, "both", "edges", "dgl")), help="of `cuts` that are measured anew"
    )
    parser.add_argument("--large-edges", default="2e7", help="edges of the generated graphs of `large`")
    parser.add_argument("--large-graphs", default="communities,rmat,vcs_curl", help="of `large` that are measured anew")
    parser.add_argument("--large-methods", default="metis,dgl,auto")
    parser.add_argument("--balances", default="nodes;nodes,edges", help="of `large`")
    parser.add_argument("--external-edges", default="8e6", help="edges of the smaller graph of `external`")
    parser.add_argument("--external-runs", type=int, default=3, help="pairs of runs of `external`")
    parser.add_argument("--dgl-python", default=str(HERE.parent / ".venv-dgl-1.1.3" / "bin" / "python"))
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    options.parts = [int(number) for number in options.parts.split(",")]
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for section in options.sections.split(","):
            found[section] = SECTIONS[section](Path(scratch), options)
            KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


def assigned(graph: Path, parts: int, method: str, balance: str | None, memory: str = "8GB") -> dict[str, Any]:
    report = dgp.assign(
        graph, parts, method=dgp.AssignOptions(method, balance=balance), resources=dgp.detect_resources(memory)
    ).report
    assert report is not None
    return {
        "cut": report.cut_share,
        "used": report.method,
        "seconds": report.seconds,
        "balances": {b.name: (b.ratio, b.allowed) for b in report.balances},
    }


def cuts(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    if KEPT.is_file():  # columns that are not asked for stay as they were
        kept = json.loads(KEPT.read_text(encoding="utf-8")).get("cuts", [])
        rows = {(row["graph"], row["parts"]): row for row in kept}
    columns = options.columns.split(",")
    for name in options.graphs.split(","):
        graph = load_real_graph(name)
        directory = graph.write(root / name.replace("/", "_"), edge_format="numpy")
        theirs = dgl_metis(graph, root, options) if "dgl" in columns else {}
        arcs = 2 * graph.schema.num_edges
        memory = str(max(8 << 20, 2 * (arcs // MULTILEVEL_SHARE * 52 + graph.schema.num_nodes * 20)))
        for parts in options.parts:
            row = rows.setdefault((name, parts), {"graph": name, "parts": parts, "arcs": arcs, "dgl": None})
            row["dgl"] = theirs.get(parts, row["dgl"])
            for method in (method for method in METHODS if method in columns):
                budget = memory if method == "multilevel" else "8GB"
                row[method] = assigned(directory, parts, method, "nodes", budget)
            if "both" in columns:
                row["both"] = assigned(directory, parts, "auto", None)
            if "edges" in columns:
                row["edges"] = assigned(directory, parts, "auto", ALIKE)
            measured = [column for column in (*METHODS, "both", "edges") if column in row]
            print(name, parts, {column: round(row[column]["cut"], 4) for column in measured}, flush=True)
            everything = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
            KEPT.write_text(json.dumps({**everything, "cuts": list(rows.values())}, indent=1) + "\n", encoding="utf-8")
    return list(rows.values())


def dgl_metis(graph: Any, root: Path, options: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """Cut and balance of real DGL's METIS with balanced edges, by number of parts; empty without DGL."""
    if not Path(options.dgl_python).is_file():
        return {}
    firsts = dict(
        zip(graph.schema.ntypes, np.cumsum([0, *(t.num_nodes for t in graph.schema.node_types)]), strict=False)
    )
    src, dst = (
        np.concatenate(
            [np.asarray(graph.edges[t.name][end]) + firsts[(t.src, t.dst)[end]] for t in graph.schema.edge_types]
        )
        for end in (0, 1)
    )
    np.savez(root / "edges.npz", src=src, dst=dst, num_nodes=graph.schema.num_nodes)
    script = [options.dgl_python, str(HERE / "dgl_metis.py"), str(root / "edges.npz"), str(root / "parts.npz")]
    subprocess.run([*script, ",".join(map(str, options.parts))], check=True, stdout=subprocess.DEVNULL)
    found = np.load(root / "parts.npz")
    result = {}
    for parts in options.parts:
        result[parts] = {"seconds": float(found[f"seconds-{parts}"])}
        for name, owners in (("edges", found[f"parts-{parts}"]), ("both", found[f"both-{parts}"])):
            of_nodes, of_edges = np.bincount(owners, minlength=parts), np.bincount(owners[dst], minlength=parts)
            result[parts][name] = {
                "cut": float(np.mean(owners[src] != owners[dst])),
                "nodes": float(of_nodes.max() / of_nodes.mean()),
                "edges": float(of_edges.max() / of_edges.mean()),
            }
    return result


def types(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for name in HETEROGENEOUS:
        directory = load_real_graph(name).write(root / f"types-{name}", edge_format="numpy")
        for parts in options.parts[:2]:
            for method in ("auto", "kaminpar", "metis", "multilevel", "fennel", "ldg", "random"):
                free = assigned(directory, parts, method, "nodes")
                bound = assigned(directory, parts, method, "ntypes=0.05,edges=0.05")
                kept = all(ratio <= allowed + 1e-9 for ratio, allowed in bound["balances"].values() if allowed)
                rows.append(
                    {"graph": name, "parts": parts, "method": method, "free": free, "bound": bound, "kept": kept}
                )
                print(
                    name, parts, method, f"{free['cut']:.4f} -> {bound['cut']:.4f}", kept, bound["balances"], flush=True
                )
    return rows


def large(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    kept = json.loads(KEPT.read_text(encoding="utf-8")).get("large", []) if KEPT.is_file() else []
    rows = {tuple(row.get(key) for key in LARGE_KEY): row for row in kept if "parts" in row}
    for kind in options.large_graphs.split(","):
        graph, parts = large_graph(kind, root, options), 8
        edges = sum(json.loads((graph / "metadata.json").read_text(encoding="utf-8"))["num_edges_per_type"])
        for balance in options.balances.split(";"):
            for method in options.large_methods.split(","):
                if method == "dgl" and not Path(options.dgl_python).is_file():
                    continue
                touch_memory(3e9)
                if method == "dgl":
                    found = run_dgl(graph, root, parts, balance, options)
                else:
                    found = run(graph, root, parts, method, balance)
                key = (kind, edges, parts, balance, method)
                rows[key] = {**dict(zip(LARGE_KEY, key, strict=True)), **found}
                print(rows[key], flush=True)
    return list(rows.values())


LARGE_KEY = ("graph", "edges", "parts", "balance", "method")


def large_graph(kind: str, root: Path, options: argparse.Namespace) -> Path:
    """A generated graph, of 20 edges per node, or a real one."""
    if kind in REAL_GRAPHS:
        return load_real_graph(kind).write(root / f"large-{kind}", edge_format="numpy")
    edges = int(float(options.large_edges))
    arguments = ("--kind", kind, "--nodes", f"{edges // 20}", "--edges", f"{edges}", "--features", "0")
    arguments = (*arguments, "--edge-format", "numpy")  # which DGL's environment can read as well
    return generate_once((options.directory or root) / f"large-{kind}-{edges}-npy", *arguments)


def run_dgl(graph: Path, root: Path, parts: int, balance: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run DGL's METIS on the files of a graph in a fresh process; it has no way to balance nodes and edges alike."""
    files = (str(graph), str(root / "parts.npz"), str(parts), str(int("edges" in balance)))
    before = children_seconds()
    taken = measure([options.dgl_python, str(HERE / "dgl_metis.py"), *files])
    cpu = children_seconds() - before
    found = np.load(root / "parts.npz")
    return {
        "seconds": taken.seconds,
        "cpu": cpu,
        "peak": taken.peak_bytes,
        "cut": float(found["cut"]),
        "used": "METIS in DGL" + (", edges balanced alone" if "edges" in balance else ""),
        "balances": {name: float(found[name]) for name in ("nodes", "edges")},
    }


def children_seconds() -> float:
    """CPU time of all commands so far, which depends less than wall time on who else uses the machine."""
    times = os.times()
    return times.children_user + times.children_system


def run(graph: Path, root: Path, parts: int, method: str, balance: str, more: Sequence[str] = ()) -> dict[str, Any]:
    """Run one assignment in a fresh process."""
    report = root / "report.json"
    command = our_command(
        *("assign", str(graph), str(root / "owners"), "--num-parts", str(parts), "--method", method, "--quiet"),
        *("--balance", balance, "--report", str(report), "--overwrite", *(more or ("--memory", "8GB"))),
    )
    before = children_seconds()
    taken = measure(command)
    cpu = children_seconds() - before
    found = json.loads(report.read_text(encoding="utf-8"))
    return {
        "seconds": taken.seconds,
        "cpu": cpu,
        "peak": taken.peak_bytes,
        "cut": found["cut_share"],
        "used": found["method"],
        "balances": {b["name"]: b["ratio"] for b in found["balances"]},
    }


def external(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    small = int(float(options.external_edges))
    for nodes, edges in ((NEXT_TO_NOTHING, NEXT_TO_NOTHING), (small // 10, small), (small // 10, 4 * small)):
        arguments = ("--kind", "communities", "--nodes", f"{nodes}", "--edges", f"{edges}", "--features", "0")
        graph = generate_once((options.directory or root) / f"external-{edges}", *arguments)
        runs: dict[int, list[dict[str, Any]]] = {2: [], 1: []}
        for _ in range(options.external_runs):
            for workers, taken in runs.items():  # in turn, since the machine may change its speed
                touch_memory(2e9)
                more = ("--memory", "256MB", "--workers", str(workers))
                taken.append(run(graph, root, 8, "multilevel", "nodes", more))
        ratios = [one["seconds"] / two["seconds"] for two, one in zip(runs[2], runs[1], strict=True)]
        for workers, taken in runs.items():
            middle = {key: statistics.median(found[key] for found in taken) for key in ("seconds", "cpu")}
            peak = max(found["peak"] for found in taken)
            row = {"nodes": nodes, "edges": edges, "workers": workers, **taken[0], **middle, "peak": peak}
            rows.append({**row, "faster": sorted(ratios) if workers == 2 else None})
            print(rows[-1], flush=True)
    return rows


SECTIONS = {"cuts": cuts, "types": types, "large": large, "external": external}


def page(found: dict[str, Any]) -> str:
    """Lay out all sections in Markdown."""
    lines = [
        "# Partitioners",
        "",
        "Made by `benchmarks/partitioners.py`; 3 % imbalance. Time and memory of `large` and",
    ]
    lines += ["`external` are those of whole processes, reading the input and building the adjacency included.", ""]
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
    if "large" in found:
        lines += large_table(found["large"])
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
    return "\n".join(lines)


def times_as_fast(ratios: list[float] | None) -> str:
    """Median of ratios, smallest and largest."""
    return f"{statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else ""


def large_table(rows: list[dict[str, Any]]) -> list[str]:
    """Time and memory of each method, and of `auto` over those of METIS for the same graph and balance."""
    lines = ["## More than ten million edges, 8 parts", ""]
    lines += [
        "Whole processes from the files to the parts, run in turn. `metis` is METIS on the adjacency that we build",
        "out of core, for all constraints; `METIS in DGL` is `dgl.metis_partition_assignment` in a process that reads",
        "the same files, as its users run it (it balances nodes or edges). The last columns are `auto` over that row.",
        "Seconds depend on who else uses the machine, CPU seconds (of all cores) less.",
        "METIS uses one core, KaMinPar all.",
        "",
    ]
    ours = {(r["graph"], r["edges"], r["balance"]): r for r in rows if r["method"] == "auto"}
    body = []
    for r in rows:
        mine = ours.get((r["graph"], r["edges"], r["balance"]))
        compared = mine is not None and mine is not r
        body.append(
            [
                r["graph"], f"{r['edges']:,}", r["balance"], r["used"], percent(r["cut"]),
                f"{r['balances']['nodes']:.2f}", f"{r['balances']['edges']:.2f}",
                f"{r['seconds']:.1f}", f"{r['cpu']:.1f}", f"{r['peak'] / 1e9:.2f} GB",
                *([f"{mine[key] / r[key]:.2f}" for key in ("cut", "seconds", "cpu", "peak")] if compared else [""] * 4),
            ]
        )  # fmt: skip
    head = ["graph", "edges", "balance", "method", "cut", "nodes", "edges", "seconds", "CPU seconds", "peak memory"]
    return lines + table([*head, "ours: cut", "seconds", "CPU", "memory"], body)


def cuts_tables(rows: list[dict[str, Any]]) -> list[str]:
    others = METHODS[1:]
    body = []
    for row in rows:
        metis = row["metis"]["cut"]
        ratios = [f"{row[m]['cut'] / metis:.3f}" if metis else "" for m in others]
        body.append([row["graph"], row["parts"], percent(metis), *ratios])
    means = [
        statistics.mean(row[m]["cut"] / row["metis"]["cut"] for row in rows if row["metis"]["cut"]) for m in others
    ]
    worst = [max(row[m]["cut"] / row["metis"]["cut"] for row in rows if row["metis"]["cut"]) for m in others]
    body += [
        ["**mean**", "", "", *(f"{mean:.3f}" for mean in means)],
        ["**worst**", "", "", *(f"{w:.3f}" for w in worst)],
    ]
    lines = [
        "## Nodes balanced: cut against METIS",
        "",
        "METIS: k-way, share of edges cut; the others: their cut over METIS'.",
    ]
    lines += [f"`multilevel` is given memory for a coarsest graph of 1/{MULTILEVEL_SHARE} of the arcs.", ""]
    lines += table(["graph", "parts", "METIS", *others], body)
    lines += ["## Nodes (3 %) and edges (10 %) balanced: `auto` against DGL's METIS", ""]
    lines += [
        "DGL with `balance_edges=True` balances edges (in-degree) alone; what it does to nodes is in the table. `kept`",
        "tells whether its largest part is within its tolerance of 3 %; where it is not, there is nothing to compare.",
        f"`alike` is `auto --balance {ALIKE}`: the same one constraint. With `balance_ntypes` of one type DGL balances",
        "nodes as well.",
        "",
    ]
    body = []
    for row in rows:
        ours = row["both"]
        balances = [f"{ours['balances'][name][0]:.3f}" for name in ("nodes", "edges")]
        cells = [row["graph"], row["parts"], percent(ours["cut"]), *balances]
        if row["dgl"]:
            theirs, both = row["dgl"]["edges"], row["dgl"]["both"]
            cells += [percent(theirs["cut"]), f"{theirs['nodes']:.3f}", f"{theirs['edges']:.3f}"]
            cells += ["yes" if theirs["edges"] <= METIS_TOLERANCE else "no", over(ours, theirs)]
            alike = row.get("edges")
            cells += [percent(alike["cut"]), f"{alike['balances']['edges'][0]:.3f}"] if alike else ["", ""]
            cells += [over(alike, theirs) if alike else ""]
            cells += [percent(both["cut"]), f"{both['nodes']:.3f}", f"{both['edges']:.3f}", over(ours, both)]
        body.append(cells)
    head = ["graph", "parts", "our cut", "nodes", "edges", "DGL, edges", "nodes", "edges", "kept", "ours / DGL's"]
    head += ["alike", "edges", "alike / DGL's", "DGL, both", "nodes", "edges", "ours / DGL's"]
    return lines + table(head, body) + [summary(rows), ""]


def summary(rows: list[dict[str, Any]]) -> str:
    """Where DGL's METIS keeps its balance, and where it still cuts less than we do."""
    kept = [row for row in rows if row["dgl"] and row["dgl"]["edges"]["edges"] <= METIS_TOLERANCE]
    words = [f"DGL's METIS keeps its balance in {len(kept)} of {sum(bool(row['dgl']) for row in rows)} cases."]
    for column, name in (("both", "`auto` with both constraints"), ("edges", "`alike`")):
        compared = [row for row in kept if row.get(column)]
        worse = [row for row in compared if row[column]["cut"] > row["dgl"]["edges"]["cut"]]
        names = [f"{row['graph']} {row['parts']} ({over(row[column], row['dgl']['edges'])})" for row in worse]
        words.append(
            f"Of {len(compared)} compared, {name} cuts more in {len(worse)}{': ' * bool(names)}{', '.join(names)}."
        )
    return " ".join(words)


def over(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    return f"{ours['cut'] / theirs['cut']:.3f}" if theirs["cut"] else ""


def percent(share: float) -> str:
    return f"{share:.2%}"


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    body = [headers, ["---"] * len(headers), *rows]
    return ["| " + " | ".join(str(cell) for cell in row) + " |" for row in body] + [""]


if __name__ == "__main__":
    main()
