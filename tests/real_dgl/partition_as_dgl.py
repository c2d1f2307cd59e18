"""Runs in an environment with real DGL: `partition_graph` with owners that are given, and all that came out, as npz.

Usage: python partition_as_dgl.py GRAPH_DIR OWNERS.npz NUM_PARTS OUT_DIR [named]; GRAPH_DIR as judge.py reads it, owners
of nodes by type. OUT_DIR/tensors-P.npz holds every tensor of part P as DGL's `load_partition` returns it, and
OUT_DIR/maps.npz the returned mapping. `named`: see `judge.build`.
"""

import json
import os
import sys
from pathlib import Path

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import dgl.distributed.partition as partition_module
import numpy as np
import torch
from judge import build, read_graph


def main():
    directory, owner_file, num_parts, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    graph = read_graph(directory)
    built = build(graph, named="named" in sys.argv)
    with np.load(owner_file) as by_type:
        # DGL orders node types by name
        ntypes = built.ntypes if len(built.ntypes) > 1 else by_type.files
        owners = torch.from_numpy(np.concatenate([by_type[ntype] for ntype in ntypes]).astype(np.int64))
    # the random method with our owners for its choice
    partition_module.random_choice = lambda *_: owners
    maps = dgl.distributed.partition_graph(
        built, graph["name"], num_parts, str(out), part_method="random", return_mapping=True, graph_formats="coo"
    )
    arrays = {}
    for prefix, of_types in zip(("nodes", "edges"), maps):  # noqa: B905
        if not isinstance(of_types, dict):
            of_types = {"": of_types}
        for key, ids in of_types.items():
            arrays[f"{prefix}|{key if isinstance(key, str) else ':'.join(key)}"] = ids.numpy()
    np.savez(out / "maps.npz", **arrays)
    config = out / f"{graph['name']}.json"
    for part in range(num_parts):
        g, node_feats, edge_feats, _, *names = dgl.distributed.load_partition(str(config), part)
        src, dst = g.edges(order="eid")
        arrays = {"src": src, "dst": dst}
        for prefix, tensors in (("ndata", g.ndata), ("edata", g.edata), ("node", node_feats), ("edge", edge_feats)):
            arrays.update({f"{prefix}|{key.replace('/', '|')}": tensor for key, tensor in tensors.items()})
        for fmt in ("csr", "csc"):
            arrays.update({f"{fmt}|{i}": tensor for i, tensor in enumerate(g.adj_tensors(fmt))})
        np.savez(out / f"tensors-{part}.npz", **{key: tensor.numpy() for key, tensor in arrays.items()})
    types = {"ntypes": built.ntypes, "etypes": [":".join(e) for e in built.canonical_etypes]}
    print(json.dumps({"dgl": dgl.__version__, "config": str(config), "names": names, **types}))


if __name__ == "__main__":
    main()
