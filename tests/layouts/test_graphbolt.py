"""`--layout graphbolt`, judged by dgl.graphbolt of DGL 2.1."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import file_hashes, load_real_graph
from judges import run_in_dgl

import daskgraphpart as dgp
from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from pathlib import Path

CASES: dict[str, tuple[str, ...]] = {
    "cora-1": (),
    "oewn-4": (),
    "cora-13": ("--num-hops", "2", "--out-edges"),
    "oewn-3": ("--graph-formats", "csc", "--staging", "zarr"),
}
STORED = ((), ("--no-store-eids", "--store-inner-node", "--out-edges"), ("--store-inner-node", "--store-inner-edge"))


def test_files_are_those_that_dgl_makes(tmp_path: Path) -> None:
    configs: dict[str, dict[str, bool]] = {}
    for case, how in CASES.items():
        name, num_parts = case.split("-")
        source, out = load_real_graph(name).write(tmp_path / case / "in"), tmp_path / case / "out"
        common = ("--num-parts", num_parts, "--method", "random", "--quiet", *how)
        assert call("partition", source, out, *common, "--layout", "dgl,graphbolt", "--memory", "100MB") == 0
        assert call("verify", source, out, "--quiet") == 0
        configs[str(out / f"{name}.json")] = {"store_eids": True}
        for path in out.glob("part*/*.pt"):
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None  # checksums
    source, owners = tmp_path / "oewn-4" / "in", tmp_path / "owners"
    assert call("assign", source, owners, "--num-parts", "2", "--method", "random", "--quiet") == 0
    for number, words in enumerate(STORED):
        out = tmp_path / f"stored-{number}"
        assert call("dispatch", source, owners, out, "--layout", "dgl,graphbolt", "--quiet", *words) == 0
        configs[str(out / "oewn.json")] = {
            "store_eids": "--no-store-eids" not in words,
            "store_inner_node": "--store-inner-node" in words,
            "store_inner_edge": "--store-inner-edge" in words,
        }
    # one process, as its import is slow
    found = run_in_dgl("2.1.0", "graphbolt.py", json.dumps(configs), cwd=tmp_path)
    assert found == {"sampled": 1 + 4 + 13 + 3 + 2 * len(STORED)}


def test_use_graphbolt_stores_edge_ids_on_request_as_in_dgls_script(tmp_path: Path) -> None:
    source, owners = load_real_graph("cora").write(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", source, owners, "--num-parts", "2", "--method", "random", "--quiet") == 0
    sizes = {}
    for words in (
        "--use-graphbolt",
        "--use-graphbolt --store-eids",
        "--layout graphbolt",
        "--layout graphbolt --no-store-eids",
    ):
        out = tmp_path / words.replace(" ", "")
        assert call("dispatch", source, owners, out, "--quiet", *words.split()) == 0
        sizes[words] = (out / "part0" / "fused_csc_sampling_graph.pt").stat().st_size
    without, with_ids, ours, ours_without = sizes.values()
    assert without == ours_without < with_ids == ours


def test_without_graphs_of_dgl_the_rest_is_the_same(tmp_path: Path) -> None:
    source, out = load_real_graph("cora").write(tmp_path / "in"), tmp_path / "out"
    common = ("--num-parts", "2", "--method", "random", "--quiet", "--overwrite")
    assert call("partition", source, tmp_path / "both", *common, "--layout", "dgl,graphbolt") == 0
    assert call("partition", source, out, *common, "--layout", "dgl,ranks") == 0
    assert call("partition", source, out, *common, "--layout", "graphbolt") == 0
    found, both = file_hashes(out), file_hashes(tmp_path / "both")
    assert {*both} - {*found} == {"part0/graph.dgl", "part1/graph.dgl"}
    assert {name for name in found if found[name] != both.get(name)} == {"cora.json", "cora.manifest.json"}
    part: Any = json.loads((out / "cora.json").read_text())["part-1"]
    assert part.keys() == {"node_feats", "edge_feats", "part_graph_graphbolt"}


def test_what_needs_no_graph_is_read_and_all_else_says_so(tmp_path: Path) -> None:
    graph = load_real_graph("cora")
    source, out, rows = graph.write(tmp_path / "in"), tmp_path / "out", tmp_path / "rows.npy"
    parts = dgp.partition_graph(source, "cora", 3, out, part_method="random", layout="graphbolt")
    np.testing.assert_array_equal(
        parts.nodes["node"].data["y"][:], graph.node_data["node"]["y"][parts.original_ids["node"]]
    )
    assert "?" in repr(parts)
    np.save(rows, parts.node_data["node"]["y"].compute())
    assert call("to-original", out, rows, tmp_path / "original.npy", "--quiet") == 0
    np.testing.assert_array_equal(np.load(tmp_path / "original.npy"), graph.node_data["node"]["y"])
    assert call("verify", "--checksums", out, "--quiet") == 0
    for needs_graph in (parts.report, lambda: dgp.verify(source, out), lambda: dgp.load_partition(out, 0)):
        with pytest.raises(LayoutError, match="no DGL graph") as fault:
            needs_graph()
        assert "--layout dgl,graphbolt" in str(fault.value.hint)
