"""What an object has and a graph does not take is named in a warning, with the way to keep it, which works."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import daskgraphpart as dgp


def warned(caplog: pytest.LogCaptureFixture) -> str:
    text = " ".join(record.message for record in caplog.records if record.levelname == "WARNING")
    caplog.clear()
    return text


def test_an_attribute_that_a_node_of_networkx_lacks(caplog: pytest.LogCaptureFixture) -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, dict.fromkeys((0, 1, 3), 0.5), "x")
    nx.set_node_attributes(graph, dict.fromkeys(graph, "blue"), "color")
    nx.set_edge_attributes(graph, {(0, 1): 2.5}, "w")
    assert dgp.from_networkx(graph).schema.node_type("_N").data == ()
    told = warned(caplog)
    assert "node attribute 'x': 1 of 4 nodes lack it; networkx.set_node_attributes(graph, NUMBERS, 'x')" in told
    assert "'color': its values are not numbers" in told
    assert "edge attribute 'w': 4 of 6 edges lack it; networkx.set_edge_attributes(graph, NUMBERS, 'w')" in told
    nx.set_node_attributes(graph, {2: 1.5}, "x")
    nx.set_node_attributes(graph, {n: n for n in graph}, "color")
    nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, 1.0), "w")
    kept = dgp.from_networkx(graph)
    assert kept.node_data["_N"]["x"].compute().tolist() == [0.5, 0.5, 1.5, 0.5]
    assert not warned(caplog)


def test_values_of_a_matrix(caplog: pytest.LogCaptureFixture) -> None:
    matrix = scipy.sparse.random(20, 20, 0.2, "csr", rng=np.random.default_rng(1))
    dgp.from_scipy(matrix)
    assert "from_edges(matrix, edge_data={'weight': matrix.tocoo().data}) keeps them" in warned(caplog)
    graph = dgp.from_edges(matrix, edge_data={"weight": matrix.tocoo().data})
    edges = graph.edges["_N:_E:_N"].compute()
    weights = graph.edge_data["_N:_E:_N"]["weight"].compute()
    assert weights.tolist() == [matrix[src, dst] for src, dst in edges.to_numpy()]
    assert not warned(caplog)
    dgp.from_scipy((matrix > 0).astype(np.int8))
    assert not warned(caplog), "ones are no values"


def test_what_is_no_row_per_node_of_pyg(caplog: pytest.LogCaptureFixture) -> None:
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    index = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    given = data.Data(
        edge_index=index, x=torch.ones(4, 2), y=torch.ones(1), names=["a"], age=np.arange(4), n_id=index[0]
    )
    graph = dgp.from_pyg(given)
    assert {spec.name for spec in graph.schema.node_type("_N").data} == {"x", "age"}
    told = warned(caplog)
    assert all(f"leaving out {name!r}: " in told for name in ("n_id", "names", "y"))
    dgp.from_edges(given, node_data={"n_id": index[0], "names": np.arange(4)}, edge_data={"y": np.ones(4)})
    assert not warned(caplog)
    dgp.from_pyg(data.Data(edge_index=index, x=torch.ones(4, 2)))
    assert not warned(caplog)
    several = data.HeteroData()
    several["a"].x, several["a", "to", "a"].edge_index, several.label = torch.ones(4, 2), index, torch.ones(3)
    dgp.from_pyg(several)
    assert "leaving out 'label': " in warned(caplog)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dask"])
def test_columns_that_get_other_names(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    import dask.dataframe as dd
    import polars as pl

    frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0], "since:int": [1, 2], "~a/b": [0.5, 1.0], "w": [1, 2]})
    makers = {"pandas": lambda: frame, "polars": lambda: pl.DataFrame(frame.to_dict("list"))}
    made = {**makers, "dask": lambda: dd.from_pandas(frame, npartitions=2)}[kind]()
    assert dgp.from_edges(made).schema.edge_type("_N:_E:_N").data[0].name == "since.int"
    assert "_N:_E:_N': columns get names that files can hold: 'since:int' is since.int, '~a/b' is a.b" in warned(caplog)
    dgp.from_edges(frame[["src", "dst", "w"]])
    assert not warned(caplog)
