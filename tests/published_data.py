"""Small data sets in the layouts, with the names, dtypes and shapes, in which public ones are downloaded."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NUM_NODES = {"author": 30, "institution": 7, "paper": 50, "field_of_study": 5}


def write_csv(path: Path, rows: Iterable[Any]) -> None:
    """Rows of one number or of several, as OGB writes them: no header, packed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, row if np.ndim(row) else [row])) + "\n" for row in rows)


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)


def write_ogb(root: Path, num_nodes: int = 60, num_edges: int = 200) -> Path:
    """As ogbn-products."""
    rng = np.random.default_rng(0)
    write_csv(root / "raw/edge.csv.gz", rng.integers(0, num_nodes, (num_edges, 2)))
    write_csv(root / "raw/node-feat.csv.gz", rng.random((num_nodes, 5), np.float32))
    write_csv(root / "raw/node-label.csv.gz", rng.integers(0, 47, num_nodes))
    write_csv(root / "raw/num-node-list.csv.gz", [num_nodes])
    write_csv(root / "raw/num-edge-list.csv.gz", [num_edges])
    ids = rng.permutation(num_nodes)
    for name, part in zip(("train", "valid", "test"), np.split(ids, [20, 30]), strict=True):
        write_csv(root / f"split/sales_ranking/{name}.csv.gz", part)
    return root


def write_ogb_types(root: Path) -> Path:
    """As ogbn-mag."""
    rng = np.random.default_rng(0)
    raw, split = root / "raw", root / "split" / "time"
    ntypes = sorted(NUM_NODES)
    write_csv(raw / "num-node-dict.csv.gz", [ntypes, [NUM_NODES[ntype] for ntype in ntypes]])
    triplets = [
        ("author", "affiliated_with", "institution"),
        ("author", "writes", "paper"),
        ("paper", "cites", "paper"),
        ("paper", "has_topic", "field_of_study"),
    ]
    write_csv(raw / "triplet-type-list.csv.gz", triplets)
    for number, (src, rel, dst) in enumerate(triplets):
        folder = raw / "relations" / f"{src}___{rel}___{dst}"
        ends = [rng.integers(0, NUM_NODES[end], 40 + number) for end in (src, dst)]
        write_csv(folder / "edge.csv.gz", np.stack(ends, 1))
        write_csv(folder / "num-edge-list.csv.gz", [40 + number])
        write_csv(folder / "edge_reltype.csv.gz", [number] * (40 + number))
    write_csv(raw / "node-feat/paper/node-feat.csv.gz", rng.random((50, 4), np.float32))
    write_csv(raw / "node-feat/paper/node_year.csv.gz", rng.integers(2010, 2020, 50))
    write_csv(raw / "node-label/paper/node-label.csv.gz", rng.integers(0, 349, 50))
    for path in (raw / "nodetype-has-label.csv.gz", split / "nodetype-has-split.csv.gz"):
        write_csv(path, [ntypes, [ntype == "paper" for ntype in ntypes]])
    for name, part in zip(("train", "valid", "test"), np.split(rng.permutation(50), [30, 40]), strict=True):
        write_csv(split / f"paper/{name}.csv.gz", part)
    return root


def write_ogb_arrays(root: Path, num_nodes: int = 60, num_edges: int = 200) -> Path:
    """As ogbn-papers100M: some papers have no label."""
    rng = np.random.default_rng(0)
    (root / "raw").mkdir(parents=True)
    label = rng.integers(0, 172, (num_nodes, 1)).astype(np.float32)
    label[::3] = np.nan
    np.savez(
        root / "raw/data.npz",
        node_year=rng.integers(2010, 2020, (num_nodes, 1)),
        num_nodes_list=np.array([num_nodes]),
        num_edges_list=np.array([num_edges]),
        node_feat=rng.random((num_nodes, 128), np.float32),
        edge_index=rng.integers(0, num_nodes, (2, num_edges)),
    )
    np.savez(root / "raw/node-label.npz", node_label=label)
    for name, part in zip(("train", "valid", "test"), np.split(rng.permutation(num_nodes), [20, 30]), strict=True):
        write_csv(root / f"split/time/{name}.csv.gz", part)
    return root


def write_mag240m(root: Path) -> Path:
    """Splits as they are in the download: `test` as a whole."""
    import torch

    rng = np.random.default_rng(0)
    etypes = [("author", "affiliated_with", "institution"), ("author", "writes", "paper"), ("paper", "cites", "paper")]
    for src, rel, dst in etypes:
        ends = [rng.integers(0, NUM_NODES[end], 90) for end in (src, dst)]
        save(root / "processed" / f"{src}___{rel}___{dst}" / "edge_index.npy", np.stack(ends))
    label = rng.integers(0, 153, 50).astype(np.float32)
    label[::2] = np.nan
    save(root / "processed/paper/node_feat.npy", rng.random((50, 768)).astype(np.float16))
    save(root / "processed/paper/node_label.npy", label)
    save(root / "processed/paper/node_year.npy", rng.integers(1990, 2022, 50).astype(np.int16))
    (root / "RELEASE_v1.txt").touch()
    meta = {ntype: NUM_NODES[ntype] for ntype in ("paper", "author", "institution")}
    torch.save(meta | {"num_classes": 153}, root / "meta.pt")
    splits = dict(zip(("train", "valid", "test"), np.split(rng.permutation(50)[:40], [20, 30]), strict=True))
    torch.save(splits, root / "split_dict.pt")
    return root


def write_igb(root: Path, *, is_heterogeneous: bool, is_raw: bool, num_papers: int = 50) -> Path:
    """As IGB260M or IGBH; large ones are raw where papers and authors are concerned."""
    rng = np.random.default_rng(0)
    counts = {"paper": num_papers} | ({"author": 30, "institute": 7, "fos": 5} if is_heterogeneous else {})
    relations = (
        "paper__cites__paper",
        "paper__written_by__author",
        "author__affiliated_to__institute",
        "paper__topic__fos",
    )
    for relation in relations if is_heterogeneous else relations[:1]:
        src, _, dst = relation.split("__")
        ends = [rng.integers(0, counts[end], 90) for end in (src, dst)]
        save(root / "processed" / relation / "edge_index.npy", np.stack(ends, 1))

    def rows(ntype: str, name: str, array: np.ndarray) -> None:
        path = root / "processed" / ntype / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_raw and ntype in ("paper", "author"):
            array.astype(np.float32).tofile(path)
        else:
            np.save(path, array)

    for ntype, count in counts.items():
        rows(ntype, "node_feat", rng.random((count, 1024), np.float32))
    for classes, name in ((19, "19"), (2983, "2K")):
        rows("paper", f"node_label_{name}", rng.integers(0, classes, num_papers))
    return root


def write_wikikg(root: Path) -> Path:
    """As WikiKG90Mv2."""
    import torch

    rng = np.random.default_rng(0)
    save(root / "processed/train_hrt.npy", np.stack([rng.integers(0, n, 120) for n in (40, 6, 40)], 1))
    save(root / "processed/entity_feat.npy", rng.random((40, 768)).astype(np.float16))
    save(root / "processed/relation_feat.npy", rng.random((6, 768)).astype(np.float16))
    torch.save({"num_entities": 40, "num_relations": 6}, root / "meta.pt")
    return root
