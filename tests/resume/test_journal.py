"""The journal: what it keeps comes back as it was; a torn last line is dropped, other damage is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from inside import Pass, Resources, Unit, open_runner

from daskgraphpart.engine.journal import JOURNAL_NAME, Journal, from_json, to_json
from daskgraphpart.errors import ResumeError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


ARRAYS = hnp.arrays(st.sampled_from(["<i8", "<i4", "<f8", "|b1"]), hnp.array_shapes(min_dims=1, min_side=0))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), ARRAYS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=10,
)


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, Pair):
        assert_same((one.left, one.right), (other.left, other.right))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, dict):
        assert_same(list(one.items()), list(other.items()))
    else:
        assert one == other


@given(VALUES)
def test_results_come_back_as_they_were(value: Any) -> None:
    assert_same(from_json(json.loads(json.dumps(to_json(value))), (Pair,)), value)


def test_what_has_no_form_in_the_journal_is_an_error_of_ours() -> None:
    with pytest.raises(TypeError, match="set"):
        to_json({1, 2})
    with pytest.raises(KeyError):
        from_json(to_json(Pair(1, 2)))


def write_journal(directory: Path) -> Path:
    journal = Journal.create(directory, {"what": "a job"})
    number, _ = journal.begin("first", [5, 6, 7])
    for unit in (0, 2):
        journal.record(number, {unit: unit * 10})
    journal.close()
    return directory / JOURNAL_NAME


def test_finished_units_are_found_again(tmp_path: Path) -> None:
    write_journal(tmp_path)
    journal = Journal.open(tmp_path)
    assert journal is not None
    assert (journal.header, journal.num_finished, journal.is_done) == ({"what": "a job"}, 2, False)
    assert journal.begin("first", [5, 6, 7])[1] == {0: 0, 2: 20}
    assert journal.begin("second", [1])[1] == {}
    journal.close()


def test_wherever_a_kill_cuts_the_journal_what_is_whole_counts(tmp_path: Path) -> None:
    path = write_journal(tmp_path)
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content)):
        path.write_bytes(content[:length])
        journal = Journal.open(tmp_path)
        lines = sum(end <= length for end in ends)
        assert (journal is None) == (lines == 0)
        if journal is not None:
            assert journal.num_finished == max(0, lines - 3)  # header, run, pass
            journal.begin_run()  # what follows is readable again
            journal.close()
            again = Journal.open(tmp_path)
            assert again is not None and again.num_finished == max(0, lines - 3)
            again.close()


def test_another_version_is_refused(tmp_path: Path) -> None:
    import zlib

    body = json.dumps({"format": "daskgraphpart journal", "version": 99, "job": {}}).encode()
    (tmp_path / JOURNAL_NAME).write_bytes(b"%08x %s\n" % (zlib.crc32(body), body))
    with pytest.raises(ResumeError, match=r"another version"):
        Journal.open(tmp_path)


def test_another_pass_in_its_place_is_refused(tmp_path: Path) -> None:
    write_journal(tmp_path)
    for name, sizes in (("other", [5, 6, 7]), ("first", [5, 6]), ("first", [5, 6, 8])):
        journal = Journal.open(tmp_path)
        assert journal is not None
        with pytest.raises(ResumeError, match="other passes"):
            journal.begin(name, sizes)
        journal.close()


def double(unit: int, calls: list[int]) -> int:
    calls.append(unit)
    return 2 * unit


def test_a_runner_does_what_is_missing_and_gives_all_results_in_order(tmp_path: Path) -> None:
    calls: list[int] = []
    for expected in ([1, 2, 3], []):
        calls.clear()
        journal = Journal.open(tmp_path) or Journal.create(tmp_path, {})
        with open_runner(Resources(1 << 28, "sync"), journal=journal) as runner:
            assert runner.run(Pass("double", double, [Unit(i, 1) for i in (1, 2, 3)], calls)) == [2, 4, 6]
            assert runner.step("once", lambda: calls.append(9) or (1, 2)) == (1, 2)
        assert sorted(calls) == [*expected, *([9] if expected else [])]
        journal.close()


def test_passes_inside_a_step_are_not_journalled_one_by_one(tmp_path: Path) -> None:
    calls: list[int] = []

    def fail() -> None:
        runner.run(Pass("double", double, [Unit(1, 1)], calls))
        raise OSError(5, "the disk failed")

    for _ in range(2):
        journal = Journal.open(tmp_path) or Journal.create(tmp_path, {})
        with (
            open_runner(Resources(1 << 28, "sync"), journal=journal) as runner,
            pytest.raises(OSError, match="the disk failed"),
        ):
            runner.step("all or nothing", fail)
        journal.close()
    assert calls == [1, 1]
