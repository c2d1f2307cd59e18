"""Options of the assignment: everything that changes who owns what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.assignment.balance import DEFAULT_BALANCE
from daskgraphpart.errors import OptionError
from daskgraphpart.options import check_options, documented, option
from daskgraphpart.units import parse_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.schema import GraphSchema

METHODS = ("auto", "kaminpar", "metis", "multilevel", "fennel", "random")
"""Partitioners by name; anything else is the directory of an assignment."""


@documented
@dataclass(frozen=True, slots=True)
class AssignOptions:
    """How nodes are assigned to parts; `assign`, `partition`, `plan` and `compare` take it as `method`."""

    method: str = option(
        "auto",
        "Partitioner, or a directory of owners; auto takes the best cut that fits into the memory.",
        choices=METHODS,
        values=f"{'|'.join(METHODS)}|DIR",
    )
    balance: str | Sequence[str] | None = option(
        None,
        "What is balanced: nodes, ntypes, edges, edges-by-ntype, bytes, types:NTYPE/FEATURE, weight:NTYPE/FEATURE, "
        "file:PATH.npy, each with a tolerance if need be (edges=0.05). Default: nodes,edges; of random owners and of "
        "a directory of owners balance is only reported.",
        values="ITEM,...",
    )
    imbalance: float = option(0.03, "How much larger than the average a part may be.")
    seed: int = option(0, "Seed of the partitioner.", minimum=0)
    refine: bool = option(False, "Improve the result, or the owners that are given, by V-cycles.")
    threads: int | None = option(
        None,
        "Threads of KaMinPar on large graphs. With several its result varies from run to run; 1 makes it repeatable. "
        "Default: 1 on graphs of up to ten million edges, else one per worker.",
        minimum=1,
    )
    passes: int | None = option(None, "Passes of fennel over the graph; default 3.", minimum=1)
    objtype: str = option(
        "cut", "What METIS minimises: cut edges, or the communication volume.", choices=("cut", "vol")
    )
    recursive: bool = option(False, "METIS by recursive bisection instead of k-way.")
    fill_parts: bool = option(False, "Give every part a node of each type that has enough of them.")
    num_trainers_per_machine: int = option(
        1,
        "Smaller parts that every part is made of, as in DGL; their number becomes the feature trainer_id of nodes "
        "and edges.",
        minimum=1,
    )
    effort: str = option(
        "default",
        "How much time a small cut may take: fast is one library, or streams large graphs, default METIS and KaMinPar "
        "combined by a V-cycle, high several seeds of both and V-cycles while they gain.",
        choices=("fast", "default", "high"),
    )

    edge_weight: str | Sequence[str] = option(
        (),
        "Feature of edges that is their weight in the cut, for one edge type; may be repeated. Numbers above 0, of "
        "which 20 binary digits count. Edges of other types weigh 1.",
        values="ETYPE/FEATURE",
    )

    extend: str | None = option(
        None,
        "Owners of an earlier state of the graph, or its partitions in DGL's layout, in as many parts. Its nodes stay "
        "where they are, and new ones are assigned beside them. They are found by original ID if both graphs have maps "
        "of IDs; without maps they are the first of each type.",
        values="OLD_DIR",
    )
    old_id_map: str | None = option(
        None,
        "The graph that OLD_DIR has the owners of, or its directory id_map. Default: where it was.",
        values="OLD_GRAPH",
    )
    may_move: str | float = option(
        "0%", "Share of the old nodes that may move where a graph is extended.", values="SHARE"
    )

    def __post_init__(self) -> None:
        names = (self.edge_weight,) if isinstance(self.edge_weight, str) else tuple(self.edge_weight)
        object.__setattr__(self, "edge_weight", names)
        if self.balance is not None and not isinstance(self.balance, str):
            object.__setattr__(self, "balance", tuple(self.balance))
        check_options(self)
        if self.recursive and self.objtype == "vol":
            raise OptionError(
                "METIS minimises the communication volume with k-way only",
                place="--recursive --objtype vol",
                hint="leave one of them out",
            )
        object.__setattr__(self, "may_move", parse_share(self.may_move, "--may-move"))
        self._check_extension()
        if self.edge_weight and self.objtype == "vol":
            what, place = "the communication volume knows no weights of edges", "--edge-weight --objtype vol"
            raise OptionError(what, place=place, hint="leave one of them out")
        if self.seed >= 2**31:
            raise OptionError("impossible seed", place="--seed", expected="0 to 2147483647", found=self.seed)

    def _check_extension(self) -> None:
        """Refuse options by which old nodes would move."""
        for place, is_given in (("--may-move", self.may_move), ("--old-id-map", self.old_id_map is not None)):
            if self.extend is None and is_given:
                raise OptionError("there are no old nodes", place=place, hint="give their owners by --extend")
        others = {
            f"--method {self.method}": self.method != "auto",
            "--refine": self.refine,
            "--fill-parts": self.fill_parts,
            "--num-trainers-per-machine": self.num_trainers_per_machine > 1,
        }
        for name in [name for name, is_given in others.items() if is_given and self.extend is not None]:
            raise OptionError(
                "old nodes would not stay where they are", place=f"--extend {name}", hint=f"leave out {name}"
            )

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
    def keeps_owners(self) -> bool:
        """Whether owners that are given stay as they are."""
        return not self.refine and self.balance is None and self.extend is None

    @property
    def runs_cycles(self) -> bool:
        """Whether V-cycles follow while they gain."""
        return self.refine or self.effort == "high"

    @property
    def wanted_balance(self) -> str | Sequence[str]:
        """What is balanced, or at least reported."""
        return DEFAULT_BALANCE if self.balance is None else self.balance


def as_options(method: str | AssignOptions) -> AssignOptions:
    """Options of a method that is given by its name, or by all of them."""
    return method if isinstance(method, AssignOptions) else AssignOptions(str(method))
