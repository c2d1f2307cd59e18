"""Names of types as users give them: tuples, strings or relations; and what belongs to each type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from daskgraphpart.errors import GraphPartError, OptionError
from daskgraphpart.graph.metadata import check_num_nodes
from daskgraphpart.schema import DEFAULT_NTYPE, check_name


def check_type_name(name: str, error: type[GraphPartError]) -> None:
    """Check a type whose categories will lie in a directory of its name."""
    check_name(name, "type", error)
    if name in (".", ".."):
        raise error("a type cannot have the name of a directory", expected="another name", found=name)


def canonical_name(etype: Any, known: Collection[str] = ()) -> str:
    """Return ``src:rel:dst`` of a tuple or name; for a relation, the one known type that has it.

    Without known types, a relation joins nodes of the default type.
    """
    parts = etype.split(":") if isinstance(etype, str) else etype
    if isinstance(etype, str) and len(parts) == 1 and etype:
        matches = [name for name in known if name.split(":")[1] == etype]
        if len(matches) > 1 or (known and not matches):
            what = "several edge types have this name" if matches else "edge data of an unknown type"
            raise OptionError(what, expected=f"one of {', '.join(matches or known)}", found=etype)
        return matches[0] if matches else f"{DEFAULT_NTYPE}:{etype}:{DEFAULT_NTYPE}"
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        expected = "('user', 'follows', 'user') or 'user:follows:user'"
        raise OptionError("not a canonical edge type", expected=expected, found=repr(etype))
    return ":".join(parts)


def ends_of_types(etypes: Iterable[str]) -> list[str]:
    """Node types at the ends of edge types, in order."""
    return list(dict.fromkeys(ntype for etype in etypes for ntype in etype.split(":")[::2]))


def by_type(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    """Return ``{type: {name: values}}``, also from ``{name: values}`` if there is one type."""
    named = name_types(data, types, what)
    for name in named.keys() - set(types):
        raise OptionError(f"{what} data of an unknown type", expected=f"one of {', '.join(types)}", found=name)
    return named


def name_types(data: Mapping[str, Any] | None, types: Sequence[str], what: str) -> dict[str, Mapping[str, Any]]:
    """Map names to types; unlike `by_type`, accept unknown types."""
    are_types = [isinstance(value, Mapping) for value in (data or {}).values()]
    if not all(are_types):
        if len(types) != 1 or any(are_types):
            raise OptionError(
                f"{what} data of a graph with several {what} types",
                expected=f"{{{what} type: {{name: rows}}}}",
                found=", ".join(map(str, list(data or ())[:5])),
            )
        data = {types[0]: data}
    return {key if what == "node" else canonical_name(key, types): features for key, features in (data or {}).items()}


def count_known(known: Mapping[str, int | None], given: Mapping[str, int] | int | None) -> dict[str, int | None]:
    """Return numbers of nodes; types are in the order of `given` if it has all."""
    if given is not None and not isinstance(given, Mapping):
        if len(known) != 1:
            raise OptionError(
                "the graph has several node types", place="num_nodes", expected="{node type: number}", found=given
            )
        given = dict.fromkeys(known, given)
    given = {ntype: check_num_nodes(count, f"num_nodes[{ntype!r}]") for ntype, count in (given or {}).items()}
    for ntype, count in given.items():
        if known.get(ntype) not in (None, count):
            place, expected = f"num_nodes of {ntype!r}", known.get(ntype)
            raise OptionError("invalid number of nodes", place=place, expected=expected, found=count)
    order = given if known.keys() <= given.keys() else {**known, **given}
    return {ntype: given.get(ntype, known.get(ntype)) for ntype in order}
