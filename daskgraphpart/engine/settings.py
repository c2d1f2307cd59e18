"""Read the section ``daskgraphpart`` of dask's configuration; `defaults.yaml` has the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import dask
import msgspec
from dask.utils import parse_timedelta

from daskgraphpart.errors import OptionError
from daskgraphpart.storage.json_file import convert_json

SECTION = "daskgraphpart"

_defaults = dask.config.merge(*dask.config.collect_yaml([str(Path(__file__).with_name("defaults.yaml"))]))
dask.config.update_defaults(_defaults)


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


def read_settings() -> Settings:
    """Read and check the section as it is now."""
    what, hint = "dask configuration", "check ~/.config/dask and the variables DASK_DASKGRAPHPART__*"
    # defaults registered inside a user's `with dask.config.set(...)` are gone after it; environment variables use
    # underscores
    section = _defaults[SECTION] | {
        name.replace("_", "-"): value for name, value in dask.config.get(SECTION, {}).items()
    }
    for name in ("connect-timeout", "worker-timeout"):
        try:
            section[name] = parse_timedelta(section[name])
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise OptionError(
                what, place=f"{SECTION}.{name}", expected="a duration such as 30s", found=section[name], hint=hint
            ) from fault
    return convert_json(section, Settings, OptionError, what, place=SECTION, hint=hint)
