"""Original IDs in memory, in the form of DGL's `return_mapping`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.book import canonical_tuple
from daskgraphpart.partitioned.graph import open_partitions
from daskgraphpart.partitioned.torch_arrays import torch_module

if TYPE_CHECKING:
    from pathlib import Path


def load_mappings(config_path: Path) -> tuple[Any, Any]:
    """Load the original IDs of all nodes and edges by new ID.

    Returns
    -------
    tuple
        Two int64 tensors; of a heterogeneous graph two dictionaries of them, by node type and by canonical edge type
        (a tuple).

    Raises
    ------
    MissingPackageError
        If torch is not installed.
    LayoutError
        If original IDs were not saved.
    """
    torch = torch_module()
    graph = open_partitions(config_path)
    nids = {ntype: torch.from_numpy(graph.nodes[ntype].original_ids[:]) for ntype in graph.ntypes}
    eids = {canonical_tuple(etype): torch.from_numpy(graph.edges[etype].original_ids[:]) for etype in graph.etypes}
    if len(nids) == len(eids) == 1:
        return next(iter(nids.values())), next(iter(eids.values()))
    return nids, eids
