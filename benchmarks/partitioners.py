"""Partitioners side by side: cut, balance, time and memory; `partitioner_tables.py` writes the tables.

Sections: ``cuts`` (all real graphs: every method against METIS with balanced nodes, auto against METIS with nodes and
edges balanced, and against real DGL's METIS with ``balance_edges=True``), ``types`` (several constraints on
heterogeneous graphs), ``large`` (graphs with more than ten million edges: time and memory of fresh processes, METIS on
our adjacency and in real DGL), ``external`` (memory and speed of multilevel, edges quadrupled at equal nodes, one core
against two), ``speed`` (multilevel on one worker, on two and with little memory, and KaMinPar, in turn; arcs that the
passes of multilevel read per second and core), ``weights`` (the cut by weights of edges against METIS called directly
with the same weights), ``limits`` (the cut within looser and looser limits), ``efforts`` (beside the default).
``python benchmarks/partitioners.py --sections cuts``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pymetis
import scipy.sparse
from harness import generate_once, measure, our_command, state, touch_memory
from partitioner_tables import (
    EFFORTS,
    KEPT,
    LARGE_KEY,
    LOOSER,
    METHODS,
    NEXT_TO_NOTHING,
    WEIGHTED,
    write,
)

import daskgraphpart as dgp
from daskgraphpart.partitioner import solver
from daskgraphpart.partitioner.multilevel import coarsen, refine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from graphs import REAL_GRAPHS, Graph, load_real_graph  # noqa: E402

BOTH = ("metis", "auto")  # that are given both constraints, too
HETEROGENEOUS = ("dblp_hetero", "vcs_networkit", "oewn")
METIS_LARGEST = 1 << 20  # of the weights that METIS is given


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default="cuts,types,large,external")
    parser.add_argument("--graphs", default=",".join(REAL_GRAPHS))
    parser.add_argument("--parts", default="4,8,64")
    parser.add_argument(
        "--columns", default=",".join((*METHODS, "both", "dgl")), help="of `cuts` that are measured anew"
    )
    parser.add_argument("--large-edges", default="2e7", help="edges of the generated graphs of `large`")
    parser.add_argument(
        "--large-graphs",
        default="communities,rmat,vcs_curl",
        help="of `large` that are measured anew, and of `speed`; names or directories",
    )
    parser.add_argument("--large-methods", default="metis,dgl,auto", help="of `large`; auto:low for an effort")
    parser.add_argument("--balances", default="nodes;nodes,edges", help="of `large`")
    parser.add_argument("--external-edges", default="8e6", help="edges of the smaller graph of `external`")
    parser.add_argument("--external-runs", type=int, default=3, help="runs in turn of `external` and `speed`")
    parser.add_argument("--dgl-python", default=str(HERE.parent / ".venv-dgl-1.1.3" / "bin" / "python"))
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    options.parts = [int(number) for number in options.parts.split(",")]
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for section in options.sections.split(","):
            found[section] = SECTIONS[section](Path(scratch), options)
            found.setdefault("measured", {})[section] = state()
            KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write(found)


def assigned(graph: Path, parts: int, method: str, balance: str | None, **more: str) -> dict[str, Any]:
    before = cpu_seconds()
    report = dgp.assign(graph, parts, method=method, balance=balance, memory="8GB", **more).quality
    assert report is not None
    return {
        "cut": report.cut_share,
        "used": report.method,
        "seconds": report.seconds,
        "cpu": cpu_seconds() - before,
        "balances": {b.name: (b.ratio, b.allowed) for b in report.balances},
    }


def cpu_seconds() -> float:
    """CPU time of this process and of all its children so far."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


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
        for parts in options.parts:
            row = rows.setdefault((name, parts), {"graph": name, "parts": parts, "arcs": arcs, "dgl": None})
            row["dgl"] = theirs.get(parts, row["dgl"])
            for method in (method for method in METHODS if method in columns):
                row[method] = assigned(directory, parts, method, "nodes")
            if "both" in columns:
                row["both"] = {method: assigned(directory, parts, method, None) for method in BOTH}
            measured = [column for column in METHODS if column in row]
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
            for method in ("auto", "kaminpar", "metis", "multilevel", "fennel", "random"):
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
        graph = large_graph(kind, root, options)
        edges = sum(json.loads((graph / "metadata.json").read_text(encoding="utf-8"))["num_edges_per_type"])
        for parts, balance in itertools.product(options.parts, options.balances.split(";")):
            for method in options.large_methods.split(","):
                if method == "dgl" and not Path(options.dgl_python).is_file():
                    continue
                touch_memory(3e9)
                if method == "dgl":
                    found = run_dgl(graph, root, parts, balance, options)
                else:
                    name, _, effort = method.partition(":")
                    more = ("--memory", "16GB", "--effort", effort or "normal")
                    found = run(graph, root, parts, name, balance, more)
                key = (kind, edges, parts, balance, method)
                rows[key] = {**dict(zip(LARGE_KEY, key, strict=True)), **found}
                print(rows[key], flush=True)
    return list(rows.values())


def large_graph(kind: str, root: Path, options: argparse.Namespace) -> Path:
    """A generated graph, of 20 edges per node, a real one, or one of ours in a directory."""
    if (Path(kind) / "metadata.json").is_file():
        return Path(kind)
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


def weights(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Weighted cut of every method, of `auto` without weights, and of METIS on the whole graph in memory."""
    rows = []
    for name, what, values in weighted_graphs():
        graph = load_real_graph(name)
        (etype,) = graph.schema.etypes
        src, dst = (np.asarray(ids) for ids in graph.edges[etype])
        source = Graph(graph.schema, graph.edges, {}, {etype: {"weight": values}})
        directory = source.write(root / f"weights-{name}-{len(rows)}", edge_format="numpy")
        matrix = scipy.sparse.coo_array((values, (src, dst)), (graph.schema.num_nodes,) * 2).tocsr()
        matrix = scipy.sparse.csr_array(matrix + matrix.T)
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        integers = np.maximum(np.rint(matrix.data / matrix.data.max() * METIS_LARGEST), 1).astype(np.int64)
        for parts in options.parts:
            _, owners = pymetis.part_graph(
                parts, xadj=matrix.indptr, adjncy=matrix.indices, eweights=integers, recursive=False
            )
            row: dict[str, Any] = {"graph": name, "weights": what, "parts": parts}
            row["METIS"] = weight_cut(np.array(owners), src, dst, values)
            for method in WEIGHTED:
                method, _, without = method.partition(", ")
                how = {"balance": "nodes", "edge_weight": () if without else "weight"}
                found = dgp.assign(directory, parts, method=method, memory="8GB", **how)
                row[", ".join(filter(None, (method, without)))] = weight_cut(
                    next(iter(found.owners.values())).compute(), src, dst, values
                )
            rows.append(row)
            print(row, flush=True)
    return rows


def limits(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Cut of `auto` within limits of edges that are looser and looser, and with nodes balanced alone."""

    def cuts(graph: Path, parts: int) -> dict[str, Any]:
        return {balance: assigned(graph, parts, "auto", balance)["cut"] for balance in LOOSER}

    return of_real_graphs(root / "limits", options, cuts)


def of_real_graphs(
    directory: Path, options: argparse.Namespace, measured: Callable[[Path, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What is measured of each real graph and number of parts, printed as it comes."""
    rows = []
    for name in options.graphs.split(","):
        graph = load_real_graph(name).write(directory / name.replace("/", "_"), edge_format="numpy")
        for parts in options.parts:
            rows.append({"graph": name, "parts": parts, **measured(graph, parts)})
            print(rows[-1], flush=True)
    return rows


def efforts(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Cut and CPU time of `low` and `high` effort beside normal's, nodes and edges balanced."""

    def each(graph: Path, parts: int) -> dict[str, Any]:
        return {effort: assigned(graph, parts, "auto", None, effort=effort) for effort in EFFORTS}

    return of_real_graphs(root / "efforts", options, each)


def weighted_graphs() -> Iterator[tuple[str, str, np.ndarray]]:
    """Real graphs, what their edges weigh, and how much: lengths of roads, nearness, neighbours in common."""
    (data,) = load_real_graph("usa_road_ny").edge_data.values()
    yield "usa_road_ny", "1 / length", 1 / data["edge_weight"].astype(np.float64)
    yield "usa_road_ny", "length", data["edge_weight"]
    for name in ("coauthor_physics", "musae_github"):
        graph = load_real_graph(name)
        ((src, dst),) = graph.edges.values()
        ones = scipy.sparse.coo_array((np.ones(len(src)), (src, dst)), (graph.schema.num_nodes,) * 2).tocsr()
        ones = ((ones + ones.T) > 0).astype(np.float64)
        yield name, "1 + common neighbours", 1 + np.asarray((ones @ ones)[src, dst]).ravel().astype(np.int64)


def weight_cut(owners: np.ndarray, src: np.ndarray, dst: np.ndarray, values: np.ndarray) -> float:
    """Share of the weight that is cut."""
    return float(values[owners[src] != owners[dst]].sum(dtype=np.float64) / values.sum(dtype=np.float64))


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


SPEED = {
    "multilevel, 2 workers": ("multilevel", "8GB", 2),
    "multilevel, 1 worker": ("multilevel", "8GB", 1),
    "multilevel, 2 workers, 300 MB": ("multilevel", "300MB", 2),
    "kaminpar": ("kaminpar", "8GB", 2),
}
"""Method, memory and workers of what is compared."""


def speed(root: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Least CPU and wall time of several runs in turn of what is compared, and the speed of the passes."""
    rows = []
    for kind in options.large_graphs.split(","):
        graph = large_graph(kind, root, options)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in SPEED}
        for _ in range(options.external_runs):
            for name, (method, memory, workers) in SPEED.items():
                more = ("--memory", memory, "--workers", str(workers))
                found[name].append(run(graph, root, options.parts[0], method, "nodes", more))
        for name, runs in found.items():
            least = {key: min(each[key] for each in runs) for key in ("seconds", "cpu", "peak")}
            rows.append({"graph": graph.name, "parts": options.parts[0], "what": name, **runs[0], **least})
            print(rows[-1], flush=True)
        rows.append({"graph": graph.name, "passes": passes_of_multilevel(graph, options.parts[0])})
    return rows


def passes_of_multilevel(graph: Path, parts: int) -> list[dict[str, Any]]:
    """Arcs that each pass reads, and its CPU time with all that belongs to it: the reading and writing of blocks."""
    rows: list[dict[str, Any]] = []
    lock, read = threading.Lock(), [0]

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(level: Any, *args: Any) -> Any:
            read[0], began = 0, time.process_time()
            result = work(level, *args)
            cpu = time.process_time() - began
            rows.append({"pass": name, "arcs": level.num_arcs, "read": read[0] or level.num_arcs, "cpu": cpu})
            print(graph.name, rows[-1], f"{rows[-1]['read'] / cpu / 1e6:.1f} M arcs/s", flush=True)
            return result

        return call

    def counted(kernel: Callable[..., Any], active: int) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with lock:
                read[0] += int(np.diff(args[0])[args[active]].sum())
            return kernel(*args)

        return call

    replaced = (
        (coarsen, "propose_clusters", counted(coarsen.propose_clusters, 10)),
        (refine, "refine_rows", counted(refine.refine_rows, 9)),
        *((solver, name, timed(name, getattr(solver, name))) for name in ("cluster", "contract")),
        (refine, "improve", timed("improve", refine.improve)),
    )
    with ExitStack() as stack:
        for where, name, work in replaced:
            stack.enter_context(mock.patch.object(where, name, work))
        assigned(graph, parts, "multilevel", "nodes")
    return rows


SECTIONS = {
    "cuts": cuts, "types": types, "large": large, "external": external, "speed": speed, "weights": weights,
    "limits": limits, "efforts": efforts,
}  # fmt: skip


if __name__ == "__main__":
    main()
