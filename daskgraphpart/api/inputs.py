"""What the package's functions do first: open the graph, look at where the output goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.assignment.directory import META_FILE
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.errors import OutputExistsError

if TYPE_CHECKING:
    import os


def check_assignment_directory(graph: ChunkedGraph, out: Path, overwrite: bool) -> None:
    """Refuse to write owners among the files of the graph, or over an assignment that is there."""
    among = [
        path
        for path in (Path(graph.directory) / METADATA_FILE, *data_files(graph))
        if path.resolve().parent == out.resolve()
    ]
    if among:
        raise OutputExistsError(
            "the directory of owners holds the input", file=str(out), found=str(among[0]), hint="give one of its own"
        )
    if (out / META_FILE).exists() and not overwrite:
        raise OutputExistsError(
            "there is an assignment already", file=str(out), hint="give another directory, or --overwrite to replace it"
        )


def data_files(graph: ChunkedGraph) -> list[Path]:
    """All data files of a graph."""
    return [Path(file.path).resolve() for file in graph.files]


def opened(graph: ChunkedGraph | str | os.PathLike[str]) -> ChunkedGraph:
    """Open a graph unless it is open."""
    return graph if isinstance(graph, ChunkedGraph) else read_chunked(graph)
