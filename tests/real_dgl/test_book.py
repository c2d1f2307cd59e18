"""The partition book, its policies and the ID converter agree with DGL's, ID by ID."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judges import DGL_VERSIONS, run_in_dgl
from real_dgl.book_answers import answers

from daskgraphpart import EdgeType, GraphSchema, IdConverter, NodeType
from daskgraphpart.errors import IdOutOfRangeError
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.interop.dgl_api.books import EdgePartitionPolicy, NodePartitionPolicy, RangePartitionBook

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")

NTYPES = ("a", "b", "c")
ETYPES = ("a:r:b", "b:s:a", "a:t:a", "c:r:c")


def question(seed: int) -> dict[str, Any]:
    """Ranges of some parts and types, many of them empty, a part, and IDs to map."""
    rng = np.random.default_rng(seed)
    parts, largest = int(rng.integers(1, 7)), int(rng.choice((1, 4, 50)))
    ntypes = NTYPES[: rng.integers(1, 4)]
    etypes = [e for e in ETYPES if {e.split(":")[0], e.split(":")[2]} <= set(ntypes)] or ["a:t:a"]
    counts = [rng.integers(0, largest + 1, (parts, len(names))) for names in (ntypes, etypes)]
    for table in counts:
        table[0, 0] += 1  # not even DGL's book takes graphs without nodes or edges
    book = PartitionBook.from_counts(ntypes, etypes, *counts)
    totals = [int(ranges[-1, -1, 1]) for ranges in (book.node_ranges, book.edge_ranges)]
    nids, eids = (rng.integers(0, total, 40).tolist() for total in totals)
    return {
        "ntypes": list(ntypes),
        "etypes": list(etypes),
        "node_ranges": book.node_ranges.tolist(),
        "edge_ranges": book.edge_ranges.tolist(),
        "part": int(rng.integers(parts)),
        "nids": nids,
        "eids": eids,
    }


@pytest.mark.dgl
@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_every_method_answers_as_dgl_does(version: str, tmp_path: Path) -> None:
    asked = [question(seed) for seed in range(100)]
    (tmp_path / "questions.json").write_text(json.dumps(asked))
    run_in_dgl(version, "judge_book.py", "questions.json", "answers.json", cwd=tmp_path)
    theirs = json.loads((tmp_path / "answers.json").read_text())
    for one, expected in zip(asked, theirs, strict=True):
        ranges = [np.array(one[key]) for key in ("node_ranges", "edge_ranges")]
        book = RangePartitionBook(PartitionBook(tuple(one["ntypes"]), tuple(one["etypes"]), *ranges), one["part"])
        assert answers(book, (NodePartitionPolicy, EdgePartitionPolicy), one) == expected
        assert book.nid2partid(np.array(one["nids"])).tolist() == expected["nodes"]["part"], "numpy as torch"


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_the_converter_counts_ids_type_after_type(counts: list[int], data: st.DataObject) -> None:
    names = [f"n{i}" for i in range(len(counts))]
    node_types = tuple(NodeType(name, count) for name, count in zip(names, counts, strict=True))
    edge_types = tuple(EdgeType("n0", f"r{i}", "n0", count) for i, count in enumerate(counts))
    converter = IdConverter(GraphSchema("g", node_types, edge_types))
    table = [(number, i) for number, count in enumerate(counts) for i in range(count)]
    ids = np.arange(len(table))
    for of_kind, back, kinds in (
        (converter.nid_hom2het, converter.nid_het2hom, names),
        (converter.eid_hom2het, converter.eid_het2hom, [t.name for t in edge_types]),
    ):
        types, typed = of_kind(ids)
        assert list(zip(types.tolist(), typed.tolist(), strict=True)) == table
        for number, i in table:
            homogeneous = back(kinds[number], i)
            assert of_kind(homogeneous) == (kinds[number], i), "boundaries included"
        for number, name in enumerate(kinds):
            tensor = torch.arange(counts[number])
            assert back(name, tensor).tolist() == ids[types == number].tolist()
            for bad in (-1, counts[number]):
                with pytest.raises(IdOutOfRangeError, match="out of range"):
                    back(name, [bad])
        with pytest.raises(IdOutOfRangeError, match="out of range"):
            of_kind(data.draw(st.sampled_from((-1, len(table)))))
    assert converter.id2ntype(converter.ntype2id("n0")) == "n0"
    assert converter.id2etype(converter.etype2id("n0:r0:n0")) == "n0:r0:n0"


def test_ids_and_types_of_nobody_are_refused() -> None:
    book = RangePartitionBook(
        PartitionBook.from_counts(("a", "c"), ("a:r:a", "c:r:c"), np.ones((2, 2), int), np.ones((2, 2), int)), 0
    )
    assert book.to_canonical_etype("a:r:a") == ("a", "r", "a")
    assert (book.book.nid2partid(2), book.book.map_to_per_ntype(3)) == (1, (1, 1)), "of one ID, numbers"
    for call in (
        lambda: book.nid2partid([0], "b"),
        lambda: NodePartitionPolicy(book, "b"),
        lambda: EdgePartitionPolicy(book, ("a", "x", "a")),
        lambda: book.eid2partid([0], "r"),
        lambda: book.nid2partid([0.5]),
        lambda: book.nid2partid([4]),
        lambda: book.nid2partid([-1]),
        lambda: book.eid2partid([99]),
        lambda: book.map_to_homo_nid([2], "a"),
        lambda: book.map_to_per_etype([4]),
        lambda: book.partid2nids(2),
        lambda: book.partid2nids(0, "b"),
        lambda: RangePartitionBook(book.book, -1),
        lambda: book.nid2localnid([2], 0),
    ):
        with pytest.raises(IdOutOfRangeError):
            call()
    assert issubclass(IdOutOfRangeError, IndexError)
