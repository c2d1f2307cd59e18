"""Seconds that every method of the partition book takes for ten million IDs, in numpy and in torch, against real DGL's.

With `--dgl-python` the same book and IDs are given to DGL's own book, in its environment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from harness import keep_lines, show

from daskgraphpart import GraphSchema, IdConverter, NodeType
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.interop.dgl_api.books import RangePartitionBook
from daskgraphpart.schema import EdgeType

NUM_PARTS, NUM_TYPES = 16, 8

DGL = """
import json, os, sys, time
os.environ["DGLBACKEND"] = "pytorch"
import dgl, numpy as np, torch
from dgl.distributed.graph_partition_book import RangePartitionBook
task = json.load(open(sys.argv[1]))
ntypes, etypes = task["ntypes"], [tuple(e.split(":")) for e in task["etypes"]]
book = RangePartitionBook(
    0, task["num_parts"], {n: np.array(r) for n, r in zip(ntypes, task["node_map"])},
    {e: np.array(r) for e, r in zip(etypes, task["edge_map"])}, {n: i for i, n in enumerate(ntypes)},
    {e: i for i, e in enumerate(etypes)})
ids, of_type, of_part = (torch.from_numpy(np.load(path)) for path in task["ids"])
calls = {
    "nid2partid": lambda: book.nid2partid(ids), "eid2partid": lambda: book.eid2partid(ids),
    "nid2localnid": lambda: book.nid2localnid(of_part, 0), "map_to_per_ntype": lambda: book.map_to_per_ntype(ids),
    "map_to_per_etype": lambda: book.map_to_per_etype(ids),
    "map_to_homo_nid": lambda: book.map_to_homo_nid(of_type, ntypes[0]),
    "map_to_homo_eid": lambda: book.map_to_homo_eid(of_type, etypes[0]),
}
found = {}
for name, call in calls.items():
    started = time.perf_counter(); call(); found[name] = time.perf_counter() - started
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", default="1e7")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--dgl-python", help="Python of an environment with DGL")
    options = parser.parse_args()
    count = int(float(options.ids))
    rng = np.random.default_rng(0)
    ntypes = tuple(f"n{i}" for i in range(NUM_TYPES))
    etypes = tuple(f"n{i}:r:n{i}" for i in range(NUM_TYPES))
    counts = rng.integers(count // 10, count, (NUM_PARTS, NUM_TYPES))
    book = PartitionBook.from_counts(ntypes, etypes, counts, counts)
    ids = rng.integers(0, int(counts.sum()), count)
    of_type = rng.integers(0, int(counts[:, 0].sum()), count)
    of_part = rng.integers(*book.part_range(0, ntypes[0]), count)
    totals = counts.sum(axis=0).tolist()
    schema = GraphSchema(
        "g",
        tuple(NodeType(ntype, total) for ntype, total in zip(ntypes, totals, strict=True)),
        tuple(EdgeType(*etype.split(":"), total) for etype, total in zip(etypes, totals, strict=True)),
    )
    runs = [
        {kind: seconds_of(RangePartitionBook(book, 0), IdConverter(schema), *given) for kind, given in {
            "numpy": (ids, of_type, of_part),
            "torch": tuple(torch.from_numpy(of) for of in (ids, of_type, of_part)),
        }.items()}
        for _ in range(options.runs)
    ]  # fmt: skip
    for run in runs if options.dgl_python else ():
        run["DGL"] = seconds_of_dgl(options.dgl_python, book, (ids, of_type, of_part))
    keep_lines("id_mapping", {"ids": count, "parts": NUM_PARTS, "types": NUM_TYPES}, runs)
    best = {kind: {name: min(run[kind][name] for run in runs) for name in runs[0][kind]} for kind in runs[0]}
    show(
        ["method", *best],
        [[name, *(f"{of[name]:.2f} s" if name in of else "-" for of in best.values())] for name in best["numpy"]],
    )


def seconds_of(
    book: RangePartitionBook, converter: IdConverter, ids: object, of_type: object, of_part: object
) -> dict[str, float]:
    ntype, etype = book.ntypes[0], book.canonical_etypes[0]
    calls = {
        "nid2partid": lambda: book.nid2partid(ids),
        "eid2partid": lambda: book.eid2partid(ids),
        "nid2localnid": lambda: book.nid2localnid(of_part, 0),
        "map_to_per_ntype": lambda: book.map_to_per_ntype(ids),
        "map_to_per_etype": lambda: book.map_to_per_etype(ids),
        "map_to_homo_nid": lambda: book.map_to_homo_nid(of_type, ntype),
        "map_to_homo_eid": lambda: book.map_to_homo_eid(of_type, etype),
        "IdConverter.nid_hom2het": lambda: converter.nid_hom2het(ids),
        "IdConverter.nid_het2hom": lambda: converter.nid_het2hom(ntype, of_type),
    }
    found = {}
    for name, call in calls.items():
        started = time.perf_counter()
        call()
        found[name] = time.perf_counter() - started
    return found


def seconds_of_dgl(python: str, book: PartitionBook, ids: tuple[np.ndarray, ...]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        paths = [str(Path(directory) / f"{i}.npy") for i in range(len(ids))]
        for path, array in zip(paths, ids, strict=True):
            np.save(path, array)
        task = {
            "num_parts": book.num_parts, "ntypes": book.ntypes, "etypes": book.etypes, "ids": paths,
            "node_map": [book.node_ranges[:, i].tolist() for i in range(NUM_TYPES)],
            "edge_map": [book.edge_ranges[:, i].tolist() for i in range(NUM_TYPES)],
        }  # fmt: skip
        (Path(directory) / "task.json").write_text(json.dumps(task))
        command = [python, "-c", DGL, str(Path(directory) / "task.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found


if __name__ == "__main__":
    main()
