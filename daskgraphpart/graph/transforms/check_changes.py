"""Which types and features the changes of a graph concern, and whether they can."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError, check_choice, choose_from
from daskgraphpart.schema import by_plain_name, plain_name

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges


def split_column(changes: GraphChanges, etype: str) -> str | None:
    """Return the column by which an edge type is split."""
    return changes.columns.get(etype, changes.columns.get(""))


def split_feature(changes: GraphChanges, etype: str) -> str | None:
    """Return the name of that column as a feature, until edges are split."""
    column = split_column(changes, etype)
    return None if column is None else plain_name(column)


def features_of_table(
    changes: GraphChanges, etype: str, names: Collection[str], others: Collection[str]
) -> dict[str, str]:
    """Return the columns of an edge table that become features, by name; `others` are in other files."""
    column, feature = split_column(changes, etype), split_feature(changes, etype)
    split = {} if column is None or feature is None or feature in others else {feature: column}
    return {**by_plain_name(names, "columns"), **split}


def dtype_of(changes: GraphChanges, of_type: str, feature: str) -> np.dtype | None:
    """Return the dtype to cast a feature to, if any."""
    dtype = changes.dtypes.get(f"{of_type}/{feature}", changes.dtypes.get(feature))
    return None if dtype is None else np.dtype(dtype)


def doubled_types(changes: GraphChanges, ntypes: Collection[str], etypes: Collection[str]) -> list[str]:
    """Return the edge types to which reverse edges are appended."""
    has_one_type = len(ntypes) == len(etypes) == 1 and not changes.columns
    is_dgl, is_graphstorm = changes.add_reverse == "dgl", changes.add_reverse == "graphstorm" and has_one_type
    ends = {etype: etype.split(":")[::2] for etype in etypes}
    return [etype for etype, (src, dst) in ends.items() if is_graphstorm or (is_dgl and src == dst)]


def reverse_types(changes: GraphChanges, ntypes: Collection[str], etypes: Collection[str]) -> dict[str, str]:
    """Return the names of reverse types to add, by edge type; refuse existing ones."""
    reverses: dict[str, str] = {}
    doubled = doubled_types(changes, ntypes, etypes)
    for etype in etypes if changes.pattern else ():
        if etype not in doubled:
            src, relation, dst = etype.split(":")
            reverses[etype] = f"{dst}:{changes.pattern.format(relation)}:{src}"
    for etype, reverse in reverses.items():
        if reverse in etypes:
            what = f"the reverse of {etype} would be {reverse}, which exists already"
            hint = "leave it out of the input, or give --add-reverse a pattern such as 'reverse-{}'"
            raise OptionError(what, option="add_reverse", hint=hint)
    return reverses


def check_changes(
    changes: GraphChanges, ntypes: Collection[str], etypes: Collection[str], data: Mapping[str, Collection[str]]
) -> None:
    """Refuse changes of unknown types and features, and existing reverse types."""
    selected: tuple[tuple[str, Collection[str]], ...] = (
        ("--edge-types-from", changes.columns), ("--remove-self-loops", changes.remove_self_loops),
        ("--add-self-loops", changes.add_self_loops), ("--deduplicate", changes.deduplicate),
    )  # fmt: skip
    for place, named in selected:
        for etype in {*named} - {""}:
            check_choice("edge type", place, etype, etypes)
    for name in ("remove_self_loops", "add_self_loops"):
        for etype in {*getattr(changes, name)} - {""}:
            src, _, dst = etype.split(":")
            if src != dst:
                what = f"{etype} has no self-loops: it joins nodes of two types"
                raise OptionError(what, option=name, hint="leave it out")
    for etype in etypes:
        feature, known = split_feature(changes, etype), data.get(etype, ())
        if feature is not None and feature not in known:
            what = f"edges of type {etype!r} have no feature {split_column(changes, etype)!r}"
            raise OptionError(what, option="edge_types_from", hint=choose_from([*known], feature))
    reverse_types(changes, ntypes, [etype for etype in etypes if split_column(changes, etype) is None])
    features = [(of_type, name) for of_type, names in data.items() for name in names]
    for place in changes.dtypes:
        if not any(place in (name, f"{of_type}/{name}") for of_type, name in features):
            check_choice("feature", "--cast", place, [f"{of_type}/{name}" for of_type, name in features])
