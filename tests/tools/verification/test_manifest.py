"""`verify` compares the manifest with the partitions, and finds what lies beside them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from corruptions import Damaged
from graphs import Graph
from inside import DispatchOptions, Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType, verify
from daskgraphpart.tools.verification.findings import show_difference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESOURCES = Resources(1 << 30, "sync", 1)
NUM_PARTS = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in `in`, its partitions in `out`, and in several layouts in `layouts`."""
    root = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(1)
    schema = GraphSchema("g", (NodeType("u", 200),), (EdgeType("u", "r", "u", 900),))
    edges = {"u:r:u": (rng.integers(0, 200, 900), rng.integers(0, 200, 900))}
    graph = Graph(schema, edges, {"u": {"x": rng.random((200, 30)), "train_mask": rng.random(200) < 0.5}}, {})
    graph.write(root / "in")
    dgp.partition(root / "in", root / "out", NUM_PARTS, method="random", **spelled(RESOURCES))
    options = DispatchOptions(layout=("dgl", "ranks", "parquet"))
    dgp.partition(root / "in", root / "layouts", 2, method="metis", **spelled(options), **spelled(RESOURCES))
    return root


def found_after(made: Path, out: Path, change: Callable[[Path], Any], *, quick: bool = False) -> list[str]:
    shutil.copytree(made / "out", out)
    change(out)
    return [str(finding) for finding in verify(made / "in", out, quick=quick, **spelled(RESOURCES)).findings]


def entry(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change the content of the manifest."""

    def corrupt(out: Path) -> None:
        path = out / "g.manifest.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return corrupt


def other_halo_count(content: dict[str, Any]) -> None:
    content["num_halo_nodes"][9] += 1


MANIFESTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "other format": (lambda m: m.update(format="other"), "not a manifest"),
    "later version": (lambda m: m.update(version=3), "manifest version"),
    "other checksum": (lambda m: m.update(checksum="md5"), "checksum"),
    "file outside": (lambda m: m["files"].update({"../x": {"size": 1, "xxh3-128": "0"}}), "bad entry"),
    "no checksum of a file": (lambda m: m["files"].update(x=None), "bad entry"),
    "no files": (lambda m: m["files"].clear(), "part3/graph.dgl"),
    "file removed": (lambda m: m["files"].pop("part3/graph.dgl"), "part3/graph.dgl"),
    "config removed": (lambda m: m["files"].pop("g.json"), "g.json"),
    "no halo counts": (lambda m: m.pop("num_halo_nodes"), "num_halo_nodes"),
    "other halo count": (other_halo_count, "from element 9 on"),
    "hops": (lambda m: m.update(num_hops=2), "num_hops"),
    "method": (lambda m: m.update(method="metis"), "method"),
    "version": (lambda m: m.update(version=1), "changed since it was written"),
    "version as a float": (lambda m: m.update(version=2.0), "manifest version"),
    "version as a bool": (lambda m: m.update(version=True), "manifest version"),
    "halo counts as floats": (lambda m: m.update(num_cut_edges=float(m["num_cut_edges"])), "changed since"),
    "size as a text": (lambda m: m["files"]["g.json"].update(size="1"), "bad entry"),
    "NUL in a file": (lambda m: m["files"].update({"part0/\0": {"size": 1, "xxh3-128": "0"}}), "bad entry"),
    "number of a part of 5,000 digits": (
        lambda m: m["files"].update({f"part{'9' * 5000}/graph.dgl": {"size": 1, "xxh3-128": "0"}}),
        "file is missing",
    ),
    "lone surrogate in a name": (lambda m: m.update(graph_name="\ud800x"), "\\ud800x"),
    "lone surrogate in a file": (lambda m: m["files"].update({"\ud800": {}}), "\\ud800"),
    "escapes": (lambda m: m.update(graph_name="\x1b[31mred\n"), "\\x1b[31mred\\n"),
    "escapes in a file": (lambda m: m["files"].update({"\x1b[2J": {"size": 1, "xxh3-128": "0"}}), "\\x1b[2J"),
    "escapes in a checksum": (lambda m: m["files"]["g.json"].update({"xxh3-128": "\x1b[2J"}), "\\x1b[2J"),
    "no method": (lambda m: m.pop("method"), "method"),
    "formats": (lambda m: m.update(graph_formats=["coo", "csc"]), "graph_formats"),
    "out edges": (lambda m: m.update(out_edges=True), "begin in the part"),
    "no out edges": (lambda m: m.pop("out_edges"), "out_edges"),
    "cut": (lambda m: m.update(num_cut_edges=5), "num_cut_edges"),
    "parts": (lambda m: m.update(num_parts=2), "num_parts"),
    "name": (lambda m: m.update(graph_name="h"), "graph_name"),
    "dtype": (lambda m: m["node_data"]["u"]["train_mask"].update(dtype="uint8"), "node_data.u.train_mask"),
    "shape": (lambda m: m["node_data"]["u"]["x"].update(row_shape=[3]), "node_data.u.x"),
    "feature removed": (lambda m: m["node_data"]["u"].pop("x"), "node_data.u.x"),
    "feature added": (lambda m: m["edge_data"].update({"u:r:u": {"w": {}}}), "edge_data.u:r:u.w"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_changed_manifest_is_a_finding(name: str, made: Path, tmp_path: Path) -> None:
    change, says = MANIFESTS[name]
    found = found_after(made, tmp_path / "out", entry(change))
    assert any(says in finding for finding in found), found
    assert all(finding.isprintable() for finding in found)


@pytest.mark.parametrize(("name", "shown"), [("\ud800x", "\\ud800x"), ("\x1b[2J\r\n", "\\x1b[2J\\r\\n")])
def test_the_name_in_a_config_is_shown_without_control_characters(
    name: str, shown: str, made: Path, tmp_path: Path
) -> None:
    found = found_after(made, tmp_path / "out", lambda out: Damaged(out).config(lambda c: c.update(graph_name=name)))
    assert any(shown in finding for finding in found), found
    assert all(finding.isprintable() for finding in found)


OTHER_VALUES: dict[str, list[Any]] = {
    "g.manifest.json": [
        ["method"],
        ["constraints"],
        ["node_data", "u", "x", "dtype"],
        ["node_data", "u", "x", "row_shape"],
    ],
    "ranks/ranks.json": [["method"], ["layout_version"], ["arrays", "node_data/u/x", "dtype"], ["num_nodes", "u"]],
    "parquet/parquet.json": [["method"], ["layout"]],
}


@pytest.mark.parametrize(("file", "keys"), [(file, keys) for file, of_file in OTHER_VALUES.items() for keys in of_file])
def test_no_value_of_a_manifest_can_be_another(file: str, keys: list[str], made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made / "layouts", out)
    content = inner = json.loads((out / file).read_text())
    (out / file).write_text(json.dumps(content, sort_keys=True))
    assert verify(made / "in", out, **spelled(RESOURCES)).ok and verify(None, out, **spelled(RESOURCES)).ok
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = {"method": "kaminpar", "dtype": "float32"}.get(keys[-1], 7)
    (out / file).write_text(json.dumps(content))
    for report in (verify(made / "in", out, quick=True, **spelled(RESOURCES)), verify(None, out, **spelled(RESOURCES))):
        assert [f.file for f in report.findings if "changed since it was written" in f.what] == [file]


def make_file(name: str) -> Callable[[Path], None]:
    def corrupt(out: Path) -> None:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("x")

    return corrupt


BESIDE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "part too many": (
        lambda out: shutil.copytree(out / "part1", out / "part12"),
        "part12: the config has no such part",
    ),
    "part written otherwise": (
        lambda out: shutil.copytree(out / "part1", out / "part01"),
        "part01: the config has no such part",
    ),
    "file in a part": (make_file("part2/more.dgl"), "part2/more.dgl: not in the manifest"),
    "file beside the parts": (make_file("more.txt"), "more.txt: not in the manifest"),
    "no manifest": (lambda out: (out / "g.manifest.json").unlink(), "g.manifest.json: file is missing"),
    "empty manifest": (lambda out: (out / "g.manifest.json").write_text(""), "g.manifest.json"),
    "manifest of nothing": (lambda out: (out / "g.manifest.json").write_text("{}"), "not a manifest"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_is_missing_or_foreign_is_seen_quickly(name: str, made: Path, tmp_path: Path) -> None:
    change, says = BESIDE[name]
    found = found_after(made, tmp_path / "out", change, quick=True)
    assert any(says in finding for finding in found), found


def test_partitions_of_dgl_need_no_manifest_but_have_no_part_too_many(made: Path, tmp_path: Path) -> None:
    def change(out: Path) -> None:
        Damaged(out).disguise()
        make_file("ip_config.txt")(out)

    assert found_after(made, tmp_path / "out", change) == []
    shutil.copytree(tmp_path / "out" / "part0", tmp_path / "out" / "part20")
    findings = verify(made / "in", tmp_path / "out", **spelled(RESOURCES)).findings
    assert [finding.file for finding in findings] == ["part20"]


def test_long_rows_are_shown_from_where_they_differ(made: Path, tmp_path: Path) -> None:
    def change(out: Path) -> None:
        region = dgp.open_partitions(out).part(4).node_rows.features["u"]["x"]
        rows = region.read()
        rows[3, 17] = -1
        region.write(rows, 0)

    (finding,) = [f for f in found_after(made, tmp_path / "out", change) if f.startswith("features")]
    assert "row 3 is not input row" in finding
    assert "found [..., -1.0, " in finding
    assert "from element 17 on" in finding


def test_vectors_are_shown_from_their_first_difference() -> None:
    assert show_difference([1, 2], [1, 3]) == ("[1, 2]", "[1, 3]")
    assert show_difference(range(9), [*range(7), 0, 8]) == (
        "[..., 7, 8] from element 7 on", "[..., 0, 8] from element 7 on"
    )  # fmt: skip
    assert show_difference([1], list(range(1, 9))) == ("[1]", "[..., 2, 3, 4, 5, ...] from element 1 on")
