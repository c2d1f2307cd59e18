"""Read the hot rows that a dispatch kept beside a part, in the layout ranks or parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.graph.read_parquet import read_parquet_header, read_rows
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.manifest_reader import read_manifest
from daskgraphpart.layouts.part_arrays import file_name
from daskgraphpart.partitioned.hot_rows import HotNodes, HotRows
from daskgraphpart.partitioned.pyg.loader import open_source
from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions
from daskgraphpart.schema import DataSpec, is_fetched
from daskgraphpart.storage.files import is_file
from daskgraphpart.storage.json_file import convert_json
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.partitioned.part import Part

IDS, FETCHES = DataSpec("hot_nids", np.dtype(np.int64), ()), DataSpec("hot_fetches", np.dtype(np.float64), ())
COLUMNS = {IDS.name: "new_id", FETCHES.name: "fetches"}


def read_hot_rows(part: Part, node_data: Any, workspace: Any) -> HotRows:
    """Read what `pyg_methods.hot_rows` describes."""
    book, read = part.book, find_hot_rows(part)
    if read is None:
        hint = "partition with hot_rows and the layout ranks or parquet, or give num_neighbors"
        raise OptionError("no hot rows are kept beside these parts", place="num_neighbors", hint=hint)
    source = open_source(part.whole, None, LoaderOptions(node_data=node_data, edge_data=(), workspace=workspace))
    wanted = [of for of in source.features if is_fetched(of.name)]
    by_type, ids = {}, []
    for ntype in book.ntypes:
        unordered, fetches = read(ntype, IDS), read(ntype, FETCHES)
        order = np.lexsort((unordered, -fetches))  # most fetched first
        rows = {of.name: read(ntype, DataSpec(of.name, of.dtype, of.row_shape)) for of in wanted if of.kind == ntype}
        by_type[ntype] = HotNodes(unordered[order], fetches[order], {name: of[order] for name, of in rows.items()})
        ids.append(book.nodes.homogeneous(by_type[ntype].ids, ntype))
    fetches = np.concatenate([of.fetches for of in by_type.values()])
    order = np.argsort(-fetches, kind="stable")
    return HotRows(part.part_id, np.concatenate(ids)[order], fetches[order], by_type, source.files)


class _Array(msgspec.Struct):
    prefix: str
    offsets: list[int]


class ReadHot(Protocol):
    """What reads the hot rows beside a part."""

    def __call__(self, ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
        """Read an array of a node type: all its rows, or some."""


def find_hot_rows(part: Part) -> ReadHot | None:
    """Return what reads the hot rows beside this part; None if no layout has any."""
    root, number, num_parts = part.whole.config.parent, part.part_id, part.book.num_parts
    described = root / description_of("ranks")
    if is_file(described):
        stated, what = read_manifest(described, "ranks").content.get("arrays"), "not the arrays of the layout ranks"
        arrays = convert_json(stated, dict[str, _Array], LayoutError, what, file=str(described))
        if any(key.startswith("hot_nids/") for key in arrays):

            def of_ranks(ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
                key = f"{spec.name}/{ntype}" if spec in (IDS, FETCHES) else f"hot_data/{ntype}/{spec.name}"
                first, stop = arrays[key].offsets[number : number + 2]
                path = root / "ranks" / f"{arrays[key].prefix}_part_{number}_of_{num_parts}"
                return Region(str(path), 0, spec.dtype, (stop - first, *spec.row_shape)).read(start, end)

            return of_ranks

    def of_table(ntype: str, spec: DataSpec, start: int = 0, end: int | None = None) -> np.ndarray:
        path = str(root / "parquet" / "hot" / file_name(ntype) / f"part={number}" / "data.parquet")
        name = COLUMNS.get(spec.name, spec.name)
        return read_rows(path, start, read_parquet_header(path).num_rows if end is None else end, spec, (name,))

    if is_file(root / "parquet" / "hot" / file_name(part.book.ntypes[0]) / f"part={number}" / "data.parquet"):
        return of_table
    return None
