"""Describe a graph: types, counts and dtypes. No paths and no I/O.

The order of `GraphSchema.node_types` and `GraphSchema.edge_types` fixes the type IDs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

import ml_dtypes
import numpy as np

from daskgraphpart.errors import GraphPartError, MetadataError, OptionError, choose_from
from daskgraphpart.public import Public

DEFAULT_NTYPE, DEFAULT_ETYPE = "_N", "_N:_E:_N"
"""Types of a homogeneous graph, as DGL names them."""

FORBIDDEN_IN_NAMES = ("/", ":", "~", "\0")
"""DGL joins type and feature names with these characters in keys, file names and shared-memory names."""

LONGEST_NAME = 200
"""Bytes of a name, which becomes part of file names; file systems take 255."""

STORED_DTYPES = ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
"""Dtypes of node and edge data that DGL can load; bool is stored as uint8."""

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
"""The upper half of a float32, which numpy has no dtype of its own for; its kind is ``"V"``."""

EDGE_WEIGHT = "a number above 0, and finite"
"""What a weight of edges must be."""

EdgeTypeName: TypeAlias = str | tuple[str, str, str]
"""An edge type: canonical, as a tuple or as ``src:rel:dst``, or a relation that no two edge types share."""

MASK_NAME = re.compile(r"(train|val|valid|validation|test)_?mask")
LABEL_NAMES = ("label", "labels", "y")


def marks_training(name: str) -> bool:
    """Whether a feature of this name marks the nodes that training starts from."""
    return MASK_NAME.match(name) is not None and name.startswith("train")


def is_fetched(name: str) -> bool:
    """Whether trainers need a feature of sampled neighbours: of all but masks and labels."""
    return name not in LABEL_NAMES and not MASK_NAME.match(name)


@dataclass(frozen=True, slots=True)
class DataSpec(Public):
    """One feature of one node or edge type."""

    name: str  # name of the feature
    dtype: np.dtype  # dtype of the input, one of `STORED_DTYPES`
    row_shape: tuple[int, ...] = ()  # shape of one row: ``()`` for scalars, ``(50,)`` for vectors

    def __post_init__(self) -> None:
        check_name(self.name, "feature name")
        if self.dtype.name not in STORED_DTYPES:
            raise MetadataError(
                f"feature {self.name!r} has a dtype DGL cannot load",
                expected=f"one of {', '.join(STORED_DTYPES)}",
                found=self.dtype.name,
                hint="convert the feature first",
            )

    @property
    def stored_dtype(self) -> np.dtype:
        """Little-endian output dtype; bool becomes uint8, as in DGL."""
        if self.dtype == BFLOAT16 and 0 in self.row_shape:
            return np.dtype("<f4")
        return np.dtype(np.uint8) if self.dtype == np.bool_ else self.dtype.newbyteorder("<")

    @property
    def row_nbytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.row_shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def is_mask(self) -> bool:
        """Whether the feature is a mask: a scalar bool, uint8 or int8 with a name like ``train_mask``."""
        is_flag = self.row_shape == () and self.dtype.name in ("bool", "uint8", "int8")
        return is_flag and MASK_NAME.match(self.name) is not None


@dataclass(frozen=True, slots=True)
class NodeType(Public):
    """A node type: name, number of nodes, features."""

    name: str  # name of the type
    num_nodes: int  # number of nodes
    data: tuple[DataSpec, ...] = ()  # features

    def __post_init__(self) -> None:
        check_name(self.name, "node type")
        _check_unique((spec.name for spec in self.data), f"feature of node type {self.name!r}")

    @property
    def num_rows(self) -> int:
        """Number of nodes."""
        return self.num_nodes


@dataclass(frozen=True, slots=True)
class EdgeType(Public):
    """An edge type: source type, relation, destination type, number of edges, features."""

    src: str  # source type
    rel: str  # relation
    dst: str  # destination type
    num_edges: int  # number of edges
    data: tuple[DataSpec, ...] = ()  # features
    name: str = field(init=False, repr=False, compare=False)  # canonical name ``src:rel:dst``

    def __post_init__(self) -> None:
        for part in (self.src, self.rel, self.dst):
            check_name(part, "part of an edge type")
        object.__setattr__(self, "name", f"{self.src}:{self.rel}:{self.dst}")
        _check_unique((spec.name for spec in self.data), f"feature of edge type {self.name!r}")

    @property
    def num_rows(self) -> int:
        """Number of edges."""
        return self.num_edges


RowType: TypeAlias = NodeType | EdgeType
"""Nodes and edges are both rows of a type once they have owners."""


@dataclass(frozen=True, slots=True)
class GraphSchema(Public):
    """Name, node types and edge types of a graph.

    Raises
    ------
    MetadataError
        If names repeat, or an edge type names an unknown node type.
    """

    name: str  # name of the graph
    node_types: tuple[NodeType, ...]  # node types, in the order of type IDs
    edge_types: tuple[EdgeType, ...]  # edge types, likewise
    # looked up often: graphs can have thousands of types
    ntype_ids: Mapping[str, int] = field(init=False, repr=False, compare=False)  # ID of each node type
    etype_ids: Mapping[str, int] = field(init=False, repr=False, compare=False)  # ID of each edge type
    edge_starts: np.ndarray = field(init=False, repr=False, compare=False)  # first homogeneous ID of each edge type
    num_nodes: int = field(init=False, repr=False, compare=False)  # number of nodes of all types
    num_edges: int = field(init=False, repr=False, compare=False)  # number of edges of all types

    def __post_init__(self) -> None:
        check_name(self.name, "graph name")
        for what, attribute, types in (
            ("node type", "ntype_ids", self.node_types),
            ("edge type", "etype_ids", self.edge_types),
        ):
            names = [of_type.name for of_type in types]
            _check_unique(names, what)
            object.__setattr__(self, attribute, {name: number for number, name in enumerate(names)})
        starts = np.cumsum([0, *(of_type.num_edges for of_type in self.edge_types)], dtype=np.int64)
        object.__setattr__(self, "edge_starts", starts)
        object.__setattr__(self, "num_nodes", sum(of_type.num_nodes for of_type in self.node_types))
        object.__setattr__(self, "num_edges", sum(of_type.num_edges for of_type in self.edge_types))
        for edge_type in self.edge_types:
            for end in (edge_type.src, edge_type.dst):
                if end not in self.ntype_ids:
                    raise MetadataError(
                        f"edge type {edge_type.name!r} names an unknown node type",
                        expected=f"one of {', '.join(self.ntypes)}",
                        found=end,
                    )

    @property
    def ntypes(self) -> tuple[str, ...]:
        """Names of the node types, in ID order."""
        return tuple(self.ntype_ids)

    @property
    def etypes(self) -> tuple[str, ...]:
        """Canonical names of the edge types, in ID order."""
        return tuple(self.etype_ids)

    @property
    def row_types(self) -> tuple[RowType, ...]:
        """All node types, then all edge types."""
        return (*self.node_types, *self.edge_types)

    @property
    def is_heterogeneous(self) -> bool:
        """Whether there is more than one node or edge type."""
        return len(self.node_types) > 1 or len(self.edge_types) > 1

    @property
    def homo_starts(self) -> tuple[int, ...]:
        """First original homogeneous ID of each node type, then the number of all nodes."""
        return tuple(accumulate((t.num_nodes for t in self.node_types), initial=0))

    @property
    def bfloat16_features(self) -> list[str]:
        """Names of bfloat16 features, as ``type/feature``."""
        return [f"{t.name}/{spec.name}" for t in self.row_types for spec in t.data if spec.dtype == BFLOAT16]

    @property
    def masks(self) -> tuple[str, ...]:
        """Names of node masks, as ``type/feature``."""
        return tuple(f"{t.name}/{spec.name}" for t in self.node_types for spec in t.data if spec.is_mask)

    def node_type(self, name: str) -> NodeType:
        """Return the node type of this name."""
        return self.node_types[self.ntype_ids[name]]

    def edge_type(self, name: str) -> EdgeType:
        """Return the edge type of this canonical name."""
        return self.edge_types[self.etype_ids[name]]


def find_feature(types: Sequence[RowType], where: str, place: str, purpose: str, kinds: str) -> tuple[str, DataSpec]:
    """Find ``TYPE/FEATURE``, with one number per row of these kinds of dtype."""
    row = "edge" if isinstance(types[0] if types else None, EdgeType) else "node"
    name, _, feature = where.rpartition("/")
    name = types[0].name if not name and len(types) == 1 else name
    specs = {(t.name, spec.name): spec for t in types for spec in t.data}
    spec = specs.get((name, feature))
    if spec is None:
        if not specs:
            raise OptionError(f"this graph has no {row} features, so {place} cannot be used", place=place)
        hint = choose_from(["/".join(names) for names in specs], where)
        raise OptionError(f"unknown {row} feature {where!r}", place=place, hint=hint)
    if spec.dtype.kind not in kinds or np.prod(spec.row_shape) != 1:
        kind = f"{spec.dtype} of row shape {spec.row_shape}"
        expected = f"one {'number' if 'f' in kinds else 'integer or boolean'} per {row}"
        raise OptionError(f"feature {where!r} cannot {purpose}", place=place, expected=expected, found=kind)
    return name, spec


def parse_edge_type(name: str, num_edges: int, data: tuple[DataSpec, ...] = ()) -> EdgeType:
    """Make an edge type from its canonical name."""
    parts = name.split(":")
    if len(parts) != 3:
        raise MetadataError(f"{name[:80]!r} is no edge type", expected="src:relation:dst")
    return EdgeType(parts[0], parts[1], parts[2], num_edges, data)


def plain_name(name: str) -> str:
    """Return a name as DGL's files can hold it: ``since:int`` is ``since.int``, ``~label`` is ``label``."""
    if not set(name) & set(FORBIDDEN_IN_NAMES):
        return name
    return name.translate(dict.fromkeys(map(ord, FORBIDDEN_IN_NAMES), ".")).strip(".")


def by_plain_name(names: Iterable[str], what: str) -> dict[str, str]:
    """Return names by their plain ones; refuse two that become one."""
    named: dict[str, str] = {}
    for name in names:
        if (other := named.setdefault(plain_name(name), name)) != name:
            shown = f"{other!r} and {name!r}"
            hint = "rename one of them in the input"
            raise OptionError(f"two {what} get the name {plain_name(name)!r}", found=shown, hint=hint)
    return named


def check_name(
    name: str,
    what: str,
    error: type[GraphPartError] = MetadataError,
    *,
    file: str | None = None,
    place: str | None = None,
) -> None:
    """Check that DGL's files can hold a name."""
    encoded = str(name).encode(errors="replace")  # keys of a user's dictionary can be anything
    if not 0 < len(encoded) <= LONGEST_NAME or encoded.decode() != name or set(name) & set(FORBIDDEN_IN_NAMES):
        plain = plain_name(str(name))
        raise error(
            f"{what} {str(name)[:40]!r} cannot be used in DGL's files",
            file=file,
            place=place,
            expected=f"UTF-8 text of 1 to {LONGEST_NAME} bytes without '/', ':', '~' or NUL",
            hint="rename it" if plain in ("", name) else f"call it {plain!r}",
        )


def _check_unique(names: Iterable[str], what: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise MetadataError(f"{what} {name!r} is given twice", hint="remove one")


def canonical_tuple(etype: str) -> tuple[str, str, str]:
    """Split ``src:rel:dst`` into DGL's tuple."""
    src, rel, dst = etype.split(":")
    return src, rel, dst
