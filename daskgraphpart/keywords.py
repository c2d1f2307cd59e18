"""Give functions stated options as keywords: in signature, docstring and checks."""

from __future__ import annotations

import inspect
import textwrap
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from daskgraphpart.errors import KeywordError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from dataclasses import Field

P = ParamSpec("P")
T = TypeVar("T")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
GONE = {
    "resources": "give memory=, workers=, cluster= or workspace=",
    "options": "give each option as a keyword, such as num_hops=2",
    "part_method": "use method",
    "ip_config": "use dispatch_to",
    "return_mapping": "use original_ids of the returned partitions",
    "ndata_paths": "use node_data",
    "edata_paths": "use edge_data",
    "add_reverse": "call with_reverse_edges() of the graph",
    "remove_self_loops": "call without_self_loops() of the graph",
    "deduplicate": "call without_duplicates() of the graph",
    "split_by": "call split_edges() of the graph",
    "cast": "call astype() of the graph",
}
"""What to type in the place of keywords that there were once, or that users of DGL may expect."""
OUTPUTS = ("out", "out_path", "output_path", "out_dir")
"""Words for the directory that is written: ours, and those of DGL's functions."""


def check_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """Answer an unknown keyword with the nearest known one, or with what to type in its place."""
    known = [*inspect.signature(function).parameters]

    @wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> T:
        for name in keywords:
            if name not in known:
                raise unknown_keyword(function.__name__, name, known)
        return function(*args, **keywords)

    return checked


def with_keywords(*stated: Mapping[str, Field[Any]]) -> Callable[[FunctionT], FunctionT]:
    """Replace a function's ``**keywords`` by options, in signature, help and checks."""
    options = {name: found for of_kind in stated for name, found in of_kind.items()}

    def decorate(function: FunctionT) -> FunctionT:
        signature = inspect.signature(function)
        own = [of for of in signature.parameters.values() if of.kind is not inspect.Parameter.VAR_KEYWORD]
        others = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(of), annotation=_type(of))
            for name, of in options.items()
            if name not in signature.parameters
        ]
        known = [of.name for of in (*own, *others)]

        @wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in known:
                    raise unknown_keyword(function.__name__, name, known)
            return function(*args, **keywords)

        checked.__signature__ = signature.replace(parameters=[*own, *others])  # type: ignore[attr-defined]
        checked.__doc__ = _with_block(inspect.cleandoc(function.__doc__ or ""), options, own)
        checked.options = options  # type: ignore[attr-defined]
        del checked.__wrapped__  # else tools that unwrap, such as mkdocstrings, see neither
        return checked  # type: ignore[return-value]

    return decorate


def unknown_keyword(function: str, name: str, known: list[str]) -> KeywordError:
    """Return the error for an unknown keyword, with the nearest known one."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    hint = GONE.get(name) or (f"did you mean {near[0]}?" if near else f"help({function}) lists all")
    if name in OUTPUTS and (named := [of for of in OUTPUTS if of in known]):
        hint = f"use {named[0]} for the output directory"
    return KeywordError(f"{function} has no keyword {name!r}", hint=hint)


def _default(stated: Field[Any]) -> Any:
    return None if stated.metadata["is_open"] else stated.default


def _type(stated: Field[Any]) -> str:
    given = stated.metadata["given"] or str(stated.type)
    given = "str | Sequence[str]" if given.startswith("tuple") else given
    return f"{given} | None" if _default(stated) is None and "None" not in given else given


def _with_block(docstring: str, options: Mapping[str, Field[Any]], own: Sequence[inspect.Parameter]) -> str:
    """Add options to the parameters of a numpydoc docstring; those that the function has itself have no default."""
    if not options:
        return docstring
    head, heading, rest = docstring.partition("\n\nReturns\n-------\n")
    required = [of.name for of in own]
    block = "\n".join(
        f"{name} : {_type(of)}{'' if name in required else f', default {_default(of)!r}'}\n"
        f"{textwrap.indent(of.metadata['meaning'], '    ')}"
        for name, of in options.items()
    )
    return f"{head}\n{block}{heading}{rest}"
