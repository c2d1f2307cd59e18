"""Options of the assignment: all that changes who owns what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.ids.fanouts import plain_fanouts, split_fanouts, texts_of_fanouts
from daskgraphpart.method import Method
from daskgraphpart.options import check_options, option, stated_options, take_members, words_of
from daskgraphpart.partitioner.balance import (
    DEFAULT_BALANCE,
    TRAINING_BALANCE,
    BalanceConstraint,
    ByTraining,
    parse_balance,
)
from daskgraphpart.registry import load_class, plugin_names
from daskgraphpart.schema import find_feature
from daskgraphpart.storage.paths import text_of_path
from daskgraphpart.units import format_number, parse_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.schema import DataSpec, GraphSchema

METHODS = ("auto", "kaminpar", "metis", "multilevel", "fennel", "random")
"""Our methods; anything else is one of another package, or the directory of an assignment."""
GUESTS = tuple(name for name in plugin_names("methods") if name not in METHODS)
"""Those of other packages."""


@dataclass(frozen=True, slots=True)
class AssignOptions:
    """How nodes are assigned to parts."""

    method: str | os.PathLike[str] = option(
        "auto",
        f"{', '.join(('auto, metis, kaminpar, multilevel, fennel, random', *GUESTS))}, or a directory of owners. "
        "auto picks by the number of edges.",
        choices=(*METHODS, *GUESTS),
        values="METHOD",
        common=True,
    )
    balance: str | Sequence[str] | None = option(
        None,
        "What to balance, such as nodes,edges=0.05; default nodes,edges. Any of nodes, ntypes, edges, edges-by-ntype, "
        "bytes, types:paper/train_mask (each class of a node feature), weight:paper/cost, file:weights.npy, and with "
        "fan-outs seeds and work. After =, how much more than the average a part may have: default 0.1 for edges and "
        "bytes, else 0.03. A random assignment and one from a directory are measured, not balanced.",
        values="ITEM,...",
        common=True,
    )
    seed: int = option(0, "Seed of the partitioner.", minimum=0, common=True)
    refine: bool = option(False, "Improve the result, or the given owners, by V-cycles.")
    threads: int | None = option(
        None,
        "Threads for KaMinPar, default 1. With more than one, the result differs from run to run.",
        minimum=1,
        kind=int,
    )
    passes: int | None = option(None, "Passes that fennel makes over the graph; default 3.", minimum=1, kind=int)
    objtype: str = option(
        "cut",
        "What to minimise. cut is the number of cut edges; fetch the rows that sampled training fetches from other "
        "parts, and needs fan-outs; vol, of METIS only, the communication volume.",
        choices=("cut", "vol", "fetch"),
    )
    fanouts: str | Sequence[int] | Sequence[str] | Mapping[str, Sequence[int]] = option(
        (),
        "Neighbours that training samples at each hop, such as 15,10, for the objective fetch; -1 samples all. Edge "
        "types may have their own, such as author:writes:paper=15,10.",
        values="[ETYPE=]N,N",
        common=True,
    )
    batch_size: int = option(1000, "Seeds of each batch of training.", minimum=1)
    seeds: str | None = option(
        None,
        "Where training starts: a mask of one type or of all that have it, such as paper/valid_mask, or all. Default: "
        "train_mask, or all nodes if there is none.",
        values="MASK",
    )
    training_options: Mapping[str, object] | None = option(
        None, "More on how training samples, by name.", members=("batch_size", "seeds")
    )
    recursive: bool = option(False, "Let METIS bisect recursively instead of k-way.")
    fill_parts: bool = option(False, "Give every part a node of each type that has enough of them.")
    num_trainers_per_machine: int = option(
        1,
        "Split every part again, one piece per trainer. As in DGL, the number of the piece becomes the feature "
        "trainer_id of nodes and edges.",
        minimum=1,
    )
    method_options: Mapping[str, object] | None = option(
        (),
        "More on how to assign, by name; a method of another package has its own.",
        values="NAME=VALUE",
        members=("threads", "passes", "recursive", "fill_parts", "num_trainers_per_machine"),
    )
    effort: str = option(
        "normal",
        "How hard to seek a small cut. low runs one library and refines less; normal combines METIS and KaMinPar "
        "by a V-cycle; high tries several seeds of both and repeats V-cycles while the cut shrinks.",
        choices=("low", "normal", "high"),
        common=True,
    )

    edge_weight: str | Sequence[str] = option(
        (),
        "Use an edge feature, such as paper:cites:paper/weight, as the weight of the cut; give one for each edge type, "
        "others weigh 1. Values must be positive; 20 binary digits of them count.",
        values="ETYPE/FEATURE",
    )

    extend: str | os.PathLike[str] | None = option(
        None,
        "Keep the owners of an earlier graph; place only new nodes. A directory of owners, or of partitions in DGL's "
        "layout, with as many parts. Nodes are matched by original ID if both graphs have ID maps; without, the "
        "first nodes of each type are the old ones.",
        values="OLD",
        common=True,
    )
    old_id_map: str | os.PathLike[str] | None = option(
        None,
        "The graph whose owners you extend, or its directory id_map. Default: where it was.",
        values="GRAPH",
    )
    extend_options: Mapping[str, object] | None = option(
        None, "More on how to extend, by name.", members=("old_id_map", "may_move")
    )
    may_move: str | float = option("0%", "Share of the old nodes that may move when you extend.", values="SHARE")

    constraints: tuple[BalanceConstraint, ...] = field(init=False, repr=False, compare=False)
    """What to balance, or at least report."""

    def __post_init__(self) -> None:
        kinds = [load_class("methods", str(self.method), Method)] if self.method_options and self.is_named else []
        take_members(self, "method_options", [name for kind in kinds for name in stated_options(kind)])
        for name in ("training_options", "extend_options"):
            take_members(self, name, ())
        for name in ("method", "extend", "old_id_map"):
            if (path := getattr(self, name)) is not None or name == "method":
                object.__setattr__(self, name, text_of_path(path, name))
        names = (self.edge_weight,) if isinstance(self.edge_weight, str) else words_of(self.edge_weight)
        object.__setattr__(self, "edge_weight", names)
        if self.balance is not None and not isinstance(self.balance, str):
            object.__setattr__(self, "balance", words_of(self.balance))
        check_options(self)
        default = TRAINING_BALANCE if self.objtype == "fetch" else DEFAULT_BALANCE
        wanted = default if self.balance is None else self.balance
        object.__setattr__(self, "constraints", parse_balance(wanted))
        self._check_exclusions()
        self._check_training()
        object.__setattr__(self, "may_move", parse_share(self.may_move, "--may-move"))
        self._check_extension()
        if self.seed >= 2**31:
            raise OptionError(f"--seed {self.seed} is too large", option="seed", hint="use at most 2147483647")

    def _check_exclusions(self) -> None:
        for option_name, is_given, objtype, why in (
            ("recursive", self.recursive, "vol", "recursive METIS does not minimise the volume"),
            ("edge_weight", self.edge_weight, "vol", "the communication volume has no edge weights"),
            ("edge_weight", self.edge_weight, "fetch", "fetched rows weigh the edges"),
        ):
            if is_given and self.objtype == objtype:
                what = f"--{option_name.replace('_', '-')} and --objtype {objtype} exclude each other: {why}"
                raise OptionError(what, option=option_name, hint="leave one of them out")

    def _check_training(self) -> None:
        object.__setattr__(self, "fanouts", plain_fanouts(self.fanouts))
        split_fanouts(self.fanouts)  # checks texts
        items = [item.name for item in self.constraints if isinstance(item, ByTraining)]
        what = "--objtype fetch" if self.objtype == "fetch" else f"--balance {items[0]}" if items else ""
        if what and not self.fanouts:
            hint = "add --fanouts with the neighbours that you sample at each hop, such as 15,10"
            raise OptionError(f"{what} needs the fan-outs of training", option="fanouts", hint=hint)
        if self.objtype != "fetch":
            return
        if self.counts_nodes:
            what = f"--method {self.method} looks at no edge, so --objtype fetch has no effect"
            hint = "choose another method"
            raise OptionError(what, option="objtype", hint=hint)
        if not self.is_named and not self.refine:
            what = f"the owners in {self.method} stay as they are, so --objtype fetch has no effect"
            raise OptionError(what, option="objtype", hint="add --refine, or leave it out")

    def _check_extension(self) -> None:
        for place, is_given in (("--may-move", self.may_move), ("--old-id-map", self.old_id_map is not None)):
            if self.extend is None and is_given:
                raise OptionError(f"{place} needs old partitions", place=place, hint="add --extend OLD")
        others = {
            f"--method {self.method}": self.method != "auto",
            "--refine": self.refine,
            "--fill-parts": self.fill_parts,
            "--num-trainers-per-machine": self.num_trainers_per_machine > 1,
        }
        for name in [name for name, is_given in others.items() if is_given and self.extend is not None]:
            what = f"{name} moves old nodes, and --extend keeps them where they are"
            raise OptionError(what, option="extend", hint=f"leave out {name}")

    def check_fits(self, schema: GraphSchema, num_parts: int) -> None:
        """Raise an error for more parts than nodes, unless owners are random."""
        total = num_parts * self.num_trainers_per_machine
        if total > schema.num_nodes and not self.counts_nodes:
            raise OptionError(
                f"--num-parts {total:,} is more than the graph's {format_number(schema.num_nodes, 'node')}",
                option="num_parts",
                hint=f"use at most {schema.num_nodes:,}" if schema.num_nodes else "check the input: it has no nodes",
            )

    @property
    def is_named(self) -> bool:
        """Whether the method is ours or of another package, rather than a directory."""
        return self.method in plugin_names("methods")

    @property
    def counts_nodes(self) -> bool:
        """Whether the method reads no edges, such as random."""
        return self.is_named and not load_class("methods", str(self.method), Method).reads_edges

    @property
    def needs_adjacency(self) -> bool:
        """Whether assigning reads the edges."""
        is_of_edges = self.is_named and not self.counts_nodes
        return is_of_edges or self.refine or self.balance is not None or bool(self.fanouts)

    @property
    def training(self) -> dict[str, Any]:
        """What is recorded of training, with the names of these options; nothing if its fan-outs are not known."""
        if not self.fanouts:
            return {}
        texts = texts_of_fanouts(self.fanouts)
        return {"objtype": self.objtype, "fanouts": texts, "batch_size": self.batch_size, "seeds": self.seeds}

    @property
    def has_weights(self) -> bool:
        """Whether edges have weights other than their number."""
        return bool(self.edge_weight) or self.objtype == "fetch"

    @property
    def keeps_owners(self) -> bool:
        """Whether given owners stay as they are."""
        return not self.refine and self.balance is None and self.extend is None

    @property
    def runs_cycles(self) -> bool:
        """Whether V-cycles run while they gain."""
        return self.refine or self.effort == "high"


def find_weights(schema: GraphSchema, names: Sequence[str]) -> dict[str, DataSpec]:
    """Find the features ``ETYPE/FEATURE`` by edge type; refuse what cannot be weights."""
    by_etype: dict[str, DataSpec] = {}
    for name in names:
        etype, spec = find_feature(schema.edge_types, name, "--edge-weight", "be an edge weight", "iuf")
        if etype in by_etype:
            what = f"--edge-weight names two weights of {etype!r} edges: {by_etype[etype].name} and {name}"
            raise OptionError(what, option="edge_weight", hint="keep one")
        by_etype[etype] = spec
    return by_etype


def check_weights(graph: Graph, names: Sequence[str]) -> dict[str, DataSpec]:
    """Find the features as `find_weights` does; refuse those whose numbers are codes of strings."""
    by_etype = find_weights(graph.schema, names)
    for etype, spec in by_etype.items():
        graph.refuse_codes(etype, spec.name, "--edge-weight")
    return by_etype
