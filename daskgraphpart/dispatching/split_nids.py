"""Pass `split-nids`: the IDs of each part's training, validation and test nodes, where masks exist.

Reads the masks that were placed in `node_feat.dgl` and writes `split_nids.dgl`, a tensor file with keys
``<ntype>/<mask>`` and new type-wise IDs, the ones `DistGraph` indexes its data with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.workspace import SPLIT_NIDS, part_file
from daskgraphpart.engine.plan import Pass
from daskgraphpart.layouts.dgl_tensor_file import tensor_file_layout
from daskgraphpart.layouts.file_layout import ArraySpec, create_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 20
_MASK = re.compile(r"(train|val|valid|validation|test)_?mask")


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """One part: its masks by key, and the first new type-wise ID of each."""

    part: int
    masks: Mapping[str, Region]
    first_nids: Mapping[str, int]


def mask_keys(schema: GraphSchema) -> list[tuple[str, str]]:
    """Node types and names of masks: scalar bool, uint8 or int8 features named like ``train_mask``."""
    return [
        (node_type.name, spec.name)
        for node_type in schema.node_types
        for spec in node_type.data
        if _MASK.match(spec.name) and spec.row_shape in ((), (1,)) and spec.dtype.name in ("bool", "uint8", "int8")
    ]


def split_nids_pass(units: Sequence[SplitUnit], out: str) -> Pass[SplitUnit, str, None]:
    """Plan the pass."""
    return Pass("split-nids", split_nids, units, out, [sum(r.nbytes for r in u.masks.values()) for u in units])


def split_nids(unit: SplitUnit, out: str) -> None:
    """List the marked nodes of one part; the masks are read twice, once to know how long the lists are."""
    lengths = {key: sum(ids.size for ids in _marked(region, 0)) for key, region in unit.masks.items()}
    specs = [ArraySpec(key, np.dtype(np.int64), (length,)) for key, length in lengths.items()]
    regions = create_file(part_file(out, unit.part, SPLIT_NIDS), tensor_file_layout(specs))
    for key, region in unit.masks.items():
        done = 0
        for ids in _marked(region, unit.first_nids[key]):
            regions[key].write(ids, done)
            done += ids.size


def _marked(region: Region, first_nid: int) -> Iterator[np.ndarray]:
    for start in range(0, region.num_rows, ROWS_PER_READ):
        mask = region.read(start, min(start + ROWS_PER_READ, region.num_rows))
        yield np.flatnonzero(mask) + (first_nid + start)
