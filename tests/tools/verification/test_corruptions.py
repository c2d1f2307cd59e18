"""`verify` finds every planted fault from the contents alone, and checksums find every flipped bit."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import corruptions as c
import numpy as np
import pytest
from graphs import Graph
from inside import DispatchOptions, Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ETYPES = ("a:r:b", "b:r:a", "a:s:a")
RESOURCES = Resources(1 << 30, "threads", 2)
VARIANTS = {
    "coo": DispatchOptions(),
    "coo,csc": DispatchOptions(graph_formats=("coo", "csc")),
    "csc": DispatchOptions(graph_formats=("csc",)),
    "csr": DispatchOptions(graph_formats=("csr",)),
    "out": DispatchOptions(out_edges=True),
    "hops": DispatchOptions(num_hops=2),
    "hops,out": DispatchOptions(num_hops=3, out_edges=True),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with two node types, three edge types and features, and partitions of every variant."""
    root = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(5)
    sizes = {"a": 200, "b": 90}
    edges = {}
    for etype, count in zip(ETYPES, (400, 300, 250), strict=True):
        src, _, dst = etype.split(":")
        edges[etype] = (rng.integers(0, sizes[src], count), rng.integers(0, sizes[dst], count))
    floats = rng.random((200, 3)).astype(np.float32)
    floats[::3, 1], floats[::5, 2] = np.nan, 0.0
    masks = rng.random(200) < 0.4
    graph = Graph(
        GraphSchema(
            "g",
            tuple(NodeType(*item) for item in sizes.items()),
            tuple(EdgeType(*etype.split(":"), len(edges[etype][0])) for etype in ETYPES),
        ),
        edges,
        {"a": {"x": floats, "train_mask": masks}, "b": {"y": np.arange(90)}},
        {"a:r:b": {"w": rng.random((400, 2))}},
    )
    graph.write(root / "in", num_chunks=3)
    for name, options in VARIANTS.items():
        dgp.partition(root / "in", root / name, 3, method="random", **spelled(options), **spelled(RESOURCES))
    return root


FIRST_HALO = lambda part: part.num_inner_nodes  # noqa: E731
ROW_7 = lambda _: 7  # noqa: E731

CORRUPTIONS: dict[str, tuple[str, Callable[[c.Damaged], None], str]] = {
    # what is damaged: variant, how, and a word of the finding
    "num_nodes": ("coo", c.set_key("num_nodes", lambda n: n + 1), "num_nodes"),
    "num_edges": ("coo", c.set_key("num_edges", lambda n: n - 1), "num_edges"),
    "num_parts": ("coo", c.set_key("num_parts", lambda _: 2), "num_parts"),
    "halo_hops": ("coo", c.set_key("halo_hops", lambda _: 2), "in-edges of halo nodes"),
    "no hops": ("coo", c.set_key("halo_hops", lambda _: 0), "halo_hops"),
    "fewer hops": ("hops,out", c.set_key("halo_hops", lambda _: 1), "extra edges"),
    "off-by-one range of nodes": ("coo", c.move_ends(("node_map", "b", 0, 1, 1), ("node_map", "a", 1, 0, 1)), "g.json"),
    "off-by-one range of types": (
        "coo",
        c.move_ends(("node_map", "a", 1, 1, -1), ("node_map", "b", 1, 0, -1)),
        "g.json",
    ),
    "off-by-one range of edges": (
        "coo",
        c.move_ends(("edge_map", "a:s:a", 1, 1, -1), ("edge_map", "a:r:b", 2, 0, -1)),
        "g.json",
    ),
    "gap between ranges": ("coo", c.move_ends(("node_map", "a", 1, 0, 1)), "node_map.a[1]"),
    "swapped ranges": (
        "coo",
        c.config(lambda m: m["node_map"]["a"].insert(0, m["node_map"]["a"].pop(1))),
        "node_map.a[0]",
    ),
    "edge_map beyond num_edges": ("coo", c.move_ends(("edge_map", "a:s:a", -1, 1, 1)), "g.json"),
    "swapped type IDs": ("coo", c.config(lambda m: m["ntypes"].update({"a": 1, "b": 0})), "node_map"),
    "swapped type names": ("coo", c.config(c.swap_type_names), "ranges of b"),
    "swapped relation names": ("coo", c.config(c.swap_relation_names), "g.json"),
    "unknown type": ("coo", c.config(c.unknown_type), "node types"),
    "graph of another part": ("coo", c.swap_entries("part_graph"), "graph.dgl"),
    "node features of another part": ("coo", c.swap_entries("node_feats"), "part0/node_feat.dgl"),
    "no files of a part": ("coo", c.config(lambda m: m.pop("part-1")), "part-1"),
    "cut config": ("coo", c.cut_config, "JSON"),
    "missing graph": ("coo", c.remove("graph.dgl"), "part1/graph.dgl"),
    "missing node features": ("coo", c.remove("node_feat.dgl"), "part1/node_feat.dgl"),
    "missing edge features": ("coo", c.remove("edge_feat.dgl"), "part1/edge_feat.dgl"),
    "missing orig_nids": ("coo", c.remove("orig_nids.dgl"), "orig_nids.dgl"),
    "missing orig_eids": ("coo", c.remove("orig_eids.dgl"), "orig_eids.dgl"),
    "cut graph": ("coo", c.cut("graph.dgl"), "part1/graph.dgl"),
    "graph cut in half": ("coo", c.cut("graph.dgl", nbytes=4000), "part1/graph.dgl"),
    "cut node features": ("coo", c.cut("node_feat.dgl"), "part1/node_feat.dgl"),
    "cut edge features": ("coo", c.cut("edge_feat.dgl"), "part1/edge_feat.dgl"),
    "cut orig_nids": ("coo", c.cut("orig_nids.dgl"), "part1/orig_nids.dgl"),
    "cut orig_eids": ("coo", c.cut("orig_eids.dgl"), "part1/orig_eids.dgl"),
    "cut split_nids": ("coo", c.cut("split_nids.dgl"), "part1/split_nids.dgl"),
    "magic of the graph": ("coo", c.flip_header("graph.dgl", 0), "graph file"),
    "version of the graph": ("coo", c.flip_header("graph.dgl", 8), "version"),
    "magic of the features": ("coo", c.flip_header("node_feat.dgl", 2), "tensor file"),
    "count of the features": ("coo", c.flip_header("node_feat.dgl", 16), "part1/node_feat.dgl"),
    "name of a feature": ("coo", c.flip_header("node_feat.dgl", 32), "part1/node_feat.dgl"),
    "swapped graph files": ("coo", c.swap_files("graph.dgl"), "part0/graph.dgl"),
    "swapped node features": ("coo", c.swap_files("node_feat.dgl"), "part0/node_feat.dgl"),
    "swapped edge features": ("coo", c.swap_files("edge_feat.dgl"), "part0/edge_feat.dgl"),
    "swapped orig_nids": ("coo", c.swap_files("orig_nids.dgl"), "part0/orig_nids.dgl"),
    "swapped orig_eids": ("coo", c.swap_files("orig_eids.dgl"), "part0/orig_eids.dgl"),
    "ID of an own node": ("coo", c.node_array("_ID", ROW_7, lambda n: n + 1), "ID of local node 7"),
    "own node not inner": ("coo", c.node_array("inner_node", ROW_7, lambda _: 0), "inner_node of local node 7"),
    "halo node inner": ("coo", c.node_array("inner_node", FIRST_HALO, lambda _: 1), "inner_node of local node"),
    "inner_node of 2": ("coo", c.node_array("inner_node", ROW_7, lambda _: 2), "found 2"),
    "type of a node": ("coo", c.node_array("_TYPE", ROW_7, lambda t: 1 - t), "_TYPE of local node 7"),
    "type of a halo node": ("coo", c.node_array("_TYPE", FIRST_HALO, lambda t: 1 - t), "_TYPE of local node"),
    "another halo node": ("coo", c.other_halo_node, "edge"),
    "halo node twice": ("coo", c.repeat_halo_node, "halo nodes are listed twice"),
    "own node as halo": ("coo", c.own_node_as_halo, "a node of another part"),
    "halo node beyond": ("coo", c.node_array("_ID", FIRST_HALO, lambda _: 10**6), "a node of another part"),
    "swapped halo nodes": ("coo", c.swap_halo_nodes, "edge"),
    "missing halo node": ("coo", c.drop_halo_node, "edge"),
    "needless halo node": ("coo", c.add_halo_node, "no such edge"),
    "ID of an edge": ("coo", c.edge_array("_ID", ROW_7, lambda n: n + 1), "ID of local edge 7"),
    "edge not inner": ("coo", c.edge_array("inner_edge", ROW_7, lambda _: 0), "inner_edge of local edge 7"),
    "type of an edge": ("coo", c.edge_array("_TYPE", ROW_7, lambda t: t + 1), "_TYPE of local edge 7"),
    "int32 node IDs": ("coo", c.graph_dtype("node/_ID", "int32"), "int32"),
    "float inner_node": ("coo", c.graph_dtype("node/inner_node", "float32"), "float32"),
    "int16 edge types": ("coo", c.graph_dtype("edge/_TYPE", "int16"), "int16"),
    "no inner_node": ("coo", c.without("node/inner_node"), "inner_node"),
    "no edge IDs": ("coo", c.without("edge/_ID"), "_ID"),
    "no edge types": ("coo", c.without("edge/_TYPE"), "_TYPE"),
    "flipped source": ("coo", c.coo("row", lambda _, n: n ^ 1), "expected a"),
    "flipped destination": ("coo", c.coo("col", lambda _, n: n ^ 1), "expected a"),
    "edge of a foreign destination": ("coo", c.coo("col", lambda part, _: part.num_inner_nodes), "owned by the part"),
    "edge out of range": ("coo", c.coo("row", lambda part, _: part.graph.num_nodes), "local nodes below"),
    "negative end": ("coo", c.coo("col", lambda *_: -1), "local nodes below"),
    "source of another type": ("coo", c.coo("row", lambda part, _: part.num_inner_nodes - 1), "found b"),
    "turned edge": ("coo", c.turn_edge, "edge"),
    "edge twice": ("coo", c.repeat_edge, "owned once"),
    "dropped edge": ("coo", c.drop_edge, "num_edges"),
    "indices of CSC": ("coo,csc", c.matrix("csc", "indices", 9, lambda n: n ^ 1), "csc and coo"),
    "edge IDs of CSC": ("coo,csc", c.swap_matrix("csc", "data"), "csc and coo"),
    "edge ID of CSC beyond": ("coo,csc", c.matrix("csc", "data", 9, lambda _: 10**7), "edge ID in place 9"),
    "row start of CSC": ("coo,csc", c.matrix("csc", "indptr", 0, lambda _: 1), "row starts"),
    "moved row start of CSC": ("csc", c.move_row_start, "expected"),
    "last row start of CSR": ("csr", c.matrix("csr", "indptr", -1, lambda n: n - 1), "row starts"),
    "COO beside CSC": ("coo,csc", c.coo("row", lambda _, n: n ^ 1), "csc and coo"),
    "the same fault in both formats": ("coo,csc", c.swap_all_matrices, "edge"),
    "indices of CSC alone": ("csc", c.matrix("csc", "indices", 9, lambda n: n ^ 1), "edge"),
    "edge IDs of CSC alone": ("csc", c.swap_matrix("csc", "data"), "edge"),
    "repeated edge ID of CSR": ("csr", c.matrix("csr", "data", 9, lambda n: n ^ 1), "edge"),
    "false claim of COO": ("coo", c.claim_sorted("coo"), "claims to be sorted"),
    "false claim of CSR": ("csr", c.claim_sorted("csr"), "claims to be sorted"),
    "forbidden format": ("coo", c.forbid_format, "may not make"),
    "missing out edge": ("out", c.extra(c.drop_extra), "begin in the part"),
    "no out edges in one part": ("out", c.extra(c.drop_all_extra_of_part), "halo"),
    "out edge twice": ("out", c.extra(c.repeat_extra), "each once"),
    "source of an out edge": ("out", c.extra(c.redirect_extra), "expected"),
    "ID of an out edge": ("out", c.extra(c.other_extra_id), "edge"),
    "missing edge of a hop": ("hops", c.extra(c.drop_extra), "in-edges of halo nodes"),
    "edge of a hop twice": ("hops", c.extra(c.repeat_extra), "each once"),
    "source of an edge of a hop": ("hops", c.extra(c.redirect_extra), "expected"),
    "missing edge of hops and out": ("hops,out", c.extra(c.drop_extra), "extra edges"),
    "swapped original IDs of nodes": ("coo", c.feature("orig_nids.dgl", "a", c.swapped), "edge"),
    "original node twice": ("coo", c.feature("orig_nids.dgl", "a", c.repeated), "every node once"),
    "original node beyond": ("coo", c.feature("orig_nids.dgl", "a", c.with_value(2, 200)), "below 200"),
    "negative original node": ("coo", c.feature("orig_nids.dgl", "b", c.with_value(0, -1)), "below 90"),
    "float original IDs": ("coo", c.feature("orig_nids.dgl", "a", lambda r: r.astype(np.float64)), "float64"),
    "too few original IDs": ("coo", c.feature("orig_nids.dgl", "a", lambda r: r[:-1]), "orig_nids.dgl"),
    "swapped original IDs of edges": ("coo", c.feature("orig_eids.dgl", "a:r:b", c.swapped), "edge"),
    "original edge twice": ("coo", c.feature("orig_eids.dgl", "b:r:a", c.repeated), "owned once"),
    "original edge beyond": ("coo", c.feature("orig_eids.dgl", "a:s:a", c.with_value(2, 250)), "below 250"),
    "original edges of a type missing": ("coo", c.drop_feature("orig_eids.dgl", "a:s:a"), "original IDs of a:s:a"),
    "swapped rows": ("coo", c.feature("node_feat.dgl", "a/x", c.swapped), "row 0"),
    "repeated row": ("coo", c.feature("node_feat.dgl", "b/y", c.repeated), "row 1"),
    "flipped bit of a row": ("coo", c.feature("node_feat.dgl", "a/x", c.last_bit), "a/x: row"),
    "payload of a NaN": ("coo", c.feature("node_feat.dgl", "a/x", c.other_nan), "a/x: row"),
    "sign of a zero": ("coo", c.feature("node_feat.dgl", "a/x", c.other_zero), "a/x: row"),
    "flipped mask": ("coo", c.feature("node_feat.dgl", "a/train_mask", c.last_bit), "a/train_mask: differs"),
    "swapped rows of edges": ("coo", c.feature("edge_feat.dgl", "a:r:b/w", c.swapped), "a:r:b/w: row 0"),
    "flipped bit of an edge": ("csc", c.feature("edge_feat.dgl", "a:r:b/w", c.last_bit), "a:r:b/w: row"),
    "dtype of a feature": ("coo", c.feature("node_feat.dgl", "b/y", lambda r: r.astype(np.int32)), "int32"),
    "width of a feature": ("coo", c.feature("node_feat.dgl", "a/x", lambda r: r[:, :2].copy()), "a/x"),
    "length of a feature": ("coo", c.feature("node_feat.dgl", "a/x", lambda r: r[1:].copy()), "a/x"),
    "flat feature": ("coo", c.feature("node_feat.dgl", "b/y", lambda r: r[:, None].copy()), "b/y"),
    "missing feature": ("coo", c.drop_feature("node_feat.dgl", "b/y"), "found nothing"),
    "renamed feature": ("coo", c.rename_feature("node_feat.dgl", "b/y", "b/z"), "b/z: expected nothing"),
    "feature of no type": ("coo", c.rename_feature("node_feat.dgl", "b/y", "z/y"), "z/y: expected nothing"),
    "feature of nowhere": ("coo", c.add_feature, "a/more: expected nothing"),
    "split list of another node": ("coo", c.feature("split_nids.dgl", "a/train_mask", lambda r: r + 1), "split"),
    "split list too short": ("coo", c.feature("split_nids.dgl", "a/train_mask", lambda r: r[:-1]), "split"),
    "split list too long": (
        "coo",
        c.feature("split_nids.dgl", "a/train_mask", lambda r: np.append(r, r[-1] + 1)),
        "split",
    ),
}


def damaged(whole: Path, variant: str, target: Path, *, keep_manifest: bool = False) -> c.Damaged:
    shutil.copytree(whole / variant, target)
    found = c.Damaged(target)
    if not keep_manifest:
        found.disguise()
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_we_write_is_found_whole_with_and_without_a_manifest(variant: str, whole: Path, tmp_path: Path) -> None:
    report = verify(whole / "in", whole / variant, **spelled(RESOURCES))
    assert report.findings == ()
    assert (report.num_nodes, report.num_edges, report.num_rows, report.num_files) == (290, 950, 890, 19)
    assert report.notes == ()
    alone = verify(whole / "in", damaged(whole, variant, tmp_path / "out").root, **spelled(RESOURCES))
    assert alone.findings == ()
    assert len(alone.notes) == 1 and "no checksums" in alone.notes[0]


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_planted_faults_are_found_from_the_contents(name: str, whole: Path, tmp_path: Path) -> None:
    variant, corrupt, says = CORRUPTIONS[name]
    out = damaged(whole, variant, tmp_path / "out")
    corrupt(out)
    report = verify(whole / "in", out.root, checksums=False, **spelled(RESOURCES))
    assert not report.ok
    assert any(says in str(finding) for finding in report.findings), [str(finding) for finding in report.findings]


SEEN_QUICKLY = (
    "num_nodes", "num_edges", "off-by-one range of nodes", "gap between ranges", "swapped ranges", "missing graph",
    "edge_map beyond num_edges", "missing orig_nids", "cut graph", "cut node features", "cut split_nids",
    "int32 node IDs", "dtype of a feature", "width of a feature", "missing feature", "too few original IDs",
)  # fmt: skip


@pytest.mark.parametrize("name", SEEN_QUICKLY)
def test_a_quick_check_sees_counts_sizes_and_headers(name: str, whole: Path, tmp_path: Path) -> None:
    variant, corrupt, _ = CORRUPTIONS[name]
    out = damaged(whole, variant, tmp_path / "out")
    corrupt(out)
    assert not verify(whole / "in", out.root, quick=True, **spelled(RESOURCES)).ok


FILES = ("graph.dgl", "node_feat.dgl", "edge_feat.dgl", "orig_nids.dgl", "orig_eids.dgl", "split_nids.dgl")


@pytest.mark.parametrize("file", ["g.json", *(f"part2/{name}" for name in FILES)])
def test_checksums_alone_find_any_flipped_bit(file: str, whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo,csc", tmp_path / "out", keep_manifest=True)
    assert verify(None, out.root, **spelled(RESOURCES)).ok
    path = out.root / file
    size = path.stat().st_size
    for offset in {0, size // 3, size // 2, size - 1}:
        c.flip(path, offset, 0x10)
        report = verify(None, out.root, **spelled(RESOURCES))
        assert [(finding.check, finding.file) for finding in report.findings] == [("checksums", file)]
        c.flip(path, offset, 0x10)
    assert verify(None, out.root, **spelled(RESOURCES)).num_files == 19


def test_checksums_find_files_that_are_missing_cut_or_exchanged(whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo", tmp_path / "out", keep_manifest=True)
    c.exchange(out.file(0, "graph.dgl"), out.file(1, "graph.dgl"))
    c.cut("orig_nids.dgl")(out)
    c.remove("edge_feat.dgl", part=2)(out)
    found = {(finding.file, finding.what) for finding in verify(None, out.root, **spelled(RESOURCES)).findings}
    assert {file for file, _ in found} == {
        "part0/graph.dgl", "part1/graph.dgl", "part1/orig_nids.dgl", "part2/edge_feat.dgl",
    }  # fmt: skip
    assert ("part2/edge_feat.dgl", "file is missing") in found


def test_all_files_that_a_copy_lacks_are_listed(whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo", tmp_path / "out", keep_manifest=True)
    shutil.rmtree(out.root / "part1")
    (out.root / "part2" / "orig_eids.dgl").unlink()
    findings = verify(whole / "in", out.root, quick=True, **spelled(RESOURCES)).findings
    assert {f"part1/{name}" for name in FILES} | {"part2/orig_eids.dgl"} < {finding.file for finding in findings}


def test_findings_name_part_type_row_and_values(whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo", tmp_path / "out")
    region = out.part(1).node_rows.features["b"]["y"]
    old = int(region.read()[4])
    c.put(region, 4, 999)
    (finding,) = verify(whole / "in", out.root, **spelled(RESOURCES)).findings
    assert (finding.part, finding.kind, finding.row) == (1, "b", 4)
    assert (finding.expected, finding.found, finding.count) == (f"[{old}]", "[999]", 1)


def test_findings_of_several_parts_are_all_listed(whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo", tmp_path / "out")
    for part in range(3):
        region = out.part(part).node_rows.features["b"]["y"]
        c.put(region, 0, -1)
        c.put(region, 1, -1)
    findings = verify(whole / "in", out.root, **spelled(RESOURCES)).findings
    assert {finding.part for finding in findings} == {0, 1, 2}
    assert sum(finding.count for finding in findings) == 6


def test_a_sample_of_rows_finds_what_is_wrong_everywhere(whole: Path, tmp_path: Path) -> None:
    out = damaged(whole, "coo", tmp_path / "out")
    whole_report = verify(whole / "in", out.root, sample=0.25, **spelled(RESOURCES))
    assert whole_report.ok
    assert 0.2 * 890 < whole_report.num_rows < 0.3 * 890
    out.tensors(1, "node_feat.dgl", lambda arrays: arrays["a/x"].__iadd__(1))
    assert not verify(whole / "in", out.root, sample=0.25, **spelled(RESOURCES)).ok
