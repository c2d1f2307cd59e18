"""Pass `report-columns`: labels and masks of the nodes of a part.

Labels are found by their names, or given by the user; masks go by DGL's names for them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.reporting.edges import pieces
from daskgraphpart.reporting.figures import Labels
from daskgraphpart.schema import MASK_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.storage.region import Region

    NodeRegions: TypeAlias = Sequence[Mapping[str, Mapping[str, Region]]]

LABEL_NAMES = ("label", "labels", "y")
MAX_CLASSES = 4096


@dataclass(frozen=True, slots=True)
class Column:
    """Node data of one name, in the parts that have nodes of the type."""

    ntype: str
    name: str
    regions: dict[int, Region]  # by part

    @property
    def key(self) -> str:
        """``<ntype>/<name>``."""
        return f"{self.ntype}/{self.name}"

    @property
    def is_mask(self) -> bool:
        """Whether it marks nodes, by its name."""
        return MASK_NAME.match(self.name) is not None

    @property
    def is_whole(self) -> bool:
        """Whether it is one whole number per node."""
        return all(of.dtype.kind in "iub" and of.row_nbytes == of.dtype.itemsize for of in self.regions.values())


def report_columns(region: Region, _: None) -> dict[int, int] | None:
    """Count the rows of one column in one part by value; None if there are too many values.

    Holds `ROWS_PER_READ` rows and a counter per class.
    """
    counts: Counter[int] = Counter()
    for rows in pieces(region):
        values, times = np.unique(rows, return_counts=True)
        counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
        if len(counts) > MAX_CLASSES:
            return None
    return dict(counts)


def find_columns(regions: NodeRegions, book: PartitionBook, labels: Iterable[str] | None) -> list[Column]:
    """List labels, then masks, that the parts hold; `labels` are given as ``ntype:name`` or ``ntype/name``."""
    stored: dict[str, Column] = {}
    for part, of_part in enumerate(regions):
        for ntype, features in of_part.items():
            for name, region in features.items():
                if ntype in book.ntypes and region.num_rows:  # parts without a node of the type may hold anything
                    stored.setdefault(f"{ntype}/{name}", Column(ntype, name, {})).regions[part] = region
    whole = {key: column for key, column in stored.items() if column.is_whole}
    if labels is None:
        chosen = [column for column in whole.values() if column.name in LABEL_NAMES]
    else:
        chosen = [_given(stored, whole, given) for given in dict.fromkeys(labels)]
    chosen += [column for column in whole.values() if column.is_mask]
    for column in chosen:
        counts = book.node_counts[:, book.ntypes.index(column.ntype)]
        for part in np.flatnonzero(counts).tolist():
            if part not in column.regions:
                raise LayoutError(
                    f"part {part} lacks node data that others have",
                    expected=f"{column.key}, {counts[part]:,} rows",
                    hint="make the partitions again",
                )
    return chosen


def _given(stored: Mapping[str, Column], whole: Mapping[str, Column], given: str) -> Column:
    key = given.replace(":", "/")
    if key in whole:
        return whole[key]
    known, found = ", ".join(name.replace("/", ":") for name in whole), given
    if key in stored:
        region = next(iter(stored[key].regions.values()))
        found = f"{given}, {region.dtype.name} of shape {region.shape[1:]}"
    expected = f"one whole number per node: one of {known or 'none'}"
    raise OptionError("no such labels", place="--labels", expected=expected, found=found)


def gather_columns(
    columns: Sequence[Column], counted: Iterator[dict[int, int] | None], num_parts: int
) -> tuple[tuple[Labels, ...], dict[str, np.ndarray], tuple[str, ...]]:
    """Return labels, masks and notes, given what the pass has counted of each column, part by part."""
    labels, masks, notes = [], {}, []
    for column in columns:
        by_part = {part: next(counted) for part in column.regions}
        found = {part: counts for part, counts in by_part.items() if counts is not None}
        table = pd.DataFrame.from_dict(found, orient="index").sort_index(axis=1)
        if len(found) < len(by_part) or table.shape[1] > MAX_CLASSES:
            notes.append(f"{column.key} has more than {MAX_CLASSES:,} classes and is left out")
            continue
        numbers, counts = table.columns.to_numpy(np.int64), table.reindex(range(num_parts)).fillna(0).to_numpy(np.int64)
        if column.is_mask:
            masks[column.key] = counts[:, numbers != 0].sum(axis=1)
        else:
            classes, unlabelled = tuple(numbers[numbers >= 0].tolist()), counts[:, numbers < 0].sum(axis=1)
            labels.append(Labels(column.key, classes, counts[:, numbers >= 0], unlabelled))
    return tuple(labels), masks, tuple(notes)
