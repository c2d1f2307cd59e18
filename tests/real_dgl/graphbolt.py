"""Compare GraphBolt's files of partitions with those that DGL makes of their graphs; run in an environment of DGL 2.1.

The argument is a JSON object: configs of partitions with both, and the options of DGL's conversion. The last line is
JSON.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import dgl
import torch
from dgl.distributed import load_partition


def judge(config, options):
    """Compare all parts; return how many were sampled from."""
    meta = json.loads(config.read_text())
    assert meta["node_map_dtype"] == meta["edge_map_dtype"] == "int64"
    copy = Path(tempfile.mkdtemp(dir=config.parent.parent)) / "copy"
    shutil.copytree(config.parent, copy)
    for part in range(meta["num_parts"]):
        (copy / f"part{part}" / "fused_csc_sampling_graph.pt").unlink()
    dgl.distributed.dgl_partition_to_graphbolt(str(copy / config.name), **options)
    sampled = sum(judge_part(config, copy / config.name, part) for part in range(meta["num_parts"]))
    shutil.rmtree(copy.parent)
    return sampled


def judge_part(config, converted, part):
    ours = load_partition(str(config), part, use_graphbolt=True)[0]
    theirs = load_partition(str(converted), part, use_graphbolt=True)[0]
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
    has_coo = "coo" in graph.formats()["created"]
    further = {"_dgl2gb_eid", "_gb_dst_id"} if has_coo else set()
    assert set(ours.edge_attributes) - set(theirs.edge_attributes) == further
    src, dst = graph.edges()
    if has_coo:  # as DistGraph.find_edges of DGL 2.4 uses them
        slots = ours.edge_attributes["_dgl2gb_eid"].long()
        assert torch.equal(ours.indices[slots].long(), src)
        assert torch.equal(ours.edge_attributes["_gb_dst_id"][slots].long(), dst)
    seeds = graph.ndata["inner_node"].bool().nonzero().flatten()[:50].to(ours.indices.dtype)
    block = ours._sample_neighbors(seeds, torch.LongTensor([3]))
    heads = seeds.repeat_interleave(block.indptr.diff()).tolist()
    edges = set(zip(src.tolist(), dst.tolist(), strict=True))
    assert set(zip(block.indices.tolist(), heads, strict=True)) <= edges
    return len(block.indices) > 0


def same(ours, theirs, name):
    assert (ours is None) == (theirs is None), name
    if ours is not None:
        assert ours.dtype == theirs.dtype, (name, ours.dtype, theirs.dtype)
        assert torch.equal(ours, theirs), name


print(json.dumps({"sampled": sum(judge(Path(name), options) for name, options in json.loads(sys.argv[1]).items())}))
