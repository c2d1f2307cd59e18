"""How jobs run: their options that change no byte of the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import Resources, resources_of
from daskgraphpart.options import option, stated_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.engine.progress import Progress


@dataclass(frozen=True, slots=True)
class JobOptions:
    """How a job runs; changes no byte of its output."""

    resources: Resources
    overwrite: bool = option(False, "Replace existing output in `out`.")
    restart: bool = option(False, "Start over instead of resuming an unfinished run.")
    progress: Progress | None = option(
        None,
        'How progress is shown on standard error: "bar", "log", "json" (lines for programs) or False; or a '
        "function that is called with each event, a dictionary. Default: a bar in terminals, text in notebooks.",
    )
    can_continue: bool = True
    """False for the end of a larger job, whose earlier results are lost with a failure."""


def job_options(values: Mapping[str, Any]) -> JobOptions:
    """Make job options from the values of a command."""
    given = {name: values[name] for name in stated_options(JobOptions) if name in values}
    return JobOptions(resources_of(values, takes_store=True), **given)
