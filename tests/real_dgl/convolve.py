"""DGL convolves over the in-edges of each of two parts' own nodes, and tells their degrees and data."""

import json
import sys

import dgl
import torch


def main(config):
    found = []
    for part in range(2):
        graph, node_data, *_ = dgl.distributed.load_partition(config, part)
        own = graph.ndata["inner_node"].bool().nonzero()[:, 0]
        block = dgl.to_block(dgl.in_subgraph(graph, own), own)
        rows = dgl.nn.GraphConv(1, 2)(block, torch.ones(block.num_src_nodes(), 1))  # fails where a node has no in-edge
        assert rows.shape == (len(own), 2)
        found.append(
            {
                "ids": graph.ndata[dgl.NID][own].tolist(),
                "degrees": graph.in_degrees(own).tolist(),
                "added": node_data["_N/added"].tolist(),
            }
        )
    print(json.dumps({"parts": found}))


main(sys.argv[1])
