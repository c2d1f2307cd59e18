"""Write tables of the README and of pages of docs/ from the newest results: ``python benchmarks/table.py``."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accuracy
import drop_in
import partitioner_tables
import vs_gconstruct
from layouts import table

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
FRONT = HERE.parent / "docs" / "index.md"
BENCHMARKS = HERE.parent / "docs" / "benchmarks.md"
NOT_SHOWN = {"all parts", "1 part's nodes, all parts", "DGL, 2 trainers, our parts", "DGL, 2 trainers, its parts"}
GRAPHBOLT = HERE.parent / "docs" / "howto" / "graphbolt.md"


def main() -> None:
    against_dgl = (("vs_dgl", vs_dgl), ("drop_in", drop_in.table))
    write(README, against_dgl)
    more = (("vs_gconstruct", of_gconstruct), ("accuracy", of_accuracy))
    write(BENCHMARKS, (*against_dgl, ("memory_vs_scale", memory_vs_scale), ("layouts", of_layouts), *more))
    write(GRAPHBOLT, (("vs_graphbolt", vs_dgl),))
    for content in (cores, many_parts, memory_vs_scale_multilevel, loader_gpu, vs_copy, verify):
        set_block(BENCHMARKS, content.__name__, content())
    partitioner_tables.main()
    set_block(FRONT, "front", front())


def write(page: Path, tables: tuple[tuple[str, Callable[[Any], list[list[str]]]], ...]) -> None:
    for name, rows_of in tables:
        newest = newest_of(name)
        shown = in_lines(rows_of(newest["results"]))
        machine = "" if page == BENCHMARKS else f"{newest['cores']} cores, {newest['memory_gib']} GiB, "
        set_block(page, name, f"{shown}\n\n({machine}commit {newest['commit']})")


def newest_of(name: str, **setting: str) -> dict[str, Any]:
    lines = (HERE / "results" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [result for result in found if setting.items() <= result["setting"].items()][-1] if setting else found[-1]


def set_block(page: Path, name: str, content: str) -> None:
    block, text = f"<!-- {name} -->\n{content}\n<!-- end -->", page.read_text(encoding="utf-8")
    assert f"<!-- {name} -->" in text, f"{page} has no place for {name}"
    text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _: block, text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def front() -> str:
    """The three numbers of the front page."""
    ours, dgl = (newest_of("vs_dgl")["results"][name] for name in ("ours", "dgl.distributed.partition_graph"))
    large = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    numbers = (
        (
            "50 million edges",
            f"{seconds(ours):.0f} s",
            f"to write 4 parts on two cores; DGL takes {seconds(dgl):.0f} s",
        ),
        ("Peak memory", f"{peak(ours):.2f} GB", f"on the same graph; DGL takes {peak(dgl):.1f} GB"),
        (
            "A billion edges",
            f"{peak(large):.1f} GB",
            f"and {large[0]['cpu_seconds'] / 60:.0f} minutes of CPU time from edges to parts",
        ),
    )
    rows = (f"<div>{what}<b>{figure}</b>{how}</div>" for what, figure, how in numbers)
    return "\n".join(['<div class="numbers">', *rows, "</div>"])


def cores() -> str:
    """The same job on more and more cores of one machine."""
    newest = newest_of("cores")
    said = []
    for edges, by_cores in newest["results"].items():
        took = (f"{run['seconds']:.0f} s on {number}" for number, run in by_cores.items())
        said.append(f"{float(edges) / 1e6:.0f} million edges {', '.join(took)}")
    where = newest["setting"]["machine"]
    return f"`partition` in 16 parts takes for {' cores; for '.join(said)} cores ({where}): more than 8 do not help."


def memory_vs_scale_multilevel() -> str:
    """The largest graph."""
    (run,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    disk, rate = run["disk_peak_bytes"] / 1e9, (run["read_bytes"] + run["written_bytes"]) / 1e6 / run["seconds"]
    return (
        f"A billion edges of communities, 100 million nodes, in 8 parts with `--method multilevel --balance "
        f"nodes,edges --memory 8GB`: {run['seconds'] / 60:.0f} minutes on two cores, {run['cpu_seconds'] / 60:.0f} of "
        f"CPU time, {peak([run]):.1f} GB of memory. {run['cut']:.1%} of the edges are cut. The job needs {disk:.0f} GB "
        f"of disk beside {run['input_bytes'] / 1e9:.0f} GB of input, and moves {rate:.0f} MB/s."
    )


def loader_gpu() -> str:
    """Batches a second without a model, on a small graph and a large one."""
    lines = (HERE / "results" / "loader_gpu.jsonl").read_text(encoding="utf-8").splitlines()
    rows: dict[str, list[str]] = {}
    heads = [""]
    for kept in map(json.loads, lines):
        if not kept["setting"]["model"]:
            for ahead in (0, 2):
                heads.append(f"{float(kept['setting']['edges']) / 1e6:.0f} M edges, {ahead} ahead")
                for found in kept["results"][1:]:  # the first is the model alone
                    if found["workers"] == ahead and "tensor" not in found["loader"]:
                        rows.setdefault(found["loader"], []).append(f"{found['rate']:.1f}")
    return in_lines([heads, *([name, *rates] for name, rates in rows.items())])


def in_lines(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def seconds(runs: list[dict[str, Any]]) -> float:
    return statistics.median(run["seconds"] for run in runs)


def peak(runs: list[dict[str, Any]]) -> float:
    return max(run["peak_bytes"] for run in runs) / 1e9


def vs_dgl(results: dict[str, Any]) -> list[list[str]]:
    rows = [["", "wall time", "peak memory"]]
    return rows + [[name, f"{seconds(runs):.1f} s", f"{peak(runs):.2f} GB"] for name, runs in results.items()]


def vs_copy() -> str:
    """Our time over that of what any tool has to do, pair by pair."""
    small, large = (newest_of("vs_copy", edges=edges)["results"] for edges in ("5e7", "2e8"))
    first = f"`dispatch` of the first graph takes {seconds(small['ours']):.1f} s, {over(small, 'copy')} times that of"
    most = f"{first} reading and writing as many bytes ({over(large, 'copy')} with four times the edges)"
    return f"{most} and {over(small, 'copy input')} times that of copying the input (`vs_copy.py`)."


def over(results: dict[str, Any], name: str) -> str:
    """Our time over that of another, pair by pair: median and range."""
    pairs = [ours["seconds"] / other["seconds"] for ours, other in zip(results["ours"], results[name], strict=True)]
    return f"{statistics.median(pairs):.1f} [{min(pairs):.1f} to {max(pairs):.1f}]"


def verify() -> str:
    """Times of `verify`."""
    took = {name: f"{seconds(runs):.1f} s" for name, runs in newest_of("verify")["results"].items()}
    return (
        f"`dispatch` of 20 million edges into 4 parts takes {took['dispatch']}, `verify` {took['verify']}, "
        f"and `verify --quick` {took['quick']} (`verify.py`)."
    )


def many_parts() -> str:
    """What each part costs, besides the graph."""
    results = newest_of("many_parts")["results"]
    each = {
        command: (runs["4000"][0]["cpu_seconds"] - runs["4"][0]["cpu_seconds"]) / 3996 * 1000
        for command, runs in results.items()
    }
    return (
        f"Each part costs `partition` {each['partition']:.1f} ms of CPU time and `verify` {each['verify']:.1f} ms, "
        "besides its nodes and edges: 4,000 parts of 40 nodes against 4 parts (`many_parts.py`)."
    )


def of_gconstruct(results: dict[str, Any]) -> list[list[str]]:
    heads, rows = vs_gconstruct.table(results)
    return [heads, *rows]


def of_layouts(results: dict[str, Any]) -> list[list[str]]:
    rows = [[row[0], row[1], row[3], row[5]] for row in table(results)]
    return [["layout", "CPU time", "added to a run for dgl", "peak memory"], *rows[1:]]


def of_accuracy(_: dict[str, Any]) -> list[list[str]]:
    rows = accuracy.table(accuracy.newest())  # of several lines
    return [row[:-1] for row in rows if row[0] not in NOT_SHOWN]


def memory_vs_scale(results: dict[str, Any]) -> list[list[str]]:
    rows = [["edges", "peak memory", "wall time", "time per edge"]]
    for edges, runs in results.items():
        fastest = min(run["seconds"] for run in runs)
        per_edge = f"{fastest / float(edges) * 1e9:.0f} ns"
        rows.append([f"{int(float(edges)):,}", f"{peak(runs):.2f} GB", f"{fastest:.1f} s", per_edge])
    return rows


if __name__ == "__main__":
    main()
