"""`verify` on partitions that real DGL made: right when they are whole, and not when they are damaged."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import corruptions as c
import numpy as np
import pytest
from graphs import Graph
from judges import DGL_VERSIONS, run_in_dgl, save_for_judge

from daskgraphpart.engine.resources import Resources
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.verification.pipeline import verify

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
    sizes = {"v": 150, "a": 80}
    counts = {"v:zips:a": 500, "a:adds:v": 300, "v:cites:v": 400}
    edges = {
        etype: tuple(rng.integers(0, sizes[end], count) for end in (etype[0], etype[-1]))
        for etype, count in counts.items()
    }
    schema = GraphSchema(
        "g",
        tuple(NodeType(*item) for item in sizes.items()),
        tuple(EdgeType(*etype.split(":"), count) for etype, count in counts.items()),
    )
    node_data = {"v": {"x": rng.random((150, 3)).astype(np.float32)}, "a": {"y": np.arange(80)}}
    return Graph(schema, edges, node_data, {"a:adds:v": {"w": rng.random((300, 2))}})  # type: ignore[arg-type]


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
    said = run_in_dgl(version, "partition_for_verify.py", for_dgl, root, cwd=root)
    assert said == {"dgl": version, "variants": list(VARIANTS)}
    return root


@pytest.mark.parametrize("variant", VARIANTS)
def test_partitions_of_dgl_are_whole_with_original_ids(variant: str, made: Path) -> None:
    report = verify(made / "in", made / f"{variant}-saved", resources=RESOURCES)
    assert report.findings == ()
    assert report.num_rows in (120 * 2 + 700, 150 + 80 + 300)
    assert report.notes == ("no checksums: there is no manifest that has them",)


@pytest.mark.parametrize("variant", VARIANTS)
def test_partitions_of_dgl_are_whole_without(variant: str, made: Path) -> None:
    report = verify(made / "in", made / variant, resources=RESOURCES)
    assert report.findings == ()
    assert len(report.notes) == 2
    assert "original IDs were not saved" in report.notes[1]


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


FAULTS: dict[str, Callable[[c.Damaged], None]] = {
    "source": c.coo("row", lambda _, n: n ^ 1),
    "destination": c.coo("col", lambda _, n: n ^ 1),
    "original edges": roll_original_edges,
    "rows": swap_rows,
    "HALO node": c.node_array("inner_node", lambda part: part.num_inner_nodes, lambda _: 1),
    "missing edge": c.extra(c.drop_extra),
    "edge twice": c.extra(c.repeat_extra),
}


@pytest.mark.parametrize("variant", ["plain", "hops"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_partitions_of_dgl_are_found(fault: str, variant: str, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / f"{variant}-saved", tmp_path / "out")
    FAULTS[fault](c.Damaged(tmp_path / "out"))
    assert not verify(made / "in", tmp_path / "out", resources=RESOURCES).ok


WITHOUT_ORIGINALS: dict[str, Callable[[c.Damaged], None]] = {
    "flipped bit": lambda d: d.tensors(1, "edge_feat.dgl", lambda arrays: flip_last(arrays)),
    "HALO node": c.node_array("inner_node", lambda part: part.num_inner_nodes, lambda _: 1),
    "missing edge": c.extra(c.drop_extra),
    "other edge": c.extra(c.redirect_extra),
}


def flip_last(arrays: dict[str, np.ndarray]) -> None:
    key = next(iter(arrays))
    arrays[key] = c.last_bit(arrays[key])


@pytest.mark.parametrize("fault", WITHOUT_ORIGINALS)
def test_faults_are_found_without_original_ids(fault: str, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "plain", tmp_path / "out")
    WITHOUT_ORIGINALS[fault](c.Damaged(tmp_path / "out"))
    assert not verify(made / "in", tmp_path / "out", resources=RESOURCES).ok
