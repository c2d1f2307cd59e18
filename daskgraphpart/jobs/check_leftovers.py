"""Check what killed runs have left in a store before it is built on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.runner import Pass, Runner, Unit

if TYPE_CHECKING:
    from daskgraphpart.engine.journal import Journal
    from daskgraphpart.storage.mounts import Depot


def check_leftovers(depot: Depot, journal: Journal, runner: Runner) -> None:
    """Raise `ResumeError` if anything is not as the journal has it."""
    units = [Unit(suspect, nbytes) for nbytes, suspect in depot.suspects(journal.writes)]
    outside = Runner(runner.resources, runner.scheduler, runner.progress, depot=depot)
    outside.run(Pass("check-leftovers", check_leftover, units, depot))


def check_leftover(suspect: Any, depot: Depot) -> None:
    """Read it, and compare."""
    depot.check(suspect)
