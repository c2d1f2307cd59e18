"""Answer wrong arguments of public functions with the right ones; take numbers of numpy for Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from daskgraphpart.errors import KeywordError, did_you_mean

P = ParamSpec("P")
T = TypeVar("T")
REMOVED_KEYWORDS = {
    "resources": "give memory=, workers=, cluster= or workspace=",
    "options": "give each option as a keyword, such as num_hops=2",
    "part_method": "use method",
    "ip_config": "use dispatch_to",
    "columns": "use endpoints",
    "edge_columns": "use edge_features",
    "imbalance": "give items of balance their tolerance, such as balance='nodes=0.03,edges=0.1'",
    "return_mapping": "use original_ids of the returned partitions",
    "ndata_paths": "use node_data",
    "edata_paths": "use edge_data",
    "add_reverse": "call with_reverse_edges() of the graph",
    "remove_self_loops": "call without_self_loops() of the graph",
    "add_self_loops": "call with_self_loops() of the graph",
    "deduplicate": "call without_duplicates() of the graph",
    "edge_types_from": "call split_edges() of the graph",
    "cast": "call astype() of the graph",
    "client": "use cluster",
    "scheduler": "use cluster",
}
"""What to type in the place of keywords that there were once, or that users of DGL and dask may expect."""
MEMBERS = {
    "method_options": ("threads", "passes", "recursive", "fill_parts", "num_trainers_per_machine"),
    "extend_options": ("old_id_map", "may_move"),
    "training_options": ("batch_size", "seeds"),
    "workspace_options": ("staging", "keep_workspace"),
    "layout_options": ("graph_formats", "out_edges", "map_feature", "hot_rows", "config_name", "reshuffle"),
}
"""Keywords in which functions take options that are keywords elsewhere, and on the command line."""
OUTPUTS = ("out", "out_path", "output_path", "out_dir", "save_dir")
"""Words for the directory that is written: ours, and those of DGL's and PyG's functions."""
OBJECTS = {"self", "partitions"}  # names of the object, as the first argument of its methods


def check_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Answer an unknown keyword with the nearest known one, or with what to type in its place.

    Too many, or too few, arguments get the form of the call. Numbers of numpy become Python's.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    if any(of.kind is of.VAR_KEYWORD for of in parameters.values()):  # a plug-in may take any
        return function
    known = [*parameters]

    @wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in known:
                raise unknown_keyword(function.__name__, name, known)
        try:
            signature.bind(*args, **keywords)
        except TypeError as fault:
            raise wrong_arguments(function.__name__, str(fault), signature) from None
        plain: Any = {name: plain_number(value) for name, value in keywords.items()}
        return function(*map(plain_number, args), **plain)

    return checked


def plain_number(value: Any) -> Any:
    """Turn a number of numpy into Python's, which JSON takes."""
    return value.item() if isinstance(value, np.generic) else value


def unknown_keyword(function: str, name: str, known: list[str]) -> KeywordError:
    """Return the error for an unknown keyword, with the nearest known one."""
    inside = [f"put it into {of}, by name" for of, members in MEMBERS.items() if of in known and name in members]
    hint = "".join(inside) or REMOVED_KEYWORDS.get(name) or did_you_mean(name, known) or f"see help({function})"
    if name in OUTPUTS and (named := [of for of in OUTPUTS if of in known]):
        hint = f"use {named[0]} for the output directory"
    return KeywordError(f"{function}() has no keyword {name!r}", hint=hint)


def wrong_arguments(function: str, fault: str, signature: inspect.Signature) -> KeywordError:
    """Return the error for too many or too few arguments, with the form of the call."""
    names = [name for name, of in signature.parameters.items() if of.kind is not of.KEYWORD_ONLY]
    form = ", ".join([*names[bool({*names[:1]} & OBJECTS) :], "..."])
    return KeywordError(f"{function}(): {fault}", hint=f"call {function}({form}); see help({function})")
