"""Open what a job reads, graphs and owners, and say where its output goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.scan import Scan, check_read
from daskgraphpart.graph.share_arrays import share_rows
from daskgraphpart.jobs.check_order import check_ids
from daskgraphpart.storage.files import directory_on_disk
from daskgraphpart.storage.paths import Location, is_remote, require_local, writable_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.dispatching.destination import Destination
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioner.assignment import Owners
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


def open_chunked(graph: Graph | str | os.PathLike[str]) -> Graph:
    """Open a chunked graph unless it is open."""
    check_read(graph)
    return graph if isinstance(graph, Graph) else read_chunked(graph)


def output_of(
    out_dir: str | os.PathLike[str],
    dispatch_to: str | os.PathLike[str] | None,
    storage_options: Mapping[str, Any] | None = None,
) -> Path | Destination:
    """Return the output directory, here, in a store or on the disks of machines."""
    if dispatch_to is not None:
        from daskgraphpart.dispatching.delivery.machines import read_machines  # for few jobs

        return read_machines(dispatch_to, require_local(out_dir, "the output on machines", "leave out --dispatch-to"))
    location = writable_path(out_dir, storage_options)
    if not is_remote(location):
        return location.absolute()
    from daskgraphpart.dispatching.delivery.to_store import StoreDestination  # imports what writes to stores

    return StoreDestination(location)


def input_paths(scan: Scan) -> list[Location]:
    """List the directory of a chunked graph, and all files that are read."""
    directory = scan.directory
    return scan.paths if directory is None else [directory, *scan.paths]


def first_input(scan: Scan) -> Location | None:
    """Return the directory of a chunked graph, or else the first file that is read, if any."""
    return scan.directory or next(iter(scan.paths), None)


def read_owners(directory: Path, graph: Graph, workspace: Path, runner: Runner, num_parts: int | None) -> Owners:
    """Read owners from a directory: ours and DGL's or, if it has none, those of ParMETIS."""
    with runner.on_this_machine() as here, directory_on_disk(workspace) as place:
        owners = _read_owners(directory, graph.schema, place, here, num_parts)
        check_ids(directory, graph, here)
        return share_owners(owners, workspace, runner)


def share_owners(owners: Owners, workspace: Path, runner: Runner) -> Owners:
    """Return owners that all tasks can read: with a workspace in a store, copied there."""

    def share(files: Mapping[str, Region], what: str) -> dict[str, Region]:
        places = {ntype: workspace / what / f"{ntype}.npy" for ntype in files}
        return {ntype: share_rows("store-owners", files[ntype], place, runner) for ntype, place in places.items()}

    return replace(owners, files=share(owners.files, "owners"), trainers=share(owners.trainers, "trainers"))


def _read_owners(
    directory: Path, schema: GraphSchema, workspace: Path, runner: Runner, num_parts: int | None
) -> Owners:
    from daskgraphpart.partitioner.read_files import has_owners, read_assignment  # for few jobs

    if not has_owners(directory, schema):
        from daskgraphpart.partitioner.parmetis_files import read_found_parts  # imports DuckDB

        if (owners := read_found_parts(directory, schema, workspace, runner, num_parts)) is not None:
            return owners
    return read_assignment(directory, schema, workspace, runner, num_parts)
