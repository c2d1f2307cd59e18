"""Sentences of docs/benchmarks.md, and tables of the guides, each from its results; `table.py` writes them."""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Any

import fetched_rows
import partitioner_tables
from harness import RESULTS
from partitioner_tables import hundredths, kept, over

if TYPE_CHECKING:
    from collections.abc import Callable


def newest_of(name: str, **setting: Any) -> dict[str, Any]:
    """The last result of a benchmark, or the last with these settings."""
    lines = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [result for result in found if setting.items() <= result["setting"].items()][-1]


def middle(runs: list[dict[str, Any]], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def peak(runs: list[dict[str, Any]]) -> float:
    return max(run["peak_bytes"] for run in runs) / 1e9


def beyond(runs: list[dict[str, Any]]) -> float:
    """Peak memory without what the process held before, in GB."""
    return max(run["peak_bytes"] - run["before"] for run in runs) / 1e9


def large_claim() -> str:
    """Beyond three million edges, the mean over all cases with nodes and edges balanced, and the worst."""
    cases = [found for case, found in partitioner_tables.large_cases().items() if case[3] == "nodes,edges"]
    of = {key: [found["auto"][key] / found["metis"][key] for found in cases] for key in ("cpu", "peak", "cut")}
    mean = {key: hundredths(statistics.mean(ratios)) for key, ratios in of.items()}
    worst = {key: hundredths(max(ratios)) for key, ratios in of.items()}
    return (
        f"**Beyond three million edges, `auto` takes {mean['cpu']} of METIS' CPU time and {mean['peak']} of its "
        f"memory, and cuts {mean['cut']} of its edges:** the means of {len(cases)} cases with nodes and edges "
        f"balanced. The worst cases are {worst['cpu']}, {worst['peak']} and {worst['cut']}."
    )


def kinds_claim() -> str:
    """The cut over that of the better of METIS and KaMinPar, and CPU time over theirs, on generated graphs."""
    cases, mean, worst, cpu = _of_kinds("1.5e6")
    return (
        f"**On graphs of many kinds, `auto` cuts {mean} of the edges that the better of METIS and KaMinPar cuts:** the "
        f"mean of {cases} cases. The worst is {worst}. It takes {cpu}."
    )


def larger_kinds_claim() -> str:
    """The same where `auto` coarsens, or KaMinPar takes what does not cluster."""
    cases, mean, worst, cpu = _of_kinds("2.5e6")
    what = f"With 2.5 million edges it cuts {mean} of them in the mean of {cases} cases, {worst} in the worst"
    return f"{what}, and takes {cpu}:"


def _of_kinds(edges: str) -> tuple[int, str, str, str]:
    """Number of cases, mean and worst cut over that of the better library, and CPU time in words."""
    rows = newest_of("kinds", edges=edges)["results"]
    cuts = [row["auto"]["cut"] / min(row[method]["cut"] for method in ("metis", "kaminpar")) for row in rows]
    of = {
        method: hundredths(statistics.mean(row["auto"]["cpu"] / row[method]["cpu"] for row in rows))
        for method in ("metis", "kaminpar")
    }
    cpu = f"{of['metis']} times METIS' CPU time and {of['kaminpar']} times KaMinPar's"
    return len(cuts), hundredths(statistics.mean(cuts)), hundredths(max(cuts)), cpu


def cuts_claim() -> str:
    """The same on real graphs, with all numbers of parts."""
    rows = [row["both"] for row in kept("cuts")]
    ratios = [over(row["auto"], row["metis"]) for row in rows]
    ours, theirs = (sum(row[method]["cpu"] for row in rows) for method in ("auto", "metis"))
    fewer = sum(ratio <= 1 for ratio in ratios)
    return (
        f"**On {len({row['graph'] for row in kept('cuts')})} real graphs, `auto` cuts "
        f"{statistics.mean(ratios):.2f} of METIS' edges** with the same limits on nodes and edges: the mean of "
        f"{len(ratios)} cases. In {fewer} it cuts no more, in the worst {max(ratios):.2f}. It takes "
        f"{ours / theirs:.1f} times METIS' CPU time."
    )


def vs_dgl_claim() -> str:
    results = newest_of("vs_dgl")["results"]
    ours, theirs = results["ours"], results["dgl.distributed.partition_graph"]
    return (
        f"**Writing the parts takes {middle(ours, 'seconds'):.0f} s instead of {middle(theirs, 'seconds'):.0f} s, "
        f"and {peak(ours):.2f} GB of memory instead of {peak(theirs):.1f} GB.**"
    )


def vs_clusterdata_claim() -> str:
    results = newest_of("vs_clusterdata")["results"]
    ours, theirs = results["ours"], results["ClusterData"]
    return (
        f"**`daskgraphpart` takes {middle(ours, 'cpu'):.0f} s of CPU time instead of {middle(theirs, 'cpu'):.0f} s, "
        f"and {peak(ours):.1f} GB instead of {peak(theirs):.1f} GB, for {middle(ours, 'cut'):.1%} instead of "
        f"{middle(theirs, 'cut'):.1%} of the edges cut.**"
    )


def vs_gconstruct_claim() -> str:
    results = newest_of("vs_gconstruct")["results"]
    ours, theirs = results["ours"], results["gconstruct"]
    return (
        f"**From a construction config, `daskgraphpart` takes {ours['cpu_seconds']:.0f} s of CPU time instead of the "
        f"{theirs['cpu_seconds']:.0f} s of gconstruct, and {ours['peak_bytes'] / 1e9:.1f} GB instead of "
        f"{theirs['peak_bytes'] / 1e9:.1f} GB.**"
    )


def gconstruct_in_short() -> str:
    results = newest_of("vs_gconstruct")["results"]
    cpu, memory = (hundredths(results["ours"][of] / results["gconstruct"][of]) for of in ("cpu_seconds", "peak_bytes"))
    page = "../benchmarks.md#against-graphstorms-graph-construction"
    return f"{cpu} of [gconstruct's CPU time]({page}) and {memory} of its memory"


def uneven_claim() -> str:
    """The real graph on which METIS, as DGL calls it, fetches the fewest rows, for those of `fetch`."""
    row = min(fetched_rows.real_cases(), key=lambda row: row["metis"]["rows"] / row["fetch"]["rows"])
    rows, works = ([row[way][of] for way in ("metis", "fetch")] for of in ("rows", "work"))
    return (
        f"on {row['graph']} in {row['parts']} parts, {row['share']:.0%} of the nodes as seeds and fan-outs "
        f"{row['fanouts']}, {rows[0]:,} rows with the busiest part at {works[0]:.2f} of the average, for {rows[1]:,} "
        f"at {works[1]:.2f} by `fetch`"
    )


def even_claim() -> str:
    """The real graphs on which work is not even."""
    pieces = []
    for row in fetched_rows.real_cases():
        work, work_of_cut = (row[way]["work"] for way in ("fetch", "cut"))
        if work > 1.1:
            where = f"{row['graph']}, {row['parts']} parts, {row['share']:.0%} seeds"
            pieces.append(f"{work:.2f} of the average in place of {work_of_cut:.2f} ({where})")
    return ", ".join(pieces)


def compiled_claim() -> str:
    """CPU time of the first `partition`, with compiled kernels in the wheel and without."""
    results = newest_of("compiled_wheel")["results"]
    first, compiled = (statistics.median(results[name]) for name in ("first run", "first run with kernels"))
    return f"{compiled:.1f} s of CPU time instead of {first:.1f} s"


def stores_claim() -> str:
    """CPU time of requests to S3 by two libraries, in milliseconds."""
    results = newest_of("store_libraries")["results"]
    what = {
        "get 128 ranges of 250 kB": (128, "a range of 250 kB"),
        "put 200 objects of 2 kB": (200, "a small object"),
        "put 64 MiB in parts": (1, "64 MiB in parts"),
    }
    pieces = []
    for name, (count, of) in what.items():
        ours, theirs = (results[name][library][0] / count * 1000 for library in ("s3fs", "obstore"))
        pieces.append(f"{theirs:.1f} instead of {ours:.1f} ms for {of}")
    return ", ".join(pieces)


def layouts_claim() -> str:
    took = {name: middle(runs, "cpu_seconds") for name, runs in newest_of("layouts")["results"].items()}
    ratios = {name: f"{took[name] / took['dgl']:.1f}" for name in ("ranks", "graphstorm", "parquet", "graphbolt")}
    return (
        f"**`graphbolt` takes {ratios['graphbolt']} times the CPU time of `dgl`, `parquet` {ratios['parquet']}, "
        f"`graphstorm` {ratios['graphstorm']} and `ranks` {ratios['ranks']}.**"
    )


def loader_claim() -> str:
    """How long a model waits for batches, on a processor and on a GPU."""
    runs = newest_of("loader_gpu", device="no GPU, 2 threads", model=True)["results"]
    files = {run["workers"]: run for run in runs if "files" in run["loader"]}
    ahead = max(run["waiting"] for workers, run in files.items() if workers)
    gpu = newest_of("loader_gpu", device="NVIDIA H100, 16 cores")["results"]
    rates = {
        run["workers"]: run["rate"] for run in gpu if run["loader"] == "parts.neighbor_loader, features from files"
    }
    others = {run["loader"]: run["rate"] for run in gpu}
    *most, last = (f"{rate:.0f}" for rate in rates.values())
    *some, end = map(str, rates)
    return (
        f"A GraphSAGE on this processor takes {1 / runs[0]['rate']:.1f} s per batch and waits "
        f"{files[0]['waiting']:.0%} of the time for `parts.neighbor_loader`, {ahead:.1%} with workers.\n\n"
        f"On an H100 with 16 cores and 50 M edges, the model alone takes "
        f"{others['one batch on the device again and again: the model alone']:.0f} batches a second. "
        f"`parts.neighbor_loader` gives it {', '.join(most)} and {last} from files with {', '.join(some)} and {end} "
        f"workers ({others['parts.neighbor_loader, features from files, not pinned']:.0f} without pinned memory), and "
        f"{others['the same sampler, features on the GPU']:.0f} with the features on the GPU."
    )


def busy_threads() -> str:
    """How many of 16 and of 64 threads `partition-graph` can keep busy, with its libraries."""
    ours, rmat, web = (
        [f"{busy_threads_of(graph, threads):.0f}" for threads in (16, 64)]
        for graph in ("communities-5e7", "rmat-5e7", "web-7e6")
    )
    return (
        f"On 50 million edges that pass could keep {ours[0]} of 16 busy, and {ours[1]} of 64; on R-MAT, {rmat[0]} and "
        f"{rmat[1]}; on a web graph of 7 million edges, {web[0]} and {web[1]} (`parallel_limit.py`)."
    )


def busy_threads_of(graph: str, threads: int) -> float:
    """How many of some threads `partition-graph` can keep busy, by the newest result of a graph."""
    busy = 0.0
    for of in map(json.loads, (RESULTS / "parallel_limit.jsonl").read_text(encoding="utf-8").splitlines()):
        setting, found = of["setting"], of["results"].get("with libraries")
        if found and graph == (setting.get("graph") or setting["command"][1]):
            busy = found[str(threads)]
    return busy


def measured() -> str:
    """When each result that the page shows was measured."""
    rows = [["result", "measured", "commit"]]
    rows += [[f"`partitioners.py`, `{name}`", of["date"], of["commit"]] for name, of in sections().items()]
    for name in SHOWN_RESULTS:
        newest = newest_of(name)
        rows.append([f"`{name}`", newest.get("date", ""), newest["commit"]])
    return "\n".join(["| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * 3, *rows[1:])])


SHOWN_RESULTS = (
    *("memory_vs_scale", "memory_vs_scale_multilevel", "drop_in", "vs_dgl", "vs_clusterdata", "vs_gconstruct"),
    *("cores", "many_parts", "vs_copy", "layouts", "verify", "accuracy", "loader_gpu", "extend"),
    *("fetched_rows", "fetched_by_dgl", "epochs", "fetch_costs"),
)


def sections() -> dict[str, dict[str, str]]:
    """Date and commit of each section of `partitioners.py`."""
    found: dict[str, dict[str, str]] = json.loads(partitioner_tables.KEPT.read_text(encoding="utf-8"))["measured"]
    return found


def efforts() -> list[list[str]]:
    """Cut and CPU time of each effort over normal effort's, beyond a million edges and below."""
    cases = [found for case, found in partitioner_tables.large_cases().items() if case[3] == "nodes,edges"]
    large = [found for found in cases if "auto:low" in found]
    low = {
        key: statistics.geometric_mean(of["auto:low"][key] / of["auto"][key] for of in large) for key in ("cut", "cpu")
    }
    means = [
        statistics.geometric_mean(of)
        for of in zip(*map(partitioner_tables.effort_ratios, kept("efforts")), strict=True)
    ]
    rows = [["`--effort`", "what it does", "cut", "CPU time", "beyond a million edges: cut", "CPU time"]]
    said = {
        "low": "uses one library and fewer sweeps",
        "normal": "the six steps above",
        "high": "combines four seeds of each library, given the whole graph, then up to four V-cycles",
    }
    figures = {
        "normal": ["1", "1", "1", "1"],
        "low": [*map(hundredths, means[:2]), hundredths(low["cut"]), hundredths(low["cpu"])],
        "high": [*map(hundredths, means[2:]), "", ""],
    }
    return rows + [[f"`{effort}`", what, *figures[effort]] for effort, what in said.items()]


def extended() -> list[list[str]]:
    """The cut of `--extend` over that of new parts."""
    rows = [["graph", "`auto` anew", "`--extend`", "`--extend --may-move 2%`"]]
    for line in (RESULTS / "extend.jsonl").read_text(encoding="utf-8").splitlines():
        for row in json.loads(line)["results"]["rows"]:
            cuts = [run["cut"] for run in row["runs"].values()]
            rows.append([row["graph"], f"{cuts[0]:.2%}", *(hundredths(cut / cuts[0]) for cut in cuts[1:])])
    return rows


ALL: tuple[Callable[[], str], ...] = (
    *(
        large_claim,
        kinds_claim,
        larger_kinds_claim,
        cuts_claim,
        vs_dgl_claim,
        vs_clusterdata_claim,
        vs_gconstruct_claim,
        layouts_claim,
        loader_claim,
    ),
    measured,
)
