"""Read all that partitions hold, by every way there is; an error of ours ends the process as on the command line."""

from __future__ import annotations

import sys

import numpy as np

from daskgraphpart.errors import GraphPartError
from daskgraphpart.partitioned.graph import open_partitions
from daskgraphpart.partitioned.load import load_partition


def read_all(path: str) -> None:
    """Open partitions, and read every array, edge and ID of theirs."""
    try:
        graph = open_partitions(path)
        for part in graph.parts:
            part.edges().compute(scheduler="sync")
            for regions in (*part.node_rows.features.values(), *part.edge_rows.features.values()):
                for region in regions.values():
                    region.read()
            load_partition(path, part.part_id)[0].adj_tensors("csc")
        for names, views in ((graph.ntypes, graph.nodes), (graph.etypes, graph.edges)):
            for name in names:
                np.asarray(views[name].original_ids[:])
    except GraphPartError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
