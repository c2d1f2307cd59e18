"""The noun `GraphChanges`: what is changed of a graph on its way into a chunked graph, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.options import documented, option
from daskgraphpart.schema import STORED_DTYPES, check_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

REVERSE_NAMES = {"dgl": "rev_{}", "graphstorm": "{}-rev"}
"""Relations of reverse edge types, as `dgl.AddReverse` and GraphStorm's GSProcessing name them."""


@documented
@dataclass(frozen=True, slots=True)
class GraphChanges:
    """What is changed of a graph; first edge types are split, then edges added, then some left out.

    Examples
    --------
    >>> chunk_graph(g, "mag", output_path="mag", add_reverse="dgl", cast={"paper/feat": "float16"})  # doctest: +SKIP
    """

    split_by: Mapping[str, str] | Sequence[str] = option(
        (),
        "Split edge types by a column of integers or strings, or a feature, whose values become relations: user:*:item "
        "becomes user:bought:item and user:saw:item. Of one edge type, or of all.",
        values="[SRC:REL:DST=]COLUMN",
    )
    add_reverse: str | None = option(
        None,
        "Add the reverse of every edge, in edge types named as DGL (rev_REL) or GraphStorm (REL-rev) names them, or by "
        "a PATTERN such as '{}-by'. Where DGL and GraphStorm add no type, edges are doubled in their own: dgl if "
        "source and destination type are the same, graphstorm if the graph has one node type and one edge type.",
        choices=tuple(REVERSE_NAMES),
        values="dgl|graphstorm|PATTERN",
    )
    copy_edata: bool = option(
        False,
        "Give reverse edges the features of their edges; without, reverse types have none, and reverse edges in the "
        "type of their edges zeros, as in DGL.",
    )
    remove_self_loops: bool = option(
        False, "Leave out edges from a node to itself, where source and destination type are the same."
    )
    deduplicate: bool = option(
        False, "Of edges of one type between the same two nodes keep the first, with its features."
    )
    cast: Mapping[str, str] | Sequence[str] = option(
        (),
        "Cast features, such as paper/feat to float16. Floats are rounded; a value that would become infinite, or "
        "another integer, is refused.",
        values="[TYPE/]FEATURE=DTYPE",
    )

    def __post_init__(self) -> None:
        pattern = self.pattern
        if pattern is not None:
            if pattern.count("{}") != 1:
                expected = "dgl, graphstorm, or a name with {} in the place of the relation"
                what = "unknown names of reverse types"
                raise OptionError(what, place="--add-reverse", expected=expected, found=pattern)
            check_name(pattern, "name of reverse types", OptionError, place="--add-reverse")
            if pattern == "{}":
                raise OptionError("reverse types need names of their own", place="--add-reverse", found=pattern)
        elif self.copy_edata:
            raise OptionError("no reverse edges that get features", place="--copy-edata", hint="give --add-reverse")
        for name, dtype in self.dtypes.items():
            if dtype == "bfloat16":
                what, hint = "npy and parquet files hold no bfloat16", "cast to float16 or float32 here"
                raise OptionError(what, place=f"--cast {name}".strip(), hint=f"{hint}, and to bfloat16 while training")
            check_choice("dtype", f"--cast {name}".strip(), dtype, STORED_DTYPES)

    @property
    def columns(self) -> dict[str, str]:
        """Columns that edges are split by, by edge type; "" stands for all."""
        return _by_name(self.split_by, "--split-by")

    @property
    def dtypes(self) -> dict[str, str]:
        """Names of dtypes, by ``type/feature``, or ``feature`` for all that have that name."""
        return _by_name(self.cast, "--cast")

    @property
    def pattern(self) -> str | None:
        """Relation of a reverse type, with {} in the place of that of its type; None if none are added."""
        return None if self.add_reverse is None else REVERSE_NAMES.get(self.add_reverse, self.add_reverse)

    def split_column(self, etype: str) -> str | None:
        """Return the column by which an edge type is split."""
        return self.columns.get(etype, self.columns.get(""))

    def dtype_of(self, of_type: str, feature: str) -> np.dtype | None:
        """Return the dtype that a feature is cast to, if it is."""
        dtype = self.dtypes.get(f"{of_type}/{feature}", self.dtypes.get(feature))
        return None if dtype is None else np.dtype(dtype)

    def reverse_type(self, etype: str, num_types: int) -> str | None:
        """Return the name of the reverse type; the type itself if it has both directions, None if none is added.

        `num_types` are the node and edge types of the graph before reverse types are added.
        """
        if self.pattern is None:
            return None
        src, relation, dst = etype.split(":")
        has_both = {"dgl": src == dst, "graphstorm": num_types == 2 and not self.split_by}
        return etype if has_both.get(self.add_reverse or "") else f"{dst}:{self.pattern.format(relation)}:{src}"

    def check(self, num_nodes: Collection[str], edges: Collection[str], data: Mapping[str, Collection[str]]) -> None:
        """Refuse changes of types and features that are not there, and reverse types that are there already."""
        for etype in self.columns.keys() - {""}:
            check_choice("edge type", "--split-by", etype, edges)
        for etype in edges:
            column, reverse = self.split_column(etype), self.reverse_type(etype, len(num_nodes) + len(edges))
            if column is not None and column not in data.get(etype, ()):
                what, expected = f"no feature {column!r} of edges of type {etype!r}", ", ".join(data.get(etype, ()))
                raise OptionError(what, place="--split-by", expected=expected or "one that there is; it has none")
            if column is None and reverse is not None and reverse != etype and reverse in edges:
                raise taken(etype, reverse)
        features = [(of_type, name) for of_type, names in data.items() for name in names]
        for place in self.dtypes:
            if not any(place in (name, f"{of_type}/{name}") for of_type, name in features):
                known = ", ".join(f"{of_type}/{name}" for of_type, name in features) or "none: there are no features"
                raise OptionError("unknown feature", place="--cast", expected=known, found=place)


def _by_name(given: Mapping[str, Any] | Sequence[str], place: str) -> dict[str, str]:
    """Take texts ``NAME=VALUE`` apart; a mapping is one already."""
    texts = (given,) if isinstance(given, str) else given
    pairs = given.items() if isinstance(given, Mapping) else [text.rpartition("=")[::2] for text in texts]
    found = {name: str(value) for name, value in pairs}
    if len(found) < len(pairs):
        raise OptionError("given twice for the same", place=place, found=" ".join(texts))
    return found


NO_CHANGES = GraphChanges()


def taken(etype: str, reverse: str) -> OptionError:
    """Return the error of a reverse type that would have the name of another type."""
    hint = "leave it out of the input, or give --add-reverse a pattern such as 'reverse-{}'"
    what = f"the reverse of {etype} would have the name of a type that is there"
    return OptionError(what, place="--add-reverse", found=reverse, hint=hint)
