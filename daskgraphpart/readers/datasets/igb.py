"""IGB, homogeneous and heterogeneous; checked against `igb/dataloader.py` of IGB-Datasets, commit fc36357.

Large arrays are rows of float32 without a header, despite their names. Splits follow the data loader: for the largest
graph, 60, 20 and 20 percent of the labelled papers, which come first; for others, of all papers. The loader draws those
at random; we spread them evenly, so that every run gives the same.
"""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.extension import MadeRows, read_npy_header
from daskgraphpart.readers.datasets.dataset_files import require_files, require_shape

CITES = "paper:cites:paper"
HETEROGENEOUS = (CITES, "paper:written_by:author", "author:affiliated_to:institute", "paper:topic:fos")
LARGE = ("paper:published:journal", "paper:venue:conference")
WIDTH, FLOAT_NBYTES = 1024, 4
NUM_LABELLED = {269_346_174: 227_130_858}  # with 19 classes, by number of papers


def read_igb(directory: Path) -> dict[str, Any]:
    """Name the files of papers and any other types; splits become masks."""
    processed = directory / "processed"
    edges = {etype: processed / etype.replace(":", "__") / "edge_index.npy" for etype in (*HETEROGENEOUS, *LARGE)}
    is_heterogeneous = any((processed / ntype).is_dir() for ntype in ("author", "institute", "fos"))
    needed = HETEROGENEOUS if is_heterogeneous else (CITES,)
    edges = {etype: path for etype, path in edges.items() if etype in needed or path.is_file()}
    ntypes = sorted({end for etype in edges for end in etype.split(":")[::2]})
    features = {ntype: processed / ntype / "node_feat.npy" for ntype in ntypes}
    labels = [processed / "paper" / f"node_label_{classes}.npy" for classes in ("19", "2K")]
    require_files(directory, "igb", [*edges.values(), *features.values(), labels[0]])
    require_shape(edges.values(), None, 2)
    data: dict[str, dict[str, Any]] = {ntype: {"feat": _rows(path, f":{WIDTH}")} for ntype, path in features.items()}
    data["paper"] |= {path.stem.removeprefix("node_"): _rows(path) for path in labels if path.is_file()}
    papers = features["paper"]
    size = os.path.getsize(papers) // (WIDTH * FLOAT_NBYTES) if _is_raw(papers) else read_npy_header(papers).shape[0]
    return {"edges": edges, "node_data": data, "masks": {"paper": split_masks(size, str(papers))}}


def _is_raw(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) != b"\x93NUMPY"


def _rows(path: Path, width: str = "") -> str:
    return f"{path}:float32{width}" if _is_raw(path) else str(path)


def split_masks(num_papers: int, path: str) -> dict[str, MadeRows]:
    """Masks by position: a paper's is its ID times a factor coprime to their number, near the golden ratio.

    So every stretch of IDs is split alike.
    """
    num_split, step = NUM_LABELLED.get(num_papers, num_papers), 1
    if num_split == num_papers:
        step = int(num_papers * 0.618)
        while math.gcd(step, num_papers) > 1:
            step += 1
    train, val = int(num_split * 0.6), int(num_split * 0.2)
    bounds = {"train": (0, train), "val": (train, train + val), "test": (train + val, num_split)}
    return {
        f"{name}_mask": MadeRows(
            np.dtype(bool), (num_papers,), partial(_read_mask, step, num_papers, low, high), (path,)
        )
        for name, (low, high) in bounds.items()
    }


def _read_mask(step: int, num_papers: int, low: int, high: int, start: int, stop: int) -> np.ndarray:
    position = np.arange(start, stop) * step % num_papers
    return (low <= position) & (position < high)
