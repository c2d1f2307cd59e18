"""`--layout ranks`, read by the loader of docs/howto/plain_torch.md."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_agrees
from commands import call
from graphs import Graph, file_hashes, load_real_graph
from upath import UPath

import daskgraphpart as dgp
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.layouts.ranks import RanksLayout
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType

PAGE = Path(__file__).parent.parent.parent / "docs" / "howto" / "plain_torch.md"
LOADER = next(
    block for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S) if "class" in block
)


def open_ranks(directory: Path) -> Any:
    names: dict[str, Any] = {}
    exec(LOADER, names)
    return names["Ranks"](directory)


def assert_ranks_agree(graph: Graph, directory: Path) -> None:
    import torch

    ranks = open_ranks(directory)

    def read(name: str) -> Any:
        total = ranks.arrays[name]["offsets"][-1]
        whole = torch.cat([ranks.local(name, rank) for rank in range(ranks.num_ranks)])
        assert torch.equal(whole, ranks.rows(name, torch.arange(total)))
        assert whole.numpy().dtype.name == ranks.arrays[name]["dtype"]
        return whole

    assert_agrees(graph, read)
    for name in ranks.arrays:
        if name.startswith("split_nids/"):
            expected = np.flatnonzero(read(name.replace("split_nids/", "node_data/")))
            np.testing.assert_array_equal(read(name), expected)


@pytest.mark.parametrize(("name", "num_parts"), [("cora", 1), ("oewn", 4), ("cora", 13)])
def test_real_graphs_are_read_back(name: str, num_parts: int, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    source = graph.write(tmp_path / "in")
    how = ("--num-parts", str(num_parts), "--method", "random", "--quiet")
    assert call("partition", source, tmp_path / "out", *how, "--layout", "ranks") == 0
    assert_ranks_agree(graph, tmp_path / "out" / "ranks")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ranks"]


@pytest.fixture
def small(tmp_path: Path) -> Graph:
    """Types without edges, empty parts, every dtype, masks, scalars and rows of width 0."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 60), EdgeType("v", "s", "u", 0))
    schema = GraphSchema("g", (NodeType("u", 12), NodeType("v", 3)), types)
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
    data = {f"x {dtype}": (rng.random((12, 3)) * 9).astype(dtype) for dtype in dtypes}
    nodes = {"u": {**data, "train_mask": rng.random(12) < 0.5, "none": np.empty((12, 0), "f4")}}
    edges = {"u:r:v": (rng.integers(0, 12, 60), rng.integers(0, 3, 60)), "v:s:u": (np.empty(0, int), np.empty(0, int))}
    return Graph(schema, edges, nodes, {"u:r:v": {"w": rng.random(60)}})


@pytest.mark.parametrize("how", [(), ("--staging", "zarr"), ("--num-hops", "2"), ("--out-edges",)])
def test_any_types_beside_the_files_of_dgl_which_stay_as_they_are(
    how: tuple[str, ...], small: Graph, tmp_path: Path
) -> None:
    source, common = small.write(tmp_path / "in"), ("--num-parts", "7", "--method", "random", "--quiet", *how)
    assert call("partition", source, tmp_path / "alone", *common) == 0
    assert call("partition", source, tmp_path / "both", "--layout", "ranks,dgl", *common) == 0
    found = file_hashes(tmp_path / "both")
    assert {name: digest for name, digest in found.items() if not name.startswith("ranks/")} == file_hashes(
        tmp_path / "alone"
    )
    assert_ranks_agree(small, tmp_path / "both" / "ranks")
    parts = dgp.open_partitions(tmp_path / "both")
    in_ranks = np.memmap(tmp_path / "both" / "ranks" / "edge_src" / "u__r__v_part_0_of_7", "i8")
    assert in_ranks.size == parts.part(0).num_inner_edges
    assert call("verify", source, tmp_path / "both", "--quiet") == 0


def test_a_flipped_byte_is_found_by_verify(small: Graph, tmp_path: Path) -> None:
    source, out = small.write(tmp_path / "in"), tmp_path / "out"
    how = ("--num-parts", "2", "--method", "random", "--quiet")
    assert call("partition", source, out, "--layout", "dgl,ranks", *how) == 0
    damaged = out / "ranks" / "edge_data" / "u__r__v" / "w_part_1_of_2"
    damaged.write_bytes(b"\1" + damaged.read_bytes()[1:])
    assert call("verify", source, out, "--quiet") == 1


def test_partitions_are_replaced_and_what_is_not_ours_stays(small: Graph, tmp_path: Path) -> None:
    source, out = small.write(tmp_path / "in"), tmp_path / "out"
    how = ("--method", "random", "--quiet", "--overwrite")
    assert call("partition", source, out, "--num-parts", "3", "--layout", "dgl,ranks", *how) == 0
    (out / "ranks" / "notes.txt").touch()
    assert call("partition", source, out, "--num-parts", "2", "--layout", "ranks", *how) == 0
    assert_ranks_agree(small, out / "ranks")
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    listed = {f"ranks/{name}" for name in json.loads((out / "ranks" / "ranks.json").read_text())["files"]}
    assert names == {*listed, "ranks/ranks.json", "ranks/notes.txt"}
    (out / "ranks").rename(tmp_path / "elsewhere")
    (out / "ranks").symlink_to(tmp_path / "elsewhere")
    assert call("partition", source, out, "--num-parts", "2", "--layout", "ranks", *how) == 2


def test_what_reads_dgl_says_so(small: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = small.write(tmp_path / "in"), tmp_path / "out"
    dgp.partition_graph(source, "g", 2, out, part_method="random", layout="ranks")
    with pytest.raises(LayoutError, match="no partition config") as fault:
        dgp.open_partitions(out)
    assert "--layout dgl,ranks" in str(fault.value.hint)
    for command in (("info", out), ("report", out), ("verify", source, out)):
        assert call(*command) == 2
        assert "error: " in (message := capsys.readouterr().err) and message.endswith("add --layout dgl,ranks\n")
    assert call("verify", "--checksums", out) == 0
    (out / "ranks" / "edge_data" / "u__r__v" / "w_part_1_of_2").write_bytes(b"")
    assert call("verify", "--checksums", out) == 1


@pytest.mark.parametrize(
    ("etypes", "feature", "expected"),
    [
        ((("..", "r", "u"),), "x", "a name that cannot be that of a file"),
        ((("u", "r", "u"),), "{part}", "a name that cannot be that of a file"),
        ((("u" * 90, "r" * 90, "u" * 90),), "x", "a name that cannot be that of a file"),
        ((("u", "r__u", "u"), ("u", "r", "u__u")), "x", "two types of one name"),
    ],
)
def test_names_that_files_cannot_have_are_refused(
    etypes: tuple[tuple[str, str, str], ...], feature: str, expected: str
) -> None:
    ntypes = dict.fromkeys(end for src, _, dst in etypes for end in (src, dst))
    features = (DataSpec(feature, np.dtype("f4")),)
    schema = GraphSchema(
        "g", tuple(NodeType(name, 2, features) for name in ntypes), tuple(EdgeType(*e, 1) for e in etypes)
    )
    with pytest.raises(OptionError, match=expected):
        RanksLayout().check_fits(schema, 1)


@pytest.mark.parametrize("layout", ["", "ranks,ranks", "dgl,rank"])
def test_unknown_layouts_are_refused(layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("generate", tmp_path / "in", "--nodes", "10", "--edges", "20", "--quiet") == 0
    assert call("partition", tmp_path / "in", tmp_path / "out", "--num-parts", "1", "--layout", layout) == 2
    assert "error: --layout: impossible layout" in capsys.readouterr().err


def test_original_ids_are_kept_by_dgl_alone(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="only the layout dgl"):
        dgp.DispatchOptions(reshuffle=False, layout=("dgl", "ranks"))


def test_a_store_gets_the_same_files(small: Graph, tmp_path: Path) -> None:
    small.node_data["u"].pop("none")  # type: ignore[attr-defined]
    source, options = small.write(tmp_path / "in"), dgp.DispatchOptions(layout=("dgl", "graphbolt", "ranks", "parquet"))
    how: Any = {"method": "random", "options": options, "resources": dgp.detect_resources(workspace=tmp_path / "work")}
    dgp.partition(source, tmp_path / "out", 2, **how)
    store = UPath("memory://test-layouts")
    for num_parts in (3, 2):
        dgp.partition(source, str(store), num_parts, overwrite=True, **how)
    for name, digest in file_hashes(tmp_path / "out").items():
        assert hashlib.sha256((store / name).read_bytes()).hexdigest() == digest
    assert sum(path.is_file() for path in store.rglob("*")) == len(file_hashes(tmp_path / "out"))
