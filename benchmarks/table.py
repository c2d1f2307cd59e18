"""Write tables of the README and of pages of docs/ from the newest results: ``python benchmarks/table.py``."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accuracy
import charts
import claims
import drop_in
import epochs
import fetched_by_dgl
import fetched_rows
import kinds
import partitioner_tables
import predict
import prices
import vs_clusterdata
import vs_gconstruct
from claims import beyond, middle, newest_of, peak
from fetch_costs import of_a_billion
from layouts import table

from daskgraphpart.engine.settings import parse_size
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
FRONT = HERE.parent / "docs" / "index.md"
BENCHMARKS = HERE.parent / "docs" / "benchmarks.md"
SIZING = HERE.parent / "docs" / "sizing.md"
NOT_SHOWN = {"all parts", "1 part's nodes, all parts", "DGL, 2 trainers, our parts", "DGL, 2 trainers, its parts"}
SHOWN_AGAINST_METIS = (
    ("50 M edges, communities", "communities", 50_000_000),
    ("50 M edges, R-MAT", "rmat", 50_000_000),
    ("12 M edges, curl's history", "vcs_curl", 11_753_425),
)
FOR_TRAINING = HERE.parent / "docs" / "howto" / "partition_for_training.md"
PARTITIONERS = HERE.parent / "docs" / "partitioners.md"
CLUSTERS = HERE.parent / "docs" / "clusters.md"
NEW_DATA = HERE.parent / "docs" / "new_data.md"
GRAPHBOLT = HERE.parent / "docs" / "howto" / "graphbolt.md"
GRAPHSTORM = HERE.parent / "docs" / "howto" / "graphstorm.md"
DESIGN = HERE.parent / "docs" / "design.md"
INSTALL = HERE.parent / "docs" / "install.md"


def main() -> None:
    for page, name, content in blocks():
        set_block(page, name, content)
    partitioner_tables.main()
    charts.draw_all()


def blocks() -> Iterator[tuple[Path, str, str]]:
    """Each block of a page: the page, its name, and what it says."""
    for page in (README, FRONT):
        yield page, "against_metis", against_metis()
        yield page, "largest", largest()
    yield BENCHMARKS, "instead_of_dgl", instead_of_dgl()
    for sentence in (instead_of_dgl, instead_of_clusterdata, rows_saved):
        yield README, sentence.__name__, sentence()
    tables: tuple[tuple[Path, str, Callable[[Any], list[list[str]]]], ...] = (
        (BENCHMARKS, "vs_dgl", vs_dgl),
        (BENCHMARKS, "drop_in", drop_in.table),
        (BENCHMARKS, "vs_clusterdata", vs_clusterdata.table),
        (BENCHMARKS, "memory_vs_scale", memory_vs_scale),
        (BENCHMARKS, "layouts", of_layouts),
        (BENCHMARKS, "vs_gconstruct", of_gconstruct),
        (BENCHMARKS, "accuracy", of_accuracy),
        (GRAPHBOLT, "vs_graphbolt", vs_dgl),
    )
    for page, name, rows_of in tables:
        yield page, name, in_lines(rows_of(newest_of(name)["results"]))
    for name, edges in (("kinds", "1.5e6"), ("larger_kinds", "2.5e6")):
        yield BENCHMARKS, name, in_lines(kinds.table(newest_of("kinds", edges=edges)["results"]))
    rows = fetched_rows.kept()
    for page, name, lines in (
        (README, "epochs_in_short", epochs.in_short()),
        (FOR_TRAINING, "epochs", epochs.table()),
        (FOR_TRAINING, "fetched_by_dgl", fetched_by_dgl.table()),
        (FOR_TRAINING, "fetched_rows", fetched_rows.of_graphs(rows)),
        (FOR_TRAINING, "fetched_means", fetched_rows.means(rows)),
    ):
        yield page, name, in_lines(lines)
    yield FOR_TRAINING, "fetched_claim", fetched_claim()
    for content in (*claims.ALL, fetch_costs, cores, many_parts, memory_vs_scale_multilevel, loaders, vs_copy, verify):
        yield BENCHMARKS, content.__name__, content()
    yield BENCHMARKS, "fetch_passes", in_lines(of_a_billion())
    yield README, "dollars", prices.dollars()
    yield SIZING, "blog", prices.blog()
    yield SIZING, "in_short", prices.in_short()
    yield SIZING, "random_graph", prices.random_graph()
    yield SIZING, "busy_threads", claims.busy_threads()
    yield SIZING, "from_disk", predict.from_disk()
    yield SIZING, "ten_in_short", predict.ten_in_short()
    yield GRAPHSTORM, "gconstruct_in_short", claims.gconstruct_in_short()
    yield FOR_TRAINING, "even_claim", claims.even_claim()
    yield FOR_TRAINING, "uneven_claim", claims.uneven_claim()
    yield DESIGN, "stores_claim", claims.stores_claim()
    for page in (DESIGN, INSTALL):
        yield page, "compiled_claim", claims.compiled_claim()
    yield SIZING, "rented", in_lines(prices.rented())
    for made in (predict.times, predict.ten, predict.sizes, predict.passes, predict.checks):
        yield SIZING, f"sizing_{made.__name__}", in_lines([*made()])
    for name, lines in (
        ("cuts", partitioner_tables.cuts_means(partitioner_tables.kept("cuts"))),
        ("large", partitioner_tables.large_table(partitioner_tables.kept("large"), short=True)),
    ):
        yield BENCHMARKS, name, "\n".join(lines).strip()
    yield PARTITIONERS, "efforts", in_lines(claims.efforts())
    yield NEW_DATA, "extend", in_lines(claims.extended())
    yield CLUSTERS, "shared_disk", in_lines(vs_shared_disk())
    yield CLUSTERS, "shared_partitioning", shared_partitioning()


def set_block(page: Path, name: str, content: str) -> None:
    """Replace what stands between two comments, which are on lines of their own or within one."""
    text = page.read_text(encoding="utf-8")
    assert f"<!-- {name} -->" in text, f"{page} has no place for {name}"
    end = "\n" if f"<!-- {name} -->\n" in text else ""
    block = f"<!-- {name} -->{end}{content}{end}<!-- end -->"
    text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _: block, text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def against_metis() -> str:
    """The same graphs, parts and constraints, by METIS, by KaMinPar and by the default method."""
    rows = [["graph, 8 parts", "", "CPU time", "peak memory", "edges cut"]]
    kept = partitioner_tables.large_cases()
    for title, graph, edges in SHOWN_AGAINST_METIS:
        for method, name in (("metis", "METIS"), ("kaminpar", "KaMinPar"), ("auto", "**daskgraphpart**")):
            run = kept[graph, edges, 8, "nodes,edges"][method]
            figures = [f"{run['cpu']:.0f} s", f"{run['peak'] / 1e9:.1f} GB", f"{run['cut']:.1%}"]
            rows.append([title if method == "metis" else "", name, *figures])
    return in_lines(rows)


def largest() -> str:
    """The largest graph, in a sentence."""
    (run,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    return (
        f"A billion edges in 8 parts, from the input files to the finished parts, took "
        f"{run['seconds'] / 60:.0f} minutes on two cores and {peak([run]):.1f} GB of memory."
    )


def rows_saved() -> str:
    """Rows that training fetches, in a sentence."""
    mean = fetched_rows.means(fetched_rows.real_cases())[-1]
    saved, metis = (f"{1 - float(mean[column].split()[0]):.0%}" for column in (4, 7))
    return (
        f"{saved} fewer rows from other parts than with the fewest cut edges, and {metis} fewer than with METIS as DGL "
        f"calls it, in the mean of {mean[3]} real graphs"
    )


def fetched_claim() -> str:
    """The same with its worst case, hot rows and work."""
    cases = fetched_rows.real_cases()
    *_, graphs, rows, _, hot, _, work_of_cut, work, _ = fetched_rows.means(cases)[-1]
    mean, worst = rows.split()
    return (
        f"**Trainers fetch {mean} of the rows that they fetch with the fewest cut edges, and {hot} with 5 % hot rows "
        f"beside each part:** the means of {len(cases)} cases of {graphs} real graphs, the worst {worst[1:-1]}. "
        f"The busiest part does {work.split()[0]} of the average work, in place of {work_of_cut}."
    )


def fetch_costs() -> str:
    """What the objective costs."""
    newest = newest_of("fetch_costs")
    cut, fetch = (newest["results"][way] for way in ("cut", "fetch"))
    cpu, memory, rows = (fetch[name] / cut[name] for name in ("cpu", "peak_bytes", "rows"))
    return (
        f"**`--objtype fetch` takes {cpu:.2f} of the CPU time of `partition` without it,** and {memory:.2f} of its "
        f"memory: {fetch['cpu']:.0f} s and {fetch['peak_bytes'] / 1e9:.1f} GB for "
        f"{float(newest['setting']['edges']) / 1e6:.0f} M edges in 8 parts. There, among communities, training fetches "
        f"{rows:.2f} of the rows (`fetch_costs.py`)."
    )


def instead_of_dgl() -> str:
    """The same call of DGL and ours, what the graph itself takes left out."""
    newest = newest_of("drop_in")
    theirs, ours = (newest["results"][name] for name in ('DGL, `"metis"`', 'ours, `"auto"`'))
    million = float(newest["setting"]["edges"]) / 1e6
    return (
        f"{middle(ours, 'cpu'):.0f} s of CPU time instead of {middle(theirs, 'cpu'):.0f} s, and "
        f"{beyond(ours):.1f} GB of memory instead of {beyond(theirs):.1f} GB beyond the graph ({million:.0f} "
        "M edges, 8 parts)."
    )


def instead_of_clusterdata() -> str:
    """PyG's class and ours."""
    newest = newest_of("vs_clusterdata")
    theirs, ours = (newest["results"][name] for name in ("ClusterData", "ours"))
    return (
        f"For {float(newest['setting']['edges']) / 1e6:.0f} M edges in 8 parts it took "
        f"{middle(theirs, 'cpu'):.0f} s of CPU time and {peak(theirs):.1f} GB, `daskgraphpart` "
        f"{middle(ours, 'cpu'):.0f} s and {peak(ours):.1f} GB, "
        "for the same cut."
    )


def cores() -> str:
    """The same job on more and more cores of one machine."""
    newest = newest_of("cores")
    said = []
    for edges, by_cores in newest["results"].items():
        took = (f"{run['seconds']:.0f} s on {number}" for number, run in by_cores.items())
        said.append(f"{float(edges) / 1e6:.0f} M edges take {', '.join(took)} cores.")
    where = newest["setting"]["machine"]
    return f"**Beyond 8 cores, times hardly fall.** `partition` in 16 parts on {where}: {' '.join(said)}"


def memory_vs_scale_multilevel() -> str:
    """The largest graph."""
    (run,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    disk = run["disk_peak_bytes"] / 1e9
    return (
        f"**A billion edges in 8 parts: {run['seconds'] / 60:.0f} minutes on two cores, {peak([run]):.1f} GB of "
        f"memory.** The graph has 100 million nodes in communities; {run['cut']:.1%} of its edges are cut. "
        "The job took "
        f"{run['cpu_seconds'] / 60:.0f} minutes of CPU time, and {disk:.0f} GB of disk in addition to "
        f"{run['input_bytes'] / 1e9:.0f} GB of input. To repeat it:\n\n```text\n"
        "daskgraphpart generate graph --kind communities --nodes 1e8 --edges 1e9 --features 1\n"
        "daskgraphpart partition graph partitions --num-parts 8 \\\n"
        "    --method multilevel --balance nodes,edges --memory 8GB\n```"
    )


def loaders() -> str:
    """Batches a second without a model, on a small graph and a large one."""
    lines = (HERE / "results" / "loader_gpu.jsonl").read_text(encoding="utf-8").splitlines()
    rows: dict[str, list[str]] = {}
    heads = [""]
    for kept in map(json.loads, lines):
        if not kept["setting"]["model"] and "no GPU" in kept["setting"]["device"]:
            for ahead in (0, 2):
                heads.append(f"{float(kept['setting']['edges']) / 1e6:.0f} M edges, {['no', '', 'two'][ahead]} workers")
                for found in kept["results"][1:]:  # the first is the model alone
                    if found["workers"] == ahead and "tensor" not in found["loader"]:
                        rows.setdefault(found["loader"], []).append(f"{found['rate']:.1f}")
    return in_lines([heads, *([name, *rates] for name, rates in rows.items())])


def in_lines(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def seconds(runs: list[dict[str, Any]]) -> float:
    return statistics.median(run["seconds"] for run in runs)


def vs_dgl(results: dict[str, Any]) -> list[list[str]]:
    rows = [["", "wall time", "peak memory"]]
    return rows + [[name, f"{seconds(runs):.1f} s", f"{peak(runs):.2f} GB"] for name, runs in results.items()]


def vs_copy() -> str:
    """Our time over that of what any tool has to do, pair by pair."""
    small, large = (newest_of("vs_copy", edges=edges)["results"] for edges in ("5e7", "2e8"))
    return (
        f"**Writing the parts takes about as long as copying as many bytes.** `dispatch` of 200 M edges takes "
        f"{over(large, 'copy')} times as long as reading and writing as many bytes. For 50 M edges it takes "
        f"{seconds(small['ours']):.1f} s: {over(small, 'copy')} times as long as that, and {over(small, 'copy input')} "
        "times as long as copying the input (`vs_copy.py`)."
    )


def vs_shared_disk() -> list[list[str]]:
    """The newest run of each job whose workers share only a bucket, and what it moves on a shared disk."""
    heads = ["edges", "nodes", "features", "parts", "method", "requests", "read, written", "on a shared disk"]
    newest: dict[tuple[str, ...], list[str]] = {}
    for line in (HERE / "results" / "vs_shared_disk.jsonl").read_text(encoding="utf-8").splitlines():
        kept = json.loads(line)
        of, here, there = kept["setting"], kept["results"]["shared disk"], kept["results"]["bucket"]
        job = [f"{float(of[name]):,.0f}" for name in ("edges", "nodes", "features", "parts")] + [f"`{of['method']}`"]
        moved = [f"{format_size(run['read'])}, {format_size(run['written'])}" for run in (there, here)]
        requests = re.search(r"[\d,]+(?= requests)", there["summary"])
        assert requests is not None
        disk = there["planned"][2] or there["planned"][0] + there["planned"][1]
        newest[(*job,)] = [*job, requests[0], *moved, f"{format_size(disk)}, {format_size(there['local'])}"]
        newest[(*job,)].append(kept["date"])
    return [[*heads, "disk of a worker: planned, used", "measured"], *newest.values()]


def shared_partitioning() -> str:
    """What workers hold and exchange that share `partition-graph` while some are killed."""
    kept = newest_of("shared_partitioning")
    of, ours, alone = kept["setting"], kept["results"]["together"], kept["results"]["alone"]
    size, held = format_size(parse_size(of["memory"])), format_size(ours["peak"])
    return (
        f"{float(of['edges']) / 1e6:,.0f} million edges and {float(of['nodes']) / 1e6:,.0f} million nodes by "
        f"{of['workers']} workers of one thread, {size} for the tasks of each: {ours['rounds']} rounds, which "
        f"exchange {ours['bytes'] / float(of['edges']):.1f} bytes per edge in all. The largest process holds {held}, "
        f"with its libraries, and the workers take {ours['cpu'] / alone['cpu']:.1f} times the CPU time of one machine. "
        "In that run a worker, the scheduler and the client were killed and started again: owners are those of one "
        "machine (`shared_partitioning.py`)."
    )


def over(results: dict[str, Any], name: str) -> str:
    """Our time over that of another, pair by pair: median and range."""
    pairs = [ours["seconds"] / other["seconds"] for ours, other in zip(results["ours"], results[name], strict=True)]
    return f"{statistics.median(pairs):.1f} [{min(pairs):.1f} to {max(pairs):.1f}]"


def verify() -> str:
    """Times of `verify`."""
    took = {name: f"{seconds(runs):.1f} s" for name, runs in newest_of("verify")["results"].items()}
    return (
        f"**`verify` takes about as long as writing the parts.** For 20 million edges in 4 parts, `dispatch` takes "
        f"{took['dispatch']}, `verify` {took['verify']}, and `verify --quick` {took['quick']} (`verify.py`)."
    )


def many_parts() -> str:
    """What each part costs, besides the graph."""
    results = newest_of("many_parts")["results"]
    each = {
        command: (runs["4000"][0]["cpu_seconds"] - runs["4"][0]["cpu_seconds"]) / 3996 * 1000
        for command, runs in results.items()
    }
    return (
        f"**Many small parts are cheap:** {each['partition']:.1f} ms of CPU time per part to write, "
        f"{each['verify']:.1f} ms to verify (4,000 parts compared with 4; `many_parts.py`)."
    )


def of_gconstruct(results: dict[str, Any]) -> list[list[str]]:
    heads, rows = vs_gconstruct.table(results)
    return [[row[0], row[2], row[3]] for row in (heads, *rows)]


def of_layouts(results: dict[str, Any]) -> list[list[str]]:
    rows = [[row[0], row[1], row[5], row[3]] for row in table(results)]
    return [["layout", "CPU time", "peak memory", "CPU time in addition to dgl"], *rows[1:]]


def of_accuracy(_: dict[str, Any]) -> list[list[str]]:
    rows = accuracy.table(accuracy.newest())  # of several lines
    return [row[:-1] for row in rows if row[0] not in NOT_SHOWN]


def memory_vs_scale(results: dict[str, Any]) -> list[list[str]]:
    rows = [["edges", "wall time", "peak memory", "time per edge"]]
    for edges, runs in results.items():
        fastest = min(run["seconds"] for run in runs)
        per_edge = f"{fastest / float(edges) * 1e9:.0f} ns"
        rows.append([f"{int(float(edges)):,}", f"{fastest:.1f} s", f"{peak(runs):.2f} GB", per_edge])
    return rows


if __name__ == "__main__":
    main()
