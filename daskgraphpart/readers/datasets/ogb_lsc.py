"""MAG240M and WikiKG90Mv2 of OGB-LSC; checked against `ogb/lsc` (mag240m, wikikg90mv2, utils), commit 61e9784."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.readers.datasets.dataset_files import count_in, load_torch, mask_of, require_files, require_shape

if TYPE_CHECKING:
    from pathlib import Path


ETYPES = ("author:affiliated_with:institution", "author:writes:paper", "paper:cites:paper")
MASKS = {"valid": "val", "test-dev": "test", "test-challenge": "test_challenge", "test-whole": "test_whole"}


def read_mag240m(directory: Path) -> dict[str, Any]:
    """Name the files of three edge types and of papers; splits become masks, `test_mask` from `test-dev`."""
    processed, meta, split = directory / "processed", directory / "meta.pt", directory / "split_dict.pt"
    edges = {etype: processed / etype.replace(":", "___") / "edge_index.npy" for etype in ETYPES}
    features = {name: processed / "paper" / f"node_{name}.npy" for name in ("feat", "label", "year")}
    require_files(directory, "mag240m", [*edges.values(), *features.values(), meta, split])
    require_shape(edges.values(), 2, None)
    counts = load_torch(meta)
    num_nodes = {ntype: count_in(meta, counts, ntype) for ntype in ("author", "institution", "paper")}
    lists = dict(load_torch(split))
    if "test" in lists:  # three fifths of the test set are for development
        ids = lists.pop("test")
        is_dev = np.arange(len(ids)) % 5 < 3
        lists |= {"test-whole": ids, "test-dev": ids[is_dev], "test-challenge": ids[~is_dev]}
    masks = {f"{MASKS.get(key, key)}_mask": mask_of(split, key, ids, num_nodes["paper"]) for key, ids in lists.items()}
    return {"edges": edges, "num_nodes": num_nodes, "node_data": {"paper": features}, "masks": {"paper": masks}}


ETYPE = "entity:relates:entity"


def read_wikikg(directory: Path) -> dict[str, Any]:
    """Name the files of training triplets, whose relations become edge types, and of entities."""
    triplets, features = directory / "processed" / "train_hrt.npy", directory / "processed" / "entity_feat.npy"
    meta = directory / "meta.pt"
    require_files(directory, "wikikg", [triplets, features, meta])
    require_shape([triplets], None, 3)
    return {
        "edges": {ETYPE: f"{triplets}:0,2"},
        "edge_data": {ETYPE: {"reltype": f"{triplets}:1"}},
        "edge_types_from": {ETYPE: "reltype"},
        "num_nodes": {"entity": count_in(meta, load_torch(meta), "num_entities")},
        "node_data": {"entity": {"feat": features}},
    }
