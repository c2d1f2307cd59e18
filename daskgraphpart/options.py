"""State an option of a job once, as a field: the command line, docstrings and checks of values come from it."""

from __future__ import annotations

import textwrap
from dataclasses import Field, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import OptionError, check_choice

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def option(
    default: Any,
    meaning: str,
    *,
    choices: Iterable[str] = (),
    minimum: int | None = None,
    values: str | None = None,
    common: bool = False,
) -> Any:
    """Return a field with its default, its meaning, and its limits; `--help` shows the first sentence of common ones.

    `choices` are all values there are; or some of them, if `values` tells what else there is, as a command line's help
    does: ``"auto|metis|DIR"``. An option that is given once for each value has the default ``()``.
    """
    limits = {"meaning": meaning, "choices": choices, "min": minimum, "values": values, "common": common}
    return field(default=default, metadata=limits)


def stated_options(kind: Any) -> dict[str, Field[Any]]:
    """Fields of a class that are options, by name."""
    return {found.name: found for found in fields(kind) if "meaning" in found.metadata}


def documented(kind: type[T]) -> type[T]:
    """Add the options of a class to its docstring."""
    block = ["", "Parameters", "----------"]
    for name, found in stated_options(kind).items():
        block += [f"{name} : {found.type}", textwrap.indent(textwrap.fill(found.metadata["meaning"], 110), "    ")]
    kind.__doc__ = "\n".join([kind.__doc__ or "", *block, ""])
    return kind


def check_options(options: Any) -> None:
    """Refuse values that are not among the choices, or below the minimum; of a tuple each may be there once."""
    for name, found in stated_options(options).items():
        value, limits, place = getattr(options, name), found.metadata, option_name(name)
        choices, what = limits["choices"], name.replace("_", " ")
        if choices and isinstance(value, tuple):
            if not value or set(value) - set(choices) or len(set(value)) != len(value):
                expected = f"some of {', '.join(choices)}, each once"
                raise OptionError(f"impossible {what}", place=place, expected=expected, found=",".join(value) or "none")
        elif choices and not limits["values"]:
            check_choice(what, place, value, choices)
        if limits["min"] is not None and value is not None and value < limits["min"]:
            raise OptionError("too small", place=place, expected=f"{limits['min']} or more", found=value)


def option_name(keyword: str) -> str:
    """Name of an option on the command line."""
    return f"--{keyword.replace('_', '-')}"
