"""Our readers, figures and `verify` on what real DGL wrote: right when it is whole, and not when it is damaged."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import corruptions as c
import numpy as np
import pytest
from graphs import Graph
from inside import Resources
from judges import DGL_VERSIONS, run_in_dgl, save_for_judge
from keywords import spelled

from daskgraphpart import EdgeType, GraphSchema, NodeType, open_partitions, verify
from daskgraphpart.layouts.dgl_graph import read_graph_file, read_tensor_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.dgl
RESOURCES = Resources(1 << 30, "threads", 2)
VARIANTS = ("one", "plain", "csc", "formats", "hops", "many-hops")


def homogeneous() -> Graph:
    rng = np.random.default_rng(3)
    schema = GraphSchema("g", (NodeType("node", 120),), (EdgeType("node", "edge", "node", 700),))
    edges = {"node:edge:node": tuple(rng.integers(0, 120, 700) for _ in range(2))}
    features = {"x": rng.random((120, 5)).astype(np.float32), "mask": rng.random(120) < 0.5}
    return Graph(schema, edges, {"node": features}, {"node:edge:node": {"w": rng.random(700)}})


def heterogeneous() -> Graph:
    """Types are not in the order of their names, which is DGL's."""
    rng = np.random.default_rng(4)
    sizes, counts = {"v": 150, "a": 80}, {"v:zips:a": 500, "a:adds:v": 300, "v:cites:v": 400}
    edges = {e: (rng.integers(0, sizes[e[0]], n), rng.integers(0, sizes[e[-1]], n)) for e, n in counts.items()}
    edge_types = tuple(EdgeType(*etype.split(":"), count) for etype, count in counts.items())
    schema = GraphSchema("g", tuple(NodeType(*item) for item in sizes.items()), edge_types)
    node_data = {"v": {"x": rng.random((150, 3)).astype(np.float32)}, "a": {"y": np.arange(80)}}
    return Graph(schema, edges, node_data, {"a:adds:v": {"w": rng.random((300, 2))}})


CASES = [
    pytest.param((version, make), marks=[] if (version, make) in quick else pytest.mark.long)
    for quick in [[(DGL_VERSIONS[0], homogeneous), (DGL_VERSIONS[-1], heterogeneous)]]
    for version in DGL_VERSIONS
    for make in (homogeneous, heterogeneous)
]


@pytest.fixture(scope="module", params=CASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph in `in`, and partitions that DGL made of it."""
    version, make = request.param
    root = tmp_path_factory.mktemp("made")
    graph = make()
    graph.write(root / "in", num_chunks=2)
    for_dgl = save_for_judge(graph, root / "for-dgl")
    said = run_in_dgl(version, "write_partitions.py", for_dgl, root, cwd=root)
    assert said == {"dgl": version, "variants": list(VARIANTS)}
    return root


def test_tensor_files_of_dgl_are_read(made: Path) -> None:
    regions = read_tensor_file(made / "tensors.dgl")
    with np.load(made / "tensors.npz") as expected:
        assert set(regions) == {key.replace("|", "/") for key in expected.files}
        for key in expected.files:
            found = regions[key.replace("|", "/")].read()
            np.testing.assert_array_equal(found, expected[key])
            assert found.dtype == (np.uint8 if key == "bool" else expected[key].dtype)


@pytest.mark.parametrize("idtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
def test_graph_files_of_dgl_are_read(name: str, idtype: str, made: Path) -> None:
    graph = read_graph_file(made / f"{name}-{idtype}.dgl")
    assert (graph.num_nodes, graph.num_edges, list(graph.formats)) == (4, 4, [name])
    arrays = {key: region.read().tolist() for key, region in graph.formats[name].items()}
    expected = {
        "coo": {"row": [0, 2, 1, 2], "col": [1, 1, 0, 2]},
        "csr": {"indptr": [0, 1, 2, 4, 4]},
        "csc": {"indptr": [0, 1, 3, 4, 4]},
    }
    assert expected[name].items() <= arrays.items()
    assert graph.node_arrays["x"].shape == (4, 2)
    assert graph.edge_arrays["w"].shape == (4,)


@pytest.mark.parametrize("variant", ["one", "plain", "csc"])
def test_figures_of_what_dgl_wrote_are_those_of_its_edges(variant: str, made: Path) -> None:
    partitioned = open_partitions(made / variant)
    report, book = partitioned.report(), partitioned.book
    matrix, volume, halo = np.zeros((book.num_parts, book.num_parts), int), 0, []
    for number, part in enumerate(partitioned.parts):
        frame = part.edges().compute()
        owned = frame[frame.inner]
        np.add.at(matrix, (book.nid2partid(owned.src.to_numpy()), book.nid2partid(owned.dst.to_numpy())), 1)
        volume += int((book.nid2partid(np.unique(owned.src)) != number).sum())
        halo.append(int((part.graph.node_arrays["inner_node"].read() == 0).sum()))
    assert report.edge_matrix.tolist() == matrix.tolist()
    assert report.communication_volume == volume
    assert report.stored_halo_nodes.sum(axis=1).tolist() == halo
    assert report.num_cut_edges == matrix.sum() - np.trace(matrix)


@pytest.mark.parametrize("variant", VARIANTS)
def test_partitions_of_dgl_are_whole_with_original_ids_and_without(variant: str, made: Path) -> None:
    report = verify(made / "in", made / f"{variant}-saved", **spelled(RESOURCES))
    assert report.findings == ()
    assert report.num_rows in (120 * 2 + 700, 150 + 80 + 300)
    assert len(report.notes) == 1 and "no checksums" in report.notes[0]
    report = verify(made / "in", made / variant, **spelled(RESOURCES))
    assert report.findings == ()
    assert len(report.notes) == 2 and "original IDs were not saved" in report.notes[1]


def roll_original_edges(d: c.Damaged) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        key = max(arrays, key=lambda name: arrays[name].size)
        # all of them: two that are swapped may be parallel edges, and DGL orders them anew in every run
        arrays[key] = np.roll(arrays[key], 1)

    d.tensors(1, "orig_eids.dgl", change)


def swap_rows(d: c.Damaged) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        key = next(name for name in arrays if name.endswith("/x"))
        arrays[key] = c.swapped(arrays[key])

    d.tensors(1, "node_feat.dgl", change)


def flip_last(d: c.Damaged) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        key = next(iter(arrays))
        arrays[key] = c.last_bit(arrays[key])

    d.tensors(1, "edge_feat.dgl", change)


# variants in which a fault is found
FAULTS: dict[str, tuple[Callable[[c.Damaged], None], tuple[str, ...]]] = {
    "source": (c.coo("row", lambda _, n: n ^ 1), ("plain-saved", "hops-saved")),
    "destination": (c.coo("col", lambda _, n: n ^ 1), ("plain-saved", "hops-saved")),
    "original edges": (roll_original_edges, ("plain-saved", "hops-saved")),
    "rows": (swap_rows, ("plain-saved", "hops-saved")),
    "halo node": (
        c.node_array("inner_node", lambda part: part.num_inner_nodes, lambda _: 1),
        ("plain-saved", "hops-saved", "plain"),
    ),
    "missing edge": (c.extra(c.drop_extra), ("plain-saved", "hops-saved", "plain")),
    "edge twice": (c.extra(c.repeat_extra), ("plain-saved", "hops-saved")),
    "other edge": (c.extra(c.redirect_extra), ("plain",)),
    "flipped bit": (flip_last, ("plain",)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_partitions_of_dgl_are_found(fault: str, made: Path, tmp_path: Path) -> None:
    plant, variants = FAULTS[fault]
    for variant in variants:
        shutil.copytree(made / variant, tmp_path / variant)
        plant(c.Damaged(tmp_path / variant))
        assert not verify(made / "in", tmp_path / variant, **spelled(RESOURCES)).ok, variant
