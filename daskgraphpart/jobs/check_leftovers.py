"""Check what killed runs have left in a store before it is built on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.runner import Pass, Runner, Unit

if TYPE_CHECKING:
    from daskgraphpart.engine.journal import Journal
    from daskgraphpart.storage.store import WorkspaceStore


def check_leftovers(store: WorkspaceStore, journal: Journal, runner: Runner) -> None:
    """Raise `ResumeError` if anything is not as the journal has it."""
    units = [Unit(suspect, nbytes) for nbytes, suspect in store.suspects(journal.writes)]
    outside = Runner(runner.resources, runner.scheduler, runner.progress, store=store)
    outside.run(Pass("check-leftovers", check_leftover, units, store))


def check_leftover(suspect: Any, store: WorkspaceStore) -> None:
    """Read it, and compare."""
    store.check(suspect)
