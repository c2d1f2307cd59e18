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
        stated = stated_options(options) if is_dataclass(options) else {}
        inside = {member: field.name for field in stated.values() for member in field.metadata["members"]}
        for field in stated.values():
            value, default = getattr(options, field.name), field.default
            if value != default or default is MISSING or (isinstance(options, Resources) and field.name == "workers"):
                if field.name in inside:
                    found.setdefault(inside[field.name], {})[field.name] = value
                elif field.metadata["members"]:
                    found.setdefault(field.name, {}).update(value or {})
                else:
                    found[field.name] = value
    return found
