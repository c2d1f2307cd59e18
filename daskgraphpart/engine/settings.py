"""Read sizes, and the section ``daskgraphpart`` of dask's configuration; `defaults.yaml` has the defaults."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from daskgraphpart.errors import OptionError
from daskgraphpart.storage.json_file import convert_json
from daskgraphpart.units import LARGEST

SECTION = "daskgraphpart"


class Settings(msgspec.Struct, frozen=True, rename="kebab"):
    """The section; see `defaults.yaml` for meanings."""

    cluster: str
    memory: str | int | None
    workers: Annotated[int, msgspec.Meta(ge=1)] | None
    workspace: str | None
    retries: Annotated[int, msgspec.Meta(ge=0)]
    connect_timeout: float  # seconds
    worker_timeout: float  # seconds
    local: dict[str, Any]
    jobqueue: dict[str, Any]


@cache
def _defaults() -> Any:
    """Let dask know the defaults."""
    import dask  # a tenth of a second

    (defaults,) = dask.config.collect_yaml([str(Path(__file__).with_name("defaults.yaml"))])
    dask.config.update_defaults(defaults)
    return defaults


def read_settings() -> Settings:
    """Read and check the section as it is now."""
    import dask.utils

    what, hint = "dask configuration", "check ~/.config/dask and the variables DASK_DASKGRAPHPART__*"
    # defaults registered inside a user's `with dask.config.set(...)` are gone after it; environment variables use
    # underscores
    section = _defaults()[SECTION] | {
        name.replace("_", "-"): value for name, value in dask.config.get(SECTION, {}).items()
    }
    for name in ("connect-timeout", "worker-timeout"):
        try:
            section[name] = dask.utils.parse_timedelta(section[name])
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise OptionError(
                what, place=f"{SECTION}.{name}", expected="a duration such as 30s", found=section[name], hint=hint
            ) from fault
    return convert_json(section, Settings, OptionError, what, place=SECTION, hint=hint)


def parse_size(text: str, place: str = "--memory") -> int:
    """Bytes of a size such as ``"2GB"`` (decimal), ``"2 GiB"`` (binary), ``"1e9"`` or ``"512M"``."""
    from dask.utils import parse_bytes

    try:
        nbytes = parse_bytes(text) if any(char.isdigit() for char in text) else -1  # of "GB" dask makes 1e9
    except (ValueError, OverflowError):
        nbytes = -1
    if not 0 <= nbytes <= LARGEST:
        raise OptionError(f"{place} {text!r} is not a size", place=place, hint="use a number with a unit, such as 2GB")
    return nbytes
