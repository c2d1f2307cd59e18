"""Public data sets, in the layouts in which they are downloaded, become the graphs that their own readers make."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from edge_lists import DEFAULT, edges_of
from graphs import file_hashes
from inside import Resources
from keywords import spelled
from published_data import (
    write_csv,
    write_igb,
    write_mag240m,
    write_ogb,
    write_ogb_arrays,
    write_ogb_types,
    write_wikikg,
)

from daskgraphpart import GraphPartError, partition, read_chunked, scan_dataset
from daskgraphpart.readers.datasets.igb import split_masks
from daskgraphpart.readers.describe_dataset import describe_dataset
from daskgraphpart.readers.tables.scan_tables import described_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESOURCES = Resources(256 << 20, "sync", 1)


def write_large_igb(root: Path) -> Path:
    return write_igb(root, is_heterogeneous=True, is_raw=True)


def chunked(tmp_path: Path, kind: str, directory: Path) -> tuple[Any, dict[str, dict[str, np.ndarray]]]:
    """The graph, and its features."""
    graph = scan_dataset(kind, directory).write_chunked(tmp_path / "out", **spelled(RESOURCES))
    views = {**graph.node_data, **graph.edge_data}
    return graph, {t: {n: a.compute(scheduler="sync") for n, a in views[t].items()} for t in views}


def from_csv(path: Path, dtype: Any = np.int64) -> np.ndarray:
    return np.loadtxt(path, dtype, delimiter=",")


def is_in(ids: np.ndarray, num_nodes: int) -> np.ndarray:
    return np.isin(np.arange(num_nodes), ids)


def test_ogb_of_text(tmp_path: Path) -> None:
    root = write_ogb(tmp_path / "products")
    _, data = chunked(tmp_path, "ogb", root)
    np.testing.assert_array_equal(edges_of(tmp_path / "out"), from_csv(root / "raw/edge.csv.gz").T)
    np.testing.assert_array_equal(data["_N"]["feat"], from_csv(root / "raw/node-feat.csv.gz", np.float32))
    np.testing.assert_array_equal(data["_N"]["label"], from_csv(root / "raw/node-label.csv.gz"))
    for mask, name in (("train_mask", "train"), ("val_mask", "valid"), ("test_mask", "test")):
        ids = from_csv(root / f"split/sales_ranking/{name}.csv.gz")
        np.testing.assert_array_equal(data["_N"][mask], is_in(ids, 60))


def test_ogb_of_several_types(tmp_path: Path) -> None:
    root = write_ogb_types(tmp_path / "mag")
    graph, data = chunked(tmp_path, "ogb", root)
    counts = {node.name: node.num_nodes for node in graph.schema.node_types}
    assert counts == {"author": 30, "field_of_study": 5, "institution": 7, "paper": 50}
    for etype in graph.schema.etypes:
        edges = from_csv(root / "raw/relations" / etype.replace(":", "___") / "edge.csv.gz")
        np.testing.assert_array_equal(edges_of(tmp_path / "out", etype), edges.T)
        assert set(data[etype]) == {"reltype"}
    assert set(data["paper"]) == {"feat", "year", "label", "train_mask", "val_mask", "test_mask"}
    np.testing.assert_array_equal(data["paper"]["year"], from_csv(root / "raw/node-feat/paper/node_year.csv.gz"))
    np.testing.assert_array_equal(
        data["paper"]["val_mask"], is_in(from_csv(root / "split/time/paper/valid.csv.gz"), 50)
    )


def test_ogb_of_arrays_with_papers_that_have_no_label(tmp_path: Path) -> None:
    root = write_ogb_arrays(tmp_path / "papers100M-bin", num_nodes=10_000)  # so that features are mapped, not read
    _, data = chunked(tmp_path, "ogb", root)
    arrays = np.load(root / "raw/data.npz")
    np.testing.assert_array_equal(edges_of(tmp_path / "out"), arrays["edge_index"])
    np.testing.assert_array_equal(data["_N"]["feat"], arrays["node_feat"])
    np.testing.assert_array_equal(data["_N"]["year"], arrays["node_year"])
    np.testing.assert_array_equal(data["_N"]["label"], np.load(root / "raw/node-label.npz")["node_label"])


def test_links_of_ogb_have_neither_labels_nor_masks(tmp_path: Path) -> None:
    root = write_ogb(tmp_path / "collab")
    (root / "raw/node-label.csv.gz").unlink()
    for path in (root / "split/sales_ranking").iterdir():
        path.unlink()
    (root / "split/sales_ranking/train.pt").touch()
    write_csv(root / "raw/edge_weight.csv.gz", range(200))
    _, data = chunked(tmp_path, "ogb", root)
    assert set(data["_N"]) == {"feat"}
    np.testing.assert_array_equal(data[DEFAULT]["weight"], np.arange(200))


def test_mag240m(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    root = write_mag240m(tmp_path / "mag240m_kddcup2021")
    graph, data = chunked(tmp_path, "mag240m", root)
    for etype in graph.schema.etypes:
        edges = np.load(root / "processed" / etype.replace(":", "___") / "edge_index.npy")
        np.testing.assert_array_equal(edges_of(tmp_path / "out", etype), edges)
    for name in ("feat", "label", "year"):
        expected = np.load(root / f"processed/paper/node_{name}.npy")
        np.testing.assert_array_equal(data["paper"][name], expected)
        assert data["paper"][name].dtype == expected.dtype
    split = torch.load(root / "split_dict.pt", weights_only=False)
    masks = {name: np.flatnonzero(mask) for name, mask in data["paper"].items() if name.endswith("_mask")}
    is_dev = np.arange(10) % 5 < 3
    np.testing.assert_array_equal(masks["train_mask"], np.sort(split["train"]))
    np.testing.assert_array_equal(masks["val_mask"], np.sort(split["valid"]))
    np.testing.assert_array_equal(masks["test_mask"], np.sort(split["test"][is_dev]))
    np.testing.assert_array_equal(masks["test_challenge_mask"], np.sort(split["test"][~is_dev]))
    np.testing.assert_array_equal(masks["test_whole_mask"], np.sort(split["test"]))


@pytest.mark.parametrize("is_raw", [False, True])
def test_igb_of_all_types_with_and_without_headers(is_raw: bool, tmp_path: Path) -> None:
    headed = write_igb(tmp_path / "headed", is_heterogeneous=True, is_raw=False)
    graph, data = chunked(tmp_path, "igb", write_igb(tmp_path / "large", is_heterogeneous=True, is_raw=is_raw))
    for etype in graph.schema.etypes:
        edges = np.load(headed / "processed" / etype.replace(":", "__") / "edge_index.npy")
        np.testing.assert_array_equal(edges_of(tmp_path / "out", etype), edges.T)
    for ntype in graph.schema.ntypes:
        np.testing.assert_array_equal(data[ntype]["feat"], np.load(headed / f"processed/{ntype}/node_feat.npy"))
    labels = np.load(headed / "processed/paper/node_label_19.npy")
    np.testing.assert_array_equal(data["paper"]["label_19"], labels)


@pytest.mark.parametrize("num_papers", [50, 51, 1])
def test_igb_is_split_as_its_loader_splits_it(num_papers: int, tmp_path: Path) -> None:
    root = write_igb(tmp_path / "tiny", is_heterogeneous=False, is_raw=True, num_papers=num_papers)
    _, data = chunked(tmp_path, "igb", root)
    masks = np.stack([data["paper"][f"{name}_mask"] for name in ("train", "val", "test")])
    assert masks.sum(0).tolist() == [1] * num_papers
    train, val = int(num_papers * 0.6), int(num_papers * 0.2)
    assert masks.sum(1).tolist() == [train, val, num_papers - train - val]


def test_the_labelled_papers_of_the_largest_igb_are_split_in_their_order() -> None:
    masks = split_masks(269_346_174, "node_feat.npy")
    bounds = {
        "train_mask": (0, 136_278_514),
        "val_mask": (136_278_514, 181_704_685),
        "test_mask": (181_704_685, 227_130_858),
    }
    for name, (low, high) in bounds.items():
        assert masks[name].read(low, low + 2).all()
        assert masks[name].read(high - 1, high + 1).tolist() == [True, False]


def test_relations_of_wikikg_are_edge_types_or_a_feature(tmp_path: Path) -> None:
    root = write_wikikg(tmp_path / "wikikg90m-v2")
    _, data = chunked(tmp_path, "wikikg", root)
    triplets = np.load(root / "processed/train_hrt.npy")
    for relation in np.unique(triplets[:, 1]).tolist():
        of_type = triplets[triplets[:, 1] == relation]
        np.testing.assert_array_equal(edges_of(tmp_path / "out", f"entity:{relation}:entity"), of_type[:, [0, 2]].T)
    np.testing.assert_array_equal(data["entity"]["feat"], np.load(root / "processed/entity_feat.npy"))
    tables = describe_dataset("wikikg", root)
    del tables["edge_types_from"]
    described_tables(tables).write_chunked(tmp_path / "one", **spelled(RESOURCES))
    np.testing.assert_array_equal(edges_of(tmp_path / "one", "entity:relates:entity"), triplets[:, [0, 2]].T)
    found = read_chunked(tmp_path / "one").edge_data["entity:relates:entity"]["reltype"]
    np.testing.assert_array_equal(found.compute(scheduler="sync"), triplets[:, 1])


def test_options_of_the_command_line_add_to_a_data_set(tmp_path: Path) -> None:
    root = write_ogb(tmp_path / "products")
    np.save(tmp_path / "x.npy", np.arange(60.0))
    args = ["--node-data", f"x={tmp_path / 'x.npy'}", "--node-data", f"label={tmp_path / 'x.npy'}", "--memory", "256M"]
    assert call("build", tmp_path / "out", "--from", "ogb", root, "--cluster", "sync", *args) == 0
    data = read_chunked(tmp_path / "out").node_data["_N"]
    assert {"feat", "x", "train_mask"} <= set(data)
    np.testing.assert_array_equal(data["label"].compute(scheduler="sync"), np.arange(60.0))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def save_torch(path: Path, value: Any) -> None:
    import torch

    torch.save(value, path)


class Program:
    """What a pickle may be, too."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit",)


def without(root: Path, *names: str) -> None:
    for name in names:
        (root / name).unlink()


EDGES = "processed/author___affiliated_with___institution/edge_index.npy"
BAD: list[tuple[str, Callable[[Path], Path], Callable[[Path], None], str]] = [
    ("ogb", write_ogb,
     lambda d: without(d, "raw/edge.csv.gz", "raw/node-label.csv.gz", "split/sales_ranking/valid.csv.gz"),
     "data: not a complete data set of kind 'ogb': raw/edge.csv.gz, raw/node-label.csv.gz, "
     "split/sales_ranking/valid.csv.gz are missing. Give the directory that was unpacked"),
    ("ogb", write_ogb, shutil.rmtree, "--from: no such directory"),
    ("ogb", write_ogb_types,
     lambda d: without(d, "raw/num-node-dict.csv.gz", "raw/relations/paper___cites___paper/edge.csv.gz"),
     "raw/num-node-dict.csv.gz, raw/relations/paper___cites___paper/edge.csv.gz are missing"),
    ("ogb", write_ogb_arrays, lambda d: without(d, "raw/node-label.npz"), "raw/node-label.npz is missing"),
    ("ogb", write_ogb_arrays, lambda d: np.savez(d / "raw/data.npz", edge_index=np.zeros((2, 5), int)),
     "data.npz: not a graph of OGB: expected arrays edge_index and num_nodes_list, num_edges_list, of one graph"),
    ("ogb", write_ogb, lambda d: write_csv(d / "raw/num-edge-list.csv.gz", [201]),
     "edge.csv.gz: wrong number of '_N:_E:_N' edges: expected 201, found 200"),
    ("ogb", write_ogb, lambda d: write_csv(d / "raw/num-node-list.csv.gz", [60, 60]),
     "num-node-list.csv.gz: not one number: expected that of one graph, found 60, 60. Data sets of many graphs"),
    ("ogb", write_ogb, lambda d: (d / "raw/num-node-list.csv.gz").write_bytes(b"60"), "not readable text"),
    ("ogb", write_ogb, lambda d: write_csv(d / "raw/edge.csv.gz", [(0, 60)] * 200),
     "edge.csv.gz, line 1, column '1': ID of a '_N' node out of range: expected an ID from 0 and below 60, found '60'"),
    ("ogb", write_ogb, lambda d: write_csv(d / "raw/node-feat.csv.gz", [(1, 2)] * 59),
     "feature 'feat' of '_N' has the wrong number of rows: expected 60 rows, found 59"),
    ("ogb", write_ogb, lambda d: write_csv(d / "split/sales_ranking/test.csv.gz", [3, 60]), "test.csv.gz, line 2"),
    ("ogb", write_ogb, lambda d: cut(d / "raw/edge.csv.gz"), "raw/edge.csv.gz"),
    ("mag240m", write_mag240m, lambda d: without(d, EDGES, "meta.pt", "processed/paper/node_year.npy"),
     f"{EDGES}, processed/paper/node_year.npy, meta.pt are missing"),
    ("mag240m", write_mag240m, lambda d: np.save(d / EDGES, np.full((2, 9), 7)),
     "edge_index.npy, row 0, column '1': ID of a 'institution' node out of range: expected an ID from 0 and below 7"),
    ("mag240m", write_mag240m, lambda d: np.save(d / EDGES, np.zeros((2, 9))), "IDs are not integers"),
    ("mag240m", write_mag240m, lambda d: np.save(d / EDGES, np.zeros((1, 9), int)),
     "edge_index.npy: wrong shape of an array: expected (2, any), found (1, 9)"),
    ("mag240m", write_mag240m, lambda d: cut(d / EDGES), "edge_index.npy: npy file is truncated"),
    ("mag240m", write_mag240m, lambda d: np.save(d / "processed/paper/node_feat.npy", np.zeros((49, 768), np.float16)),
     "feature 'feat' of 'paper' has the wrong number of rows: expected 50 rows, found 49"),
    ("mag240m", write_mag240m, lambda d: save_torch(d / "meta.pt", {"paper": 50, "author": "many"}),
     "meta.pt, author: the number of nodes is missing: expected an integer from 0, found many"),
    ("mag240m", write_mag240m, lambda d: save_torch(d / "meta.pt", [1]), "expected a dictionary, found list"),
    ("mag240m", write_mag240m, lambda d: save_torch(d / "meta.pt", {"paper": Program()}),
     "meta.pt: cannot read this torch file: Unsupported global: GLOBAL exec was not an allowed global"),
    ("mag240m", write_mag240m, lambda d: cut(d / "split_dict.pt"), "split_dict.pt: cannot read this torch file"),
    ("mag240m", write_mag240m, lambda d: save_torch(d / "split_dict.pt", {"train": np.array([3, 50])}),
     "split_dict.pt, train: not a list of nodes: expected IDs below 50, found 3 to 50"),
    ("mag240m", write_mag240m, lambda d: save_torch(d / "split_dict.pt", {"train": np.zeros((2, 2))}),
     "split_dict.pt, train: not a list of nodes: expected IDs below 50, found float64, shape (2, 2)"),
    ("igb", write_large_igb,
     lambda d: without(d, "processed/fos/node_feat.npy", "processed/paper__topic__fos/edge_index.npy"),
     "processed/paper__topic__fos/edge_index.npy, processed/fos/node_feat.npy are missing"),
    ("igb", write_large_igb, lambda d: cut(d / "processed/author/node_feat.npy"),
     "author/node_feat.npy: not whole rows of float32 of shape (1024,): expected a multiple of 4,096 bytes, "
     "found 122,780"),
    ("igb", write_large_igb, lambda d: cut(d / "processed/paper/node_label_19.npy"), "wrong number of rows: expected"),
    ("wikikg", write_wikikg, lambda d: np.save(d / "processed/train_hrt.npy", np.zeros((9, 2), int)),
     "train_hrt.npy: wrong shape of an array: expected (any, 3), found (9, 2)"),
    ("wikikg", write_wikikg, lambda d: without(d, "meta.pt"), "meta.pt is missing"),
    ("papers", write_wikikg, lambda d: None,
     "--from: unknown kind of data set 'papers'. Choose from igb, mag240m, ogb, wikikg"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "write", "spoil", "message"), BAD)
def test_what_is_wrong_is_one_error(
    kind: str, write: Callable[[Path], Path], spoil: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    root = write(tmp_path / "data")
    spoil(root)
    with pytest.raises(GraphPartError) as caught:
        scan_dataset(kind, root).write_chunked(tmp_path / "out", **spelled(RESOURCES))
    assert message in caught.value.for_command_line().replace(f"{tmp_path}/", "")
    assert not (tmp_path / "out").exists()


def test_features_that_are_left_out_are_not_read(tmp_path: Path) -> None:
    root = write_ogb(tmp_path / "products")
    graph = scan_dataset("ogb", root, leave_out=["feat", "_N/label"], name="small").collect()
    assert "feat" not in graph.node_data["_N"]
    assert "label" not in graph.node_data["_N"]
    assert graph.schema.name == "small"
    with pytest.raises(GraphPartError) as caught:
        scan_dataset("ogb", root, leave_out=["feet"])
    assert caught.value.place == "leave_out"


def test_a_data_set_is_partitioned_straight_as_from_its_chunked_graph(tmp_path: Path) -> None:
    graph = scan_dataset("ogb", write_ogb(tmp_path / "products")).with_reverse_edges()
    how: Any = {"method": "random", **spelled(RESOURCES)}
    partition(graph, tmp_path / "straight", 2, **how)
    partition(graph.write_chunked(tmp_path / "chunked", **spelled(RESOURCES)), tmp_path / "expected", 2, **how)
    found, expected = file_hashes(tmp_path / "straight"), file_hashes(tmp_path / "expected")
    assert {name for name in expected if found.get(name) != expected[name]} <= {"products.manifest.json"}
