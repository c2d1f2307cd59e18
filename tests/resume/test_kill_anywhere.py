"""Killed at any instant, once or several times, a job that is continued gives the bytes of an undisturbed one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from faults.judge import expect_not_whole, expect_whole, judging
from faults.kills import CASES, Undisturbed, make_inputs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HITS: list[bool] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """So many runs of each job as are asked for; of those on processes a third, since each start takes seconds."""
    if "number" not in metafunc.fixturenames:
        return
    kills = metafunc.config.getoption("--kills")
    runs = [(c, number) for c in CASES for number in range(max(1, kills // 3) if c.cluster == "processes" else kills)]
    is_long = [number > 0 or case.name == "processes-zarr" for case, number in runs]
    marked = [
        pytest.param(case, number, marks=[pytest.mark.long] * long, id=f"{case.name}-{number}")
        for (case, number), long in zip(runs, is_long, strict=True)
    ]
    metafunc.parametrize(("case", "number"), marked)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Undisturbed]:
    root: Path = tmp_path_factory.mktemp("kill")
    make_inputs(root)
    cases = {case.name: case for case in CASES}
    return cache(lambda name: Undisturbed(cases[name], root))


def test_a_killed_job_that_is_continued_gives_the_same_bytes(case, number, undisturbed) -> None:
    def judge(graph: Path, out: Path, whole: bool) -> None:
        (expect_whole if whole else expect_not_whole)(judging(graph, out, case.command))

    kills, differing = undisturbed(case.name).kill_and_continue(number, judge)
    assert differing == [], kills
    HITS.append(bool(kills))


def test_most_kills_hit() -> None:
    assert sum(HITS) >= len(HITS) // 2
