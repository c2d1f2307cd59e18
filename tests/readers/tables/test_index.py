"""The index of a frame has IDs or it has not: a named one is a column, and where it is not clear, the error says what
to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [f"u{i}" for i in (3, 0, 2, 1)]
EDGES = pd.DataFrame({"src": ["u0", "u1", "u2", "u3"], "dst": ["u1", "u2", "u3", "u0"], "w": [0.5, 1.5, 2.5, 3.5]})
NODES = pd.DataFrame({"age": [33, 30, 32, 31], "x": [0.3, 0.0, 0.2, 0.1]}, index=pd.Index(NAMES, name="user"))
GIVEN: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "list": lambda frame: [frame[:3], frame[3:]],
    "dask": lambda frame: dd.from_pandas(frame, npartitions=2),
}


def ages(**tables: Any) -> list[int]:
    """The ages in the order of the nodes' names."""
    scan = dgp.scan_tables(edges={"user:knows:user": EDGES}, map_ids=True, **tables)
    ages: list[int] = scan.collect(memory="500MB", workers=1).node_data["user"]["age"].compute().tolist()
    return ages


@pytest.mark.parametrize("kind", GIVEN)
def test_a_named_index_of_nodes_is_their_id(kind: str) -> None:
    of_column = ages(nodes={"user": NODES.reset_index()})
    assert sorted(of_column) == [30, 31, 32, 33]
    assert ages(nodes={"user": GIVEN[kind](NODES)}) == of_column
    assert ages(node_data={"user": GIVEN[kind](NODES)}) == of_column


@pytest.mark.parametrize("frame", [NODES.rename_axis(None), NODES.assign(user=NODES.index)])
def test_where_the_ids_are_is_asked_and_either_answer_is_right(frame: pd.DataFrame) -> None:
    with pytest.raises(OptionError, match=r"where are the IDs.*type table\.rename_axis\('id'\)"):
        ages(nodes={"user": frame})
    assert ages(nodes={"user": frame[["age", "x"]].rename_axis("id")}) == ages(nodes={"user": NODES})


def test_levels_of_an_index_are_named_apart() -> None:
    frame = NODES.set_index("x", append=True)
    with pytest.raises(OptionError, match=r"table\.reset_index\(\)\.rename\(columns=\{'user': 'id'\}\)"):
        ages(nodes={"user": frame})
    assert ages(nodes={"user": frame.reset_index().rename(columns={"user": "id"})}) == ages(nodes={"user": NODES})


def test_a_mask_lists_the_index_of_its_frame() -> None:
    scan = dgp.scan_tables(
        edges={"user:knows:user": EDGES}, nodes={"user": NODES}, masks={"user": {"old": NODES[NODES.age > 31]}},
        map_ids=True,
    )  # fmt: skip
    graph = scan.collect(memory="500MB", workers=1)
    old = graph.node_data["user"]["age"].compute() > 31
    assert graph.node_data["user"]["old"].compute().tolist() == old.tolist()


NUMBERS = EDGES.assign(src=[0, 1, 2, 3], dst=[1, 2, 3, 0])


ENDS = [(kind, end) for kind in GIVEN for end in ("src", "dst")]
"""dask has no index of several levels"""


@pytest.mark.parametrize(("kind", "index"), [*ENDS, ("pandas", ["src", "dst"]), ("list", ["src", "dst"])])
def test_ends_may_be_in_the_index(kind: str, index: Any) -> None:
    graph = dgp.from_edges(GIVEN[kind](NUMBERS.set_index(index, drop=True)))
    frame = graph.edges["_N:_E:_N"].compute().assign(w=graph.edge_data["_N:_E:_N"]["w"].compute())
    assert frame.sort_values("src").to_numpy().tolist() == NUMBERS.to_numpy().tolist()


def test_an_index_of_edges_that_may_be_an_end_is_asked_for() -> None:
    frame = NUMBERS.rename(columns={"src": "a", "dst": "b"})
    assert dgp.from_edges(NUMBERS[NUMBERS.w > 1]).schema.num_edges == 3, "a count of rows, some left out, is none"
    for given in (frame.rename_axis("number"), frame.set_index("a")):
        with pytest.raises(OptionError, match=r"table\.reset_index\(\) if .* else table\.reset_index\(drop=True\)"):
            dgp.from_edges(given)
    assert dgp.from_edges(frame.drop(columns="w").set_index("a").reset_index()).schema.num_nodes == 4


def pairs() -> Any:
    yield from [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize("given", [pairs(), {(0, 1), (1, 2), (2, 0)}, [*pairs()], iter([*pairs()])], ids=type)
def test_pairs_one_by_one_are_refused_with_what_to_give(given: Any) -> None:
    for edges in (given, {"a:b:a": given}):
        with pytest.raises(OptionError, match=r"numpy\.array\(list\(given\)\)"):
            dgp.from_edges(edges)
    assert dgp.from_edges(np.array(list(given))).schema.num_edges == 3


def test_tables_of_other_kinds_are_refused_with_what_to_give(tmp_path: Any) -> None:
    import pyarrow as pa
    from pyarrow import dataset, parquet

    parquet.write_table(pa.Table.from_pandas(NUMBERS), tmp_path / "edges.parquet")
    given = dataset.dataset(tmp_path / "edges.parquet")
    with pytest.raises(OptionError, match=r"list\(given\.files\), or given\.to_table\(\)"):
        dgp.from_edges(given)
    assert dgp.from_edges(given.to_table()).schema.num_edges == 4
    assert dgp.scan_tables(edges=list(given.files)).collect_schema().num_edges == 4
    with pytest.raises(OptionError, match=r"given\.read\(\)"):
        dgp.from_edges(parquet.ParquetFile(tmp_path / "edges.parquet"))
    for columns in (NUMBERS.to_records(index=False), {"src": np.arange(3), "dst": np.arange(3)}):
        with pytest.raises(OptionError, match=r"pandas\.DataFrame\("):
            dgp.from_edges(columns)
