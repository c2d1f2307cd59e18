"""What do GraphBolt's graphs cost? Ours, of the input, against DGL's own conversions, on the same homogeneous graph.

Of partitions DGL converts those that we have made with its graphs; ours are made from the input, random owners and
features included. Of the dataset for one machine both begin with npy files. Prints wall time and peak memory of the
process tree.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
from harness import generate_once, graph_options, in_turn, keep, measure, our_command, show, touch_memory

HERE = Path(__file__).parent


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.add_argument("--dgl-python", default=str(HERE.parent / ".venv-dgl-2.1.0" / "bin" / "python"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        sizes = ("--nodes", options.nodes, "--edges", options.edges)
        graph = generate_once(root / "graph", *sizes, "--edge-format", "numpy")
        raw, dgls, ours = root / "raw", root / "dgls", root / "ours"
        write_raw(graph, raw)

        def partition(out: Path, layout: str, parts: str) -> list[str]:
            how = ("--num-parts", parts, "--method", "random", "--layout", layout, "--quiet")
            return our_command("partition", str(graph), str(out), *how)

        measure(partition(dgls, "dgl", options.parts))  # compiles the kernels

        def clear(_: str) -> None:
            for directory in (ours, raw / "preprocessed"):
                shutil.rmtree(directory, ignore_errors=True)
            touch_memory(100 * float(options.edges))

        (config,) = (path for path in dgls.glob("*.json") if "manifest" not in path.name)
        by_dgl = [options.dgl_python, str(HERE / "dgl_graphbolt.py")]
        commands = {
            f"{options.parts} parts, ours": partition(ours, "graphbolt", options.parts),
            f"{options.parts} parts, dgl_partition_to_graphbolt": [*by_dgl, "parts", str(config)],
            "dataset, ours": partition(ours, "ondisk", "1"),
            "dataset, preprocess_ondisk_dataset": [*by_dgl, "dataset", str(raw)],
        }
        results = in_turn(commands, options.runs, clear)
    keep("vs_graphbolt", {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}, results)
    rows = [
        [
            name,
            f"{statistics.median(run.seconds for run in runs):.1f} s",
            f"{max(run.peak_bytes for run in runs) / 1e9:.2f} GB",
        ]
        for name, runs in results.items()
    ]
    show(["what", "median wall time", "peak memory"], rows)


def write_raw(graph: Path, out: Path) -> None:
    """Write a graph of one type as DGL's preprocessing takes it."""
    meta = json.loads((graph / "metadata.json").read_text())
    (ntype,), (etype,) = meta["node_type"], meta["edge_type"]
    out.mkdir()
    edges = np.concatenate([np.load(graph / path) for path in meta["edges"][etype]["data"]])
    np.save(out / "edges.npy", np.ascontiguousarray(edges.T))
    features = []
    for name, files in meta["node_data"].get(ntype, {}).items():
        np.save(out / f"{name}.npy", np.concatenate([np.load(graph / path) for path in files["data"]]))
        of_file = {"format": "numpy", "path": f"{name}.npy", "in_memory": False}
        features.append({"domain": "node", "name": name, **of_file})
    content = {
        "dataset_name": meta["graph_name"],
        "graph": {
            "nodes": [{"num": meta["num_nodes_per_type"][0]}],
            "edges": [{"format": "numpy", "path": "edges.npy"}],
        },
        "feature_data": features,
    }
    (out / "metadata.yaml").write_text(json.dumps(content))


if __name__ == "__main__":
    main()
