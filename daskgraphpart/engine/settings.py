"""Read the section ``daskgraphpart`` of the user's dask configuration; the defaults are in `defaults.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
from dask.utils import parse_timedelta

from daskgraphpart.errors import OptionError

SECTION = "daskgraphpart"

_defaults = dask.config.merge(*dask.config.collect_yaml([str(Path(__file__).with_name("defaults.yaml"))]))
dask.config.update_defaults(_defaults)


def setting(name: str) -> Any:
    """Return a value of the configuration."""
    # defaults that were registered inside somebody's `with dask.config.set(...)` are gone after it
    return dask.config.get(f"{SECTION}.{name}", _defaults[SECTION][name])


def count_setting(name: str, smallest: int) -> int | None:
    """Return a whole number of the configuration, or None where it says null."""
    value = setting(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
        raise _wrong(name, f"a whole number from {smallest} on", value)
    return value


def seconds_setting(name: str) -> float:
    """Return a duration of the configuration, in seconds."""
    value = setting(name)
    try:
        return float(parse_timedelta(value))
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise _wrong(name, "a duration such as 30s", value) from fault


def arguments_setting(name: str) -> dict[str, Any]:
    """Return keyword arguments of the configuration, with underscores in their names."""
    value = setting(name) or {}
    if not isinstance(value, dict):
        raise _wrong(name, "a mapping of arguments", value)
    return {str(key).replace("-", "_"): argument for key, argument in value.items()}


def _wrong(name: str, expected: str, found: object) -> OptionError:
    return OptionError(
        "a value of the dask configuration cannot be used",
        place=f"{SECTION}.{name}",
        expected=expected,
        found=found,
        hint=f"see DASK_{SECTION.upper()}__{name.upper().replace('-', '_')} and the files in ~/.config/dask",
    )
