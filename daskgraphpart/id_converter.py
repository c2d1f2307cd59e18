"""IDs of the input graph: type-wise to homogeneous and back.

The `IDConverter` of DGL's user guide (section 7.5), for arrays of IDs. The guide's sketch looks types up with
``bisect_left``, which takes the first ID of a type for the last of the one before; here a type begins at its first ID.
Not to be confused with the partition book, which knows new IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import IdOutOfRangeError, as_ids, check_ids, like

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema


@dataclass(frozen=True, slots=True, repr=False)
class IdConverter:
    """Converts original IDs between the heterogeneous graph and its homogeneous form.

    Parameters
    ----------
    schema : GraphSchema
        Types and counts; `read_chunked(path).schema`, or that of a `PartitionedGraph`.

    Examples
    --------
    >>> from daskgraphpart.schema import GraphSchema, NodeType
    >>> converter = IdConverter(GraphSchema("g", (NodeType("author", 3), NodeType("paper", 2)), ()))
    >>> converter.nid_het2hom("paper", [0, 1]).tolist()
    [3, 4]
    >>> converter.nid_hom2het(3)
    ('paper', 0)
    """

    schema: GraphSchema

    def __repr__(self) -> str:
        types = f"{len(self.schema.ntypes)} node types, {len(self.schema.etypes)} edge types"
        return f"<IdConverter {self.schema.name}: {types}>"

    def ntype2id(self, ntype: str) -> int:
        """Number of a node type."""
        return _number(self.schema.ntypes, ntype, "node")

    def etype2id(self, etype: str) -> int:
        """Number of a canonical edge type."""
        return _number(self.schema.etypes, etype, "edge")

    def id2ntype(self, number: int) -> str:
        """Node type of that number."""
        return _name(self.schema.ntypes, number, "node")

    def id2etype(self, number: int) -> str:
        """Canonical edge type of that number."""
        return _name(self.schema.etypes, number, "edge")

    def nid_het2hom(self, ntype: str, ids: Any) -> Any:
        """Homogeneous IDs of type-wise node IDs.

        Parameters
        ----------
        ntype : str
            Node type.
        ids : int, int array or int tensor
            IDs in ``[0, number of nodes of the type)``.

        Returns
        -------
        int, int64 array or int64 tensor
            As `ids`.

        Raises
        ------
        IdOutOfRangeError
            If there is no such type, or an ID is out of range.
        """
        return _to_homogeneous([t.num_nodes for t in self.schema.node_types], self.ntype2id(ntype), ids, "node")

    def eid_het2hom(self, etype: str, ids: Any) -> Any:
        """Homogeneous IDs of type-wise edge IDs; as `nid_het2hom`."""
        return _to_homogeneous([t.num_edges for t in self.schema.edge_types], self.etype2id(etype), ids, "edge")

    def nid_hom2het(self, ids: Any) -> tuple[Any, Any]:
        """Node types and type-wise IDs of homogeneous node IDs.

        Parameters
        ----------
        ids : int, int array or int tensor
            IDs in ``[0, number of nodes)``.

        Returns
        -------
        tuple
            Of one ID: name of its type and type-wise ID, as in DGL's guide. Of an array: numbers of the types and
            type-wise IDs, two int64 arrays (tensors, if a tensor was given).

        Raises
        ------
        IdOutOfRangeError
            If an ID is out of range.
        """
        return _to_typed([t.num_nodes for t in self.schema.node_types], self.schema.ntypes, ids, "node")

    def eid_hom2het(self, ids: Any) -> tuple[Any, Any]:
        """Edge types and type-wise IDs of homogeneous edge IDs; as `nid_hom2het`."""
        return _to_typed([t.num_edges for t in self.schema.edge_types], self.schema.etypes, ids, "edge")


def _number(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise IdOutOfRangeError(f"no such {what} type", expected=f"one of {', '.join(names)}", found=name)
    return names.index(name)


def _name(names: tuple[str, ...], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise IdOutOfRangeError(f"no such {what} type", expected=f"0 to {len(names) - 1}", found=number)
    return names[number]


def _to_homogeneous(counts: list[int], type_id: int, given: Any, what: str) -> Any:
    ids = as_ids(given)
    check_ids(ids, counts[type_id], what)
    homogeneous = ids.astype(np.int64) + sum(counts[:type_id])
    return int(homogeneous) if _is_one(given) else like(homogeneous, given)


def _to_typed(counts: list[int], names: tuple[str, ...], given: Any, what: str) -> tuple[Any, Any]:
    ids = as_ids(given)
    ends = np.cumsum(np.array(counts, np.int64))
    check_ids(ids, int(ends[-1]) if counts else 0, what)
    types = np.searchsorted(ends, ids, side="right")  # types without nodes end where they begin, and hold none
    typed = ids - (ends - counts)[types] if counts else ids
    if _is_one(given):
        return names[int(types)], int(typed)
    return like(types, given), like(typed, given)


def _is_one(given: Any) -> bool:
    return isinstance(given, (int, np.integer))
