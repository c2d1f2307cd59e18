"""Pass `report-columns`: labels and masks of the nodes of a part.

Labels are found by their names, or given by the user; masks go by DGL's names for them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.reporting.edges import pieces
from daskgraphpart.reporting.report import Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.storage.region import Region

    NodeRegions: TypeAlias = Sequence[Mapping[str, Mapping[str, Region]]]

LABEL_NAMES = ("label", "labels", "y")
MAX_CLASSES = 4096
_MASK = re.compile(r"(train|val|valid|validation|test)_?mask")


@dataclass(frozen=True, slots=True)
class Column:
    """Node data of one name, in the parts that have nodes of the type."""

    ntype: str
    name: str
    regions: Mapping[int, Region]  # by part

    @property
    def key(self) -> str:
        """``<ntype>/<name>``."""
        return f"{self.ntype}/{self.name}"

    @property
    def is_mask(self) -> bool:
        """Whether it marks nodes, by its name."""
        return _MASK.match(self.name) is not None

    @property
    def is_whole(self) -> bool:
        """Whether it is one whole number per node."""
        return all(
            region.dtype.kind in "iub" and np.prod(region.shape[1:], dtype=np.int64) == 1
            for region in self.regions.values()
        )


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
    stored: dict[tuple[str, str], dict[int, Region]] = {}
    for part, of_part in enumerate(regions):
        for ntype in [ntype for ntype in of_part if ntype in book.ntypes]:
            for name, region in of_part[ntype].items():
                if region.num_rows:  # parts without a node of the type may hold anything
                    stored.setdefault((ntype, name), {})[part] = region
    columns = {key: Column(*key, of_parts) for key, of_parts in stored.items()}
    if labels is None:
        chosen = [column for column in columns.values() if column.name in LABEL_NAMES and column.is_whole]
    else:
        chosen = [_given(columns, given) for given in dict.fromkeys(labels)]
    chosen += [column for column in columns.values() if column.is_mask and column.is_whole]
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


def _given(columns: Mapping[tuple[str, str], Column], given: str) -> Column:
    ntype, _, name = given.replace("/", ":").rpartition(":")
    column = columns.get((ntype, name))
    if column is None or not column.is_whole:
        known = ", ".join(":".join(key) for key, other in columns.items() if other.is_whole)
        region = None if column is None else next(iter(column.regions.values()))
        raise OptionError(
            "no such labels",
            place="--labels",
            expected=f"one whole number per node: one of {known or 'none'}",
            found=given if region is None else f"{given}, {region.dtype.name} of shape {region.shape[1:]}",
        )
    return column


def gather_columns(
    columns: Sequence[Column], counted: Iterator[dict[int, int] | None], num_parts: int
) -> tuple[tuple[Labels, ...], dict[str, np.ndarray], tuple[str, ...]]:
    """Return labels, masks and notes, given what the pass has counted of each column, part by part."""
    labels, masks, notes = [], {}, []
    for column in columns:
        by_part = {part: next(counted) for part in column.regions}
        values = sorted({value for counts in by_part.values() for value in counts or ()})
        if None in by_part.values() or len(values) > MAX_CLASSES:
            notes.append(f"{column.key} has more than {MAX_CLASSES:,} classes and is left out")
            continue
        table = np.zeros((num_parts, len(values)), np.int64)
        for part, counts in by_part.items():
            table[part] = [(counts or {}).get(value, 0) for value in values]
        numbers = np.array(values, np.int64)
        if column.is_mask:
            masks[column.key] = table[:, numbers != 0].sum(axis=1)
        else:
            classes = tuple(numbers[numbers >= 0].tolist())
            unlabelled = table[:, numbers < 0].sum(axis=1)
            labels.append(Labels(column.key, classes, table[:, numbers >= 0], unlabelled))
    return tuple(labels), masks, tuple(notes)
