"""Generated graphs: sizes, types, ranges, and values that no cutting changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import file_hashes
from inside import KINDS, MIN_MAG_NODES, NUM_CLASSES, detect_resources, generate, mag_graph, open_runner

from daskgraphpart import read_chunked
from daskgraphpart.errors import OptionError, OutputExistsError

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"num_nodes": 3000, "num_edges": 20_000}


def make(directory: Path, cluster: str = "sync", workers: int | None = None, **options: Any) -> Path:
    with open_runner(detect_resources("256MB", cluster=cluster, workers=workers)) as runner:
        generate(directory, **{**SIZES, "feature_width": 3, **options}, runner=runner)
    return directory


def content(directory: Path) -> dict[str, Any]:
    """Everything in a chunked graph, as lists."""
    graph = read_chunked(directory)
    found: dict[str, Any] = {etype: frame.compute().to_numpy().tolist() for etype, frame in graph.edges.items()}
    for of_types in (graph.node_data, graph.edge_data):
        for of_type, data in of_types.items():
            found |= {f"{of_type}/{name}": rows.compute().tolist() for name, rows in data.items()}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_and_formats_cut_the_same_values(kind: str, tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {"num_chunks": 1},
        {"num_chunks": 7, "edge_format": "csv", "data_format": "parquet"},
        {"num_chunks": 3, "edge_format": "numpy"},
    ]
    found = [content(make(tmp_path / str(i), kind=kind, labels=True, **way)) for i, way in enumerate(ways)]
    assert found[0] == found[1]
    assert found[0] == found[2]
    assert found[0] != content(make(tmp_path / "other", kind=kind, labels=True, seed=1))


def test_threads_change_no_byte(tmp_path: Path) -> None:
    alone, threads = (make(tmp_path / name, name, 2, kind="mag", num_chunks=3) for name in ("sync", "threads"))
    assert file_hashes(alone) == file_hashes(threads)


def test_rmat_is_homogeneous_with_labels_when_asked(tmp_path: Path) -> None:
    plain = read_chunked(make(tmp_path / "plain", feature_width=None))
    assert {name: (a.dtype, a.shape) for name, a in plain.node_data["_N"].items()} == {"feat": ("float32", (3000, 50))}
    labelled = read_chunked(make(tmp_path / "labelled", labels=True))
    dtypes = {name: str(array.dtype) for name, array in labelled.node_data["_N"].items()}
    masks = dict.fromkeys(("train_mask", "val_mask", "test_mask"), "bool")
    assert dtypes == {"feat": "float32", "label": "int64", **masks}
    edges = labelled.edges["_N:_E:_N"].compute().to_numpy()
    assert edges.shape == (20_000, 2)
    assert edges.min() >= 0
    assert edges.max() < 3000


def test_every_node_is_in_one_split_and_has_a_class(tmp_path: Path) -> None:
    data = read_chunked(make(tmp_path / "graph", labels=True)).node_data["_N"]
    masks = np.stack([data[name].compute() for name in ("train_mask", "val_mask", "test_mask")])
    assert (masks.sum(axis=0) == 1).all()
    assert np.abs(masks.mean(axis=1) - [0.6, 0.2, 0.2]).max() < 0.03
    labels = data["label"].compute()
    assert labels.min() >= 0
    assert labels.max() < NUM_CLASSES


def test_mag_has_its_types_dtypes_and_ranges(tmp_path: Path) -> None:
    graph = read_chunked(make(tmp_path / "graph", kind="mag", feature_width=None))
    counts = {node_type.name: node_type.num_nodes for node_type in graph.schema.node_types}
    assert sum(counts.values()) == SIZES["num_nodes"]
    assert counts["author"] > counts["paper"] > counts["field"] > counts["institution"]
    assert sum(edge_type.num_edges for edge_type in graph.schema.edge_types) == SIZES["num_edges"]
    for edge_type in graph.schema.edge_types:
        edges = graph.edges[edge_type.name].compute().to_numpy()
        assert edges.min() >= 0
        assert (edges.max(axis=0) < [counts[edge_type.src], counts[edge_type.dst]]).all()
    paper = graph.node_data["paper"]
    assert (paper["feat"].dtype, paper["feat"].shape[1]) == (np.float16, 128)
    years = paper["year"].compute()
    assert (years.dtype, years.min() >= 1975, years.max() < 2025) == (np.int32, True, True)
    edge_dtypes = {etype: {name: str(a.dtype) for name, a in data.items()} for etype, data in graph.edge_data.items()}
    assert edge_dtypes["author:writes:paper"] == {"order": "uint8"}
    assert edge_dtypes["paper:cites:paper"] == {"weight": "float32"}


def test_degrees_of_mag_are_skewed(tmp_path: Path) -> None:
    edges = read_chunked(make(tmp_path / "graph", kind="mag")).edges["paper:cites:paper"].compute().to_numpy()
    degrees = np.sort(np.bincount(edges[:, 1]))[::-1]
    assert degrees[: len(degrees) // 100].sum() > 5 * degrees.sum() / 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_as_many_nodes_and_edges_as_asked_for(kind: str, tmp_path: Path) -> None:
    for number, (num_nodes, num_edges) in enumerate(((3000, 20_000), (7, 50), (1000, 300))):
        sizes = {"num_nodes": num_nodes, "num_edges": num_edges}
        graph = read_chunked(make(tmp_path / str(number), kind=kind, **sizes))
        assert (graph.schema.num_nodes, graph.schema.num_edges) == (num_nodes, num_edges)
        counts = {node_type.name: node_type.num_nodes for node_type in graph.schema.node_types}
        for edge_type in graph.schema.edge_types:
            edges = graph.edges[edge_type.name].compute().to_numpy()
            assert edges.min(initial=0) >= 0
            assert (edges.max(axis=0, initial=0) < [counts[edge_type.src], counts[edge_type.dst]]).all()


def test_papers_cite_earlier_ones_and_copy_citations(tmp_path: Path) -> None:
    edges = read_chunked(make(tmp_path / "graph", kind="citations")).edges["_N:_E:_N"].compute().to_numpy()
    assert (np.diff(edges[:, 0]) >= 0).all()
    assert (edges[1:, 1] <= edges[1:, 0]).all()
    assert np.bincount(edges[:, 1]).max() > 10 * len(edges) / 3000


def test_mag_has_as_many_nodes_and_edges_as_asked_for() -> None:
    for size in range(MIN_MAG_NODES, 500):
        graph = mag_graph(size, size, None, 0)
        assert (graph.schema.num_nodes, graph.schema.num_edges) == (size, size)
        assert min(t.num_edges for t in graph.schema.edge_types) >= 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "tree"}, "Unknown kind of graph 'tree'. Choose from " + ", ".join(KINDS) + "."),
        (
            {"edge_format": "json"},
            "--edge-format: unknown format of edges 'json'. Choose from csv, numpy, parquet.",
        ),
        ({"data_format": "csv"}, "--data-format: unknown format of features 'csv'. Choose from numpy, parquet."),
        ({"num_nodes": 0}, "Invalid size: expected at least one node, found 0 nodes, 20000 edges"),
        ({"feature_width": -3}, "--features: invalid width of features: expected 0 or more, found -3"),
        ({"num_chunks": 0}, "--num-chunks: invalid number of files: expected 1 or more, found 0"),
        ({"num_chunks": -2}, "--num-chunks: invalid number of files: expected 1 or more, found -2"),
        (
            {"kind": "mag", "num_nodes": 3},
            "--nodes: too few nodes for kind mag: expected 5 or more, found 3",
        ),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_replaced(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    before = file_hashes(make(tmp_path / "graph"))
    with pytest.raises(OptionError) as caught:
        make(tmp_path / "graph", overwrite=True, **options)
    assert caught.value.for_command_line() == message
    assert file_hashes(tmp_path / "graph") == before


def test_no_edges_and_more_files_than_rows_are_graphs(tmp_path: Path) -> None:
    empty = read_chunked(make(tmp_path / "empty", num_edges=0))
    assert len(empty.edges["_N:_E:_N"].compute()) == 0
    few = content(make(tmp_path / "few", num_nodes=5, num_edges=4, num_chunks=9, edge_format="csv"))
    assert few == content(make(tmp_path / "one", num_nodes=5, num_edges=4, num_chunks=1))


def test_only_a_chunked_graph_is_replaced(tmp_path: Path) -> None:
    make(tmp_path / "graph")
    with pytest.raises(OutputExistsError, match="not empty"):
        make(tmp_path / "graph")
    fresh = file_hashes(make(tmp_path / "fresh", seed=1, num_chunks=1))
    make(tmp_path / "graph", num_chunks=4, overwrite=True)
    assert file_hashes(make(tmp_path / "graph", seed=1, num_chunks=1, overwrite=True)) == fresh
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(OutputExistsError, match=r"thesis\.txt"):
        make(tmp_path / "mine", overwrite=True)
    with pytest.raises(OutputExistsError, match="not a directory"):
        make(tmp_path / "mine" / "thesis.txt", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "x"
