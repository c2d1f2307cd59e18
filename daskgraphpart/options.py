"""State an option once, as a field, for the command line, keywords, help and checks."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import Field, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import KeywordError, OptionError, check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


def option(
    default: Any,
    meaning: str,
    *,
    choices: Iterable[str] = (),
    minimum: int | None = None,
    values: str | None = None,
    common: bool = False,
    is_open: bool = False,
    given: str | None = None,
) -> Any:
    """Return a field with its default, meaning and limits; `--help` shows the first sentence of common ones.

    `choices` lists all values; if `values` names further ones, as in help (``"auto|metis|DIR"``), it lists some. An
    option given once per value has the default ``()``. An open option, if not given, is decided by the job. `given` is
    the type that functions take, if different.
    """
    limits = {"meaning": meaning, "choices": choices, "min": minimum, "values": values, "common": common}
    return field(default=default, metadata={**limits, "is_open": is_open, "given": given})


def stated_options(kind: Any) -> dict[str, Field[Any]]:
    """A class's fields that are options, by name."""
    return {found.name: found for found in fields(kind) if "meaning" in found.metadata}


def chosen(kind: type[T], keywords: Mapping[str, Any]) -> T:
    """Make an options object from the keywords that belong to it."""
    return kind(**{name: keywords[name] for name in stated_options(kind) if name in keywords})


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


def check_options(options: Any) -> None:
    """Check choices and minimums; a tuple, or text such as ``"coo,csc"``, may name each choice once."""
    for name, found in stated_options(options).items():
        value, limits, place = getattr(options, name), found.metadata, option_name(name)
        if str(found.type).startswith("tuple"):
            object.__setattr__(options, name, value := words_of(value))
        choices, what = limits["choices"], name.replace("_", " ")
        if choices and isinstance(value, tuple):
            if not value or set(value) - set(choices) or len(set(value)) != len(value):
                expected = f"some of {', '.join(choices)}, each once"
                raise OptionError(f"invalid {what}", place=place, expected=expected, found=",".join(value) or "none")
        elif choices and not limits["values"]:
            check_choice(what, place, value, choices)
        if limits["min"] is not None and value is not None and value < limits["min"]:
            raise OptionError("too small", place=place, expected=f"{limits['min']} or more", found=value)


def words_of(value: Any) -> tuple[str, ...]:
    """Split words at commas, unless they are given one by one."""
    words = value.split(",") if isinstance(value, str) and value else value or ()
    return tuple(str(word).strip() for word in words)


def by_name(given: Mapping[str, Any] | Sequence[str], place: str) -> dict[str, str]:
    """Turn texts ``[NAME=]VALUE`` into a mapping; the name may be empty."""
    texts = (given,) if isinstance(given, str) else given
    pairs = given.items() if isinstance(given, Mapping) else [text.rpartition("=")[::2] for text in texts]
    found = {name: str(value) for name, value in pairs}
    if len(found) < len(pairs):
        raise OptionError("given twice for the same", place=place, found=" ".join(texts), hint="remove one")
    return found


def option_name(keyword: str) -> str:
    """Name of an option on the command line."""
    return "--mask" if keyword == "masks" else f"--{keyword.replace('_', '-')}"
