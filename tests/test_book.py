"""The partition book equals a table of all IDs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from daskgraphpart.book import IdOutOfRangeError, PartitionBook

NTYPES, ETYPES = ("a", "b"), ("a:r:b", "b:s:a", "a:t:a")
COUNTS = st.integers(1, 5).flatmap(
    lambda parts: st.tuples(
        hnp.arrays(np.int64, (parts, 2), elements=st.integers(0, 4)),
        hnp.arrays(np.int64, (parts, 3), elements=st.integers(0, 4)),
    )
)


@given(COUNTS)
def test_every_method_equals_the_table_of_all_ids(counts: tuple[np.ndarray, np.ndarray]) -> None:
    book = PartitionBook.from_counts(NTYPES, ETYPES, *counts)
    kinds = (
        (
            counts[0],
            NTYPES,
            (book.nid2partid, book.partid2nids, book.nid2localnid, book.map_to_per_ntype, book.map_to_homo_nid),
        ),
        (
            counts[1],
            ETYPES,
            (book.eid2partid, book.partid2eids, book.eid2localeid, book.map_to_per_etype, book.map_to_homo_eid),
        ),
    )
    for table, names, (id2part, part2ids, id2local, per_type, homogeneous) in kinds:
        seen = [0] * len(names)
        rows = []
        for part, of_types in enumerate(table.tolist()):
            for type_id, count in enumerate(of_types):
                for _ in range(count):
                    rows.append((len(rows), part, type_id, seen[type_id]))
                    seen[type_id] += 1
        everything = np.array(rows, int).reshape(-1, 4)
        ids, parts, types, typed = everything.T
        assert id2part(ids).tolist() == parts.tolist()
        assert [found.tolist() for found in per_type(ids)] == [types.tolist(), typed.tolist()]
        for part in range(len(table)):
            mine = ids[parts == part]
            assert part2ids(part).tolist() == mine.tolist()
            assert id2local(mine, part).tolist() == list(range(mine.size))
            for type_id, name in enumerate(names):
                of_type = typed[(parts == part) & (types == type_id)]
                assert part2ids(part, name).tolist() == of_type.tolist()
                assert id2local(of_type, part, name).tolist() == list(range(of_type.size))
        for type_id, name in enumerate(names):
            mine = types == type_id
            assert homogeneous(typed[mine], name).tolist() == ids[mine].tolist()
            assert id2part(typed[mine], name).tolist() == parts[mine].tolist()


def test_ids_that_are_nobodys_are_refused() -> None:
    book = PartitionBook.from_counts(NTYPES, ETYPES, np.array([[2, 0], [1, 3]]), np.ones((2, 3), int))
    for call in (
        lambda: book.nid2partid(np.array([0, 6])),
        lambda: book.nid2partid(np.array([-1])),
        lambda: book.map_to_homo_nid(np.array([3]), "a"),
        lambda: book.nid2localnid(np.array([2]), 0),
        lambda: book.map_to_per_etype(np.array([6])),
        lambda: book.partid2nids(0, "c"),
    ):
        with pytest.raises(IdOutOfRangeError):
            call()
    with pytest.raises(IndexError):
        book.eid2partid(np.array([99]))
    assert (book.nid2partid(2), book.map_to_per_ntype(2)) == (1, (0, 2)), "of one ID, numbers"
