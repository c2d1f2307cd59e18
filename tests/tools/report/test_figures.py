"""Figures of a report are those of the definition, in plain numpy; ours and those of what DGL wrote."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import Graph, load_real_graph
from hypothesis import given
from hypothesis import strategies as st
from inside import SMALLEST_TASK_MEMORY, DispatchOptions, Resources
from keywords import spelled
from oracle import partition_in_memory
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart.partitioner.assignment import create_owner_files
from daskgraphpart.tools.report import report_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart import PartitionedGraph
    from daskgraphpart.tools.report.report import Report

FORMATS = st.sampled_from((("coo",), ("csc",), ("csr",), ("coo", "csr", "csc"), ("csr", "csc")))


def dispatched(
    graph: Graph, owners: Mapping[str, np.ndarray], num_parts: int, root: Path, what: DispatchOptions
) -> PartitionedGraph:
    chunked = dgp.read_chunked(graph.write(root / "in", edge_format="numpy"))
    regions = create_owner_files(root, chunked.schema, num_parts)
    for ntype, region in regions.items():
        region.write(owners[ntype].astype(region.dtype), 0)
    assignment = dgp.Assignment(num_parts, "test", regions)
    resources = Resources(1 << 30, "sync")
    return dgp.open_partitions(
        dgp.dispatch(chunked, assignment, root / "out", **spelled(what), **spelled(resources)).config
    )


def owners_of(graph: Graph, num_parts: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Skewed, so that some parts lack a type."""
    rng = np.random.default_rng(seed)
    return {t.name: (num_parts * rng.random(t.num_nodes) ** 2).astype(int) for t in graph.schema.node_types}


def assert_figures_are_those_of_the_definition(
    figures: Report, graph: Graph, owners: Mapping[str, np.ndarray], num_parts: int
) -> None:
    ntypes, etypes = graph.schema.ntypes, graph.schema.etypes
    matrix = np.zeros((num_parts, num_parts), int)
    halo: dict[str, set[tuple[int, int]]] = {ntype: set() for ntype in ntypes}
    degrees = {t.name: np.zeros(t.num_nodes, int) for t in graph.schema.node_types}
    for i, etype in enumerate(etypes):
        src_type, _, dst_type = etype.split(":")
        src, dst = graph.edges[etype]
        begins, ends = owners[src_type][src], owners[dst_type][dst]
        np.add.at(matrix, (begins, ends), 1)
        cut = begins != ends
        assert figures.owned_edges[:, i].tolist() == np.bincount(ends, minlength=num_parts).tolist()
        assert figures.cut_edges[:, i].tolist() == np.bincount(ends[cut], minlength=num_parts).tolist()
        halo[src_type] |= set(zip(ends[cut].tolist(), src[cut].tolist(), strict=True))
        degrees[dst_type] += np.bincount(dst, minlength=len(degrees[dst_type]))
    assert figures.edge_matrix.tolist() == matrix.tolist()
    assert figures.num_cut_edges == matrix.sum() - np.trace(matrix)
    assert figures.num_edges == matrix.sum()
    for i, ntype in enumerate(ntypes):
        assert figures.inner_nodes[:, i].tolist() == np.bincount(owners[ntype], minlength=num_parts).tolist()
        expected = np.bincount([part for part, _ in halo[ntype]], minlength=num_parts)
        assert figures.halo_nodes[:, i].tolist() == expected.tolist()
    assert figures.communication_volume == sum(map(len, halo.values()))
    for part in range(num_parts):
        mine = np.concatenate([degrees[ntype][owners[ntype] == part] for ntype in ntypes])
        bins = np.bincount([int(degree).bit_length() for degree in mine], minlength=figures.in_degrees.shape[1])
        assert figures.in_degrees[part].tolist() == bins.tolist()
        assert figures.max_in_degrees[part] == mine.max(initial=0)


@given(
    graph=graphs(),
    num_parts=st.sampled_from((1, 2, 3, 8, 40)),
    num_hops=st.sampled_from((1, 1, 2, 3)),
    formats=FORMATS,
    out_edges=st.booleans(),
)
def test_figures_are_those_of_the_definition(graph, num_parts, num_hops, formats, out_edges) -> None:
    owners = owners_of(graph, num_parts)
    with tempfile.TemporaryDirectory() as root:
        partitioned = dispatched(graph, owners, num_parts, Path(root), DispatchOptions(num_hops, formats, out_edges))
        report = partitioned.report(memory=1 << 30, cluster="sync")
    assert_figures_are_those_of_the_definition(report, graph, owners, num_parts)
    stored = [part.halo_nids.size for part in partition_in_memory(graph, owners, num_parts, num_hops, out_edges)]
    assert report.stored_halo_nodes.sum(axis=1).tolist() == stored
    marked = {f"{t}/train_mask": of["train_mask"] for t, of in graph.node_data.items() if "train_mask" in of}
    assert set(report.masks) == {key for key, mask in marked.items() if mask.size}
    for key, counts in report.masks.items():
        mine = owners[key.split("/")[0]][marked[key]]
        assert counts.tolist() == np.bincount(mine, minlength=num_parts).tolist()


def test_figures_of_parts_whose_counters_do_not_fit_are_those_of_the_definition(tmp_path: Path) -> None:
    """A task has room for the counters of half a million nodes, and reads 65,536 edges at a time."""
    rng = np.random.default_rng(0)
    schema = dgp.GraphSchema("g", (dgp.NodeType("n", 1_200_000),), (dgp.EdgeType("n", "r", "n", 150_000),))
    graph = Graph(schema, {"n:r:n": tuple(rng.integers(0, 1_200_000, (2, 150_000)))})
    owners = {"n": rng.integers(0, 2, 1_200_000)}
    partitioned = dispatched(graph, owners, 2, tmp_path, DispatchOptions())
    report = partitioned.report(memory=SMALLEST_TASK_MEMORY, cluster="sync")
    assert_figures_are_those_of_the_definition(report, graph, owners, 2)


@pytest.mark.real
@pytest.mark.parametrize(("name", "num_parts"), [("oewn", 4), ("cora", 13)])
def test_figures_of_real_graphs(name: str, num_parts: int, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    owners = owners_of(graph, num_parts, seed=1)
    partitioned = dispatched(graph, owners, num_parts, tmp_path, DispatchOptions(num_hops=2, out_edges=True))
    report = partitioned.report(memory=1 << 30, cluster="threads", workers=2)
    assert_figures_are_those_of_the_definition(report, graph, owners, num_parts)
    found = {labels.key: labels for labels in report.labels}
    for ntype, features in graph.node_data.items():
        for feature in set(features) & {"label", "labels", "y"}:
            rows, labels = features[feature], found.pop(f"{ntype}/{feature}")
            for part in range(num_parts):
                mine = rows[owners[ntype] == part]
                expected = [int((mine == value).sum()) for value in labels.classes]
                assert labels.counts[part].tolist() == expected
                assert labels.unlabelled[part] == (mine < 0).sum()
                overall = np.array([(rows == value).sum() for value in labels.classes]) / (rows >= 0).sum()
                distance = np.abs(np.array(expected) / sum(expected) - overall).sum() / 2
                assert labels.total_variation[part] == pytest.approx(distance)
    assert found == {}
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "out" / "part1").iterdir()}
    assert {key: int(of[1]) for key, of in report.file_sizes.items()} == sizes
    assert report.nbytes[1] == sum(sizes.values())


def two_parts(rows: np.ndarray, root: Path, name: str = "label") -> PartitionedGraph:
    """A graph without edges whose even nodes are in part 0."""
    schema = dgp.GraphSchema("g", (dgp.NodeType("n", len(rows)),), (dgp.EdgeType("n", "r", "n", 0),))
    graph = Graph(schema, {"n:r:n": (np.zeros(0, int), np.zeros(0, int))}, {"n": {name: rows}})
    return dispatched(graph, {"n": np.arange(len(rows)) % 2}, 2, root, DispatchOptions())


@pytest.mark.parametrize(
    ("rows", "classes", "counts", "unlabelled", "distances"),
    [
        ([0, -1, 0, 5, 3, -1], (0, 3, 5), [[2, 1, 0], [0, 0, 1]], [0, 2], (0.25, 0.75)),
        ([0, -1, 1, -1], (0, 1), [[1, 1], [0, 0]], [0, 2], (0.0, None)),
    ],
)
def test_negative_labels_are_not_a_class(rows, classes, counts, unlabelled, distances, tmp_path: Path) -> None:
    parts = two_parts(np.array(rows), tmp_path)
    (labels,) = parts.report().labels
    (named,) = parts.report(labels.key).labels
    assert (named.key, named.counts.tolist()) == (labels.key, labels.counts.tolist())
    assert (labels.classes, labels.counts.tolist()) == (classes, counts)
    assert labels.unlabelled.tolist() == unlabelled
    assert labels.total_variation == pytest.approx(distances)


def test_labels_are_found_by_name_or_given(tmp_path: Path) -> None:
    partitioned = two_parts(np.arange(6), tmp_path, "field")
    assert partitioned.report().labels == ()
    assert [labels.key for labels in partitioned.report(["n/field"]).labels] == ["n/field"]
    with pytest.raises(dgp.GraphPartError, match=r"no such labels: expected .* one of n/field, found n/y"):
        partitioned.report(["n/y"])
    (tmp_path / "vectors").mkdir()
    vectors = two_parts(np.zeros((4, 2), np.int64), tmp_path / "vectors")
    assert vectors.report().labels == ()
    with pytest.raises(dgp.GraphPartError, match=r"one whole number per node.*, found n/label, int64 of shape \(2,\)"):
        vectors.report(["n/label"])


@pytest.mark.parametrize("num_classes", [5000, 10_000], ids=["together", "a part alone"])
def test_labels_of_too_many_classes_are_left_out_with_a_note(num_classes: int, tmp_path: Path) -> None:
    report = two_parts(np.arange(num_classes), tmp_path).report(memory=1 << 30, cluster="sync")
    assert report.labels == ()
    assert report.notes == ("n/label has more than 4,096 classes and is left out",)
    assert "left out" in str(report)


def test_a_graph_without_edges_has_no_cut(tmp_path: Path) -> None:
    report = two_parts(np.arange(6), tmp_path).report()
    assert (report.cut_share, report.replication_factor, report.num_edges) == (0.0, 1.0, 0)
    assert report.in_degrees.tolist() == [[3], [3]]


def test_ends_outside_the_part_are_one_error(tmp_path: Path) -> None:
    schema = dgp.GraphSchema("g", (dgp.NodeType("n", 4),), (dgp.EdgeType("n", "r", "n", 4),))
    graph = Graph(schema, {"n:r:n": (np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]))})
    partitioned = dispatched(graph, {"n": np.arange(4) // 2}, 2, tmp_path, DispatchOptions())
    row = partitioned.part(1).graph.formats["coo"]["row"]
    kept = row.read()
    row.write(np.array([99]), 1)
    with pytest.raises(dgp.GraphPartError, match=r"local edge 1: .*found 99 and"):
        partitioned.report()
    row.write(kept, 0)
    partitioned.part(0).graph.node_arrays["_ID"].write(np.array([1]), 2)
    with pytest.raises(dgp.GraphPartError, match=r"_ID of local node 2: a halo node belongs to no other part: 1"):
        partitioned.report()


@pytest.mark.parametrize("form", ["coo", "csc"])
def test_the_memory_of_a_task_does_not_grow_with_the_graph(form: str, tmp_path: Path) -> None:
    """Beyond the counters, whose range is chosen to fit, only pieces of fixed size are held."""
    import tracemalloc

    rng, peaks = np.random.default_rng(0), []
    for scale in (1, 4):
        (tmp_path / str(scale)).mkdir()
        num_nodes, num_edges = 60_000 * scale, 400_000 * scale
        schema = dgp.GraphSchema("g", (dgp.NodeType("n", num_nodes),), (dgp.EdgeType("n", "r", "n", num_edges),))
        ends = rng.integers(0, num_nodes, (2, num_edges))
        owners = {"n": rng.integers(0, 2, num_nodes)}
        graph = Graph(schema, {"n:r:n": (ends[0], ends[1])})
        partitioned = dispatched(graph, owners, 2, tmp_path / str(scale), DispatchOptions(1, (form,)))
        # the first range of a part is of own nodes, the last of halo nodes
        units = report_parts._ranges_of_nodes([partitioned.part(0).graph], 30_000)
        report_parts.report_edges(units[0], partitioned.book)
        tracemalloc.start()
        for unit in (units[0], units[-1]):
            report_parts.report_edges(unit, partitioned.book)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert max(peaks) < report_parts.BYTES_OF_BLOCKS + 8 * 30_000
