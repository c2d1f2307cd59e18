"""Bring rows of all nodes or edges of a type into the order of the input, or of new IDs: methods of partitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.progress import PROGRESS
from daskgraphpart.engine.resources import WHERE, resources_of
from daskgraphpart.errors import OptionError
from daskgraphpart.options import with_keywords
from daskgraphpart.storage.paths import AnyPath, Location, require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.partitioned.views import EdgeView, NodeView


class Orders:
    """What has rows by original and by new ID: partitions."""

    config: Location
    name: str
    ntypes: tuple[str, ...]
    _is_confined: bool

    @property
    def nodes(self) -> Mapping[str, NodeView]:
        """For each node type its nodes."""
        raise NotImplementedError

    @property
    def edges(self) -> Mapping[str, EdgeView]:
        """For each edge type its edges."""
        raise NotImplementedError

    @with_keywords(WHERE, PROGRESS)
    def to_original(
        self,
        kind: str | tuple[str, str, str],
        rows: Any,
        out: str | os.PathLike[str] | None = None,
        *,
        id_map: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        **keywords: Any,
    ) -> Any:
        """Bring rows from the order of new IDs into that of the input graph; embeddings, for example.

        Parameters
        ----------
        kind : str or tuple of str
            Node type or edge type.
        rows : array, tensor, frame, dask array, dask frame or path
            One row per node or edge, by new type-wise ID; a path is that of an npy file, a zarr array, a tensor
            (``*.pt``) or a parquet file with one column of numbers or of lists.
        out : path, optional
            File ``*.npy``, ``*.pt`` or ``*.parquet``, or array ``*.zarr``, to write. Memory does not grow with the rows
            then. Parquet has the columns `id` and `value`.
        id_map : path, optional
            Where the original IDs of the user's input are, for the column `id` of parquet: the graph that
            ``chunk --map-ids`` wrote, its directory ``id_map`` or one file of it. Default: where it was when the graph
            was partitioned. Without one, `id` is the number of the row.
        overwrite : bool
            Replace `out`.

        Returns
        -------
        dask.array.Array or Path
            Rows by original type-wise ID, lazy; or `out`.

        Raises
        ------
        LayoutError
            If original IDs were not saved.
        IdOutOfRangeError
            If there is no such type.
        OptionError
            If the number of rows is not that of the type.
        InputFileNotFoundError
            If there is no file of rows, or the map of IDs is no longer there.
        """
        from daskgraphpart.partitioned.row_files import find_id_map

        is_table, path = out is not None and Path(str(out)).suffix == ".parquet", None
        if id_map is not None and not is_table:
            what = "only a parquet file has a column for the original IDs"
            raise OptionError(what, place="--id-map", expected="an output that ends in .parquet", found=out)
        if is_table and (id_map is not None or kind in self.ntypes):
            path = find_id_map(id_map, str(kind), self.config, self.name, confined=self._is_confined)
        how = {"to_original": True, "id_map": path, "overwrite": overwrite}
        return self._reorder(kind, rows, out, keywords, **how)

    @with_keywords(WHERE, PROGRESS)
    def from_original(
        self,
        kind: str | tuple[str, str, str],
        rows: Any,
        out: str | os.PathLike[str] | None = None,
        *,
        overwrite: bool = False,
        **keywords: Any,
    ) -> Any:
        """Bring rows from the order of the input graph into that of new IDs.

        Parameters
        ----------
        kind, rows, out, overwrite
            As in `to_original`.

        Returns
        -------
        dask.array.Array or Path
            Rows by new type-wise ID, lazy; or `out`.
        """
        return self._reorder(kind, rows, out, keywords, to_original=False, overwrite=overwrite)

    def _reorder(
        self, kind: str | tuple[str, str, str], rows: Any, out: AnyPath | None, where: Mapping[str, Any], **how: Any
    ) -> Any:
        from daskgraphpart.partitioned.reorder import reorder

        view = self.nodes[kind] if kind in self.ntypes else self.edges[kind]  # type: ignore[index]
        how |= {"resources": resources_of(where), "progress": where.get("progress")}
        return reorder(rows, view.original_ids, None if out is None else require_local(out, "the output"), **how)
