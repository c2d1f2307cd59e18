"""Rows that training fetches from other parts: METIS as DGL calls it, the default, and `--objtype fetch`.

Graphs have reverse edges, and seeds at random. Whole epochs are sampled from the whole graph, by other random numbers
than those that chose the parts, and the mean of four epochs is shown, or of more, until chance counts little among the
rows: hops start from all nodes so far, as in DGL, and from the newest, as in PyG. Hot rows are 5 % of a part's nodes,
counted in five epochs of their own. ``--short`` counts one epoch as in DGL, of the default and `fetch` alone.

    python benchmarks/fetched_rows.py --graphs cora,web:1e7 --parts 4,8 --fanouts 10,10 --fanouts 10,10,5 --shares .1

Each graph and share is appended to results/fetched_rows.jsonl as it comes; a table takes the newest of each case.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from harness import RESULTS, generate_once, keep_lines, show

import daskgraphpart as dgp
from daskgraphpart.ids.fanouts import read_fanouts, split_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.kernels.sample import shuffled
from daskgraphpart.kernels.sample_in_edges import pick_sources
from daskgraphpart.partitioner.training.count_fetches import Batches, Fetches, most_fetched
from daskgraphpart.partitioner.training.training import Budget

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from graphs import Graph, load_real_graph  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    Row = dict[str, Any]

GRAPHS = "cora,musae_github,coauthor_physics,dblp_hetero,fb15k237,oewn,cnr2000,vcs_networkit,vcs_curl,usa_road_ny"
MANY, ENOUGH, MOST_EPOCHS = 1000, 10_000, 100
BATCH, EPOCHS, HOT_SHARE, HOT_EPOCHS, MEMORY = 1000, 4, 0.05, 5, 1 << 30
WAYS: dict[str, dict[str, Any]] = {
    "metis": {"method": "metis", "balance": "nodes"},
    "cut": {"objtype": "cut"},
    "fetch": {"objtype": "fetch"},
}
SHOWN = {"parts": 8, "fanouts": "10,10", "share": 0.1}
"""Setting of the table that has all graphs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=GRAPHS, help="real ones, or kinds with a number of edges")
    parser.add_argument("--parts", default="4,8,32")
    parser.add_argument("--fanouts", action="append", help="repeat it for several")
    parser.add_argument("--shares", default="0.1,0.01", help="of nodes that are seeds")
    parser.add_argument("--short", action="store_true", help="of a large graph")
    options = parser.parse_args()
    for name in options.graphs.split(","):
        graph = load_graph(name)
        known: dict[tuple[str, int], np.ndarray] = {}
        for share in map(float, options.shares.split(",")):
            rows = []
            with tempfile.TemporaryDirectory() as scratch:
                task = Task(graph, share, Path(scratch), is_short=options.short)
                for parts in map(int, options.parts.split(",")):
                    for fanouts in options.fanouts or ["10,10"]:
                        ways = [way for way in WAYS if not options.short or way != "metis"]
                        counted = {way: task.measure(way, parts, fanouts, known) for way in ways}
                        rows.append({"graph": name, "parts": parts, "fanouts": fanouts, "share": share, **counted})
                        print(json.dumps(rows[-1]), flush=True)
            keep_lines("fetched_rows", {"batch_size": BATCH}, {"rows": rows})
    for table in (of_graphs(kept()), means(kept())):
        show(table[0], table[1:])


def load_graph(name: str) -> Graph:
    """A real graph, or one of a kind with so many edges, and their reverse ones as well, without data."""
    kind, _, edges = name.partition(":")
    if not edges:
        return load_real_graph(name)
    with tempfile.TemporaryDirectory() as scratch:
        sizes = ("--nodes", str(int(float(edges)) // 10), "--edges", edges, "--features", "0")
        made = dgp.read_chunked(generate_once(Path(scratch) / "graph", "--kind", kind, *sizes))
        ends = {etype: made.edge_frame(etype).compute().to_numpy().T for etype in made.schema.etypes}
        return Graph(made.schema, {etype: (src, dst) for etype, (src, dst) in ends.items()})


class Setting(NamedTuple):
    """Who owns each node, and how training samples."""

    owners: np.ndarray
    num_parts: int
    fanouts: np.ndarray  # int64 (hops, edge types)
    from_all: bool = True  # as in DGL


class Task:
    """A graph with a mask of seeds on each node type, and its in-edges in memory."""

    def __init__(self, graph: Graph, share: float, root: Path, *, is_short: bool = False) -> None:
        self.is_short = is_short
        rng = np.random.default_rng(0)
        masks = {of.name: {"train_mask": rng.random(of.num_nodes) < share} for of in graph.schema.node_types}
        written = Graph(graph.schema, graph.edges, masks).write(root / "graph", edge_format="numpy")
        self.graph = dgp.read_chunked(written).with_reverse_edges()
        self.seeds = np.flatnonzero(np.concatenate([of["train_mask"] for of in masks.values()]))
        schema = self.graph.schema
        firsts = dict(zip(schema.ntypes, schema.homo_starts, strict=False))
        columns: list[np.ndarray] = []
        for number, of in enumerate(schema.edge_types):
            src, dst = self.graph.edge_frame(of.name).compute().to_numpy().T
            columns.append(np.stack([dst + firsts[of.dst], np.full(src.size, number), src + firsts[of.src]]))
        dst, etypes, src = np.concatenate(columns, axis=1)
        order = np.argsort(dst, kind="stable")
        indptr = np.searchsorted(dst[order], np.arange(schema.num_nodes + 1))
        of_edges = etypes[order] if len(columns) > 1 else np.empty(0)
        self.in_edges = indptr, src[order], of_edges.astype(np.int32)

    def measure(self, way: str, num_parts: int, fanouts: str, known: dict[tuple[str, int], np.ndarray]) -> Row:
        """Assign, and count epochs in both ways; owners that do not depend on training are `known` later."""
        how, said = WAYS[way], {}
        owners = known.get((way, num_parts))
        if owners is None:
            if way == "fetch":
                how = {**how, "fanouts": fanouts, "training_options": {"batch_size": BATCH}}
            assigned = dgp.assign(self.graph, num_parts, **how)
            owners = np.concatenate([np.asarray(assigned.owners[ntype]) for ntype in self.graph.schema.ntypes]).astype(
                np.int64
            )
            if way == "fetch":
                assert assigned.quality.rows is not None
                said = {"predicted": assigned.quality.rows.num_fetched, "why": assigned.quality.why}
            else:
                known[way, num_parts] = owners
        setting = Setting(owners, num_parts, read_fanouts(split_fanouts(fanouts), self.graph.schema.etypes))
        if self.is_short:
            counted = self.count(setting, 1)
            del counted["cold"]
            return {**counted, **said}
        return {**self.count(setting), "pyg": self.count(setting._replace(from_all=False))["rows"], **said}

    def count(self, setting: Setting, epochs: int = EPOCHS) -> Row:
        """Rows fetched in an epoch, those of them that are not hot, and the work of the busiest part; means of some."""
        rows = cold = 0
        work = np.zeros(setting.num_parts, np.int64)
        for part in range(setting.num_parts):
            counts_hot = setting.from_all and not self.is_short
            hot = self.hot_rows(setting, part) if counts_hot else np.empty(0, np.int64)
            for seeds, key in self.batches(setting, part, epochs)(stream_key(part, "count")):
                nodes, picks = self.sample(setting, seeds, key)
                foreign = nodes[setting.owners[nodes] != part]
                rows, cold = rows + foreign.size, cold + int((~np.isin(foreign, hot)).sum())
                work[part] += picks
        if rows < ENOUGH and 1 < epochs < MOST_EPOCHS:
            return self.count(setting, min(MOST_EPOCHS, math.ceil(1.1 * epochs * ENOUGH / max(1, rows))))
        return {"rows": round(rows / epochs), "cold": round(cold / epochs), "work": float(work.max() / work.mean())}

    def batches(self, setting: Setting, part: int, epochs: int) -> Batches:
        """Batches of the seeds of a part."""
        mine = self.seeds[setting.owners[self.seeds] == part]

        def seeds_of(number: int, key: np.uint64) -> np.ndarray:
            places = np.empty(min(BATCH, mine.size - number * BATCH), np.int64)
            shuffled(key, number * BATCH, mine.size, places)
            return mine[places]

        return Batches(seeds_of, range(-(-mine.size // BATCH)), epochs)

    def hot_rows(self, setting: Setting, part: int) -> np.ndarray:
        """The foreign nodes that a part fetches most."""

        def foreign_of(seeds: np.ndarray, key: np.uint64) -> np.ndarray:
            nodes, _ = self.sample(setting, seeds, key)
            return nodes[setting.owners[nodes] != part]

        fetches = Fetches(foreign_of, np.zeros_like, setting.owners.size)
        own = np.count_nonzero(setting.owners == part)
        budget = Budget(np.ones(1, np.int64), math.ceil(HOT_SHARE * own))
        batches = self.batches(setting, part, HOT_EPOCHS)
        return most_fetched(fetches, batches, stream_key(part, "hot"), budget, MEMORY)[0]

    def sample(self, setting: Setting, seeds: np.ndarray, key: np.uint64) -> tuple[np.ndarray, int]:
        """All nodes of a batch, and the number of in-edges picked."""
        nodes, first, picks, indptr = seeds, 0, 0, self.in_edges[0]
        for hop, fanouts in enumerate(setting.fanouts):
            frontier = nodes[first:]
            picked = np.empty(int(np.minimum(indptr[frontier + 1] - indptr[frontier], fanouts.sum()).sum()), np.int64)
            count = pick_sources(frontier, *self.in_edges, fanouts, stream_key_of(key, hop), picked)
            first, picks = 0 if setting.from_all else nodes.size, picks + count
            nodes = np.concatenate([nodes, np.setdiff1d(picked[:count], nodes)])
        return nodes, picks


def kept() -> list[Row]:
    """The newest row of each case."""
    lines = (RESULTS / "fetched_rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for line in map(json.loads, lines) for row in line["results"]["rows"] if "share" in row]
    return [*{(row["graph"], row["parts"], row["fanouts"], row["share"]): row for row in rows}.values()]


def is_real(row: Row) -> bool:
    """Whether it is of a real graph."""
    return ":" not in row["graph"]


def real_cases() -> list[Row]:
    """Cases of real graphs in which many rows are fetched."""
    return [row for row in kept() if is_real(row) and row["cut"]["rows"] >= MANY]


def of_graphs(rows: Iterable[Row]) -> list[list[str]]:
    """Every real graph, in one setting."""
    lines = [
        ["graph", "METIS, as DGL calls it", "fewest cut edges", "`fetch`", "", "with hot rows", "work, cut", "`fetch`"]
    ]
    for row in filter(is_real, rows):
        if all(row[name] == value for name, value in SHOWN.items()):
            metis, cut, fetch = (row[way] for way in WAYS)
            counts = [f"{of['rows']:,}" for of in (metis, cut, fetch)]
            lines.append(
                [
                    row["graph"], *counts, *(f"{fetch[what] / max(1, cut['rows']):.2f}" for what in ("rows", "cold")),
                    f"{cut['work']:.2f}", f"{fetch['work']:.2f}",
                ]
            )  # fmt: skip
    return lines


def means(rows: Iterable[Row]) -> list[list[str]]:
    """What `fetch` fetches over the cut, in each setting: mean and worst of the graphs with many rows."""
    lines = [
        [
            "seeds", "fan-outs", "parts", "graphs", "rows (worst)", "as PyG samples", "with hot rows", "over METIS",
            "work, cut", "`fetch` (worst)", "predicted",
        ]
    ]  # fmt: skip
    cases = [row for row in rows if row["cut"]["rows"] >= MANY]
    for real in (True, False):
        some = [row for row in cases if is_real(row) is real]
        settings = sorted({(-row["share"], row["fanouts"], row["parts"]) for row in some})
        for share, fanouts, parts in settings:
            mine = [row for row in some if (row["share"], row["fanouts"], row["parts"]) == (-share, fanouts, parts)]
            lines.append([f"{-share:.0%}", fanouts, str(parts), *summary(mine)])
        if some:
            lines.append([f"**all {'real' if real else 'generated'}**", "", "", *summary(some)])
    return lines


def summary(rows: list[Row]) -> list[str]:
    """Numbers of some cases."""

    def ratios(what: str, way: str = "cut") -> list[float]:
        over = "pyg" if what == "pyg" else "rows"
        some = [row for row in rows if way in row and what in row["fetch"]]
        return [max(1, row["fetch"][what]) / max(1, row[way][over]) for row in some]

    def mean_of(what: str, way: str = "cut") -> str:
        found = ratios(what, way)
        return f"{geometric(found):.2f}" if found else ""

    works = [[row[way]["work"] for row in rows] for way in ("cut", "fetch")]
    predicted = [max(1, row["fetch"]["predicted"]) / max(1, row["fetch"]["rows"]) for row in rows]
    return [
        str(len({row["graph"] for row in rows})),
        f"{geometric(ratios('rows')):.2f} ({max(ratios('rows')):.2f})",
        mean_of("pyg"),
        mean_of("cold"),
        mean_of("rows", "metis"),
        f"{np.mean(works[0]):.2f}",
        f"{np.mean(works[1]):.2f} ({max(works[1]):.2f})",
        f"{geometric(predicted):.3f}",
    ]


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    main()
