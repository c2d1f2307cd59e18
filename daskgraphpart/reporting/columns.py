"""Pass `report-columns`: labels and masks of the nodes of a part.

Labels are found by their names, or given by the user; masks go by DGL's names for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.reporting.edges import pieces

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
    """Labels or a mask."""

    ntype: str
    name: str
    is_mask: bool

    @property
    def key(self) -> str:
        """``<ntype>/<name>``."""
        return f"{self.ntype}/{self.name}"


@dataclass(frozen=True, slots=True)
class ColumnUnit:
    """The rows of one column in one part."""

    column: Column
    part: int
    region: Region


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """What a unit has counted: rows by value, or marked rows under the value 1; None if there are too many values."""

    column: Column
    part: int
    counts: Mapping[int, int] | None


def report_columns(unit: ColumnUnit, _: None) -> ColumnCounts:
    """Count the values of one unit, which holds `ROWS_PER_READ` rows and a counter per class."""
    counts: dict[int, int] = {}
    for rows in pieces(unit.region):
        values, times = (1, np.count_nonzero(rows)) if unit.column.is_mask else np.unique(rows, return_counts=True)
        for value, count in zip(np.atleast_1d(values).tolist(), np.atleast_1d(times).tolist(), strict=True):
            counts[value] = counts.get(value, 0) + count
        if len(counts) > MAX_CLASSES:
            return ColumnCounts(unit.column, unit.part, None)
    return ColumnCounts(unit.column, unit.part, counts)


def find_columns(regions: NodeRegions, book: PartitionBook, labels: Iterable[str] | None) -> list[Column]:
    """List labels and masks that the parts hold."""
    names = dict.fromkeys((ntype, name) for of in regions for ntype, data in of.items() for name in data)
    stored = [(ntype, name) for ntype, name in names if ntype in book.ntypes]
    masks = [Column(*key, is_mask=True) for key in stored if _MASK.match(key[1]) and _is_whole(regions, *key)]
    if labels is None:
        return [
            *(Column(*key, is_mask=False) for key in stored if key[1] in LABEL_NAMES and _is_whole(regions, *key)),
            *masks,
        ]
    return [*_given_columns(regions, stored, dict.fromkeys(labels)), *masks]


def _given_columns(regions: NodeRegions, stored: Sequence[tuple[str, str]], labels: Iterable[str]) -> Iterator[Column]:
    for given in labels:
        ntype, _, name = given.replace("/", ":").rpartition(":")
        if (ntype, name) not in stored:
            known = ", ".join(":".join(key) for key in stored if _is_whole(regions, *key))
            raise OptionError(
                "no such labels",
                place="--labels",
                expected=f"one of {known}" if known else "nothing: no node data are whole numbers",
                found=given,
            )
        if not _is_whole(regions, ntype, name):
            found = next(of[ntype][name] for of in regions if name in of.get(ntype, {}))
            raise OptionError(
                f"{given} cannot be labels",
                place="--labels",
                expected="one whole number per node",
                found=f"{found.dtype.name} of shape {found.shape[1:]}",
            )
        yield Column(ntype, name, is_mask=False)


def _is_whole(regions: NodeRegions, ntype: str, name: str) -> bool:
    """Whether a column is one whole number per node; parts without a node of the type may hold anything."""
    stored = [of[ntype][name] for of in regions if name in of.get(ntype, {})]
    found = [region for region in stored if region.shape[:1] != (0,)]
    return bool(found) and all(
        region.shape and region.dtype.kind in "iub" and np.prod(region.shape[1:], dtype=np.int64) == 1
        for region in found
    )


def column_units(columns: Iterable[Column], regions: NodeRegions, book: PartitionBook) -> list[ColumnUnit]:
    """List the units of the pass."""
    units = []
    for column in columns:
        counts = book.node_counts[:, book.ntypes.index(column.ntype)].tolist()
        for part, of in enumerate(regions):
            region = of.get(column.ntype, {}).get(column.name)
            if region is None and counts[part]:
                raise LayoutError(
                    f"part {part} lacks node data that others have",
                    expected=f"{column.key}, {counts[part]:,} rows",
                    hint="make the partitions again",
                )
            if region is not None:
                units.append(ColumnUnit(column, part, region))
    return units
