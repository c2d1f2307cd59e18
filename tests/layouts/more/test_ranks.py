"""`--layout ranks`, read by the loader of docs/howto/plain_torch.md."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import Graph, file_hashes, load_real_graph
from inside import DispatchOptions
from keywords import spelled
from layout_readers import LOADER, PARTITIONED, TRAINER, loader, ranks_agree
from upath import UPath

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.array_layouts.ranks import RanksLayout
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def small(tmp_path: Path) -> Graph:
    """Types without edges, empty parts, every dtype, masks, scalars and rows of width 0."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 60), EdgeType("v", "s", "u", 0))
    schema = GraphSchema("g", (NodeType("u", 12), NodeType("v", 3)), types)
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64")
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
    ranks_agree(small, [tmp_path / "both"])
    parts = dgp.open_partitions(tmp_path / "both")
    in_ranks = np.memmap(tmp_path / "both" / "ranks" / "edge_src" / "u__r__v_part_0_of_7", "i8")
    assert in_ranks.size == parts.part(0).num_inner_edges
    assert call("verify", source, tmp_path / "both", "--quiet") == 0


ENDED = "dist.destroy_process_group()\nsys.stdout.flush()\nos._exit(0)"
"""Threads of gloo outlive `destroy_process_group`; one that frees a tensor while Python ends aborts the process."""

FETCHED = """
import numpy as np

for name, array in describe(sys.argv[1])["arrays"].items():
    if 0 in array["row_shape"]:
        continue
    rows = Array(sys.argv[1], name)
    files = [f"{sys.argv[1]}/{array['prefix']}_part_{part}_of_4" for part in range(4)]
    whole = np.concatenate([np.fromfile(file, array["dtype"]) for file in files]).reshape(-1, *array["row_shape"])
    for count in (0, 50) if len(whole) else ():
        ids = torch.randint(len(whole), (count * (1 + rows.rank),))
        found = rows[ids]
        assert found.shape == (len(ids), *array["row_shape"]) and torch.equal(found, torch.from_numpy(whole[ids])), name
"""


def run_processes(num_ranks: int, program: str, *arguments: Path, cwd: Path) -> list[str]:
    """Run a program in processes that torch.distributed joins, as torchrun does; return what each prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=common | {"RANK": str(rank), "WORLD_SIZE": str(num_ranks)},
            cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(num_ranks)
    ]  # fmt: skip
    try:
        printed = [process.communicate(timeout=120)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert not any(process.returncode for process in running), printed
    return printed


def accuracy_of(printed: str) -> float:
    return float(re.findall(r"^(0\.\d+) of the nodes", printed, re.M)[0])


def test_two_processes_train_to_the_accuracy_of_one(
    small: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    how = ("--num-parts", "4", "--method", "random", "--quiet", "--layout", "ranks")
    assert call("partition", small.write(tmp_path / "in"), tmp_path / "small", *how) == 0
    exec(PARTITIONED, {})
    exec(TRAINER, loader())
    alone = accuracy_of(capsys.readouterr().out)
    program = f"import sys\n{LOADER}\n{TRAINER}\n{FETCHED}\n{ENDED}"
    printed = run_processes(2, program, tmp_path / "small" / "ranks", cwd=tmp_path)
    for output in printed:  # of all nodes, which is the same for both
        assert accuracy_of(output) == pytest.approx(alone, abs=0.03)
    assert alone > 0.8, printed


@pytest.mark.long
def test_processes_train_on_a_real_graph_to_the_accuracy_of_one(tmp_path: Path) -> None:
    graph = load_real_graph("cora")
    rng, (node_type,) = np.random.default_rng(0), graph.schema.node_types
    src, dst = graph.edges["node:edge:node"]
    edges = {"_N:_E:_N": (np.concatenate([src, dst]), np.concatenate([dst, src]))}
    x = np.minimum(graph.node_data["node"]["x"], 1).astype("f4")
    mask = rng.random(node_type.num_nodes) < 0.5
    data = {"_N": {"feat": x, "label": graph.node_data["node"]["y"], "train_mask": mask}}
    schema = GraphSchema("g", (NodeType("_N", node_type.num_nodes),), (EdgeType("_N", "_E", "_N", 2 * len(src)),))
    source = Graph(schema, edges, data).write(tmp_path / "in")
    how = ("--num-parts", "4", "--method", "metis", "--quiet", "--layout", "ranks")
    assert call("partition", source, tmp_path / "communities", *how) == 0
    program = f"import sys\n{LOADER}\n{TRAINER.replace('NUM_LABELS = 4', 'NUM_LABELS = 7')}\n{ENDED}"
    alone, *both = [accuracy_of(run_processes(count, program, cwd=tmp_path)[0]) for count in (1, 2, 4)]
    assert alone > 0.8
    assert both == pytest.approx([alone] * 2, abs=0.02), alone


def test_parts_go_to_as_many_processes_or_a_divisor_of_it(small: Graph, tmp_path: Path) -> None:
    dgp.partition_graph(small.write(tmp_path / "in"), "g", 4, tmp_path / "out", part_method="random", layout="ranks")
    processes = SimpleNamespace(is_initialized=lambda: True, get_rank=lambda: 0, get_world_size=lambda: 3)
    with pytest.raises(ValueError, match="4 parts on 3 processes: run 4, or a divisor of it"):
        loader(dist=processes)["Array"](tmp_path / "out" / "ranks", "orig_nids/u")


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
    ranks_agree(small, [out])
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
        message = capsys.readouterr().err
        assert message.startswith("error: ") and "--layout dgl,ranks. " in message
        assert ("--checksums" in message) == (command[0] == "verify")
    assert call("verify", "--checksums", out) == 0
    (out / "ranks" / "edge_data" / "u__r__v" / "w_part_1_of_2").write_bytes(b"")
    assert call("verify", "--checksums", out) == 1


@pytest.mark.parametrize(
    ("etypes", "feature", "expected"),
    [
        ((("..", "r", "u"),), "x", "cannot be a file name"),
        ((("u", "r", "u"),), "{part}", "cannot be a file name"),
        ((("u" * 90, "r" * 90, "u" * 90),), "x", "cannot be a file name"),
        ((("u", "r__u", "u"), ("u", "r", "u__u")), "x", "share a directory name"),
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
        RanksLayout().check_fits(schema)


@pytest.mark.parametrize(
    "spec",
    [DataSpec("x", np.dtype("?")), DataSpec("y", np.dtype("?"), (3,)), DataSpec("x", np.dtype("f4"), (2, 3))],
)
def test_features_that_wholegraph_cannot_hold_are_refused_with_the_layouts_that_can(spec: DataSpec) -> None:
    with pytest.raises(OptionError, match="cannot hold this feature") as fault:
        RanksLayout().check_fits(
            GraphSchema("g", (NodeType("u", 2, (DataSpec("train_mask", np.dtype("?")), spec)),), ())
        )
    assert f"u/{spec.name}" in str(fault.value)
    assert "the layout dgl or parquet" in str(fault.value.hint)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("", "--layout is empty. Choose from dgl, "),
        ("ranks,ranks", "--layout names a choice twice: ranks,ranks. Remove one."),
        ("dgl,rank", "Unknown layout 'rank'. Did you mean ranks?"),
        ("pyg", "Unknown layout 'pyg'. Use the layout dgl, which PyG reads by `to_pyg`."),
    ],
)
def test_unknown_layouts_are_refused(
    layout: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("generate", tmp_path / "in", "--nodes", "10", "--edges", "20", "--quiet") == 0
    assert call("partition", tmp_path / "in", tmp_path / "out", "--num-parts", "1", "--layout", layout) == 2
    assert f"error: {words}" in capsys.readouterr().err


def test_original_ids_are_kept_by_dgl_alone(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="only the layout dgl"):
        DispatchOptions(reshuffle=False, layout=("dgl", "ranks"))


@pytest.mark.parametrize("name", ["graph", "a/graph.json", ".json"])
def test_a_config_that_nobody_would_find_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"expected a file name that ends in \.json") as caught:
        DispatchOptions(config_name=name)
    assert caught.value.option == "config_name"


def test_a_store_gets_the_same_files(small: Graph, tmp_path: Path) -> None:
    small.node_data["u"].pop("none")  # type: ignore[attr-defined]
    source, options = small.write(tmp_path / "in"), DispatchOptions(layout=("dgl", "graphbolt", "ranks", "parquet"))
    how: Any = {"method": "random", **spelled(options), "workspace": tmp_path / "work"}
    dgp.partition(source, tmp_path / "out", 2, **how)
    store = UPath("memory://test-layouts")
    for num_parts in (3, 2):
        dgp.partition(source, str(store), num_parts, overwrite=True, **how)
    for name, digest in file_hashes(tmp_path / "out").items():
        assert hashlib.sha256((store / name).read_bytes()).hexdigest() == digest
    assert sum(path.is_file() for path in store.rglob("*")) == len(file_hashes(tmp_path / "out"))
