"""GraphBolt's file of a part, `fused_csc_sampling_graph.pt`: a graph by in-edges for sampling by `dgl.graphbolt`.

As made by `dgl.distributed.dgl_partition_to_graphbolt` of DGL 2.1 to 2.5 with formats coo and csc
(python/dgl/distributed/partition.py): with new IDs of nodes, optionally of edges, and what `DistGraph.find_edges`
needs. Local IDs are those of `graph.dgl`. Integers are as short as in DGL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts.torch_file import Tensor, TorchFile, TorchPickle, global_name

if TYPE_CHECKING:
    from daskgraphpart.layouts.layout import FileLayout, GraphBoltAttributes, GraphSizes

INT64, UINT8 = np.dtype("<i8"), np.dtype(np.uint8)
VERSION_NUMBER = Tensor(INT64, (1,), np.array([6199]))


def graphbolt_layout(sizes: GraphSizes, part: int, stored: GraphBoltAttributes) -> FileLayout:
    """Lay out the file of one part.

    Owned nodes come first and own their in-edges, so `inner_edge` is the same by edge ID and in file order.
    """
    num_nodes, num_edges, schema = sizes.num_local_nodes(part), sizes.num_local_edges(part), sizes.schema
    independent = {
        "version_number": VERSION_NUMBER,
        "indptr": Tensor(shortest_int(num_edges), (num_nodes + 1,), "csc/indptr"),
        "indices": Tensor(shortest_int(num_nodes), (num_edges,), "csc/indices"),
    }
    state: dict[str, Any] = {"independent_tensors": independent}
    if schema.is_heterogeneous:
        independent["type_per_edge"] = Tensor(shortest_int(len(schema.etypes), 1, 2, 4), (num_edges,), "csc/type")
        state["node_type_to_id"] = type_numbers(schema.ntypes)
        state["edge_type_to_id"] = type_numbers(schema.etypes)
    state["node_attributes"] = {
        "_ID": Tensor(INT64, (num_nodes,), "nodes/id"),
        **({"inner_node": Tensor(UINT8, (num_nodes,), "nodes/inner")} if stored.inner_node else {}),
    }
    state["edge_attributes"] = {
        **({"_ID": Tensor(INT64, (num_edges,), "csc/id")} if stored.eids else {}),
        **({"inner_edge": Tensor(UINT8, (num_edges,), "edges/inner")} if stored.inner_edge else {}),
        "_dgl2gb_eid": Tensor(shortest_int(schema.num_edges), (num_edges,), "csc/places"),
        "_gb_dst_id": Tensor(shortest_int(schema.num_nodes), (num_edges,), "csc/rows"),
    }
    return sampling_graph_layout(state)


def sampling_graph_layout(state: dict[str, Any]) -> FileLayout:
    """Lay out a pickled `FusedCSCSamplingGraph` from its state."""
    pickle = TorchPickle()
    pickled = (
        global_name("dgl.graphbolt.impl.fused_csc_sampling_graph", "FusedCSCSamplingGraph")
        + b")\x81}"
        + pickle.dumps("_c_csc_graph")
        + global_name("torch", "ScriptObject")
        + b")\x81"
        + pickle.dumps((state, "__torch__.torch.classes.graphbolt.FusedCSCSamplingGraph"))
        + b"bsb"
    )
    return TorchFile("fused_csc_sampling_graph", pickled, tuple(pickle.tensors)).layout()


def shortest_int(limit: int, *sizes: int) -> np.dtype:
    """First integer size, by default 4 or 8 bytes, whose largest value exceeds a limit, as in DGL."""
    nbytes = next(size for size in (*(sizes or (4,)), 8) if limit < (1 << 8 * size - 1) - 1)
    return np.dtype(f"<i{nbytes}")


def type_numbers(names: tuple[str, ...]) -> dict[str, Tensor]:
    """Number of each type."""
    return {name: Tensor(INT64, (), np.array(number)) for number, name in enumerate(names)}
