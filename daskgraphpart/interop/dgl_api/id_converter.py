"""Convert original IDs between type-wise and homogeneous.

This is `IDConverter` of DGL's user guide (section 7.5), for arrays, without the guide's error at the first ID of a
type. The partition book converts new IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.ids.ranges import IdRanges, type_id
from daskgraphpart.public import Public
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema


@dataclass(frozen=True, slots=True, repr=False)
class IdConverter(Public):
    """Convert original IDs between the heterogeneous graph and its homogeneous form.

    Parameters
    ----------
    schema : GraphSchema
        Types and counts: `read_chunked(path).schema`, or the schema of a `PartitionedGraph`.

    Examples
    --------
    >>> converter = dgp.IdConverter(parts.schema)
    >>> converter.nid_het2hom("item", [0, 1])
    array([1000, 1001])
    >>> converter.nid_hom2het(1001)
    ('item', 1)
    """

    schema: GraphSchema

    def __repr__(self) -> str:
        types = (len(self.schema.ntypes), "node type"), (len(self.schema.etypes), "edge type")
        return f"<IdConverter {self.schema.name}: {', '.join(format_number(*of) for of in types)}>"

    def ntype2id(self, ntype: str) -> int:
        """Return the type ID of a node type."""
        return type_id(self.schema.ntypes, ntype, "node")

    def etype2id(self, etype: str) -> int:
        """Return the type ID of a canonical edge type."""
        return type_id(self.schema.etypes, etype, "edge")

    def id2ntype(self, number: int) -> str:
        """Return the node type with this type ID."""
        return _name(self._book.nodes, number)

    def id2etype(self, number: int) -> str:
        """Return the canonical edge type with this type ID."""
        return _name(self._book.edges, number)

    def nid_het2hom(self, ntype: str, ids: Any) -> Any:
        """Convert type-wise node IDs to homogeneous IDs.

        Parameters
        ----------
        ntype : str
            Node type.
        ids : int, int array or int tensor
            IDs in ``[0, number of nodes of the type)``.

        Returns
        -------
        int, int64 array or int64 tensor
            Homogeneous IDs, in the form of `ids`.

        Raises
        ------
        IdOutOfRangeError
            If the type does not exist, or an ID is out of range.
        """
        return self._book.nodes.homogeneous(ids, ntype)

    def eid_het2hom(self, etype: str, ids: Any) -> Any:
        """Convert type-wise edge IDs to homogeneous IDs, as in `nid_het2hom`."""
        return self._book.edges.homogeneous(ids, etype)

    def nid_hom2het(self, ids: Any) -> tuple[Any, Any]:
        """Convert homogeneous node IDs to node types and type-wise IDs.

        Parameters
        ----------
        ids : int, int array or int tensor
            IDs in ``[0, number of nodes)``.

        Returns
        -------
        tuple
            For one ID: name of its type and type-wise ID, as in DGL's guide. For an array: type IDs and type-wise IDs,
            two int64 arrays (tensors if you pass a tensor).

        Raises
        ------
        IdOutOfRangeError
            If an ID is out of range.
        """
        return _typed(self._book.nodes, ids)

    def eid_hom2het(self, ids: Any) -> tuple[Any, Any]:
        """Convert homogeneous edge IDs to edge types and type-wise IDs, as in `nid_hom2het`."""
        return _typed(self._book.edges, ids)

    @property
    def _book(self) -> PartitionBook:
        """A book of one part, in which new IDs are the original ones."""
        nodes, edges = ([[t.num_rows for t in of]] for of in (self.schema.node_types, self.schema.edge_types))
        counts = (np.array(rows, np.int64) for rows in (nodes, edges))
        return PartitionBook.from_counts(self.schema.ntypes, self.schema.etypes, *counts)


def _name(of: IdRanges, number: int) -> str:
    if not 0 <= number < len(of.names):
        raise IdOutOfRangeError(f"no such {of.what} type", expected=f"0 to {len(of.names) - 1}", found=number)
    return of.names[number]


def _typed(of: IdRanges, ids: Any) -> tuple[Any, Any]:
    types, typed = of.per_type(ids)
    return (of.names[types], typed) if isinstance(types, int) else (types, typed)
