"""Open what a job reads, graphs and owners; refuse owners of other nodes, and say what has changed since it began."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.journal import RESTART_HINT
from daskgraphpart.errors import AssignmentError, GraphPartError, OptionError, ResumeError, raise_together
from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.scan import ROWS_OF, Scan, check_read
from daskgraphpart.graph.share_arrays import share_rows
from daskgraphpart.ids.hash_id_maps import hash_id_maps
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.options import stated_options
from daskgraphpart.partitioner.assign_nodes import find_start
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import BINARY_FORMS, OURS_FILE, TRAINERS, Owners, crc_of
from daskgraphpart.partitioner.balance import ByFile
from daskgraphpart.registry import package_of
from daskgraphpart.storage.files import cached_listings, directory_on_disk, signatures_of
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import Location, is_remote, require_local, writable_path

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from daskgraphpart.dispatching.destination import Destination
    from daskgraphpart.engine.runner import Runner
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
    return [*([] if scan.directory is None else [scan.directory]), *scan.paths]


WORK_VERSION = 18
"""Of what passes exchange through the workspace; raise it when a file or the order of passes changes."""

MOST_SHOWN = 3
_SEEN = "write the graph by `build --map-ids`, whose id_map/<type>.parquet has the order, and give that graph"


def fingerprint(command: str, scan: Scan, options: Mapping[str, Any], files: Iterable[Location] = ()) -> dict[str, Any]:
    """Describe what the output depends on, as a flat dictionary of JSON values.

    That is: options, metadata, and path, size, times and inode of every input file. The journal keeps it, and a run
    that resumes must match it, since the workspace was made from it. Times are compared only for equality.
    """
    facts: dict[str, Any] = {"command": command, "version of the workspace": WORK_VERSION}
    for name, value in options.items():
        facts[f"--{name.replace('_', '-')}"] = list(value) if isinstance(value, tuple) else value
    with cached_listings(next(iter(input_paths(scan)), "")):
        return {**facts, **signatures_of([*scan.paths, *files]), **scan.identity()}


def identify_owners(owners: Owners | Path | AssignOptions) -> dict[str, Any]:
    """Describe what owners depend on besides files, as JSON values by option."""
    if isinstance(owners, AssignOptions):
        given = {name: getattr(owners, name) for name in stated_options(AssignOptions)}
        if package := package_of("methods", str(owners.method)):
            given["method"] = f"{owners.method} of {package}"
        return given
    if isinstance(owners, Path):
        return {"assignment": str(owners.absolute())}
    # a temporary directory's file names change from run to run
    regions = {**owners.files, **{f"{TRAINERS}/{name}": region for name, region in owners.trainers.items()}}
    crcs = {name: [region.num_rows, crc_of(Path(region.path))] for name, region in regions.items()}
    return {"assignment": [owners.num_parts, owners.method, crcs]}


def files_of_owners(scan: Scan, owners: Owners | Path | AssignOptions) -> list[Location]:
    """List the files that owners are read or made from."""
    if isinstance(owners, Owners):
        return []
    if isinstance(owners, Path):
        return [owners, *_files_in(owners)]
    named = [None if owners.is_named else owners.method, owners.extend]
    files: list[Location] = [
        file for name in named if name is not None for file in _files_in(require_local(name, "an assignment"))
    ]
    if (start := find_start(owners)) is not None:
        files += start.files(scan.known)
    return [*files, *(Path(item.path) for item in owners.constraints if isinstance(item, ByFile))]


def read_owners(directory: Path, graph: Graph, workspace: Path, runner: Runner, num_parts: int | None) -> Owners:
    """Read owners from a directory: ours and DGL's or, if it has none, those of ParMETIS."""
    with runner.on_this_machine() as here, directory_on_disk(workspace) as place:
        owners = _read_owners(directory, graph.schema, place, here, num_parts)
        check_ids(directory, graph, here)
        return share_owners(owners, workspace, runner)


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


def _files_in(root: Path) -> list[Path]:
    """List an assignment's files, with those of trainers and zarr arrays."""
    if not root.is_dir():
        return [root]
    files = [child for child in root.iterdir() if child.is_file() and not child.name.startswith(".")]
    for child in root.iterdir():
        if child.is_dir() and (child.name == TRAINERS or child.suffix[1:] in BINARY_FORMS):
            files += [inner for inner in child.rglob("*") if inner.is_file()]
    return sorted(files)


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any], workspace: str) -> None:
    """Refuse to resume if the fingerprint has changed."""
    changed = [key for key in {**now, **before} if before.get(key) != now.get(key) or (key in before) != (key in now)]
    if not changed:
        return
    # name options and files before what follows from them
    rows = [key for key in changed if key.startswith(ROWS_OF)]
    if rows:
        more = "" if len(rows) <= 1 else f", and of {len(rows) - 1} more"
        raise ResumeError(
            "the unfinished run read other rows",
            file=workspace,
            place=f"{rows[0]}{more}",
            expected="the same tables, arrays or functions, over the same files",
            found="others",
            hint=f"restore them, or {RESTART_HINT}. Random numbers without a seed, and rows in a cluster's memory, are "
            "new in each process: write such to parquet files, and give those",
        )
    shown = [key for key in changed if key not in ("schema", "metadata")][:MOST_SHOWN] or changed
    more = "" if len(changed) <= len(shown) else f", and {len(changed) - len(shown)} more"
    raise ResumeError(
        "the input or options of the unfinished run have changed",
        file=workspace,
        place=f"{', '.join(shown)}{more}",
        expected=before.get(shown[0], "nothing"),
        found=now.get(shown[0], "nothing"),
        hint=f"restore them, or {RESTART_HINT}",
    )
