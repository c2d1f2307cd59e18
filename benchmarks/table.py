"""Write tables of the README and of pages of docs/ from the newest results: ``python benchmarks/table.py``."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accuracy
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
    write(README, (("vs_dgl", vs_dgl),))
    several = (("vs_copy", vs_copy), ("layouts", table))
    more = (("verify", verify), ("vs_gconstruct", of_gconstruct), ("accuracy", of_accuracy))
    write(BENCHMARKS, (("vs_dgl", vs_dgl), ("memory_vs_scale", memory_vs_scale), *several, *more))
    write(GRAPHBOLT, (("vs_graphbolt", vs_dgl),))
    for name, content in (("cores", cores), ("memory_vs_scale_multilevel", half_a_billion), ("loader_gpu", loaders)):
        set_block(BENCHMARKS, name, content())
    partitioner_tables.main()
    set_block(FRONT, "front", front())


def write(page: Path, tables: tuple[tuple[str, Callable[[Any], list[list[str]]]], ...]) -> None:
    for name, rows_of in tables:
        newest = newest_of(name)
        shown = "\n".join("| " + " | ".join(row) + " |" for row in with_line(rows_of(newest["results"])))
        machine = f"{newest['cores']} cores, {newest['memory_gib']} GiB, commit {newest['commit']}"
        set_block(page, name, f"{shown}\n\n({machine})")


def newest_of(name: str) -> dict[str, Any]:
    lines = (HERE / "results" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    newest: dict[str, Any] = json.loads(lines[-1])
    return newest


def set_block(page: Path, name: str, content: str) -> None:
    block, text = f"<!-- {name} -->\n{content}\n<!-- end -->", page.read_text(encoding="utf-8")
    assert f"<!-- {name} -->" in text, f"{page} has no place for {name}"
    text = re.sub(rf"<!-- {name} -->.*?<!-- end -->", lambda _: block, text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def front() -> str:
    """The three numbers of the front page."""
    ours, dgl = (newest_of("vs_dgl")["results"][name] for name in ("ours", "dgl.distributed.partition_graph"))
    large = newest_of("memory_vs_scale_multilevel")["results"]["5e8"]
    numbers = (
        (
            "50 million edges",
            f"{seconds(ours):.0f} s",
            f"to write 4 parts on two cores; DGL takes {seconds(dgl):.0f} s",
        ),
        ("Peak memory", f"{peak(ours):.2f} GB", f"on the same graph; DGL takes {peak(dgl):.1f} GB"),
        (
            "Half a billion edges",
            f"{peak(large):.1f} GB",
            f"and {large[0]['cpu_seconds'] / 60:.0f} minutes of CPU time, owners found",
        ),
    )
    rows = (f"<div>{what}<b>{figure}</b>{how}</div>" for what, figure, how in numbers)
    return "\n".join(['<div class="numbers">', *rows, "</div>"])


def cores() -> str:
    """The same job on more and more cores of one machine."""
    newest = newest_of("cores")
    rows = [["edges", "cores", "wall time", "CPU time"]]
    for edges, by_cores in newest["results"].items():
        for number, run in by_cores.items():
            rows.append([f"{int(float(edges)):,}", number, f"{run['seconds']:.1f} s", f"{run['cpu']:.0f} s"])
    shown = "\n".join("| " + " | ".join(row) + " |" for row in with_line(rows))
    return f"{shown}\n\n({newest['setting']['machine']}, commit {newest['commit']})"


def half_a_billion() -> str:
    """The largest graph; other jobs had the cores, too, so that wall time says nothing."""
    (run,) = newest_of("memory_vs_scale_multilevel")["results"]["5e8"]
    return f"500,000,000 edges: {peak([run]):.1f} GB at peak, {run['cpu_seconds']:.0f} s of CPU time."


def loaders() -> str:
    """Batches a second without a model, on a small graph and a large one."""
    lines = (HERE / "results" / "loader_gpu.jsonl").read_text(encoding="utf-8").splitlines()
    rows: dict[str, list[str]] = {}
    heads = [""]
    for kept in map(json.loads, lines):
        if not kept["setting"]["model"]:
            for ahead in (0, 2):
                heads.append(f"{float(kept['setting']['edges']) / 1e6:.0f} M edges, {ahead} ahead")
                for found in kept["results"][1:]:  # the first is the model alone
                    if found["workers"] == ahead:
                        rows.setdefault(found["loader"], []).append(f"{found['rate']:.1f}")
    return "\n".join("| " + " | ".join(row) + " |" for row in with_line([heads, *([k, *v] for k, v in rows.items())]))


def with_line(rows: list[list[str]]) -> list[list[str]]:
    return [rows[0], ["---"] * len(rows[0]), *rows[1:]]


def seconds(runs: list[dict[str, Any]]) -> float:
    return statistics.median(run["seconds"] for run in runs)


def peak(runs: list[dict[str, Any]]) -> float:
    return max(run["peak_bytes"] for run in runs) / 1e9


def vs_dgl(results: dict[str, Any]) -> list[list[str]]:
    rows = [["", "wall time", "peak memory of the process tree"]]
    return rows + [[name, f"{seconds(runs):.1f} s", f"{peak(runs):.2f} GB"] for name, runs in results.items()]


def vs_copy(results: dict[str, Any]) -> list[list[str]]:
    names = {
        "ours": "daskgraphpart",
        "copy": "reading the input and writing as many bytes as the output",
        "copy input": "copying the files of the input",
    }
    rows = [["until on disk", "median wall time", "ours / this, pair by pair"]]
    for name, runs in results.items():
        pairs = [ours["seconds"] / other["seconds"] for ours, other in zip(results["ours"], runs, strict=True)]
        spread = f"{statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
        rows.append([names[name], f"{seconds(runs):.1f} s", spread])
    return rows


def verify(results: dict[str, Any]) -> list[list[str]]:
    names = {
        "dispatch": "`dispatch` of the graph",
        "verify": "`verify`",
        "contents": "`verify --no-checksums`",
        "checksums": "`verify --checksums` without the graph",
        "quick": "`verify --quick`",
    }
    rows = [["", "median wall time", "peak memory of the process tree"]]
    return rows + [[names[name], f"{seconds(runs):.1f} s", f"{peak(runs):.2f} GB"] for name, runs in results.items()]


def of_gconstruct(results: dict[str, Any]) -> list[list[str]]:
    heads, rows = vs_gconstruct.table(results)
    return [heads, *rows]


def of_accuracy(_: dict[str, Any]) -> list[list[str]]:
    rows = accuracy.table(accuracy.newest())  # of several lines
    return [row[:-1] for row in rows if row[0] not in NOT_SHOWN]


def memory_vs_scale(results: dict[str, Any]) -> list[list[str]]:
    rows = [["edges", "peak memory of the process tree", "wall time", "time per edge"]]
    for edges, runs in results.items():
        fastest = min(run["seconds"] for run in runs)
        per_edge = f"{fastest / float(edges) * 1e9:.0f} ns"
        rows.append([f"{int(float(edges)):,}", f"{peak(runs):.2f} GB", f"{fastest:.1f} s", per_edge])
    return rows


if __name__ == "__main__":
    main()
