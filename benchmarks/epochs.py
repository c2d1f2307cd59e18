"""Epochs of DGL on two machines behind 1 Gbit/s: random owners, DGL's METIS, the default, `fetch`, and its hot rows.

Co-authors in physics, both directions, with 1,024 columns of features; a tenth of the nodes trains GraphSAGE, fan-outs
10,10, 256 seeds a batch. The machines are network namespaces, each with a server and a trainer, joined by a cable whose
ends let through so much (`tc qdisc ... tbf`). Needs root, and the environment with DGL 2.1 of the tests. Trainings of
all ways take turns; each is appended to results/epochs.jsonl as it ends.

    python benchmarks/epochs.py --seeds 0,1,2 --epochs 8
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import accuracy
from harness import RESULTS, keep_lines, show

import daskgraphpart as dgp

sys.path.append(str(accuracy.HERE.parent / "tests" / "real_dgl"))
from judges import dgl_environment, dgl_python, save_for_judge
from test_two_machines import machines

MACHINES = 2
GRAPH, COLUMNS, FANOUTS, BATCH, HOT = "coauthor_physics", 1024, [10, 10], 256, "5%"
OURS: dict[str, dict[str, Any]] = {
    "random owners": {"method": "random"},
    "fewest cut edges": {},
    "`fetch`": {"objtype": "fetch", "fanouts": FANOUTS, "training_options": {"batch_size": BATCH}},
}
METIS, WITH_HOT = "METIS, as DGL calls it", "`fetch`, 5 % hot rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", default="1gbit", help="of the cable")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, machines() as networks:
        for name in networks:
            tc = f"tc -n {name} qdisc add dev eth0 root tbf rate {options.rate} burst 256kb latency 50ms"
            subprocess.run(tc.split(), check=True)
        content = prepare(Path(scratch), options) | {"networks": networks}
        (Path(scratch) / "task.json").write_text(json.dumps(content))
        command = [dgl_python("2.1.0"), str(accuracy.HERE / "epochs_dgl.py"), f"{scratch}/task.json"]
        environment = dgl_environment(Path(scratch))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=scratch) as process:
            assert process.stdout is not None
            for line in filter(lambda line: line.startswith("{"), process.stdout):
                print(line, end="", flush=True)
                setting = {"graph": GRAPH, "columns": COLUMNS, "epochs": options.epochs, "rate": options.rate}
                keep_lines("epochs", setting, json.loads(line))
        if process.returncode:
            raise SystemExit(f"{command} ended with {process.returncode}")
    rows = table()
    show(rows[0], rows[1:])


def prepare(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Write the graph and its partitions, and say what is to be run."""
    accuracy.NUM_COLUMNS = COLUMNS
    graph, target = accuracy.to_train_on(GRAPH)
    source = graph.write(root / "in", edge_format="numpy")
    configs = {
        way: dgp.partition(source, root / way, 2, layout_options={"graph_formats": "csc"}, **how)
        for way, how in OURS.items()
    }
    hot = [str(root / f"hot-{part.part_id}") for part in configs["`fetch`"].parts]
    for part, out in zip(configs["`fetch`"].parts, hot, strict=True):
        part.hot_rows(FANOUTS, size=HOT, batch_size=BATCH).save(out)
    partition = root / "dgls" / graph.schema.name
    places = {way: str(parts.config) for way, parts in configs.items()} | {WITH_HOT: str(configs["`fetch`"].config)}
    places[METIS] = str(partition / f"{graph.schema.name}.json")
    ways = ("random owners", METIS, "fewest cut edges", "`fetch`", WITH_HOT)
    seeds = map(int, options.seeds.split(","))
    runs = [
        {"way": way, "seed": seed, "config": places[way], "hot": hot if way == WITH_HOT else None}
        for seed in seeds
        for way in ways
    ]
    about = {"target": target, "num_classes": int(graph.node_data[target]["y"].max()) + 1, "hidden": 32}
    about |= {"epochs": options.epochs, "fanout": FANOUTS[0], "batch_size": BATCH, "learning_rate": 0.01}
    where = {
        "graph": str(save_for_judge(graph, root / "judge")),
        "partition": str(partition),
        "work": str(root / "work"),
    }
    return {**about, **where, "weight_decay": 5e-4, "runs": runs}


def table() -> list[list[str]]:
    """Rows and bytes of an epoch, all but each training's first, seconds of the fastest, and accuracies, by way."""
    lines = [json.loads(line) for line in (RESULTS / "epochs.jsonl").read_text(encoding="utf-8").splitlines()]
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["setting"] == lines[-1]["setting"]:
            runs[line["results"]["way"]].append(line["results"])
    heads = [
        "two machines",
        "rows fetched in an epoch",
        "sent",
        "at 1 Gbit/s",
        "seconds of the fastest epoch",
        "accuracy",
    ]
    rows = [heads]
    for way, found in runs.items():
        later = [epoch for run in found for epoch in run["epochs"][1:]]
        fetched, nbytes = (statistics.mean(epoch[name] for epoch in later) for name in ("rows", "nbytes"))
        wire = 8 * nbytes / MACHINES / 1e9
        right = accuracy.spread({str(run["seed"]): run["accuracy"] for run in found})
        fastest = min(epoch["seconds"] for epoch in later)
        rows.append(
            [way, f"{fetched:,.0f}", f"{nbytes / 1e6:,.0f} MB", f"{wire:.1f} s", f"{fastest:.1f} s", f"{right} %"]
        )
    return rows


def in_short() -> list[list[str]]:
    """Rows and seconds of an epoch, a column for each way."""
    heads, *rows = table()
    rows_fetched, seconds = (heads.index(name) for name in ("rows fetched in an epoch", "seconds of the fastest epoch"))
    return [
        ["an epoch of DGL", *(row[0] for row in rows)],
        ["rows fetched", *(row[rows_fetched] for row in rows)],
        ["time", *(row[seconds] for row in rows)],
    ]


if __name__ == "__main__":
    main()
