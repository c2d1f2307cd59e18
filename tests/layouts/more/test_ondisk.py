"""`--layout ondisk`, judged by `dgl.graphbolt.OnDiskDataset` of DGL 2.1."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import call
from graphs import REAL_GRAPHS, Graph, file_hashes, load_real_graph
from inside import DispatchOptions
from judges import run_in_dgl, save_for_judge
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.array_layouts.ondisk import OnDiskLayout
from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.layout import GraphSizes

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_CLASS = 0.3


def small() -> Graph:
    """Types out of alphabetical order, one without edges, features of every dtype, scalars and rows of no numbers."""
    rng = np.random.default_rng(0)
    types = (EdgeType("v", "s", "u", 0), EdgeType("u", "r", "v", 60), EdgeType("u", "near", "u", 200))
    schema = GraphSchema("g", (NodeType("v", 3), NodeType("u", 40)), types)
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
    data = {f"x {dtype}": (rng.random((40, 3)) * 9).astype(dtype) for dtype in dtypes}
    masks = {"train_mask": rng.random(40) < 0.5, "test_mask": (rng.random(40) < 0.5).astype("u1")}
    nodes = {"u": {**data, **masks, "y": rng.integers(0, 5, 40), "none \U0001f600 \x7f": np.empty((40, 0), "f4")}}
    ends = {"v:s:u": (0, 0), "u:r:v": (40, 3), "u:near:u": (40, 40)}
    edges = {t.name: tuple(rng.integers(0, top or 1, t.num_edges) for top in ends[t.name]) for t in types}
    return Graph(schema, edges, nodes, {"u:r:v": {"w": rng.random(60)}, "u:near:u": {"w": rng.random((200, 2))}})  # type: ignore[arg-type]


def to_train_on() -> Graph:
    """Cora, each edge in both directions, with features of edges."""
    graph = load_real_graph("cora")
    ((src, dst),) = graph.edges.values()
    schema = GraphSchema("cora", graph.schema.node_types, (EdgeType("node", "edge", "node", 2 * len(src)),))
    edges = {"node:edge:node": (np.concatenate([src, dst]), np.concatenate([dst, src]))}
    weights = np.arange(2 * len(src), dtype=np.float32)
    return Graph(schema, edges, graph.node_data, {"node:edge:node": {"w": weights}})


@pytest.mark.parametrize("names", [("cora", "small"), pytest.param(REAL_GRAPHS[1:], marks=pytest.mark.long)])
def test_dgl_opens_what_it_would_make_and_learns_as_much(names: tuple[str, ...], tmp_path: Path) -> None:
    make = {name: partial(load_real_graph, name) for name in names} | {"cora": to_train_on, "small": small}
    task = {}
    for name in names:
        graph, root = make[name](), tmp_path / name
        how = ("--staging", "zarr") if name == "small" else ("--memory", "100MB")
        source, out = graph.write(root / "in", num_chunks=3), root / "out"
        assert call("partition", source, out, "--num-parts", "1", "--layout", "ondisk", "--quiet", *how) == 0
        epochs = 8 if name == "cora" else 0
        task[str(out / "ondisk" / "dataset")] = {"graph": str(save_for_judge(graph, root / "judge")), "epochs": epochs}
    (tmp_path / "task.json").write_text(json.dumps(task))
    # one process, as its import is slow
    for ours, dgls in run_in_dgl("2.1.0", "ondisk.py", tmp_path / "task.json", cwd=tmp_path).values():
        assert ours == pytest.approx(dgls, abs=0.03)
        assert min(ours, dgls) > LARGEST_CLASS + 0.3


def test_a_dataset_that_dgl_wants_to_make_anew_stays(tmp_path: Path) -> None:
    source, out = small().write(tmp_path / "in"), tmp_path / "out"
    dgp.partition(source, out, 1, layout=("ondisk",))
    before = file_hashes(out)
    # what DGL does where it is asked for another dataset than there is
    with pytest.raises(OSError, match="symbolic link"):
        shutil.rmtree(out / "ondisk" / "dataset" / "preprocessed")
    assert file_hashes(out) == before


def test_it_is_beside_others_and_is_replaced(tmp_path: Path) -> None:
    source, out = small().write(tmp_path / "in"), tmp_path / "out"
    how = ("--num-parts", "1", "--method", "random", "--quiet", "--overwrite")
    assert call("partition", source, tmp_path / "alone", *how, "--layout", "ondisk") == 0
    assert call("partition", source, out, *how, "--layout", "dgl,ondisk,graphbolt", "--out-edges") == 0
    assert call("verify", source, out, "--quiet") == 0
    alone = file_hashes(tmp_path / "alone")
    assert alone.items() <= file_hashes(out).items()
    (out / "ondisk" / "files" / "notes.txt").touch()
    assert call("partition", source, out, "--num-parts", "2", *how[2:]) == 0
    assert [path.name for path in (out / "ondisk").rglob("*")] == ["files", "notes.txt"]


def test_integers_are_of_64_bits_where_edges_or_nodes_are_many() -> None:
    for num_nodes, num_edges, expected in (((1 << 31) - 1, 1 << 31, "i4 i8"), (1 << 31, (1 << 31) - 1, "i8 i4")):
        schema = GraphSchema("g", (NodeType("u", num_nodes),), (EdgeType("u", "r", "u", num_edges),))
        counts = np.array([[num_nodes]]), np.array([[num_edges]]), np.zeros(1, np.int64), np.zeros(1, np.int64)
        files = OnDiskLayout().part_files(GraphSizes(schema, *counts, {}), 0)
        regions = files["ondisk/files/fused_csc_sampling_graph.pt"].regions
        dtypes = [regions[name][1].str.removeprefix("<") for name in ("csc/indices", "csc/indptr")]
        assert dtypes == expected.split()


@pytest.mark.parametrize(
    ("masks", "named"),
    [
        (("val_mask", "valid_mask"), "n/val_mask and n/valid_mask"),
        (("validation_mask", "x", "valmask"), "n/validation_mask and n/valmask"),
        (("trainmask", "train_mask"), "n/trainmask and n/train_mask"),
        (("train_mask_2", "train_mask2"), "n/train_mask_2 and n/train_mask2"),
        (("test_mask", "test_mask_"), "n/test_mask and n/test_mask_"),
        (("train_mask", "train_mask-labels", "label"), "n/train_mask and n/train_mask-labels"),
        (("y", "test_mask-labels", "test_mask"), "n/test_mask and n/test_mask-labels"),
        (("m/val_mask", "valid_mask", "y"), "n/valid_mask and m/val_mask"),
    ],
)
def test_masks_of_one_set_or_file_are_refused_before_work(masks: tuple[str, ...], named: str, tmp_path: Path) -> None:
    edges = {("n", "r", "n"): (np.arange(9), np.arange(9)), ("m", "r", "n"): (np.arange(9), np.arange(9))}
    data: dict[str, dict[str, np.ndarray]] = {}
    for name in masks:
        ntype, _, name = name.rpartition("/")
        data.setdefault(ntype or "n", {})[name] = np.arange(9, dtype="u1") % 2
    dgp.chunk_graph(edges, "g", data, output_path=tmp_path / "in")
    with pytest.raises(OptionError, match=r"two masks of one set|mask has the name") as fault:
        dgp.partition(tmp_path / "in", tmp_path / "out", 1, layout=("dgl", "ondisk"))
    assert fault.value.found == named and fault.value.place == "layout ondisk" and fault.value.hint
    assert not (tmp_path / "out").exists()


def test_masks_of_several_types_and_tasks_are_not_refused(tmp_path: Path) -> None:
    edges = {("n", "r", "n"): (np.arange(9), np.arange(9)), ("m", "r", "n"): (np.arange(9), np.arange(9))}
    mask = np.arange(9, dtype="u1") % 2
    data = {"n": {"val_mask": mask, "val_mask_2": mask, "val_mask-labels": mask}, "m": {"valid_mask": mask}}
    dgp.chunk_graph(edges, "g", data, output_path=tmp_path / "in")
    dgp.partition(tmp_path / "in", tmp_path / "out", 1, layout=("ondisk",))
    tasks = json.loads((tmp_path / "out" / "ondisk" / "files" / "metadata.yaml").read_text())["tasks"]
    assert {task["name"]: [entry["type"] for entry in task["validation_set"]] for task in tasks} == {
        "node_classification": ["n", "m"],
        "node_classification_2": ["n"],
        "node_classification_-labels": ["n"],
    }


@pytest.mark.parametrize("target", ["out", "memory://ondisk"])
def test_several_parts_and_stores_are_refused_before_work(target: str, tmp_path: Path) -> None:
    source, out = small().write(tmp_path / "in"), target if "//" in target else tmp_path / target
    options = DispatchOptions(layout=("ondisk",))
    with pytest.raises(OptionError, match="one part" if target == "out" else "local directory") as fault:
        dgp.partition(source, out, 2 if target == "out" else 1, **spelled(options))
    assert fault.value.place == "layout ondisk"
    assert not (tmp_path / "out").exists()
