"""Options of the assignment: everything that changes who owns what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.assignment.balance import DEFAULT_BALANCE
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.schema import GraphSchema

METHODS = ("auto", "kaminpar", "metis", "multilevel", "fennel", "random")
"""Partitioners by name; anything else is the directory of an assignment."""


@dataclass(frozen=True, slots=True)
class AssignOptions:
    """How nodes are assigned to parts; `assign`, `partition`, `plan` and `compare` take it as `method`.

    Parameters
    ----------
    method : str
        One of `METHODS`, or a directory of owners.
    balance : str or sequence of str, optional
        What has to be balanced, see `daskgraphpart.assignment.balance`. None means nodes and edges; for random owners
        and owners from files it means that balance is only reported.
    imbalance : float
        How much larger than the average a part may be.
    seed : int
        Seed.
    refine : bool
        Whether the result, or the owners that are given, are improved by V-cycles.
    threads : int, optional
        Of KaMinPar on large graphs. With several its result varies from run to run; 1 makes it repeatable. Default:
        one on graphs of up to ten million edges, else one per worker.
    passes : int, optional
        How often Fennel reads the graph. Default: three times.
    objtype : str
        Of METIS: ``"cut"`` or ``"vol"``, the communication volume.
    recursive : bool
        Of METIS: recursive bisection instead of k-way.
    fill_parts : bool
        Give every part at least one node of each type that has enough of them.
    num_trainers_per_machine : int
        As in DGL: every part is made of so many smaller ones, whose number becomes the feature ``trainer_id`` of nodes
        and edges.
    """

    method: str = "auto"
    balance: str | Sequence[str] | None = None
    imbalance: float = 0.03
    seed: int = 0
    refine: bool = False
    threads: int | None = None
    passes: int | None = None
    objtype: str = "cut"
    recursive: bool = False
    fill_parts: bool = False
    num_trainers_per_machine: int = 1

    def __post_init__(self) -> None:
        if self.balance is not None and not isinstance(self.balance, str):
            object.__setattr__(self, "balance", tuple(self.balance))
        if self.objtype not in ("cut", "vol"):
            raise OptionError("unknown objective", place="--objtype", expected="cut or vol", found=self.objtype)
        if self.recursive and self.objtype == "vol":
            raise OptionError(
                "METIS minimises the communication volume with k-way only",
                place="--recursive --objtype vol",
                hint="leave one of them out",
            )
        for name in ("passes", "num_trainers_per_machine", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError("must be positive", place=f"--{name.replace('_', '-')}", found=value)
        if not 0 <= self.seed < 2**31:
            raise OptionError("impossible seed", place="--seed", expected="0 to 2147483647", found=self.seed)

    def check_fits(self, schema: GraphSchema, num_parts: int) -> None:
        """Refuse more parts than nodes, unless owners are random."""
        total = num_parts * self.num_trainers_per_machine
        if total > schema.num_nodes and self.method != "random":
            raise OptionError(
                "more parts than nodes",
                place="--num-parts",
                expected=f"at most {schema.num_nodes:,}",
                found=f"{total:,}",
            )

    @property
    def needs_adjacency(self) -> bool:
        """Whether owners cannot be had without reading the edges."""
        return self.method in METHODS[:-1] or self.refine or self.balance is not None

    @property
    def wanted_balance(self) -> str | Sequence[str]:
        """What is balanced, or at least reported."""
        return DEFAULT_BALANCE if self.balance is None else self.balance


def as_options(method: str | AssignOptions) -> AssignOptions:
    """Options of a method that is given by its name, or by all of them."""
    return method if isinstance(method, AssignOptions) else AssignOptions(str(method))
