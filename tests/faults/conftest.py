"""The machine with a bad disk, and trials of jobs on it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from faults.jobs import JOBS, make_all
from faults.machine import Machine, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Undisturbed = tuple[dict[str, str], dict[str, dict[str, int]], list[str]]


@pytest.fixture(scope="package")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One for all tests of faults."""
    started = Machine(tmp_path_factory.mktemp("machine"))
    yield started
    started.close()


@pytest.fixture(scope="package")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of all jobs."""
    directory: Path = tmp_path_factory.mktemp("of-jobs") / "the-input"
    directory.mkdir()
    make_all(directory)
    return directory


@pytest.fixture(scope="package")
def undisturbed(
    machine: Machine, inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Undisturbed]:
    """What a job gives with a good disk: hashes, calls by pass, passes."""
    root: Path = tmp_path_factory.mktemp("undisturbed")
    return cache(lambda name: Trial(machine, JOBS[name], inputs, root / name).undisturbed())


@pytest.fixture
def trial(machine: Machine, inputs: Path, undisturbed: Any, tmp_path: Path) -> Callable[[str], Trial]:
    """Make trials of jobs, each in a directory of its own."""
    made: list[Trial] = []

    def make(name: str) -> Trial:
        expected, calls, _ = undisturbed(name)
        made.append(Trial(machine, JOBS[name], inputs, tmp_path / f"{name}-{len(made)}", expected, calls))
        return made[-1]

    return make
