"""The pure part: intervals cover every row once, and positions follow from counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from daskgraphpart.book import PartitionBook
from daskgraphpart.dispatching.edge_runs import RunTable, cut_slices
from daskgraphpart.dispatching.offsets import cut_intervals, row_offsets

COUNTS = hnp.arrays(np.int64, st.tuples(st.integers(0, 8), st.integers(1, 5)), elements=st.integers(0, 9))


@given(st.integers(0, 200), st.lists(st.integers(-5, 220)), st.integers(1, 50))
def test_intervals_cover_every_row_once_and_begin_at_every_mark(rows: int, marks: list[int], most: int) -> None:
    intervals = cut_intervals(rows, marks, most)
    assert [row for start, stop in intervals for row in range(start, stop)] == list(range(rows))
    assert all(0 < stop - start <= most for start, stop in intervals)
    assert {mark for mark in marks if 0 <= mark < rows} <= {start for start, _ in intervals}


@given(COUNTS)
def test_offsets_count_what_is_owned_before(counts: np.ndarray) -> None:
    bounds = [10 * i for i in range(len(counts))]
    offsets = row_offsets(bounds, list(counts), counts.shape[1])
    assert offsets.totals.tolist() == counts.sum(axis=0).tolist()
    for i, bound in enumerate(bounds):
        assert offsets.owned_before(bound).tolist() == counts[:i].sum(axis=0).tolist()


@given(COUNTS, st.data(), st.integers(1, 7))
def test_slices_of_runs_hold_consecutive_edge_ids(counts: np.ndarray, data: st.DataObject, most: int) -> None:
    num_runs, num_parts = counts.shape
    etype_ids = np.array(sorted(data.draw(st.integers(0, 2)) for _ in range(num_runs)), np.int64)
    num_rows = counts.sum(axis=1)
    runs = RunTable(etype_ids, np.cumsum(num_rows) - num_rows, num_rows, counts)
    by_type = runs.counts_by_type(3)
    for part in range(num_parts):
        for etype in range(3):
            assert by_type[part, etype] == counts[etype_ids == etype, part].sum()
    book = PartitionBook.from_counts(("n",), ("n:a:n", "n:b:n", "n:c:n"), np.ones((num_parts, 1), int), by_type)
    first_eids = runs.first_new_eids(book)
    next_eid = 0
    for part in range(num_parts):
        slices = runs.slices_of_parts()[part]
        found = []
        for run, start, count in slices[["run", "start", "count"]].tolist():
            assert first_eids[run, part] == next_eid
            assert start == counts[run, :part].sum()
            next_eid += count
            found += [(run, row) for row in range(start, start + count)]
        cut = cut_slices(slices, most)
        assert all(0 < piece["count"].sum() <= most for piece in cut)
        again = [
            (run, row)
            for piece in cut
            for run, start, count in piece[["run", "start", "count"]].tolist()
            for row in range(start, start + count)
        ]
        assert again == found
