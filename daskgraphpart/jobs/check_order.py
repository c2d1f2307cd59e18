"""Refuse owners and weights of nodes in another order than those of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.errors import AssignmentError, GraphPartError, OptionError, raise_together
from daskgraphpart.ids.hash_id_maps import hash_id_maps
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import OURS_FILE, Owners
from daskgraphpart.partitioner.balance import ByFile
from daskgraphpart.storage.json_file import read_json_object

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan


_SEEN = "write the graph by `build --map-ids`, whose id_map/<type>.parquet has the order, and give that graph"


def check_order(scan: Scan, owners: Owners | Path | AssignOptions) -> None:
    """Refuse weights and owners without IDs for tables whose IDs are mapped only now."""
    if isinstance(owners, Owners):
        return
    faults: list[GraphPartError] = []
    if isinstance(owners, AssignOptions):
        for item in owners.constraints:
            if isinstance(item, ByFile):
                hint = "make them a feature, --node-data TYPE/w=FILE:ID:w, and balance weight:TYPE/w. Or "
                what = "node weights without IDs, for nodes whose IDs are mapped only now"
                faults.append(OptionError(what, option="balance", file=item.path, hint=f"{hint}{_SEEN}"))
        owners = Path() if owners.is_named else Path(owners.method)
    if owners != Path() and owners.exists() and recorded_maps(owners) is None:
        what = "owners without IDs, for nodes whose IDs are mapped only now"
        faults.append(AssignmentError(what, file=str(owners), hint=_SEEN))
    if faults and scan.maps_ids:  # which may read files
        raise_together(faults)


def recorded_maps(directory: Path) -> IdMaps | None:
    """Return which ID maps our owners in a directory have; None for those of others, or without."""
    file = directory / OURS_FILE
    return IdMaps.of(read_json_object(file, AssignmentError), file) if file.is_file() else None


def check_ids(directory: Path, graph: Graph, runner: Runner) -> None:
    """Refuse owners of nodes with other IDs than the graph has."""
    maps = recorded_maps(directory)
    known = {} if maps is None else maps.checksums
    both = [ntype for ntype in graph.id_maps if ntype in known]
    for ntype, checksum in zip(both, hash_id_maps([graph.id_maps[ntype] for ntype in both], runner), strict=True):
        if checksum != known[ntype]:
            raise AssignmentError(
                f"the owners are of {ntype!r} nodes with other IDs",
                file=str(directory),
                expected=f"an ID map of checksum {known[ntype]}",
                found=f"{checksum}, of {graph.id_maps[ntype]}",
                hint=f"make new owners, or carry these over by --extend {directory}",
            )
