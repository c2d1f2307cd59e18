"""Nodes or edges of a type over all parts, as in `dgl.distributed.DistGraph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.part_collections import typed_edge_frame, typed_node_frame
from daskgraphpart.partitioned.stored_rows import StoredRows
from daskgraphpart.public import Public

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_part import StoredPart
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, eq=False, repr=False)
class TypeView(Public):
    """Nodes or edges of one type in all parts."""

    __all__ = ("data", "frame", "name", "original_ids")

    name: str  # node type or canonical edge type
    parts: Sequence[StoredPart]  # all parts
    kind: ClassVar[str]  # node or edge

    def __len__(self) -> int:
        book = self.parts[0].book
        return book.part_range(book.num_parts - 1, self.name)[1]

    @property
    def data(self) -> Mapping[str, StoredRows]:
        """Features by name; index their rows by new type-wise ID."""
        of_type = [part.rows(self.kind).features.get(self.name, {}) for part in self.parts]

        def stored(name: str) -> StoredRows:
            return StoredRows(f"{self.name}/{name}", [of_part[name] for of_part in of_type if name in of_part])

        names = tuple(dict.fromkeys(name for of_part in of_type for name in of_part))
        return LazyMapping(f"feature of {self.name}", names, stored)

    @property
    def original_ids(self) -> StoredRows:
        """Original type-wise IDs by new type-wise ID; raises `LayoutError` if not saved."""
        if not self.original_regions:
            raise LayoutError(
                f"the original IDs of {self.name} were not saved",
                file=self.parts[0].directory,
                expected="orig_nids.dgl and orig_eids.dgl; DGL's dispatch_data writes them with --save-orig-nids",
            )
        return StoredRows(f"original IDs of {self.name}", self.original_regions)

    @property
    def original_regions(self) -> list[Region]:
        """Original IDs in the parts' files; none if not saved."""
        of_parts = [part.rows(self.kind).originals for part in self.parts]
        return [of_part[self.name] for of_part in of_parts if self.name in of_part]

    def _columns(self, features: Sequence[str] | str, has_part: bool) -> dict[str, StoredRows | None]:
        rows_of = {name: self.data[name] for name in ([features] if isinstance(features, str) else features)}
        for name, rows in rows_of.items():
            if rows.ndim > 1:
                what = f"{self.name}/{name} has more than one number per row"
                hint = f"use {self.kind}_data, which returns a dask array"
                raise OptionError(what, expected="one number in a row", found=f"{list(rows.shape[1:])}", hint=hint)
        return {"part": None, **rows_of} if has_part else {**rows_of}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self):,} {self.kind}s, data {list(self.data)}>"


class NodeView(TypeView):
    """Nodes of one type in all parts."""

    kind = "node"

    def frame(self, features: Sequence[str] | str = (), *, part: bool = False, original: bool = False) -> Any:
        """Return all nodes of the type as a dask DataFrame.

        Parameters
        ----------
        features : sequence of str or str
            Scalar features to add as columns.
        part : bool
            Add the column `part`: the part that owns the node.
        original : bool
            Use original type-wise IDs in `id`, not new ones.

        Returns
        -------
        dask.dataframe.DataFrame
            Column `id`, then `part` and the features.

        Examples
        --------
        >>> parts.nodes["user"].frame("age", part=True).groupby("part").age.mean().compute().round(1)
        part
        0    47.5
        1    50.4
        2    49.0
        3    48.7
        Name: age, dtype: float64
        """
        originals = self.original_ids if original else None
        return typed_node_frame(self.parts[0].book, self.name, originals, self._columns(features, part))


class EdgeView(TypeView):
    """Edges of one canonical type in all parts."""

    kind = "edge"

    def frame(self, features: Sequence[str] | str = (), *, part: bool = False, original: bool = False) -> Any:
        """Return all edges of the type as a dask DataFrame.

        Parameters
        ----------
        features : sequence of str or str
            Scalar features to add as columns.
        part : bool
            Add the column `part`: the part that owns the edge.
        original : bool
            Use original type-wise IDs, also for edges, not new ones.

        Returns
        -------
        dask.dataframe.DataFrame
            Columns `src` and `dst`, `eid` if `original`, then `part` and the features.

        Examples
        --------
        >>> parts.edges["buys"].frame("price", original=True).head(3)
           src  dst  eid  price
        0  175  156    8   0.29
        1  649  108   10   0.28
        2  606  108   13   1.00
        """
        maps = None
        if original:
            src, _, dst = self.name.split(":")
            src_ids, dst_ids = (NodeView(ntype, self.parts).original_ids for ntype in (src, dst))
            maps = src_ids, dst_ids, self.original_ids
        graphs, columns = [part.graph for part in self.parts], self._columns(features, part)
        return typed_edge_frame(graphs, self.parts[0].book, self.name, maps, columns)
