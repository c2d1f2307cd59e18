"""Nodes and edges of a type over all parts, as `dgl.distributed.DistGraph` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from daskgraphpart.errors import LayoutError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, eq=False, repr=False)
class TypeView:
    """Nodes or edges of one type in all parts."""

    name: str  # node type or canonical edge type
    parts: Sequence[Part]
    kind: ClassVar[str]  # "node" or "edge"

    def __len__(self) -> int:
        book = self.parts[0].book
        return book.part_range(book.num_parts - 1, self.name)[1]

    @property
    def data(self) -> Mapping[str, StoredRows]:
        """Features, whose rows are taken by new type-wise ID."""
        of_type = [part.rows(self.kind).features.get(self.name, {}) for part in self.parts]

        def stored(name: str) -> StoredRows:
            return StoredRows(f"{self.name}/{name}", [of_part[name] for of_part in of_type if name in of_part])

        names = tuple(dict.fromkeys(name for of_part in of_type for name in of_part))
        return LazyMapping(f"feature of {self.name}", names, stored)

    @property
    def original_ids(self) -> StoredRows:
        """Original type-wise IDs by new type-wise ID; a `LayoutError` if they were not saved."""
        if not self.original_regions:
            raise LayoutError(
                f"the original IDs of {self.name} were not saved",
                file=self.parts[0].directory,
                expected="orig_nids.dgl and orig_eids.dgl; DGL's dispatch_data writes them with --save-orig-nids",
            )
        return StoredRows(f"original IDs of {self.name}", self.original_regions)

    @property
    def original_regions(self) -> list[Region]:
        """Regions of the original IDs in the parts; none if they were not saved."""
        of_parts = [part.rows(self.kind).originals for part in self.parts]
        return [of_part[self.name] for of_part in of_parts if self.name in of_part]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self):,} {self.kind}s, data {list(self.data)}>"


class NodeView(TypeView):
    """Nodes of one type in all parts."""

    kind = "node"


class EdgeView(TypeView):
    """Edges of one canonical type in all parts."""

    kind = "edge"

    def frame(self, *, original: bool = False) -> Any:
        """All edges of the type as a dask DataFrame."""
        from daskgraphpart.partitioned.collections import typed_edge_frame

        maps = None
        if original:
            src, _, dst = self.name.split(":")
            src_ids, dst_ids = (NodeView(ntype, self.parts).original_ids for ntype in (src, dst))
            maps = src_ids, dst_ids, self.original_ids
        return typed_edge_frame([part.graph for part in self.parts], self.parts[0].book, self.name, maps)
