"""What to balance: constraints, their tolerances, and the limits that follow.

A constraint gives every node a weight; the parts' sums of weights should be alike. The command line names them:

- ``nodes``: every node weighs 1.
- ``ntypes``: a constraint per node type, as DGL's ``balance_ntypes``.
- ``edges``: in-degree, because an edge belongs to the owner of its destination; as DGL's ``balance_edges``.
- ``edges-by-ntype``: in-degree, a constraint per node type.
- ``bytes``: bytes of features: the node's own, plus the average of its type's in-edges for each in-edge.
- ``types:NTYPE/FEATURE``: a constraint per non-zero value of an integer or boolean node feature, such as a train mask.
- ``weight:NTYPE/FEATURE``: the values of an integer node feature.
- ``seeds``: a seed of training weighs 1; a part may always have one more than the average, rounded up.
- ``work``: in-edges that training is expected to sample at the node.
- ``file:PATH``: weights of all nodes from an npy file, int (nodes,) or (nodes, constraints), homogeneous order.

Each may have a tolerance, ``edges=0.05``. The default is 0.03; for edges and bytes 0.10, because few nodes hold many
edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError, choose_from
from daskgraphpart.schema import find_feature
from daskgraphpart.storage.region import Region, open_npy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.schema import DataSpec, GraphSchema

DEFAULT_BALANCE = "nodes,edges"
TRAINING_BALANCE = "nodes=0.1,work=0.05,seeds=0.03"
TOLERANCE, EDGE_TOLERANCE = 0.03, 0.10
MAX_TOLERANCE = 1_000


@dataclass(frozen=True, slots=True)
class BalanceConstraint:
    """One item of a balance: its name, as given, and its tolerance."""

    name: str
    tolerance: float

    def check(self, graph: Graph | None) -> None:
        """Check that it fits a graph; None: what can be checked without one."""


@dataclass(frozen=True, slots=True)
class ByCount(BalanceConstraint):
    """Nodes, together or by type."""

    by_type: bool


@dataclass(frozen=True, slots=True)
class ByEdges(BalanceConstraint):
    """In-edges, together or by the type of their destination."""

    by_type: bool


@dataclass(frozen=True, slots=True)
class ByBytes(BalanceConstraint):
    """Bytes of features."""


@dataclass(frozen=True, slots=True)
class ByFeature(BalanceConstraint):
    """A node feature ``NTYPE/FEATURE``: its values are weights, or each is a constraint."""

    feature: str
    by_value: bool

    def check(self, graph: Graph | None) -> None:
        if graph is not None:
            self.find(graph)

    def find(self, graph: Graph) -> tuple[str, DataSpec]:
        """Find the feature; codes of strings have values to balance, but no weight."""
        ntype, spec = feature_of(graph.schema, self.feature, f"--balance {self.name}")
        if not self.by_value:
            graph.refuse_codes(ntype, spec.name, "--balance")
        return ntype, spec


def feature_of(schema: GraphSchema, where: str, place: str) -> tuple[str, DataSpec]:
    """Find ``NTYPE/FEATURE`` with one integer or boolean per node."""
    return find_feature(schema.node_types, where, place, "be balanced", "iub")


@dataclass(frozen=True, slots=True)
class ByTraining(BalanceConstraint):
    """What batches start from, or sample, by the fan-outs of training."""


@dataclass(frozen=True, slots=True)
class ByFile(BalanceConstraint):
    """Weights in a file."""

    path: str

    def check(self, graph: Graph | None) -> None:
        self.open(None if graph is None else graph.schema.num_nodes)

    def open(self, num_nodes: int | None) -> Region:
        """Open the file; refuse it unless it has integers for so many nodes."""
        region = open_npy(self.path)
        if num_nodes is None:
            return region
        if region.num_rows != num_nodes or len(region.shape) > 2 or region.dtype.kind not in "iub":
            raise OptionError(
                "node weights do not fit the graph",
                file=self.path,
                expected=f"integers of shape ({num_nodes},) or ({num_nodes}, constraints)",
                found=f"{region.dtype} of shape {region.shape}",
            )
        return region


ITEMS: Mapping[str, Callable[[str, float, str], BalanceConstraint]] = {
    "nodes": lambda name, tolerance, _: ByCount(name, tolerance, by_type=False),
    "ntypes": lambda name, tolerance, _: ByCount(name, tolerance, by_type=True),
    "edges": lambda name, tolerance, _: ByEdges(name, tolerance, by_type=False),
    "edges-by-ntype": lambda name, tolerance, _: ByEdges(name, tolerance, by_type=True),
    "bytes": lambda name, tolerance, _: ByBytes(name, tolerance),
    "seeds": lambda name, tolerance, _: ByTraining(name, tolerance),
    "work": lambda name, tolerance, _: ByTraining(name, tolerance),
    "types:": lambda name, tolerance, of: ByFeature(name, tolerance, of, by_value=True),
    "weight:": lambda name, tolerance, of: ByFeature(name, tolerance, of, by_value=False),
    "file:": lambda name, tolerance, of: ByFile(name, tolerance, of),
}
"""What makes a constraint of a name, its tolerance, and what is behind a colon."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One column of node weights."""

    name: str  # for reports: ``nodes``, ``nodes of paper``, ``edges``
    tolerance: float  # excess over the average that a part may have; 0.03 is 3 %
    total: int  # sum of all weights, and the largest weight
    largest: int
    heaviest: str  # the node of the largest weight, for messages

    def warn_of_node(self, num_parts: int) -> str:
        """Say that one node weighs more than a part may; nothing if none does."""
        average = max(self.total / num_parts, 1e-9)
        if self.largest <= max(math.floor((1 + self.tolerance) * average), -(-self.total // num_parts)):
            return ""
        return (
            f"{self.name}: {self.heaviest} alone weighs {self.largest / average:.2f} times an average part, "
            f"so no assignment can keep the limit of {1 + self.tolerance:.2f}"
        )

    def limit(self, num_parts: int) -> int:
        """Most that a part may weigh.

        That is (1 + tolerance) times the average, but at least the average rounded up, or the heaviest node.
        """
        return max(math.floor((1 + self.tolerance) * self.total / num_parts), -(-self.total // num_parts), self.largest)


def parse_balance(balance: str | Sequence[str]) -> tuple[BalanceConstraint, ...]:
    """Read a balance such as ``"nodes,edges=0.05"``."""
    items = balance.split(",") if isinstance(balance, str) else list(balance)
    wanted = [_parse(item.strip()) for item in items if item.strip()]
    names = [item.name for item in wanted]
    if not names:
        raise OptionError("--balance is empty", option="balance", hint=choose_from(ITEMS))
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"--balance names {name!r} twice", option="balance", hint="remove one")
    return tuple(wanted)


def _parse(item: str) -> BalanceConstraint:
    name, sign, number = item.rpartition("=")
    if not sign:
        name, number = item, ""
    kind, colon, of = name.partition(":")
    make = ITEMS.get(f"{kind}{colon}")
    if make is None or (colon and not of):
        raise OptionError(f"unknown item {name!r} in --balance", option="balance", hint=choose_from(ITEMS, name))
    constraint = make(name, TOLERANCE, of)
    if not sign:
        is_loose = isinstance(constraint, (ByEdges, ByBytes))
        return replace(constraint, tolerance=EDGE_TOLERANCE) if is_loose else constraint
    try:
        tolerance = float(number)
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance <= MAX_TOLERANCE:
        raise OptionError(
            f"tolerance {number!r} of {name!r} in --balance is out of range",
            option="balance",
            hint=f"use 0 to {MAX_TOLERANCE:,}, such as {name}=0.05",
        )
    return replace(constraint, tolerance=tolerance)
