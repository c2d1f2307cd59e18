"""What the package's functions do first: open the graph, look at where the output goes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from daskgraphpart.assignment.assignment import META_FILE
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.storage.paths import Location


def check_assignment_directory(graph: ChunkedGraph, out: Path, overwrite: bool) -> None:
    """Refuse to write owners among the files of the graph, or over an assignment that is there."""
    among = [
        path
        for path in (to_path(graph.directory) / METADATA_FILE, *data_files(graph))
        if os.path.dirname(os.path.realpath(str(path))) == os.path.realpath(out)  # `resolve` fails on loops of links
    ]
    if among:
        raise OutputExistsError(
            "the directory of owners holds the input", file=str(out), found=str(among[0]), hint="give one of its own"
        )
    if (out / META_FILE).exists() and not overwrite:
        raise OutputExistsError(
            "there is an assignment already", file=str(out), hint="give another directory, or --overwrite to replace it"
        )


def data_files(graph: ChunkedGraph) -> list[Location]:
    """All data files of a graph."""
    return [to_path(file.path).resolve() for file in graph.files]


def opened(
    graph: ChunkedGraph | str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> ChunkedGraph:
    """Open a graph unless it is open."""
    return graph if isinstance(graph, ChunkedGraph) else read_chunked(graph, storage_options=storage_options)
