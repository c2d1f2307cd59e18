"""MAG240M of OGB-LSC; checked against `ogb/lsc/mag240m.py` and `ogb/lsc/utils.py` of OGB, commit 61e9784."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.sources.published.files import count_in, mask_of, require_files, require_shape
from daskgraphpart.sources.published.torch_files import load_torch

if TYPE_CHECKING:
    from pathlib import Path

ETYPES = ("author:affiliated_with:institution", "author:writes:paper", "paper:cites:paper")
MASKS = {"valid": "val", "test-dev": "test", "test-challenge": "test_challenge", "test-whole": "test_whole"}


def read_mag240m(directory: Path) -> dict[str, Any]:
    """Name the files of three edge types and of papers; splits become masks, with `test_mask` that of `test-dev`."""
    processed, meta, split = directory / "processed", directory / "meta.pt", directory / "split_dict.pt"
    edges = {etype: processed / etype.replace(":", "___") / "edge_index.npy" for etype in ETYPES}
    features = {name: processed / "paper" / f"node_{name}.npy" for name in ("feat", "label", "year")}
    require_files(directory, "mag240m", [*edges.values(), *features.values(), meta, split])
    require_shape(edges.values(), 2, None)
    counts = load_torch(meta)
    num_nodes = {ntype: count_in(meta, counts, ntype) for ntype in ("author", "institution", "paper")}
    lists = dict(load_torch(split))
    if "test" in lists:  # three fifths of the test set may be used in development
        ids = lists.pop("test")
        is_dev = np.arange(len(ids)) % 5 < 3
        lists |= {"test-whole": ids, "test-dev": ids[is_dev], "test-challenge": ids[~is_dev]}
    masks = {f"{MASKS.get(key, key)}_mask": mask_of(split, key, ids, num_nodes["paper"]) for key, ids in lists.items()}
    return {"edges": edges, "num_nodes": num_nodes, "node_data": {"paper": features}, "masks": {"paper": masks}}
