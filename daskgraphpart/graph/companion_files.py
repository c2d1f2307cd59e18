"""Files that go with a graph: ID maps, category files, and what GraphStorm's commands read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.graph.metadata import CATEGORIES, ID_MAP, LABEL_COUNTS, TRANSFORMED
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import read_pieces
from daskgraphpart.storage.files import is_directory, is_file, make_directory
from daskgraphpart.storage.paths import Location, join_path, to_key

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.source import FilePath


def map_name(ntype: str) -> str:
    """Name of the file whose row i is the user's own ID of node i."""
    return f"{ID_MAP}/{ntype}.parquet"


def codes_name(of_type: str, feature: str) -> str:
    """File that maps the category codes of a feature to strings."""
    return f"{CATEGORIES}/{of_type}/{feature}.parquet"


def find_companions(directory: Location, schema: GraphSchema) -> dict[str, FilePath]:
    """Find the companion files of a chunked graph: paths by name."""
    names = [TRANSFORMED, *LABEL_COUNTS]
    if is_directory(join_path(directory, ID_MAP)):
        names += map(map_name, schema.ntypes)
    if is_directory(join_path(directory, CATEGORIES)):
        names += [codes_name(of.name, spec.name) for of in schema.row_types for spec in of.data]
    paths = {name: join_path(directory, name) for name in names}
    return {name: to_key(path) for name, path in paths.items() if is_file(path)}


def list_companions(directory: Path) -> dict[str, FilePath]:
    """List the companion files that a scan has written to a directory."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): str(path) for path in paths}


def maps_and_codes(companions: Mapping[str, FilePath]) -> dict[str, FilePath]:
    """Return the ID maps and category files; they are copied into the output."""
    return {name: path for name, path in companions.items() if name.startswith((f"{ID_MAP}/", f"{CATEGORIES}/"))}


def copy_companions(companions: Mapping[str, FilePath], out: Path) -> dict[str, FilePath]:
    """Copy files to a directory; return their paths there."""
    for name, path in companions.items():
        make_directory((out / name).parent)
        copy_file(path, None, str(out / name))
    return {name: str(out / name) for name in companions}


def copy_file(source: FilePath, _: Any, path: str) -> None:
    """Write a file that is a copy of another."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.writelines(read_pieces(source))
