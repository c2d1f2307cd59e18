"""Compare GraphBolt's files of partitions with those that DGL makes of their graphs; run in an environment of DGL 2.1.

The argument is a config of partitions with both. The last line is JSON.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import dgl
import torch
from dgl.distributed import load_partition

config = Path(sys.argv[1])
meta = json.loads(config.read_text())
assert meta["node_map_dtype"] == meta["edge_map_dtype"] == "int64"
copy = Path(tempfile.mkdtemp(dir=config.parent.parent)) / "copy"
shutil.copytree(config.parent, copy)
for part in range(meta["num_parts"]):
    (copy / f"part{part}" / "fused_csc_sampling_graph.pt").unlink()
dgl.distributed.dgl_partition_to_graphbolt(str(copy / config.name), store_eids=True)


def same(ours, theirs, name):
    assert (ours is None) == (theirs is None), name
    if ours is not None:
        assert ours.dtype == theirs.dtype, (name, ours.dtype, theirs.dtype)
        assert torch.equal(ours, theirs), name


sampled = 0
for part in range(meta["num_parts"]):
    ours, _, _, gpb, _, ntypes, etypes = load_partition(str(config), part, use_graphbolt=True)
    theirs = load_partition(str(copy / config.name), part, use_graphbolt=True)[0]
    graph = load_partition(str(config), part)[0]
    for name in ("csc_indptr", "indices", "type_per_edge", "node_type_offset"):
        same(getattr(ours, name), getattr(theirs, name), name)
    assert ours.node_type_to_id == theirs.node_type_to_id
    assert ours.edge_type_to_id == theirs.edge_type_to_id
    assert set(ours.node_attributes) == set(theirs.node_attributes)
    for name, found in theirs.node_attributes.items():
        same(ours.node_attributes[name], found, name)
    for name, found in theirs.edge_attributes.items():
        same(ours.edge_attributes[name], found, name)
    assert set(ours.edge_attributes) - set(theirs.edge_attributes) == {"_dgl2gb_eid", "_gb_dst_id"}
    # as DistGraph.find_edges of DGL 2.4 uses them
    src, dst = graph.edges()
    slots = ours.edge_attributes["_dgl2gb_eid"].long()
    assert torch.equal(ours.indices[slots].long(), src)
    assert torch.equal(ours.edge_attributes["_gb_dst_id"][slots].long(), dst)
    inner = graph.ndata["inner_node"].bool().nonzero().flatten()
    seeds = inner[:50].to(ours.indices.dtype)
    if len(seeds):
        block = ours._sample_neighbors(seeds, torch.LongTensor([3]))
        edges = set(zip(src.tolist(), dst.tolist(), strict=True))
        heads = seeds.repeat_interleave(block.indptr.diff()).tolist()
        assert set(zip(block.indices.tolist(), heads, strict=True)) <= edges
        sampled += 1
shutil.rmtree(copy.parent)
print(json.dumps({"parts": meta["num_parts"], "sampled": sampled, "dgl": dgl.__version__}))
