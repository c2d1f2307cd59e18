"""Changes of a graph, as options: stated once for methods, keywords and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from daskgraphpart.errors import OptionError, check_choice, option_name
from daskgraphpart.options import by_name, option
from daskgraphpart.schema import STORED_DTYPES, check_name

_OF_ETYPES = ("remove_self_loops", "deduplicate", "add_self_loops")
"""Changes of edge types that are named, or of all."""
REVERSE_NAMES = {"dgl": "rev_{}", "graphstorm": "{}-rev"}
"""Relations of reverse edge types, as `dgl.AddReverse` and GraphStorm's GSProcessing name them."""


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """Changes of a graph: first split edge types, then add reverse edges, then drop some, then add self-loops."""

    edge_types_from: Mapping[str, str] | Sequence[str] = option(
        (),
        "Split edge types by the values of a column or feature. user:*:item becomes user:bought:item and "
        "user:saw:item. Give one edge type, or none for all.",
        values="[SRC:REL:DST=]COLUMN",
    )
    add_reverse: str | None = option(
        None,
        "Add the reverse of every edge. dgl names reverse types rev_REL, graphstorm REL-rev, and a PATTERN such as "
        "'{}-by' as you like. Where DGL and GraphStorm add no type, edges are doubled in their own: dgl if source and "
        "destination type are the same, graphstorm if the graph has one node type and one edge type.",
        choices=tuple(REVERSE_NAMES),
        values="dgl|graphstorm|PATTERN",
        common=True,
    )
    copy_edge_data: bool = option(
        False,
        "Copy edge features to reverse edges. Otherwise reverse types have none, and reverse edges within their own "
        "type get zeros, as in DGL.",
    )
    remove_self_loops: tuple[str, ...] = option(
        (),
        "Drop edges from a node to itself. Of one edge type, or of all if you give none.",
        values="[SRC:REL:DST]",
        given="bool | str | Sequence[str]",
        kind=tuple,
    )
    deduplicate: tuple[str, ...] = option(
        (),
        "Keep only the first of several edges between the same two nodes. It keeps its features. Of one edge type, or "
        "of all if you give none.",
        values="[SRC:REL:DST]",
        given="bool | str | Sequence[str]",
        kind=tuple,
    )
    add_self_loops: tuple[str, ...] = option(
        (),
        "Add an edge from every node to itself, as dgl.AddSelfLoop: those that are there are dropped first, and edge "
        "features of the new ones are 1. Of one edge type, or of all within one node type if you give none.",
        values="[SRC:REL:DST]",
        given="bool | str | Sequence[str]",
        kind=tuple,
    )
    cast: Mapping[str, str] | Sequence[str] = option(
        (),
        "Change the dtype of a feature, such as paper/feat=float16. Floats are rounded; a value that would become "
        "infinite, or a different integer, is refused.",
        values="[TYPE/]FEATURE=DTYPE",
    )

    def __post_init__(self) -> None:
        for name in _OF_ETYPES:
            object.__setattr__(self, name, etypes_of(getattr(self, name)))
        if self.add_reverse is not None:
            if self.pattern.count("{}") != 1 or self.pattern == "{}":
                what, hint = f"--add-reverse {self.pattern} names no types", "use dgl, graphstorm, or a pattern: rev_{}"
                raise OptionError(what, option="add_reverse", hint=hint)
            check_name(self.pattern, "name of reverse types", OptionError, place="--add-reverse")
        elif self.copy_edge_data:
            raise OptionError("--copy-edge-data needs reverse edges", option="copy_edge_data", hint="add --add-reverse")
        for name, dtype in self.dtypes.items():
            check_choice("dtype", f"--cast {name}".strip(), dtype, STORED_DTYPES)

    @property
    def read_edges(self) -> bool:
        """Whether numbers of edges are known only after reading them."""
        return bool(self.remove_self_loops or self.deduplicate or self.add_self_loops or self.edge_types_from)

    @property
    def stated(self) -> dict[str, Any]:
        """The changes that are set, by option."""
        nothing = asdict(NO_CHANGES)
        return {name: value for name, value in asdict(self).items() if value != nothing[name]}

    def removes_loops(self, etype: str) -> bool:
        """Whether self-loops of an edge type are dropped, if it has any."""
        return bool({"", etype} & {*self.remove_self_loops, *self.add_self_loops})

    def adds_loops(self, etype: str) -> bool:
        """Whether every node gets a self-loop of an edge type, if its ends are of one node type."""
        return bool({"", etype} & {*self.add_self_loops})

    def removes_repeats(self, etype: str) -> bool:
        """Whether repeated edges of an edge type are dropped."""
        return bool({"", etype} & {*self.deduplicate})

    @property
    def columns(self) -> dict[str, str]:
        """Columns to split by, by edge type; "" for all."""
        return by_name(self.edge_types_from, "--edge-types-from")

    @property
    def dtypes(self) -> dict[str, str]:
        """Names of dtypes, by ``type/feature``, or by ``feature`` for all of that name."""
        return by_name(self.cast, "--cast")

    @property
    def pattern(self) -> str:
        """Relation of reverse types, with {} for the original relation; empty if none are added."""
        given = self.add_reverse or ""
        return REVERSE_NAMES.get(given, given)


def name_of(etype: Any) -> str:
    """Canonical name of an edge type, given as text or as a tuple; "" for all."""
    return etype if isinstance(etype, str) else ":".join(map(str, etype))


def etypes_of(given: Any) -> tuple[str, ...]:
    """Edge types by canonical name; "" alone for all."""
    if isinstance(given, (bool, str)) or given is None:
        given = [given] if isinstance(given, str) else [""] if given else []
    is_one = len(given) == 3 and all(isinstance(part, str) and part and ":" not in part for part in given)
    names = dict.fromkeys([name_of(given)] if is_one else map(name_of, given))
    return ("",) if "" in names else tuple(names)


NO_CHANGES = GraphChanges()

_ORDER = {
    "cast": 0,
    "edge_types_from": 1,
    "add_reverse": 2,
    "copy_edge_data": 2,
    "remove_self_loops": 3,
    "deduplicate": 3,
    "add_self_loops": 4,
}
"""When a scan makes a change: one that comes later joins those before it, any other begins anew."""


def join_changes(made: GraphChanges, wanted: GraphChanges) -> GraphChanges | None:
    """Return changes that do both, the wanted ones after those made before; None if they take two turns."""
    before, now = ([_ORDER[name] for name in of.stated] for of in (made, wanted))
    is_later = max(before, default=-1) < min(now, default=5) or {*before, *now} == {3}
    stated = wanted.stated
    selected = {name: stated[name] for name in _OF_ETYPES if name in stated}
    # these types may not be there until others are split or reversed
    is_early = bool({1, 2} & {*before}) and any(etypes != ("",) for etypes in selected.values())
    if not is_later or is_early:
        return None
    stated |= {name: (*getattr(made, name), *etypes) for name, etypes in selected.items()}
    return replace(made, **stated)


def describe_changes(changes: GraphChanges) -> dict[str, str]:
    """Describe changes by option, as JSON values."""
    return {option_name(name): repr(value) for name, value in asdict(changes).items()}


def outline_changes(changes: GraphChanges) -> list[tuple[str, str]]:
    """Say which changes are made."""
    made = ", ".join(option_name(name)[2:] for name in changes.stated)
    return [("then", made)] if made else []
