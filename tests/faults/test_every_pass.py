"""A disk that is full, and one that cannot be read, in every pass of every job, by name.

Jobs walk: they fail in one pass, are continued, fail in the next, and so on to their end. Those without a journal are
started again in the same place. A pass is struck in one of the jobs that have it.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest
from faults.jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faults.machine import Trial

FENNEL = (
    "begin", "scan-edges", "create-in-degrees", "split-edges", "merge-arcs", "create-weights", "weigh-nodes",
    "partition-graph", "create-filled", "fill-parts", "create-owner-files", "write-owners",
    "measure-cut", "create-trainers", "write-trainers", "create-trainers-of-edges", "trainers-of-edges",
    "count-owners", "create-node-maps", "relabel-nodes", "create-edge-owners", "bucket-edges", "create-halo",
    "mark-halo", "count-marked", "lay-out", "list-nodes", "write-nodes", "build-graph", "place-rows", "split-nids",
    "discard-old", "hash-files",
)  # fmt: skip
WALKS: dict[str, tuple[str, ...]] = {
    "fennel": FENNEL,
    "zarr": (
        "assign-random", "scan-edges", "bucket-edges", "follow-hop", "collect-extra", "order-extra",
        "compress-graph", "place-rows", "export-files",
    ),
    "multilevel": ("partition-graph",),
    "on-disk": ("partition-graph",),
    "metis": ("partition-graph", "write-assignment", "copy-trainers"),
    "random": ("bucket-edges", "place-rows"),
    "by-range": ("split-ends", "create-ends", "resolve-ends", "merge-ends"),
    "dispatch": ("read-assignment",),
    "assign": ("create-trainers", "write-trainers", "copy-trainers"),
    "build": ("begin", "write-chunks"),
    "convert": ("begin", "build-graph", "hash-files"),
    "to-original": ("begin", "invert-map", "check-map", "reorder-rows"),
}  # fmt: skip
# the others walk through passes that these have as well
EVERY_TIME = ("fennel", "zarr", "build", "convert")
NAMES = [name if name in EVERY_TIME else pytest.param(name, marks=pytest.mark.long) for name in WALKS]
PLACES = ("the-input", "the-workspace", "the-output")  # the last write of a job is to its output
FULL = ("write", "allocate")
UNREADABLE = ("read",)
READ_BACK = (("copy-trainers", "the-output"), ("write-chunks", "the-output"))  # of what is complete


def strikes(trial: Trial, kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Passes and places in which a job makes such calls, in their order."""
    for name in WALKS[trial.job.name]:
        for place in PLACES:
            is_whole = (name, place) in READ_BACK and kinds == UNREADABLE
            if not is_whole and any(trial.calls.get(name, {}).get(f"{kind} {place}") for kind in kinds):
                yield name, place


def walk(make: Callable[[str], Trial], name: str, kinds: tuple[str, ...], number: int) -> None:
    """Fail in every pass, and end well after that."""
    trial = make(name)
    for pass_, place in list(strikes(trial, kinds)):
        fault = {"pass": pass_, "place": f"/{place}/", "kinds": kinds, "errno": number}
        trial.fail(os.strerror(number), f"/{place}/", fault=fault)
    trial.finish()


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_is_full_in_any_pass_is_one_error_and_the_job_goes_on(name: str, trial: Any) -> None:
    walk(trial, name, FULL, errno.ENOSPC)


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_cannot_be_read_in_any_pass_is_one_error_and_the_job_goes_on(name: str, trial: Any) -> None:
    walk(trial, name, UNREADABLE, errno.EIO)


def test_no_pass_is_left_out(undisturbed: Any) -> None:
    passes = {name for job in JOBS for name in undisturbed(job)[2]}
    walked = {name for names in WALKS.values() for name in names}
    assert (passes - walked, walked - passes) == (set(), set())
