"""The directory of a chunked graph: locked before work starts, cleared if it fails, with metadata written last."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.atomic import write_json
from daskgraphpart.storage.lock import LOCK_NAME, DirectoryLock
from daskgraphpart.storage.paths import check_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from daskgraphpart.schema import GraphSchema

ID_MAP, CATEGORIES = "id_map", "categories"
DIRECTORIES = ("edges", "node_data", "edge_data", ID_MAP, CATEGORIES)


@contextmanager
def claimed_directory(out: Path, inputs: Iterable[str], overwrite: bool) -> Iterator[None]:
    """Make and lock the output directory, or empty it of a graph that may be replaced; a failed job leaves nothing."""
    if out.exists() and not out.is_dir():
        raise OutputExistsError("not a directory", file=str(out), hint="give another directory")
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(out)
    is_claimed = is_whole = False
    try:
        _check_claim(out, inputs, overwrite)
        is_claimed = True
        _discard(out)
        yield
        is_whole = True
    finally:
        if is_claimed and not is_whole:
            _discard(out)
        lock.release(keep_notes=not is_claimed and lock.notes.workspace is not None)
        if is_new and not is_whole:
            with suppress(OSError):  # somebody put something else there
                out.rmdir()


def _check_claim(out: Path, inputs: Iterable[str], overwrite: bool) -> None:
    """Refuse a directory that holds something else, or part of the input."""
    found = sorted(path.name for path in out.iterdir() if path.name != LOCK_NAME)
    ours = METADATA_FILE in found or not set(found) - set(DIRECTORIES)
    if found and not (overwrite and ours):
        hint = "give another directory, or --overwrite to replace a chunked graph in it"
        raise OutputExistsError(
            "the output directory is not empty", file=str(out), found=", ".join(found[:5]), hint=hint
        )
    if found:
        check_apart(out, map(Path, inputs))


def _discard(out: Path) -> None:
    """Delete a chunked graph, finished or not, and nothing else: its metadata first."""
    (out / METADATA_FILE).unlink(missing_ok=True)
    for name in DIRECTORIES:
        shutil.rmtree(out / name, ignore_errors=True)


def write_metadata(
    directory: str | Path,
    schema: GraphSchema,
    edge_files: Mapping[str, Sequence[str | Path]],
    data_files: Mapping[str, Mapping[str, Sequence[str | Path]]],
    *,
    edge_format: str,
    data_format: str,
    delimiter: str = " ",
) -> Path:
    """Write `metadata.json` in both dialects, last of all files; paths inside the directory are relative to it."""
    directory = Path(directory).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    of_edges = {"name": edge_format} | ({"delimiter": delimiter} if edge_format == "csv" else {})

    def entry(form: dict[str, str], paths: Sequence[str | Path]) -> dict[str, Any]:
        absolute = [Path(path).absolute() for path in paths]
        inside = [path.relative_to(directory) if path.is_relative_to(directory) else path for path in absolute]
        return {"format": form, "data": [os.fspath(path) for path in inside]}

    def data(types: Sequence[str]) -> dict[str, Any]:
        return {
            of_type: {name: entry({"name": data_format}, paths) for name, paths in data_files[of_type].items()}
            for of_type in types
            if data_files.get(of_type)
        }

    content = {
        "graph_name": schema.name,
        "node_type": list(schema.ntypes),
        "num_nodes_per_type": [t.num_nodes for t in schema.node_types],
        "num_nodes_per_chunk": [[t.num_nodes] for t in schema.node_types],
        "edge_type": list(schema.etypes),
        "num_edges_per_type": [t.num_edges for t in schema.edge_types],
        "num_edges_per_chunk": [[t.num_edges] for t in schema.edge_types],
        "edges": {etype: entry(of_edges, edge_files.get(etype, ())) for etype in schema.etypes},
        "node_data": data(schema.ntypes),
        "edge_data": data(schema.etypes),
    }
    path = directory / METADATA_FILE
    write_json(path, content)
    return path
