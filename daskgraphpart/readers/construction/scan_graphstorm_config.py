"""`scan_graphstorm_config`: describe a graph by a GraphStorm construction config."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from daskgraphpart.errors import OptionError
from daskgraphpart.graph.graph_methods import change
from daskgraphpart.graph.transforms.changes import GraphChanges, etypes_of
from daskgraphpart.keywords import check_keywords
from daskgraphpart.readers.construction.build import ConstructionScan
from daskgraphpart.readers.construction.read_config import read_config
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    from daskgraphpart.graph.scan import Scan


@check_keywords
def scan_graphstorm_config(
    config: str | os.PathLike[str],
    *,
    name: str = "graph",
    unknown_nodes: Literal["drop", "error"] = "error",
    split_seed: int = 0,
    edge_types_from: Mapping[str, str] | Sequence[str] = (),
    add_reverse: str | None = None,
    copy_edge_data: bool = False,
    remove_self_loops: bool | str | Sequence[str] = (),
    deduplicate: bool | str | Sequence[str] = (),
    add_self_loops: bool | str | Sequence[str] = (),
    cast: Mapping[str, str] | Sequence[str] = (),
) -> Scan:
    """Describe a graph by a GraphStorm construction config, for gconstruct or GSProcessing.

    ``add_reverse="graphstorm"`` is GraphStorm's ``--add-reverse-edges``.

    Parameters
    ----------
    config : path
        The JSON file. Its paths are relative to the working directory, or else to the directory of the config.
    name : str
        Name of the graph.
    unknown_nodes : str
        What to do with edges whose nodes are missing from the table of their type: ``"error"`` or ``"drop"``.
    split_seed : int
        Random seed for the train, validation and test sets.
    edge_types_from, add_reverse, copy_edge_data, remove_self_loops, deduplicate, add_self_loops, cast : optional
        As in `chunk_graph`.

    Returns
    -------
    Scan
        As by `scan_tables`.

    Raises
    ------
    OptionError
        If an option has an invalid value.
    MetadataError
        If the file is not JSON. The job reports all other faults of the config together, before it writes anything.

    Examples
    --------
    >>> dgp.scan_graphstorm_config("config.json").collect()
    Graph 'graph': 3 nodes, 1 edge, 24 B
    type            count  files  size  features
    --------------  -----  -----  ----  --------------
    item                1      0   0 B
    user                2      1   8 B  age float32[1]
    user:buys:item      1      2  16 B
    """
    wanted = GraphChanges(
        edge_types_from=edge_types_from, add_reverse=add_reverse, copy_edge_data=copy_edge_data,
        remove_self_loops=etypes_of(remove_self_loops), deduplicate=etypes_of(deduplicate),
        add_self_loops=etypes_of(add_self_loops), cast=cast,
    )  # fmt: skip
    if unknown_nodes not in ("error", "drop"):
        expected = "error or drop, because node features come from tables"
        raise OptionError(
            "a construction config cannot do this", option="unknown_nodes", expected=expected, found=unknown_nodes
        )
    if wanted.edge_types_from:
        what = "a construction config names its own edge types"
        hint = "run build, then build from its output with --edge-types-from"
        raise OptionError(what, option="edge_types_from", hint=hint)
    path, is_reversed = require_local(config, "a construction config"), wanted.add_reverse == "graphstorm"
    if is_reversed and read_config(path)[0].is_homogeneous:
        wanted = replace(wanted, add_reverse=None, copy_edge_data=False)
    scan: Scan = ConstructionScan(path, name, unknown_nodes == "drop", is_reversed, split_seed)
    changed: Scan = change(scan, wanted)
    return changed
