"""Options objects as the keywords of public functions, for tests that hand options around."""

from __future__ import annotations

from dataclasses import MISSING, is_dataclass
from typing import Any

from inside import Resources

from daskgraphpart.options import stated_options


def spelled(*given: Any) -> dict[str, Any]:
    """Keywords that say the same as options objects, resources, or the name of a method; None says nothing."""
    found: dict[str, Any] = {}
    for options in given:
        if isinstance(options, str):
            found["method"] = options
        for field in stated_options(options).values() if is_dataclass(options) else ():
            value, default = getattr(options, field.name), field.default
            if value != default or default is MISSING or (isinstance(options, Resources) and field.name == "workers"):
                found[field.name] = value
    return found
