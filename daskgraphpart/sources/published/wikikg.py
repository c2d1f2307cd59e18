"""WikiKG90Mv2 of OGB-LSC; checked against `ogb/lsc/wikikg90mv2.py` of OGB, commit 61e9784."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.sources.published.files import count_in, require_files, require_shape
from daskgraphpart.sources.published.torch_files import load_torch

if TYPE_CHECKING:
    from pathlib import Path

ETYPE = "entity:relates:entity"


def read_wikikg(directory: Path) -> dict[str, Any]:
    """Name the files of the training triplets, whose relations become edge types, and of entities."""
    triplets, features = directory / "processed" / "train_hrt.npy", directory / "processed" / "entity_feat.npy"
    meta = directory / "meta.pt"
    require_files(directory, "wikikg", [triplets, features, meta])
    require_shape([triplets], None, 3)
    return {
        "edges": {ETYPE: f"{triplets}:0,2"},
        "edge_data": {ETYPE: {"reltype": f"{triplets}:1"}},
        "split_by": {ETYPE: "reltype"},
        "num_nodes": {"entity": count_in(meta, load_torch(meta), "num_entities")},
        "node_data": {"entity": {"feat": features}},
    }
