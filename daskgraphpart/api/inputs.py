"""What the package's functions do first: open the graph, look at where the output goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.assignment.assignment import META_FILE
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.dispatching.machines import Machines, read_machines
from daskgraphpart.dispatching.workspace import staging_directory
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.paths import require_local, resolve_path, to_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.storage.paths import Location


def opened(
    graph: ChunkedGraph | str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> ChunkedGraph:
    """Open a graph unless it is open."""
    return graph if isinstance(graph, ChunkedGraph) else read_chunked(graph, storage_options=storage_options)


def output_of(
    out_dir: str | os.PathLike[str],
    dispatch_to: str | os.PathLike[str] | None,
    storage_options: Mapping[str, Any] | None = None,
) -> Location | Machines:
    """Return the directory of the output, or the one on the disks of machines."""
    if dispatch_to is None:
        return resolve_path(out_dir, storage_options)
    return read_machines(dispatch_to, require_local(out_dir, "the output on machines", "leave out --dispatch"))


def made_in(target: Location | Machines, workspace: str | None) -> Path:
    """Directory of this machine in which files are made; they go on to a store, or to machines, from a workspace."""
    if isinstance(target, Path):
        return target.absolute()
    return staging_directory(target.path if isinstance(target, Machines) else target, workspace)


def input_paths(graph: ChunkedGraph) -> list[Location]:
    """List the directory and the data files of a graph; none of one of dask collections."""
    if graph.source is not None:
        return []
    return [to_path(graph.directory), *(to_path(file.path) for file in graph.files)]


def check_assignment_directory(graph: ChunkedGraph, out: Path, overwrite: bool) -> None:
    """Refuse to write owners among the files of the graph, or over an assignment that is there."""
    directory = os.path.realpath(out)
    for path in map(str, input_paths(graph)):
        if directory in (os.path.realpath(path), os.path.dirname(os.path.realpath(path))):
            hint = "give one of its own"
            raise OutputExistsError("the directory of owners holds the input", file=out, found=path, hint=hint)
    if (out / META_FILE).exists() and not overwrite:
        hint = "give another directory, or --overwrite to replace it"
        raise OutputExistsError("there is an assignment already", file=out, hint=hint)
