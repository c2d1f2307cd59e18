"""Runs in an environment with DGL 2.1: epochs on two machines, which are network namespaces, for epochs.py.

Usage: python epochs_dgl.py TASK. TASK is a JSON file: settings as those of tests/real_dgl/train.py; `networks`, the
namespaces; `graph` and `partition`, which DGL first partitions by its METIS, as in accuracy_dgl.py; and `runs`, each
with `way`, `seed`, `config` and `hot`, directories of saved hot rows by part, or null. Prints one JSON line for each
run as it ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "real_dgl"))

import dgl
import numpy as np
import serve
import torch
import train
from judge import build, read_graph
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from daskgraphpart.interop.dgl_api.hot_tensor import HotTensor

serve.MOST_SECONDS = 1800  # beside other work on few cores


def main() -> None:
    task = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(1)
    graph = build(read_graph(task["graph"]), named=True)
    out = Path(task["partition"])
    dgl.distributed.partition_graph(graph, out.name, 2, str(out), part_method="metis", graph_formats=["coo", "csc"])
    del graph
    for number, run in enumerate(task["runs"]):
        work = Path(task["work"]) / str(number)
        job = partial(epochs, work, run["hot"], {**task, "seed": run["seed"]})
        found = serve.serve(Path(run["config"]), work, job, networks=tuple(task["networks"]))
        print(json.dumps({"way": run["way"], "seed": run["seed"], **found}), flush=True)


def epochs(work: Path, hot: list[str] | None, settings: dict, graph: dgl.distributed.DistGraph) -> dict:
    """Train; of each epoch the seconds, rows fetched and bytes sent by both machines, and the accuracy at the end."""
    part, seed = graph.rank(), settings["seed"]
    torch.distributed.init_process_group("gloo", init_method=f"file://{work}/rendezvous", rank=part, world_size=2)
    task = train.Task(graph, settings)
    (ntype,) = graph.ntypes
    tensor = task.features[ntype]
    ids, rows = np.empty(0, np.int64), np.empty((0, *tensor.shape[1:]), np.float32)
    if hot is not None:
        ids, rows = np.load(f"{hot[part]}/{ntype}/ids.npy"), np.load(f"{hot[part]}/{ntype}/data/x.npy")
    counted = task.features[ntype] = HotTensor(tensor, ids, rows)
    torch.manual_seed(seed)
    model = DistributedDataParallel(train.GraphSage(task))
    torch.manual_seed(seed + part)
    dgl.seed(seed + part)
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)
    lines = []
    for _ in range(settings["epochs"]):
        torch.distributed.barrier()
        started, sent, fetched = time.monotonic(), bytes_sent(), counted.rows_asked - counted.rows_found
        with model.join():
            for blocks, of_inputs, labels in task.batches("train", settings["fanout"], shuffle=True):
                optimizer.zero_grad()
                cross_entropy(model(blocks, of_inputs), labels).backward()
                optimizer.step()
        torch.distributed.barrier()
        counts = torch.tensor([counted.rows_asked - counted.rows_found - fetched, bytes_sent() - sent])
        seconds = time.monotonic() - started
        torch.distributed.all_reduce(counts)
        lines.append({"seconds": seconds, "rows": int(counts[0]), "nbytes": int(counts[1])})
    return {"accuracy": train.evaluate(task, model.module, "test")["accuracy"], "epochs": lines, "dgl": dgl.__version__}


def bytes_sent() -> int:
    """Bytes that this machine has sent to the other."""
    (line,) = (line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("eth0:"))
    return int(line.split(":")[1].split()[8])


if __name__ == "__main__":
    main()
